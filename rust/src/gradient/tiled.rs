//! What the engine trains: a network laid out to be run on tiles of rows, in the memory of whichever thread runs them.

use super::Rows;
use crate::error::Result;
use crate::graph::Mode;
use crate::kernels::Scalar;

/// A network for tiles of rows of numbers of type T. It has an order of its own for parameters and their gradient.
pub trait Tiled<T: Scalar>: Send + Sync {
    /// What a thread needs to run tiles.
    type Memory: Send;

    /// That of one thread.
    fn memory(&self) -> Result<Self::Memory>;

    /// Rows of a tile; `None` where the rows of a batch must stay together.
    fn tile_rows(&self, mode: Mode) -> Option<usize>;

    /// Whether a tile may have a single row.
    fn takes_one(&self, _mode: Mode) -> bool {
        true
    }

    /// Numbers that it gives for a row.
    fn outputs(&self) -> usize;

    /// Length of the flat parameter vector as users know it.
    fn parameters(&self) -> usize;

    /// Numbers of the parameters, and of their gradient, in the network's own order.
    fn own_parameters(&self) -> usize;

    /// The flat vector into the network's own order.
    fn pack(&self, flat: &[T], own: &mut [T]);

    /// The other way round, of parameters or their gradient.
    fn unpack(&self, own: &[T], flat: &mut [T]);

    /// Numbers that [`derive`](Self::derive) writes.
    fn derived(&self) -> usize;

    /// What is computed from the parameters once for each change of them.
    fn derive(&self, own: &[T], derived: &mut [T]);

    /// The flat vector of running statistics.
    fn state(&self) -> Vec<f32> {
        Vec::new()
    }

    /// The outputs of a tile into `outputs` [rows, outputs]; in training, running statistics change.
    fn forward(&self, memory: &mut Self::Memory, tile: &Tile<T>, mode: Mode, outputs: &mut [T]) -> Result<()>;

    /// From the adjoint [rows, outputs] of what [`forward`](Self::forward) gave for the same tile in training: the gradient of
    /// the parameters, which with `sum` is added to what is there.
    fn backward(&self, memory: &mut Self::Memory, tile: &Tile<T>, adjoint: &[T], sum: bool, gradient: &mut [T]);
}

/// Rows that are run together, and what they are run with.
#[derive(Clone, Copy)]
pub struct Tile<'a, T> {
    /// Where the rows are.
    pub data: Rows<'a>,
    /// Their numbers.
    pub rows: &'a [u32],
    /// In the network's own order.
    pub parameters: &'a [T],
    /// What [`Tiled::derive`] made of them.
    pub derived: &'a [T],
    /// Threads of the present pool for it.
    pub threads: usize,
    /// Steps of the optimiser before this one, and the tile's place in the batch: they decide what dropout draws.
    pub place: [u64; 2],
}
