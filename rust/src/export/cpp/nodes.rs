//! The primitives of a program in C++, for one event. A buffer is an array: `x` the event, `v3` the value of node 3, `c5` constants.

use std::collections::HashSet;

use super::text::{array, places};
use crate::error::Result;
use crate::export::Plan;
use crate::gradient::{Body, Group, Nest, by_name, emit, groups};
use crate::graph::View;
use crate::graph::program::{Gather, Node, Origin, Primitive, Product, Tensor};
use crate::kernels::strided::{Convolution, Ranking};

/// Values of more numbers do not lie on the stack.
const LARGEST_STACK: usize = 1 << 14;
/// A layer of fewer outputs sums each by itself.
pub(super) const NARROW: usize = 8;

/// Of a header.
#[derive(Default)]
pub struct Network {
    /// Arrays of numbers.
    pub constants: String,
    /// The scalar functions of loops.
    pub functions: String,
    /// Statements that compute `predictions` from `x`.
    pub body: String,
    /// With the gradient: statements that declare the adjoints, and those that give `dx` from `seed`.
    pub adjoints: String,
    pub pullback: String,
}

/// Writes the nodes of a plan.
pub struct Writer<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) groups: Vec<Group>,
    pub(super) network: Network,
    /// Before the declaration of a value or an adjoint.
    pub(super) storage: &'static str,
    /// Buffers whose constants are written.
    written: HashSet<usize>,
}

impl<'a> Writer<'a> {
    pub fn new(plan: &'a Plan<'a>) -> Self {
        let mut groups = groups(&plan.program);
        for (node, group) in plan.program.nodes.iter().zip(&mut groups) {
            // What does not depend on the event is a constant, and no part of a loop.
            if !plan.is_event(node.buffer) {
                *group = Group::Root;
            }
        }
        Writer { plan, groups, network: Network::default(), storage: "", written: HashSet::new() }
    }

    /// All nodes, and the network's outputs into `predictions`; with the gradient their pullbacks.
    pub fn run(mut self, gradient: bool) -> Result<Network> {
        let plan = self.plan;
        let due: Vec<(usize, &Node)> = plan.nodes().filter(|(index, _)| self.groups[*index] == Group::Root).collect();
        let total: usize = due.iter().map(|(_, node)| plan.program.buffers[node.buffer].length).sum();
        self.storage = if total > LARGEST_STACK { "static thread_local " } else { "" };
        for &(index, node) in &due {
            let length = plan.program.buffers[node.buffer].length;
            emit!(self.network.body, "   {}float v{index}[{length}];", self.storage);
            self.node(index, node)?;
        }
        let result = plan.result();
        let nest = Nest::new(&result.view.sizes, &[result]);
        let copy = format!("predictions[{}] = {}[{}];", nest.index(1), self.variable(result.buffer), nest.index(0));
        self.network.body += &nest.text("", &[], &copy, &[]);
        if gradient {
            self.pull_back(&due)?;
        }
        Ok(self.network)
    }

    /// The array of a buffer, whose constants are written where it has some.
    pub(super) fn variable(&mut self, buffer: usize) -> String {
        match self.plan.program.buffers[buffer].origin {
            Origin::Node(index) if self.plan.is_event(buffer) => format!("v{index}"),
            Origin::Argument(_) if self.plan.is_event(buffer) => "x".to_owned(),
            _ => {
                let name = format!("c{buffer}");
                if self.written.insert(buffer) {
                    self.network.constants += &array(&name, self.plan.constant(buffer));
                }
                name
            }
        }
    }

