//! Loops over scalar functions, which Clad differentiates.

use super::super::super::reverse::Begin;
use super::super::lines::emit;
use super::fusion::Body;
use super::{Emitter, joined};
use crate::graph::View;
use crate::graph::program::{Node, Tensor};

impl Emitter<'_> {
    /// A loop over a scalar function.
    pub fn fused(&mut self, index: usize, body: &Body, begins: &[Option<Begin>]) {
        let node = &self.program.nodes[index];
        let Body { leaves, text, result, .. } = body;
        let names: Vec<String> = (0..leaves.len()).map(|leaf| format!("T x{leaf}")).collect();
        let active: Vec<usize> = (0..begins.len()).filter(|&leaf| begins[leaf].is_some()).collect();
        let parameters = joined(&names, "T seed");
        // Times a seed: a function of several numbers, which Clad differentiates in reverse.
        emit!(
            self.steps,
            "namespace {{\ninline T body_{index}({parameters})\n{{\n{text}   return seed * {result};\n}}"
        );
        if !active.is_empty() {
            let adjoints: Vec<String> = active.iter().map(|leaf| format!("T *_d_x{leaf}")).collect();
            let derived = derivative(index, &active);
            emit!(self.steps, "void {derived}({parameters}, {}); // by Clad", adjoints.join(", "));
            let wanted: Vec<String> = active.iter().map(|leaf| format!("x{leaf}")).collect();
            emit!(self.requests, "   clad::gradient(body_{index}, \"{}\");", wanted.join(", "));
        }
        emit!(self.steps, "}} // namespace");
        let nest = Nest::new(&node.shape, leaves);
        let forward = self.loop_forward(index, node, leaves, &nest);
        let backward = self.loop_backward(index, node, leaves, begins, &active, &nest);
        let operands: Vec<usize> = leaves.iter().map(|leaf| leaf.buffer).collect();
        self.step(index, &operands, &forward, &backward);
    }

    /// The elements that a round of the loop reads.
    fn reads(&self, leaves: &[&Tensor], nest: &Nest) -> Vec<String> {
        let read = |(i, leaf): (usize, &&Tensor)| format!("{}[{}]", self.variable(leaf.buffer), nest.index(i));
        leaves.iter().enumerate().map(read).collect()
    }

    fn loop_forward(&self, index: usize, node: &Node, leaves: &[&Tensor], nest: &Nest) -> String {
        let (value, reads) = (self.variable(node.buffer), self.reads(leaves, nest));
        let inside = format!("{value}[{}] = body_{index}({});", nest.index(leaves.len()), joined(&reads, "1"));
        nest.text("CT_ELEMENTWISE", &[], &inside, &[])
    }

    fn loop_backward(
        &self,
        index: usize,
        node: &Node,
        leaves: &[&Tensor],
        begins: &[Option<Begin>],
        active: &[usize],
        nest: &Nest,
    ) -> String {
        if active.is_empty() {
            return String::new();
        }
        let value = self.variable(node.buffer);
        let (mut zeros, mut before, mut after) = (String::new(), Vec::new(), Vec::new());
        let declared: Vec<String> = active.iter().map(|leaf| format!("d{leaf} = 0")).collect();
        let mut inside = format!("T {};\n", declared.join(", "));
        let addresses: Vec<String> = active.iter().map(|leaf| format!("&d{leaf}")).collect();
        let seed = format!("_d_{value}[{}]", nest.index(leaves.len()));
        let (reads, addresses) = (self.reads(leaves, nest).join(", "), addresses.join(", "));
        emit!(inside, "{}({reads}, {seed}, {addresses});", derivative(index, active));
        let times = |buffer: usize| active.iter().filter(|&&leaf| leaves[leaf].buffer == buffer).count();
        for &leaf in active {
            let buffer = leaves[leaf].buffer;
            // Two views of one adjoint are written in turns.
            let alone = times(buffer) == 1;
            if begins[leaf] == Some(Begin::Zero) || (begins[leaf] == Some(Begin::Store) && !alone) {
                self.zeros(&mut zeros, buffer);
            }
            let target = format!("_d_{}[{}]", self.variable(buffer), nest.index(leaf));
            if begins[leaf] == Some(Begin::Store) && alone {
                inside.push_str(&format!("{target} = d{leaf};\n"));
            } else if nest.is_inner_constant(leaf) {
                before.push(format!("T sum{leaf} = 0;"));
                inside.push_str(&format!("sum{leaf} += d{leaf};\n"));
                after.push(format!("{target} += sum{leaf};"));
            } else {
                inside.push_str(&format!("{target} += d{leaf};\n"));
            }
        }
        // Safe where no two adjoints are the same memory and no row of one overlaps itself.
        let safe = active.iter().all(|&leaf| times(leaves[leaf].buffer) == 1);
        zeros + &nest.text(if safe { "CT_ELEMENTWISE" } else { "" }, &before, inside.trim_end(), &after)
    }
}

