//! A perceptron in training as one kernel that makes the steps of many batches, and one that only sums its loss: see `epoch.hpp`.

use super::super::super::Settings;
use super::super::super::jit::emit;
use super::super::kernel::kernel;
use super::super::program::{Kernel, Waits, kernels_text};
use super::laws::{factors_name, loss_name, rule_text, update_name};
use crate::error::{Error, Result};
use crate::graph::{Activation, Graph, Node, Op, Precision};

/// Files that the text includes.
pub const INCLUDES: [&str; 2] = ["epoch.hpp", "tensor_cores.hpp"];
/// Numbers of rows of a tile for which there are templates.
pub const TILE_ROWS: [usize; 3] = [8, 16, 32];
/// Most blocks of a cluster that every GPU with clusters takes.
pub const MOST_IN_CLUSTER: usize = 8;
/// Numbers between the counters of meetings, which then lie in different lines of the cache.
pub const COUNTER_STRIDE: usize = 32;
/// Outputs up to which the last layer is narrow: without columns that fill up.
const NARROW: usize = 8;
/// `kThreads`, `kGap` and the columns that widths are filled up to, in `epoch.hpp`.
pub const THREADS: usize = 256;
const GAP: usize = 4;
const COLUMNS: usize = 32;
/// Parameters of the kernels, in order.
const PARAMETERS: [&str; 12] = [
    "const float *features",
    "const float *labels",
    "const float *weights",
    "const uint32_t *order",
    "const Batch *batches",
    "uint64_t count",
    "float *parameters",
    "float *first",
    "float *second",
    "float *gradients",
    "double *losses",
    "unsigned *arrived",
];

/// A linear layer with the activation behind it.
struct Layer {
    inputs: usize,
    outputs: usize,
    /// Where weight and bias begin in the flat vector.
    flat: [usize; 2],
    /// Where its parameters begin among those with gaps.
    start: usize,
    is_narrow: bool,
    activation: Activation,
}

impl Layer {
    /// Columns of its weights but for the gap.
    fn depth(&self) -> usize {
        self.inputs.next_multiple_of(COLUMNS)
    }

    /// Rows of its weights.
    fn rows(&self) -> usize {
        if self.is_narrow { self.outputs } else { self.outputs.next_multiple_of(COLUMNS) }
    }

    fn bias(&self) -> usize {
        self.start + self.rows() * (self.depth() + GAP)
    }

    fn end(&self) -> usize {
        self.bias() + self.rows().next_multiple_of(4)
    }
}

/// How a batch comes to blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Rows of a tile, one of [`TILE_ROWS`].
    pub rows: usize,
    /// Blocks of a cluster, whose gradients lie in their shared memory; 0: gradients lie in the GPU's memory.
    pub cluster: usize,
}

/// See the module's documentation.
pub struct Perceptron {
    layers: Vec<Layer>,
    targets: usize,
    tiling: Tiling,
    precision: Precision,
    /// That trains, and that evaluates.
    kernels: [Kernel; 2],
}

impl Perceptron {
    /// The kernels, or why there are none.
    pub fn new(graph: &Graph, settings: &Settings, tiling: Tiling) -> Result<Self> {
        if settings.rule().changes_gradient() {
            return Err(refuse("a bound of the gradient, or an L1 term"));
        }
        let (layers, precision) = (layers(graph)?, settings.precision);
        if precision != Precision::Float32 && layers.iter().all(|layer| layer.is_narrow) {
            return Err(refuse(&format!(
                "at most {NARROW} outputs and no hidden layer, of which nothing would be rounded"
            )));
        }
        let (targets, kernels) = (settings.loss.targets(graph.outputs()), [Kernel::default(), Kernel::default()]);
        let mut made = Perceptron { layers, targets, tiling, precision, kernels };
        made.kernels = [true, false].map(|trains| made.kernel(settings, trains));
        Ok(made)
    }

    /// That trains, and that evaluates.
    pub fn kernels(&self) -> &[Kernel; 2] {
        &self.kernels
    }

    /// The kernels, as CUDA C++.
    pub fn text(&self) -> String {
        kernels_text(&INCLUDES, &self.kernels)
    }

    /// Precision of the factors of a fit's products.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Numbers of the parameters with their gaps.
    pub fn length(&self) -> usize {
        self.layers.last().map_or(0, Layer::end)
    }

    /// How a batch comes to blocks.
    pub fn tiling(&self) -> Tiling {
        self.tiling
    }

    /// The flat vector with gaps, which are 0.
    pub fn spread(&self, flat: &[f32]) -> Vec<f32> {
        let mut wide = vec![0.0; self.length()];
        self.places().for_each(|(from, to, count)| wide[to..to + count].copy_from_slice(&flat[from..from + count]));
        wide
    }