    fn node(&mut self, index: usize, node: &Node) -> Result<()> {
        let value = format!("v{index}");
        match &node.primitive {
            Primitive::Map(_) => self.loop_of(index, node),
            Primitive::Sum(target) => {
                self.fill(&value, node, "0");
                self.reduce(&value, node, target.clone(), |to, x| format!("{to} += {x};"));
            }
            Primitive::Max { .. } => {
                self.fill(&value, node, "-std::numeric_limits<float>::infinity()");
                let target = rows_of(node);
                // A NaN is greater than all.
                self.reduce(&value, node, target, |to, x| format!("if ({x} > {to} || {x} != {x})\n{to} = {x};"));
            }
            Primitive::Length(_) => {
                self.fill(&value, node, "0");
                self.reduce(&value, node, rows_of(node), |to, x| format!("{to} += {x} * {x};"));
                let length: usize = node.shape.iter().product();
                emit!(
                    self.network.body,
                    "   for (size_t i = 0; i < {length}; ++i)\n      {value}[i] = std::sqrt({value}[i]);"
                );
            }
            Primitive::Softmax { columns, side, logarithm } => {
                self.copy(&value, &node.operands[0], View::contiguous(&node.shape));
                let matrices = node.shape.iter().product::<usize>() / (columns * side).max(1);
                emit!(self.network.body, "   SoftmaxRows<{columns}, {side}, {logarithm}>({matrices}, {value});");
            }
            Primitive::Normalise { columns, eps } => {
                let rows = node.shape.iter().product::<usize>() / (*columns).max(1);
                let names = [0, 1, 2].map(|at| self.variable(node.operands[at].buffer)).join(", ");
                emit!(self.network.body, "   NormaliseRows<{columns}>({rows}, {eps:?}, {names}, {value});");
            }
            Primitive::Product(product) => self.product(index, node, product),
            Primitive::Convolve(convolution) => self.convolve(&value, node, convolution),
            Primitive::Argsort(ranking) => {
                if node.operands[0].view.len() > LARGEST_STACK {
                    return Err(self.plan.refuse(node, "sorts more numbers than the stack has room for"));
                }
                let rows = format!("r{index}");
                emit!(self.network.body, "   float {rows}[{}];", node.operands[0].view.len());
                self.copy(&rows, &node.operands[0], View::contiguous(&node.operands[0].view.sizes));
                let Ranking { order, descending, columns, count } = *ranking;
                let (order, lines) = (order as u8, node.operands[0].view.len() / columns.max(1));
                emit!(
                    self.network.body,
                    "   PlacesInOrder<{order}, {descending}, {columns}, {count}>({lines}, {rows}, {value});"
                );
            }
            Primitive::Gather(gather) if self.plan.is_event(node.operands[1].buffer) => {
                self.gather(&value, node, gather)?;
            }
            Primitive::Gather(_) => {
                let table = format!("g{index}");
                self.network.constants += &places(&table, self.plan.gathered(node)?.into_iter());
                let (length, from) = (node.shape.iter().product::<usize>(), self.variable(node.operands[0].buffer));
                emit!(
                    self.network.body,
                    "   for (size_t i = 0; i < {length}; ++i)\n      {value}[i] = {table}[i] < 0 ? 0 : {from}[{table}[i]];"
                );
            }
            Primitive::Concat { fill, places } => {
                self.fill(&value, node, &format!("T({})", super::text::number(*fill as f32)));
                for (operand, place) in node.operands.iter().zip(places) {
                    self.copy(&value, operand, place.clone());
                }
            }
            Primitive::Custom(_) => {
                return Err(self.plan.refuse(node, "is C++ of the user's own, which may need more than a header"));
            }
            Primitive::Scatter(_) => {
                return Err(self.plan.refuse(node, "adds elements at the places of an index"));
            }
            Primitive::Moments(_) | Primitive::Standardise { .. } => {
                return Err(self.plan.refuse(node, "takes the statistics of a batch"));
            }
            Primitive::Load(_)
            | Primitive::Linear(_)
            | Primitive::Round(_)
            | Primitive::Pack(_)
            | Primitive::Unpack(_) => {
                return Err(self.plan.refuse(node, "is no operator of a plan"));
            }
        }
        Ok(())
    }