/// The name that Clad gives the derivative of a loop's body by some of what it reads.
fn derivative(index: usize, active: &[usize]) -> String {
    let derived: String = active.iter().map(|leaf| format!("_{leaf}")).collect();
    format!("body_{index}_grad{derived}")
}

/// Loops over a shape, dimensions joined where all operands allow it; the last operand is the dense value.
pub(crate) struct Nest {
    sizes: Vec<usize>,
    offsets: Vec<usize>,
    strides: Vec<Vec<usize>>,
}

impl Nest {
    /// For a value of that shape.
    pub(crate) fn new(shape: &[usize], leaves: &[&Tensor]) -> Self {
        let dense = View::contiguous(shape);
        let views: Vec<&View> = leaves.iter().map(|leaf| &leaf.view).chain([&dense]).collect();
        let mut nest = Nest {
            sizes: Vec::new(),
            offsets: views.iter().map(|view| view.offset).collect(),
            strides: vec![Vec::new(); views.len()],
        };
        for dim in (0..shape.len()).filter(|&dim| shape[dim] != 1) {
            let joins = !nest.sizes.is_empty()
                && nest.strides.iter().zip(&views).all(|(s, view)| s.last() == Some(&(view.strides[dim] * shape[dim])));
            if joins {
                *nest.sizes.last_mut().expect("not empty") *= shape[dim];
            } else {
                nest.sizes.push(shape[dim]);
            }
            for (strides, view) in nest.strides.iter_mut().zip(&views) {
                if joins {
                    strides.pop();
                }
                strides.push(view.strides[dim]);
            }
        }
        nest
    }

    /// Where an operand's element is, in the loops' variables.
    pub(crate) fn index(&self, operand: usize) -> String {
        let mut terms = Vec::new();
        for (dim, &stride) in self.strides[operand].iter().enumerate().filter(|(_, stride)| **stride > 0) {
            terms.push(if stride == 1 { format!("i{dim}") } else { format!("i{dim} * {stride}") });
        }
        if self.offsets[operand] > 0 || terms.is_empty() {
            terms.push(self.offsets[operand].to_string());
        }
        terms.join(" + ")
    }

    /// Whether the operand does not change in the innermost loop.
    fn is_inner_constant(&self, operand: usize) -> bool {
        self.strides[operand].last().is_some_and(|&stride| stride == 0)
    }

    /// The loops around `inside`; `before` and `after` stand around the innermost one.
    pub(crate) fn text(&self, pragma: &str, before: &[String], inside: &str, after: &[String]) -> String {
        let mut text = String::from("   {\n");
        let Some((last, outer)) = self.sizes.split_last() else {
            emit!(text, "{inside}\n   }}");
            return text;
        };
        for (dim, size) in outer.iter().enumerate() {
            emit!(text, "   for (size_t i{dim} = 0; i{dim} < {size}; ++i{dim}) {{");
        }
        let inner = outer.len();
        before.iter().for_each(|line| emit!(text, "   {line}"));
        if !pragma.is_empty() {
            emit!(text, "   {pragma}");
        }
        emit!(text, "   for (size_t i{inner} = 0; i{inner} < {last}; ++i{inner}) {{\n{inside}\n   }}");
        after.iter().for_each(|line| emit!(text, "   {line}"));
        text.push_str(&"   }\n".repeat(outer.len() + 1));
        text
    }
}