    /// The other way round.
    pub fn gather(&self, wide: &[f32]) -> Vec<f32> {
        let mut flat = vec![0.0; self.places().map(|(_, _, count)| count).sum()];
        self.places().for_each(|(to, from, count)| flat[to..to + count].copy_from_slice(&wide[from..from + count]));
        flat
    }

    /// Where runs of parameters begin in the flat vector and in that with gaps, and how long they are.
    fn places(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        self.layers.iter().flat_map(|layer| {
            let row = |o| (layer.flat[0] + o * layer.inputs, layer.start + o * (layer.depth() + GAP), layer.inputs);
            (0..layer.outputs).map(row).chain([(layer.flat[1], layer.bias(), layer.outputs)])
        })
    }

    fn kernel(&self, settings: &Settings, trains: bool) -> Kernel {
        let places = SharedLayout::new(self);
        let body = self.body(&places, settings, trains);
        let bounds = format!("__launch_bounds__({THREADS}, 1) ");
        let (what, waits) = if trains { ("train", Waits::ForGrid) } else { ("evaluate", Waits::ForBlock) };
        Kernel {
            shared: places.end * size_of::<f32>(),
            cluster: if trains { self.tiling.cluster.max(1) as u32 } else { 1 },
            ..kernel(what, &bounds, &PARAMETERS, body, waits)
        }
    }

    fn body(&self, places: &SharedLayout, settings: &Settings, trains: bool) -> String {
        let Perceptron { layers, targets, tiling: Tiling { rows, .. }, .. } = self;
        let (inputs, depth) = (layers[0].inputs, layers[0].depth());
        let &SharedLayout { x, y, w, end, .. } = places;
        let mut text = String::new();
        emit!(
            text,
            "   float *const s = Shared();\n   for (unsigned i = threadIdx.x; i < {end}; i += kThreads)\n      s[i] = 0;\n   \
             __syncthreads();\n   const Table table{{features, labels, weights, order}};\n   \
             float *const x = s + {x}, *const y = s + {y}, *const w = s + {w};\n   ReadFresh({}, parameters, s);\n   \
             Gathering<{rows}, {inputs}, {depth}, {targets}> gathering;\n   const uint32_t start = blockIdx.x * {rows}, \
             stride = gridDim.x * {rows};\n   Batch batch = batches[0];\n   const auto bring = [&](const Batch &of) {{\n      \
             if (start < of.fCount) {{\n         gathering.Ask(table, of.From(start));\n         \
             gathering.Bring(table, of.From(start), x, y, w);\n      }}\n   }};\n   bring(batch);\n   double loss = 0;",
            self.length()
        );
        if trains {
            self.exchange(&mut text, places, settings);
        }
        emit!(
            text,
            "   for (uint32_t b = 0; b < count; ++b) {{\n      const bool isLast = b + 1 == count;\n      \
             const Batch next = batches[isLast ? b : b + 1];\n      bool adds = false;\n      \
             for (uint32_t at = start; at < batch.fCount; at += stride) {{\n         \
             // The tile behind this one is asked for now, and comes when this one is done.\n         \
             const bool isWithin = at + stride < batch.fCount;\n         \
             const Tile tile = isWithin ? batch.From(at + stride) : next.From(start);\n         \
             const bool goesOn = isWithin || (!isLast && start < next.fCount);\n         WaitForCopies();\n         \
             __syncthreads();\n         if (goesOn)\n            gathering.Ask(table, tile);"
        );
        self.forward(&mut text, places, trains);
        self.loss(&mut text, places, settings);
        if trains {
            self.backward(&mut text, places);
        }
        emit!(
            text,
            "         if (goesOn)\n            gathering.Bring(table, tile, x, y, w);\n         \
             adds = true;\n      }}\n      if (!adds && !isLast)\n         bring(next);"
        );
        if trains {
            self.step(&mut text, places, settings);
        }
        emit!(text, "      batch = next;\n   }}");
        if trains && self.tiling.cluster > 0 {
            emit!(text, "   mover.End({}, s, parameters, first, second);", self.length());
        }
        emit!(text, "   AddLosses(loss, losses);");
        text
    }

