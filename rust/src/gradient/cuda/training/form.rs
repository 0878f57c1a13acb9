//! What the engine needs to know about a network's kernels.

use super::super::gpu::{GpuMemory, GpuStream, downloaded};
use super::dataset::DeviceDataset;
use crate::error::Result;

/// Batches of some rows.
pub struct Call<'a> {
    pub dataset: &'a DeviceDataset,
    /// Where row numbers are on the GPU.
    pub order: usize,
    /// Where a `Batch` of `step.hpp` is for each.
    pub batches: usize,
    /// Rows of each.
    pub counts: &'a [usize],
    /// Where the parameters and both moments are.
    pub state: [usize; 3],
    pub stream: &'a GpuStream,
}

/// How a network trains on a GPU.
pub trait Form: Send {
    /// Numbers of its parameters as its kernels have them.
    fn length(&self) -> usize;
    /// The flat vector in that form.
    fn spread(&self, flat: &[f32]) -> Vec<f32>;
    /// The other way round.
    fn gather(&self, own: &[f32]) -> Vec<f32>;
    /// Most rows of a batch that is evaluated.
    fn evaluated_rows(&self) -> usize;
    /// Whether it trains on a single event.
    fn takes_one(&self) -> bool {
        true
    }
    /// Refuses labels that the loss does not take.
    fn check_labels(&self, _: &[f32]) -> Result<()> {
        Ok(())
    }
    /// The flat vector of running statistics.
    fn state(&self) -> Result<Vec<f32>> {
        Ok(Vec::new())
    }
    /// Replaces it.
    fn set_state(&mut self, _: &[f32]) -> Result<()> {
        Ok(())
    }
    /// Begins to make the steps of some batches, or to sum their loss only. What the call names stays where it is until
    /// [`finish`](Self::finish), which comes before the next call. Where memory is short nothing has begun.
    fn start(&mut self, trains: bool, call: &Call) -> Result<()>;
    /// Waits for what was started on the stream; returns the sum of weight times loss.
    fn finish(&mut self, stream: &GpuStream) -> Result<f64>;
    /// For people.
    fn describe(&self) -> String;
}

/// The sum of `count` doubles on the GPU, in their order.
pub fn sum_of(memory: &GpuMemory, count: usize) -> Result<f64> {
    Ok(downloaded::<f64>(memory, count)?.iter().sum())
}
