//! The order in which a graph's kernels run on one tile of rows, and where each value lies in the tile's arena.
//!
//! Everything lies in panels (`cpp/kernels/panels.cpp`): the input, the values and adjoints in the arena, the parameters
//! and their gradient. Arena: the input, the value of each step, then two adjoints that the reverse pass writes in turn.
//! An activation whose derivative depends on the sign of its value alone runs inside the layer before it, and its
//! pullback inside the layer behind it. Nothing is allocated after the arena.

use std::marker::PhantomData;
use std::ops::Range;

use super::shares::Shares;
use super::tiled::{Tile, Tiled};
use crate::device::HostBuffer;
use crate::error::Result;
use crate::graph::{Activation, Graph, Mode, Op, Own};
use crate::kernels::{Scalar, is_sign_activation};

/// Rows of a tile: with as many the weight's gradient runs at nine tenths of the processor's peak, and the activations
/// of a few hundred numbers a row stay in a 512 KB L2 cache.
pub const TILE_ROWS: usize = 128;

/// Parts of the arena start at multiples of this many numbers (64 bytes of float32).
const ALIGNMENT: usize = 16;

/// A graph laid out for tiles of up to a number of rows of T.
#[derive(Clone, Debug)]
pub struct Plan<T> {
    graph: Graph,
    steps: Vec<Step>,
    parameters: usize,
    transposed: usize,
    /// Where the two adjoints start.
    adjoints: [usize; 2],
    length: usize,
    scalar: PhantomData<T>,
}

/// One call forward and one back.
#[derive(Clone, Debug)]
struct Step {
    inputs: usize,
    outputs: usize,
    /// Where its input and its value start in the arena.
    from: usize,
    to: usize,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Layer(Layer),
    Activation(Activation),
    Own(Own),
}

#[derive(Clone, Debug)]
struct Layer {
    /// In the graph's flat parameters.
    weight: Range<usize>,
    bias: Range<usize>,
    /// In the plan's own.
    own: Range<usize>,
    transposed: Range<usize>,
    /// Runs inside this layer; `Identity` for none.
    behind: Activation,
    /// The one whose value the input is, if its pullback runs inside this layer's.
    before: Activation,
}

impl<T: Scalar> Plan<T> {
    /// Lays out `graph` for tiles of up to `rows` rows.
    pub fn new(graph: Graph, rows: usize) -> Self {
        let mut plan = Plan {
            steps: Vec::new(),
            parameters: 0,
            transposed: 0,
            adjoints: [0; 2],
            length: 0,
            scalar: PhantomData,
            graph,
        };
        let mut from = plan.part(rows, plan.graph.inputs());
        let nodes = plan.graph.nodes().to_vec();
        for (index, node) in nodes.iter().enumerate() {
            let kind = match &node.op {
                Op::Activation(activation) => match plan.steps.last_mut() {
                    Some(Step { kind: Kind::Layer(layer), .. })
                        if is_sign_activation(*activation as u8) && index > 0 =>
                    {
                        layer.behind = *activation;
                        continue;
                    }
                    _ => Kind::Activation(*activation),
                },
                Op::Own(own) => Kind::Own(own.clone()),
                Op::Linear { weight, bias } => Kind::Layer(Layer {
                    weight: weight.clone(),
                    bias: bias.clone(),
                    own: extend(&mut plan.parameters, T::layer_length(node.inputs, node.outputs)),
                    transposed: extend(&mut plan.transposed, T::transposed_length(node.inputs, node.outputs)),
                    behind: Activation::Identity,
                    before: plan.behind_last(),
                }),
            };
            let to = plan.part(rows, node.outputs);
            plan.steps.push(Step { inputs: node.inputs, outputs: node.outputs, from, to, kind });
            from = to;
        }
        let widest = nodes.iter().map(|node| node.outputs).max().unwrap_or(0);
        plan.adjoints = [plan.part(rows, widest), plan.part(rows, widest)];
        plan
    }

    /// A part of the arena for [rows, width].
    fn part(&mut self, rows: usize, width: usize) -> usize {
        extend(&mut self.length, (rows * T::padded(width)).next_multiple_of(ALIGNMENT)).start
    }

    /// The activation that the last step so far leaves to the next one's pullback.
    fn behind_last(&self) -> Activation {
        match self.steps.last() {
            Some(Step { kind: Kind::Layer(layer), .. }) => layer.behind,
            _ => Activation::Identity,
        }
    }

