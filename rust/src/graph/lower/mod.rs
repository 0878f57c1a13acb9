//! From LibTorch's operators, as they were observed, to the few primitives of a [`Program`].
//!
//! [`operators`] is the list of what can be lowered: the tests and the documentation run over it. Each operator is
//! written as what it does to tensors; its shape is checked against the one that LibTorch returned. An operator that is
//! not on the list, or whose arguments are not supported, is refused with its name, its place and the reason.
//!
#![doc = include_str!("operators.md")]

mod activation;
mod build;
mod call;
mod compare;
mod convolution;
mod einsum;
mod elementwise;
mod in_memory_order;
mod indices;
mod layers;
mod loss;
mod mask;
mod place;
mod product;
mod reduce;
mod shape;

pub use in_memory_order::in_memory_order;

use call::Call;

use super::fused::with_fused_terms;
use super::program::{Kind, Node, Primitive, Tensor};
use super::unread::without_unread_joins;
use super::view::{checked_length, inverse};
use super::{DType, ObservedArgument, ObservedGraph, ObservedValue, Program, View};
use crate::error::{Error, Result};

/// The values that an operator's call comes down to.
type Lowered = Result<Vec<Tensor>>;

/// Shapes from outside have at most this many dimensions, as in LibTorch.
const RANK_LIMIT: usize = 64;

/// An operator that can be lowered.
pub struct Operator {
    /// LibTorch's name, without overload.
    pub name: &'static str,
    /// What it computes, for the table in the documentation.
    pub does: &'static str,
    lower: fn(&mut Call) -> Lowered,
}

/// Every operator that can be lowered.
pub fn operators() -> impl Iterator<Item = &'static Operator> {
    let tables = [
        elementwise::TABLE,
        activation::TABLE,
        mask::TABLE,
        reduce::TABLE,
        product::TABLE,
        einsum::TABLE,
        shape::TABLE,
        place::TABLE,
        indices::TABLE,
        layers::TABLE,
        convolution::TABLE,
        loss::TABLE,
    ];
    tables.into_iter().flatten()
}

/// Operators that LibTorch runs on purpose, and why; `*` stands for any end of a name.
pub const ON_LIBTORCH: &[(&str, &str)] = &[
    ("lstm gru rnn_tanh rnn_relu lstm_cell gru_cell", "its cells are fused, and each step waits for the one before"),
    (
        "conv_transpose* adaptive_avg_pool3d adaptive_max_pool3d upsample_* grid_sampler*",
        "it has been rare in networks for physics",
    ),
    ("kthvalue median nanmedian mode unique* searchsorted bucketize", "it orders values"),
    ("cumsum cumprod cummax cummin logcumsumexp", "each element needs the one before"),
    ("prod", "the derivative by an element needs all others"),
    ("fft_* stft istft view_as_complex view_as_real complex polar", "complex numbers have no kernels"),
    (
        "linalg_cholesky* linalg_det linalg_eig* linalg_inv* linalg_lu* linalg_pinv linalg_qr linalg_slogdet \
         linalg_solve* linalg_svd* cholesky* inverse det logdet slogdet svd qr triangular_solve",
        "LAPACK solves it",
    ),
    (
        "scatter scatter_reduce index_copy index_fill index_reduce masked_scatter put",
        "of several elements for one place it takes one, or another combination than their sum",
    ),
    (
        "index_put",
        "of several elements for one place it takes any; kernels run it at constant places that differ, and of one number \
         where a mask is true",
    ),
    ("aminmax", "it has no derivative"),
    ("one_hot bincount histc nonzero", "it returns integers"),
    ("lgamma digamma polygamma mvlgamma erfinv i0 special_* sinc", "a special function without a vector form"),
    ("rand* randn* randint* bernoulli multinomial normal poisson", "its generator draws the numbers"),
    ("binary_cross_entropy", "it refuses numbers outside 0 to 1, and cuts its derivative off near them"),
    ("fliplr flipud rot90", "it goes through memory backwards"),
    ("heaviside nextafter signbit copysign frexp floor_divide", "it looks at the digits of numbers"),
    ("logit erfcx", "its derivative has rules of its own at the ends"),
    ("cdist pdist", "its own kernels need no memory for the differences of all pairs"),
    ("embedding_bag pixel_shuffle ctc_loss bilinear renorm", "it has been rare"),
];