    /// A loop over element-wise functions.
    fn loop_of(&mut self, index: usize, node: &Node) {
        let Body { leaves, text, result, .. } = Body::new(&self.plan.program, &self.groups, index, by_name);
        let parameters: Vec<String> = (0..leaves.len()).map(|leaf| format!("T x{leaf}")).collect();
        let parameters = parameters.join(", ");
        emit!(self.network.functions, "inline T f{index}({parameters})\n{{\n{text}   return {result};\n}}\n");
        let nest = Nest::new(&node.shape, &leaves);
        let reads: Vec<String> = leaves
            .iter()
            .enumerate()
            .map(|(leaf, tensor)| format!("{}[{}]", self.variable(tensor.buffer), nest.index(leaf)))
            .collect();
        let inside = format!("v{index}[{}] = f{index}({});", nest.index(leaves.len()), reads.join(", "));
        self.network.body += &nest.text("", &[], &inside, &[]);
    }

    /// Every element of the value becomes `number`.
    fn fill(&mut self, value: &str, node: &Node, number: &str) {
        let length: usize = node.shape.iter().product();
        emit!(self.network.body, "   for (size_t i = 0; i < {length}; ++i)\n      {value}[i] = {number};");
    }

    /// Goes through the first operand and the view `target` of the value together.
    fn reduce(&mut self, value: &str, node: &Node, target: View, step: impl Fn(&str, &str) -> String) {
        let operand = &node.operands[0];
        let place = Tensor { buffer: node.buffer, view: target, kind: operand.kind };
        let nest = Nest::new(&operand.view.sizes, &[operand, &place]);
        let from = format!("{}[{}]", self.variable(operand.buffer), nest.index(0));
        let inside = step(&format!("{value}[{}]", nest.index(1)), &from);
        self.network.body += &nest.text("", &[], &inside, &[]);
    }

    /// An operand to the view `place` of the value.
    fn copy(&mut self, value: &str, operand: &Tensor, place: View) {
        let place = Tensor { view: place, ..operand.clone() };
        let nest = Nest::new(&operand.view.sizes, &[operand, &place]);
        let from = format!("{}[{}]", self.variable(operand.buffer), nest.index(0));
        let inside = format!("{value}[{}] = {from};", nest.index(1));
        self.network.body += &nest.text("", &[], &inside, &[]);
    }

    /// Elements at places that are computed for the event; none lies beyond its dimension, whatever they are.
    fn gather(&mut self, value: &str, node: &Node, gather: &Gather) -> Result<()> {
        if gather.skip.is_some() {
            return Err(self.plan.refuse(node, "leaves out an index that is computed from the event"));
        }
        let [source, index] = [&node.operands[0], &node.operands[1]];
        let nest = Nest::new(&node.shape, &[source, index]);
        let [from, places] = [source, index].map(|operand| self.variable(operand.buffer));
        let place = format!("Bounded<{}>({places}[{}], {})", gather.from_end, nest.index(1), gather.size);
        let to = nest.index(2);
        // Predictions refuse what is no place; here they are not a number then.
        let is_place = format!("IsPlace<{}>({places}[{}], {})", gather.from_end, nest.index(1), gather.size);
        let element = format!("{from}[{} + {place} * {}]", nest.index(0), gather.stride);
        let inside = format!("{value}[{to}] = {is_place} ? {element} : T(NAN);");
        self.network.body += &nest.text("", &[], &inside, &[]);
        Ok(())
    }

    fn product(&mut self, index: usize, node: &Node, product: &Product) {
        let [x, w] = [&node.operands[0], &node.operands[1]];
        let [x_row, x_column] = steps(x);
        if self.is_layer(node, product) {
            let bias = self.bias(index, node, product.n);
            return self.layer(index, x, w, product, x_row, &bias);
        }
        let value = format!("v{index}");
        match node.operands.get(2) {
            Some(start) => self.copy(&value, start, View::contiguous(&node.shape)),
            None => self.fill(&value, node, "0"),
        }
        let &Product { m, n, k, ref batches } = product;
        let ([w_row, w_column], names) = (steps(w), [x, w].map(|operand| self.variable(operand.buffer)));
        let [x, w] = names;
        let call = |[a, b]: [&str; 2], to: &str| {
            format!("AddProduct({m}, {n}, {k}, {x} + {a}, {x_row}, {x_column}, {w} + {b}, {w_row}, {w_column}, {to});")
        };
        if let [[a, b]] = batches[..] {
            return emit!(self.network.body, "   {}", call([&a.to_string(), &b.to_string()], &value));
        }
        let starts: Vec<String> = batches.iter().map(|[a, b]| format!("{{{a}, {b}}}")).collect();
        emit!(self.network.constants, "inline constexpr size_t s{index}[][2] = {{{}}};\n", starts.join(", "));
        let inside =
            call([&format!("s{index}[i][0]"), &format!("s{index}[i][1]")], &format!("{value} + i * {}", m * n));
        emit!(self.network.body, "   for (size_t i = 0; i < {}; ++i)\n      {inside}", batches.len());
    }