    /// Declares how gradients come together, and where this block's own one lies.
    fn exchange(&self, text: &mut String, places: &SharedLayout, settings: &Settings) {
        let (length, update, size) = (self.length(), update_name(settings.optimiser), self.tiling.cluster);
        let rule = rule_text(settings);
        emit!(*text, "   const Rule rule{{{rule}}};");
        if size == 0 {
            emit!(
                *text,
                "   Meeting meeting{{arrived, gridDim.x, 0}};\n   float *const gradient = gradients + size_t(blockIdx.x) * {length};"
            );
            return;
        }
        emit!(
            *text,
            "   MoveInCluster<{update}, {size}> mover(arrived + blockIdx.x % {size} * {COUNTER_STRIDE}, s + {}, s + {});\n   \
             mover.Begin({length}, first, second);\n   float *const gradient = s + {};",
            places.moments[0],
            places.moments[1],
            places.gradient
        );
    }

    /// Moves the parameters.
    fn step(&self, text: &mut String, places: &SharedLayout, settings: &Settings) {
        let (length, rows, sums) = (self.length(), self.tiling.rows, places.sums);
        if self.tiling.cluster == 0 {
            emit!(
                *text,
                "      const unsigned tiles = (batch.fCount + {rows} - 1) / {rows};\n      \
                 MoveShare<{}>({length}, tiles < gridDim.x ? tiles : gridDim.x, rule, batch, meeting, gradients, s, parameters, \
                 first, second, s + {sums});",
                update_name(settings.optimiser)
            );
            return;
        }
        emit!(
            *text,
            "      if (!adds)\n         for (unsigned i = threadIdx.x; i < {length}; i += kThreads)\n            \
             gradient[i] = 0;\n      mover.Step({length}, rule, batch, s, gradient, gradients);"
        );
    }

    /// The name of a function for layers that are not narrow, up to its template arguments.
    fn product(&self, function: &str, trains: bool) -> String {
        match factors_name(self.precision) {
            Some(factors) if trains => format!("Rounded{function}<{factors}, "),
            _ => format!("{function}<"),
        }
    }

    /// Activations and slopes of all layers but a narrow last one.
    fn forward(&self, text: &mut String, places: &SharedLayout, trains: bool) {
        for (index, layer) in self.layers.iter().enumerate() {
            let (from, weights, bias) = (places.input(index), layer.start, layer.bias());
            let (rows, depth) = (self.tiling.rows, layer.depth());
            if layer.is_narrow {
                let outputs = layer.outputs;
                emit!(
                    *text,
                    "         NarrowParts<{rows}, {outputs}, {depth}>(s + {from}, s + {weights}, s + {});",
                    places.sums
                );
            } else {
                let [to, slope] = places.hidden[index];
                let has_slope = trains && index + 1 < self.layers.len();
                let slope = if has_slope { format!("s + {slope}") } else { "nullptr".into() };
                emit!(
                    *text,
                    "         {}{rows}, {}, {}, {depth}, {}>(s + {from}, s + {weights}, s + {bias}, s + {to}, {slope});",
                    self.product("Forward", trains),
                    layer.rows(),
                    layer.outputs,
                    activation_text(layer.activation)
                );
            }
            emit!(*text, "         __syncthreads();");
        }
    }

    /// The loss of each row by a thread, which leaves its derivative in the place of the outputs.
    fn loss(&self, text: &mut String, places: &SharedLayout, settings: &Settings) {
        let Perceptron { layers, targets, tiling: Tiling { rows, .. }, .. } = self;
        let Some(last) = layers.last() else { return };
        let outputs = last.outputs;
        let (z, width) = (places.outputs(), if last.is_narrow { outputs } else { last.rows() + GAP });
        emit!(
            *text,
            "         if (threadIdx.x < {rows}) {{\n            const unsigned r = threadIdx.x;\n            \
             float *const z = s + {z} + r * {width};"
        );
        if last.is_narrow {
            emit!(*text, "            NarrowSum<{rows}, {outputs}>(r, s + {}, s + {}, z);", places.sums, last.bias());
        }
        emit!(
            *text,
            "            loss += double(w[r]) * {}::Row({outputs}u, {:?}f, z, y + r * {targets}, batch.fScale * double(w[r]), z);",
            loss_name(settings.loss),
            settings.loss_parameter
        );
        if !last.is_narrow {
            emit!(*text, "            for (unsigned c = {outputs}; c < {width}; ++c)\n               z[c] = 0;");
        }
        emit!(*text, "         }}");
    }

    fn backward(&self, text: &mut String, places: &SharedLayout) {
        let rows = self.tiling.rows;
        emit!(*text, "         __syncthreads();");
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let (is_last, depth) = (index + 1 == self.layers.len(), layer.depth());
            let given = if is_last { places.outputs() } else { places.hidden[index][1] };
            let (from, weights) = (places.input(index), layer.start);
            let name = |of: &str| if layer.is_narrow { format!("Narrow{of}<") } else { self.product(of, true) };
            let (outputs, gradient, back) = (layer.rows(), name("Gradient"), name("Back"));
            emit!(
                *text,
                "         {gradient}{rows}, {outputs}, {depth}>(s + {given}, s + {from}, gradient + {weights}, adds);"
            );
            if index > 0 {
                emit!(
                    *text,
                    "         {back}{rows}, {outputs}, {depth}>(s + {given}, s + {weights}, s + {});\n         \
                     __syncthreads();",
                    places.hidden[index - 1][1]
                );
            }
        }
        emit!(*text, "         __syncthreads();");
    }
}