/// Why kernels never run the operator, with its namespace; `None` where they may.
pub fn obstacle(op: &str) -> Option<String> {
    let name = op.strip_prefix("aten::").unwrap_or(op);
    if has_kernels(op) {
        return None;
    }
    if name.strip_suffix('_').is_some_and(|plain| has_kernels(&format!("aten::{plain}"))) {
        let why = "changes a tensor in place through a view that kernels do not follow, or whose memory other tensors may show";
        return Some(why.to_owned());
    }
    Some(why_on_libtorch(name).map_or("has no kernel".to_owned(), |why| format!("has no kernel: {why}")))
}

fn has_kernels(op: &str) -> bool {
    op.strip_prefix("aten::").is_some_and(|name| operators().any(|operator| operator.name == name))
}

/// Whether the operator, with its namespace, is on neither list: not one with kernels, and not one that LibTorch runs on purpose.
pub fn is_unknown(op: &str) -> bool {
    !has_kernels(op) && op.strip_prefix("aten::").and_then(why_on_libtorch).is_none()
}

fn why_on_libtorch(name: &str) -> Option<&'static str> {
    let is_meant = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    };
    ON_LIBTORCH.iter().find(|(names, _)| names.split(' ').any(is_meant)).map(|(_, why)| *why)
}

/// The operators as tables in Markdown: those with kernels, then those that LibTorch runs.
pub fn documentation() -> String {
    let row = |operator: &Operator| format!("| `{}` | {} |\n", operator.name, operator.does);
    let quoted = |names: &str| names.split(' ').map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let theirs = |(names, why): &(&str, &str)| format!("| {} | {why} |\n", quoted(names));
    format!(
        "| operator | computes |\n|---|---|\n{}\nOperators that LibTorch itself writes with these (`diff`, `kron`, `trapezoid`, ...) are taken apart. It runs every other one:\n\n| operators | why |\n|---|---|\n{}",
        operators().map(row).collect::<String>(),
        ON_LIBTORCH.iter().map(theirs).collect::<String>()
    )
}

/// Lowers an observed function; `gradients` says for each input and constant whether its gradient is wanted.
pub fn lower(graph: &ObservedGraph, gradients: &[bool]) -> Result<Program> {
    lower_within(graph, gradients, usize::MAX)
}

/// The same for a graph that LibTorch did not run: refuses one whose operators read and write more than `most` elements
/// together, before memory is taken for any.
pub fn lower_within(graph: &ObservedGraph, gradients: &[bool], most: usize) -> Result<Program> {
    Lowering::of(graph, gradients, most)?.finish()
}

/// How much of a graph is work for kernels.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Kernels that run; an operator that only looks differently at a tensor needs none.
    pub steps: usize,
    /// Random factors that a call draws.
    pub draws: usize,
}

/// The work of kernels for a graph if all gradients are wanted. Its results may be of any type.
pub fn weigh(graph: &ObservedGraph) -> Result<Work> {
    let gradients = vec![true; graph.inputs.len() + graph.constants.len()];
    let program = with_fused_terms(Lowering::of(graph, &gradients, usize::MAX)?.program)?;
    let is_work = |node: &&Node| !matches!(node.primitive, Primitive::Load(_));
    Ok(Work { steps: program.nodes.iter().filter(is_work).count(), draws: program.dropout.len() })
}

/// An argument after the call, changed by a number of operators.
struct Update {
    argument: usize,
    value: Tensor,
    count: usize,
}