    /// Whether rows are multiplied by a constant matrix, and the same row of constants, or nothing, is added to each.
    pub(super) fn is_layer(&self, node: &Node, product: &Product) -> bool {
        let has_bias = match node.operands.get(2) {
            Some(start) => node.bias().is_some() && !self.plan.is_event(start.buffer),
            None => true,
        };
        let [x, w] = [&node.operands[0], &node.operands[1]];
        has_bias && !self.plan.is_event(w.buffer) && product.batches.len() == 1 && steps(x)[1] == 1
    }

    /// The term that is added to every row of a layer, as an array.
    fn bias(&mut self, index: usize, node: &Node, n: usize) -> String {
        match (node.operands.get(2), node.bias()) {
            (Some(start), Some(offset)) => format!("{} + {offset}", self.variable(start.buffer)),
            _ => {
                let name = format!("b{index}");
                self.network.constants += &array(&name, &vec![0.0; n]);
                name
            }
        }
    }

    /// Rows times a constant matrix, whose elements are written in the order in which the loops read them.
    fn layer(&mut self, index: usize, x: &Tensor, w: &Tensor, product: &Product, x_row: usize, bias: &str) {
        let &Product { m, n, k, .. } = product;
        let (name, view) = (format!("w{index}"), &w.view);
        let rank = view.rank();
        let matrix = (0..rank - 2).fold(view.clone(), |view, _| view.select(0, 0));
        let (function, matrix) = match n < NARROW {
            true => ("NarrowLayer", matrix.transpose(0, 1)),
            false => ("Layer", matrix),
        };
        self.network.constants += &array(&name, &self.plan.elements(w.buffer, &matrix));
        let (from, offset) = (self.variable(x.buffer), x.view.offset);
        let call = format!("{function}<{k}, {n}>({from} + {offset}");
        match m {
            1 => emit!(self.network.body, "   {call}, {name}, {bias}, v{index});"),
            _ => emit!(
                self.network.body,
                "   for (size_t i = 0; i < {m}; ++i)\n      {call} + i * {x_row}, {name}, {bias}, v{index} + i * {n});"
            ),
        }
    }

    fn convolve(&mut self, value: &str, node: &Node, c: &Convolution) {
        match node.operands.get(2) {
            Some(bias) => self.copy(value, bias, View::contiguous(&node.shape)),
            None => self.fill(value, node, "0"),
        }
        let [x, w] = [0, 1].map(|at| self.variable(node.operands[at].buffer));
        let &Convolution { events, groups, inputs, outputs, taps, dilation, length } = c;
        let sizes = [events, groups, inputs, outputs, taps, dilation, length].map(|size| size.to_string()).join(", ");
        emit!(self.network.body, "   AddConvolution<{sizes}>({x}, {w}, {value});");
    }
}

/// Between neighbouring rows and columns of matrices.
pub(super) fn steps(tensor: &Tensor) -> [usize; 2] {
    let rank = tensor.view.rank();
    [tensor.view.strides[rank - 2], tensor.view.strides[rank - 1]]
}

/// A view of a node's value in the shape of its first operand, whose last dimensions it has reduced.
fn rows_of(node: &Node) -> View {
    let sizes = &node.operands[0].view.sizes;
    let mut view = View::contiguous(&node.shape);
    view.strides.resize(sizes.len(), 0);
    View { sizes: sizes.clone(), ..view }
}