    fn layers(&self) -> impl Iterator<Item = (&Step, &Layer)> {
        self.steps.iter().filter_map(|step| match &step.kind {
            Kind::Layer(layer) => Some((step, layer)),
            Kind::Activation(_) | Kind::Own(_) => None,
        })
    }

    /// Numbers in an arena.
    pub fn arena_length(&self) -> usize {
        self.length
    }

    /// Numbers of the parameters, and of their gradient, in panels.
    pub fn parameters_length(&self) -> usize {
        self.parameters
    }

    /// Numbers that [`transpose`](Self::transpose) writes.
    pub fn transposed_length(&self) -> usize {
        self.transposed
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The graph's flat parameters into panels.
    pub fn pack(&self, flat: &[T], own: &mut [T]) {
        for (step, layer) in self.layers() {
            let (weight, bias) = (&flat[layer.weight.clone()], &flat[layer.bias.clone()]);
            T::pack_layer(step.inputs, step.outputs, weight, bias, &mut own[layer.own.clone()]);
        }
    }

    /// Parameters, or their gradient, from panels into the graph's order.
    pub fn unpack(&self, own: &[T], flat: &mut [T]) {
        for (step, layer) in self.layers() {
            let (weight, bias) = flat[layer.weight.start..layer.bias.end].split_at_mut(layer.weight.len());
            T::unpack_layer(step.inputs, step.outputs, &own[layer.own.clone()], weight, bias);
        }
    }

    /// Lays the weights out for [`backward`](Self::backward): once for each change of the parameters.
    pub fn transpose(&self, own: &[T], transposed: &mut [T]) {
        for (step, layer) in self.layers().filter(|(step, _)| step.from > 0) {
            let to = &mut transposed[layer.transposed.clone()];
            T::transpose_layer(step.inputs, step.outputs, &own[layer.own.clone()], to);
        }
    }

    /// Where `rows` rows of features go, in panels, before [`forward`](Self::forward).
    pub fn input<'a>(&self, arena: &'a mut [T], rows: usize) -> &'a mut [T] {
        &mut arena[..rows * T::padded(self.graph.inputs())]
    }

    /// Runs every step on `rows` rows, large layers on `threads` threads of the present pool.
    pub fn forward(&self, own: &[T], arena: &mut [T], rows: usize, threads: usize) {
        for step in &self.steps {
            let (before, after) = arena.split_at_mut(step.to);
            let input = &before[step.from..][..rows * T::padded(step.inputs)];
            let value = &mut after[..rows * T::padded(step.outputs)];
            match &step.kind {
                Kind::Layer(layer) => {
                    let shares = Shares { shape: [rows, step.inputs, step.outputs], threads };
                    shares.linear(layer.behind as u8, input, &own[layer.own.clone()], value);
                }
                Kind::Activation(activation) => T::activation(*activation as u8, input, value),
                Kind::Own(own) => {
                    in_blocks(input, value, |x, to| own.values(x, to), |_, f| f);
                }
            }
        }
    }

    /// The last value after [`forward`](Self::forward) into `out` [rows, outputs].
    pub fn output(&self, arena: &[T], out: &mut [T]) {
        let outputs = self.graph.outputs();
        let rows = out.len() / outputs;
        let to = self.steps.last().map_or(0, |step| step.to);
        T::from_panels(rows, outputs, &arena[to..][..rows * T::padded(outputs)], out);
    }

    /// From the output's adjoint [rows, outputs], runs the pullback of every step, last to first. `gradient` gets (with
    /// `sum`: is increased by) the parameters' adjoint. The input gets none. Large layers run on `threads` threads of the
    /// present pool.
    #[allow(clippy::too_many_arguments)] // The mathematics has that many.
    pub fn backward(
        &self,
        transposed: &[T],
        adjoint: &[T],
        arena: &mut [T],
        gradient: &mut [T],
        sum: bool,
        threads: usize,
    ) {
        let outputs = self.graph.outputs();
        let rows = adjoint.len() / outputs;
        let (values, adjoints) = arena.split_at_mut(self.adjoints[0]);
        let (mut current, mut other) = adjoints.split_at_mut(self.adjoints[1] - self.adjoints[0]);
        T::to_panels(rows, outputs, adjoint, &mut current[..rows * T::padded(outputs)]);
        let mut done_behind = Activation::Identity;
        for step in self.steps.iter().rev() {
            let (inputs, outputs) = (step.inputs, step.outputs);
            let value = |start: usize, width: usize| &values[start..][..rows * T::padded(width)];
            let adjoint = &mut current[..rows * T::padded(outputs)];
            match &step.kind {
                Kind::Layer(layer) => {
                    if layer.behind != done_behind {
                        T::activation_pullback_in_place(layer.behind as u8, value(step.to, outputs), adjoint);
                    }
                    let wanted = step.from > 0;
                    let dx = wanted.then(|| &mut other[..rows * T::padded(inputs)]);
                    let (x, w) = (value(step.from, inputs), &transposed[layer.transposed.clone()]);
                    let shares = Shares { shape: [rows, inputs, outputs], threads };
                    shares.pullback(
                        layer.before as u8,
                        x,
                        w,
                        adjoint,
                        sum,
                        dx,
                        false,
                        &mut gradient[layer.own.clone()],
                    );
                    done_behind = layer.before;
                    std::mem::swap(&mut current, &mut other);
                }
                Kind::Activation(activation) => {
                    T::activation_pullback_in_place(*activation as u8, value(step.from, inputs), adjoint);
                    done_behind = Activation::Identity;
                }
                Kind::Own(own) => {
                    in_blocks(value(step.from, inputs), adjoint, |x, to| own.slopes(x, to), |d, slope| d * slope);
                    done_behind = Activation::Identity;
                }
            }
        }
    }
}