/// How a program sees arguments whose dimensions lie in memory in another order.
#[derive(Clone, Copy, PartialEq)]
enum Arguments {
    /// As they are: a node brings them into their own order.
    AsShown,
    /// As dense tensors in the order of their memory, which operators see through a view.
    InMemoryOrder,
}

struct Lowering<'a> {
    graph: &'a ObservedGraph,
    program: Program,
    /// The lowered tensor of each observed value.
    tensors: Vec<Option<Tensor>>,
    /// Updates of arguments that LibTorch changes in place.
    updates: Vec<Update>,
    /// Elements that operators may read and write.
    most: usize,
    /// Those that they do so far.
    elements: usize,
}

impl<'a> Lowering<'a> {
    /// Every operator of the graph.
    fn of(graph: &'a ObservedGraph, gradients: &[bool], most: usize) -> Result<Self> {
        Self::with(graph, gradients, most, Arguments::AsShown)
    }

    fn with(graph: &'a ObservedGraph, gradients: &[bool], most: usize, arguments: Arguments) -> Result<Self> {
        let mut lowering = Lowering {
            graph,
            program: Program::new(common_type(graph)?),
            tensors: vec![None; graph.values.len()],
            updates: Vec::new(),
            most,
            elements: 0,
        };
        lowering.arguments(gradients, arguments)?;
        for index in 0..graph.nodes.len() {
            lowering.node(index)?;
        }
        Ok(lowering)
    }

    /// Counts a tensor that is read or written; returns its elements.
    fn count(&mut self, sizes: &[usize]) -> Result<usize> {
        let length = checked_length(sizes, self.most)?;
        self.count_elements(length)?;
        Ok(length)
    }

    fn count_elements(&mut self, more: usize) -> Result<()> {
        self.elements = self.elements.saturating_add(more);
        match self.elements <= self.most {
            true => Ok(()),
            false => Err(Error::invalid(
                format!("operators on more than {} elements", self.most),
                "use fewer or smaller layers",
            )),
        }
    }

    fn arguments(&mut self, gradients: &[bool], seen: Arguments) -> Result<()> {
        let graph = self.graph;
        let arguments: Vec<u32> = graph.inputs.iter().chain(&graph.constants).copied().collect();
        if gradients.len() != arguments.len() {
            let count = format!("{} answers for {} arguments", gradients.len(), arguments.len());
            return Err(Error::Internal(format!("whether gradients are wanted: {count}")));
        }
        for (&index, &gradient) in arguments.iter().zip(gradients) {
            let value = value(graph, index)?;
            let gradient = gradient && matches!(value.dtype, DType::Float32 | DType::Float64);
            let view = observed_view(value)?;
            let order = view.dense_order().filter(|_| seen == Arguments::InMemoryOrder).unwrap_or_default();
            let tensor = match &order[..] {
                [] => self.program.argument(&value.name, value.dtype, view, gradient)?,
                order => {
                    let tensor = self.program.argument(&value.name, value.dtype, view.permute(order), gradient)?;
                    Tensor { view: tensor.view.permute(&inverse(order)), ..tensor }
                }
            };
            self.tensors[index as usize] = Some(tensor);
        }
        Ok(())
    }