/// Where a block's numbers lie in its shared memory, behind the parameters.
struct SharedLayout {
    x: usize,
    y: usize,
    w: usize,
    /// Activations and slopes of each layer that is not narrow.
    hidden: Vec<[usize; 2]>,
    /// Outputs of a narrow last layer.
    narrow: Option<usize>,
    /// Room for sums that several threads share.
    sums: usize,
    /// Of a cluster: the block's gradient, and the moments of its share.
    gradient: usize,
    moments: [usize; 2],
    end: usize,
}

impl SharedLayout {
    fn new(of: &Perceptron) -> Self {
        let mut end = of.length();
        let mut take = |numbers: usize| {
            end += numbers.next_multiple_of(4);
            end - numbers.next_multiple_of(4)
        };
        let (Tiling { rows, cluster }, layers) = (of.tiling, &of.layers);
        let x = take(rows * (layers[0].depth() + GAP));
        let wide = layers.iter().filter(|layer| !layer.is_narrow);
        let hidden = wide.map(|layer| [0, 1].map(|_| take(rows * (layer.rows() + GAP)))).collect();
        let narrow = layers.last().filter(|last| last.is_narrow).map(|last| take(rows * last.outputs));
        let [y, w] = [take(rows * of.targets), take(rows)];
        let outputs = layers.last().map_or(0, |last| if last.is_narrow { last.outputs } else { 0 });
        let sums = take(THREADS * outputs.max(4));
        let gradient = take(if cluster > 0 { of.length() } else { 0 });
        let share = if cluster > 0 { (of.length() / 4).div_ceil(cluster) * 4 } else { 0 };
        let moments = [0, 1].map(|_| take(share));
        SharedLayout { x, y, w, hidden, narrow, sums, gradient, moments, end }
    }

    /// Inputs of layer number `index`.
    fn input(&self, index: usize) -> usize {
        if index == 0 { self.x } else { self.hidden[index - 1][0] }
    }

    /// The outputs of the network, and then their adjoints.
    fn outputs(&self) -> usize {
        self.narrow.or_else(|| self.hidden.last().map(|[outputs, _]| *outputs)).unwrap_or(self.x)
    }
}

/// The layers, if they are linear ones with a built-in activation behind each but the last.
fn layers(graph: &Graph) -> Result<Vec<Layer>> {
    let mut layers: Vec<Layer> = Vec::new();
    let count = graph.layers().count();
    for Node { op, inputs, outputs } in graph.nodes() {
        match op {
            Op::Linear { weight, bias } => layers.push(Layer {
                inputs: *inputs,
                outputs: *outputs,
                flat: [weight.start, bias.start],
                start: layers.last().map_or(0, Layer::end),
                is_narrow: layers.len() + 1 == count && *outputs <= NARROW,
                activation: Activation::Identity,
            }),
            Op::Activation(activation) => match layers.last_mut() {
                Some(layer) if layers_end(count, graph) => layer.activation = *activation,
                _ => return Err(refuse("an activation that follows no linear layer")),
            },
            Op::Custom(_) => return Err(refuse("an activation of the user's own")),
        }
    }
    if layers.is_empty() { Err(refuse("no linear layer")) } else { Ok(layers) }
}

/// Whether the chain ends with a linear layer.
fn layers_end(count: usize, graph: &Graph) -> bool {
    count > 0 && matches!(graph.nodes().last(), Some(Node { op: Op::Linear { .. }, .. }))
}

fn refuse(what: &str) -> Error {
    Error::invalid(
        format!("back end cuda has no kernel for a whole epoch of a network with {what}"),
        "run it on LibTorch",
    )
}

/// C++'s class of an activation, by the functions of cpp/kernels and Clad's derivatives of them.
fn activation_text(activation: Activation) -> &'static str {
    match activation {
        Activation::Identity => "IdentityActivation",
        Activation::ReLU => "ReluActivation",
        Activation::LeakyReLU => "LeakyReluActivation",
        Activation::Tanh => "TanhActivation",
        Activation::Sigmoid => "SigmoidActivation",
        Activation::SiLU => "SiluActivation",
        Activation::GELU => "GeluActivation",
        Activation::Softplus => "SoftplusActivation",
    }
}