impl<T: Scalar> Tiled<T> for Plan<T> {
    /// An arena.
    type Memory = HostBuffer<T>;

    fn memory(&self) -> Result<HostBuffer<T>> {
        HostBuffer::zeros(self.length)
    }

    fn tile_rows(&self, _mode: Mode) -> Option<usize> {
        Some(TILE_ROWS)
    }

    fn outputs(&self) -> usize {
        self.graph.outputs()
    }

    fn parameters(&self) -> usize {
        self.graph.parameters()
    }

    fn own_parameters(&self) -> usize {
        self.parameters
    }

    fn pack(&self, flat: &[T], own: &mut [T]) {
        Plan::pack(self, flat, own);
    }

    fn unpack(&self, own: &[T], flat: &mut [T]) {
        Plan::unpack(self, own, flat);
    }

    fn derived(&self) -> usize {
        self.transposed
    }

    fn derive(&self, own: &[T], derived: &mut [T]) {
        self.transpose(own, derived);
    }

    fn forward(&self, arena: &mut HostBuffer<T>, tile: &Tile<T>, _mode: Mode, outputs: &mut [T]) -> Result<()> {
        let (arena, rows) = (arena.as_mut_slice(), tile.rows.len());
        tile.data.gather(tile.rows, self.input(arena, rows));
        Plan::forward(self, tile.parameters, arena, rows, tile.threads);
        self.output(arena, outputs);
        Ok(())
    }

    fn backward(&self, arena: &mut HostBuffer<T>, tile: &Tile<T>, adjoint: &[T], sum: bool, gradient: &mut [T]) {
        Plan::backward(self, tile.derived, adjoint, arena.as_mut_slice(), gradient, sum, tile.threads);
    }
}

/// Runs a function of float64 over `x`; `combine` makes each of `to` of what it is and what the function gave.
fn in_blocks<T: Scalar>(
    x: &[T],
    to: &mut [T],
    function: impl Fn(&[f64], &mut [f64]),
    combine: impl Fn(f64, f64) -> f64,
) {
    const BLOCK: usize = 256;
    let (mut from, mut results) = ([0.0; BLOCK], [0.0; BLOCK]);
    for (x, to) in x.chunks(BLOCK).zip(to.chunks_mut(BLOCK)) {
        let (from, results) = (&mut from[..x.len()], &mut results[..x.len()]);
        from.iter_mut().zip(x).for_each(|(from, x)| *from = x.to_f64());
        function(from, results);
        to.iter_mut().zip(results).for_each(|(to, result)| *to = T::from_f64(combine(to.to_f64(), *result)));
    }
}

/// The next `length` numbers.
fn extend(end: &mut usize, length: usize) -> Range<usize> {
    let start = *end;
    *end += length;
    start..*end
}