    fn node(&mut self, index: usize) -> Result<()> {
        let graph = self.graph;
        let node = &graph.nodes[index];
        let mut call = Call { lowering: self, node, index };
        let known = node.op.strip_prefix("aten::");
        let operator = operators().find(|operator| Some(operator.name) == known);
        let operator = operator.ok_or_else(|| call.refuse(obstacle(&node.op).unwrap_or_default()))?;
        let results = (operator.lower)(&mut call)?;
        if node.outputs[results.len().min(node.outputs.len())..].iter().any(|&output| is_used(graph, output)) {
            return Err(call.refuse("gives more results here than it is supported with"));
        }
        for (&output, tensor) in node.outputs.iter().zip(results) {
            call.check_result(value(graph, output)?, &tensor)?;
            self.tensors[output as usize] = Some(tensor);
            call = Call { lowering: self, node, index };
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Program> {
        for &output in &self.graph.outputs {
            let tensor = self.tensors.get(output as usize).cloned().flatten();
            let tensor = tensor.ok_or_else(|| Error::Internal(format!("result {output} was never computed")))?;
            if tensor.kind != Kind::Number {
                return Err(Error::invalid(
                    "a result that is not a floating-point tensor",
                    "return float32 or float64 tensors from the compiled function",
                ));
            }
            self.program.outputs.push(tensor);
        }
        for Update { argument, value, count } in self.updates {
            check_only_updated(self.graph, argument, count)?;
            self.program.updates.push(argument);
            self.program.outputs.push(value);
        }
        with_fused_terms(without_unread_joins(self.program)?)
    }
}

/// Whether an operator takes the value, or the function returns it.
fn is_used(graph: &ObservedGraph, value: u32) -> bool {
    let is_taken = |argument: &ObservedArgument| argument.values().any(|index| index == value);
    graph.outputs.contains(&value) || graph.nodes.iter().any(|node| node.arguments.iter().any(is_taken))
}

/// Running statistics are read first and written last: nothing but their `updates` updates may use them.
fn check_only_updated(graph: &ObservedGraph, argument: usize, updates: usize) -> Result<()> {
    let value = graph.inputs.iter().chain(&graph.constants).nth(argument).copied();
    let arguments = graph.nodes.iter().flat_map(|node| &node.arguments);
    let uses = arguments.flat_map(|argument| argument.values()).filter(|&index| Some(index) == value).count();
    let returned = graph.outputs.iter().filter(|&&output| Some(output) == value).count();
    if uses + returned > updates {
        return Err(Error::invalid(
            "the function uses running statistics for more than the normalisation that changes them",
            "call that normalisation in one mode and keep its statistics out of the rest of the function",
        ));
    }
    Ok(())
}

/// The one floating-point type of the graph. A tensor without dimensions does not count: LibTorch lets it adapt.
fn common_type(graph: &ObservedGraph) -> Result<DType> {
    let arguments = graph.inputs.iter().chain(&graph.constants);
    let results = graph.nodes.iter().flat_map(|node| &node.outputs);
    let mut found = None;
    let mut scalar = None;
    for (&index, is_argument) in arguments.map(|index| (index, true)).chain(results.map(|index| (index, false))) {
        let value = value(graph, index)?;
        let dtype = value.dtype;
        if !matches!(dtype, DType::Float32 | DType::Float64) {
            continue;
        }
        if is_argument && value.shape.is_empty() {
            scalar = Some(dtype);
        } else if found.is_some_and(|found| found != dtype) {
            return Err(Error::invalid(
                "both float32 and float64 in one function",
                "convert its arguments to one type",
            ));
        } else {
            found = Some(dtype);
        }
    }
    found.or(scalar).ok_or_else(|| Error::invalid("a function without floating-point tensors", "give it some"))
}

fn value(graph: &ObservedGraph, index: u32) -> Result<&ObservedValue> {
    graph
        .values
        .get(index as usize)
        .ok_or_else(|| Error::Internal(format!("observed value {index} of {}", graph.values.len())))
}

/// Sizes from outside as ours.
fn sizes(numbers: &[i64]) -> Result<Vec<usize>> {
    let size = |&number: &i64| usize::try_from(number).map_err(|_| Error::Internal(format!("a size of {number}")));
    if numbers.len() > RANK_LIMIT {
        return Err(Error::invalid(format!("a tensor with {} dimensions", numbers.len()), "use fewer"));
    }
    numbers.iter().map(size).collect()
}

/// As the caller's memory has it.
pub(super) fn observed_view(value: &ObservedValue) -> Result<View> {
    let (sizes, strides) = (sizes(&value.shape)?, sizes(&value.strides)?);
    if sizes.len() != strides.len() {
        return Err(Error::Internal(format!("{} sizes with {} strides", sizes.len(), strides.len())));
    }
    Ok(View { offset: 0, sizes, strides })
}
