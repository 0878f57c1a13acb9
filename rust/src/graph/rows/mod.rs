//! Splits programs with independent rows into what is the same for all rows, a block of rows, and what follows from
//! sums over rows. A batch can then run block by block, each of which fits in a core's own cache, on any number of
//! threads.
//!
//! The rows of a tensor run along its first dimension of more than one element, or are equal runs of it: a tensor
//! [N, P, F] seen as [N P, F] has the same N rows. In a dense buffer each row is one run of elements. Whether an
//! operator keeps rows apart follows from its views alone: each operand's elements that meet a row of the value lie in
//! one row of the operand, or are the same for all rows.

mod cutting;
mod terms;

use std::collections::BTreeSet;

use super::lifetimes::{ended_buffers, keeps_values};
use super::program::{Kind, Node, Origin, Primitive, Tensor};
use super::{Program, View};
use crate::error::Result;
use cutting::Cutting;
pub use terms::terms_of_mean;

/// The relation of a buffer's elements to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Nothing.
    Shared,
    /// So many of them belong to each row.
    Rows(usize),
    /// They result from sums over all rows.
    Summed,
}

/// Where an argument of a [`Subprogram`] comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The argument of the whole program.
    Argument(usize),
    /// That output of [`RowCut::before`].
    Shared(usize),
    /// The sum over all blocks of what belongs to [`RowCut::totals`].
    Total(usize),
}

/// A separate program, cut out of a whole one.
pub struct Subprogram {
    /// Its nodes say which observed ones they belong to.
    pub program: Program,
    /// Where each of its arguments comes from.
    pub inputs: Vec<Input>,
}

/// A program and its rows.
pub struct RowCut<'a> {
    program: &'a Program,
    count: usize,
    /// For each argument, whether its first dimension counts rows.
    has_rows: Vec<bool>,
    /// The role of each buffer.
    roles: Vec<Role>,
    /// Buffers that nodes compute from what all rows share, and that others read.
    shared: Vec<usize>,
    /// Buffers that are sums over rows.
    totals: Vec<usize>,
}

impl<'a> RowCut<'a> {
    /// Finds the rows, if the program has some that can be told apart and most of its numbers belong to them.
    pub fn find(program: &'a Program) -> Option<Self> {
        if !program.updates.is_empty() || program.buffers.iter().any(|buffer| buffer.length == 0) {
            return None;
        }
        let leading = program.arguments.iter().filter_map(|argument| argument.view.sizes.first());
        let counts: BTreeSet<usize> = leading.copied().filter(|&count| count > 1).collect();
        counts.into_iter().rev().filter_map(|count| RowCut::of(program, count)).find(RowCut::are_most)
    }

    /// Arguments whose first dimension is `count` have rows, but those that cannot: a square weight matrix in a batch of
    /// just as many rows.
    fn of(program: &'a Program, count: usize) -> Option<Self> {
        let mut has_rows: Vec<bool> =
            program.arguments.iter().map(|argument| argument.view.sizes.first() == Some(&count)).collect();
        loop {
            match RowCut::with(program, count, has_rows.clone()) {
                Ok(rows) => return Some(rows),
                // Data come before parameters in a list of arguments.
                Err(suspects) => has_rows[*suspects.last()?] = false,
            }
        }
    }

    /// With rows in these arguments; else those of them that meet where rows are brought together.
    fn with(program: &'a Program, count: usize, has_rows: Vec<bool>) -> Result<Self, Vec<usize>> {
        let roles = vec![Role::Shared; program.buffers.len()];
        let mut rows = RowCut { program, count, has_rows, roles, shared: vec![], totals: vec![] };
        for (buffer, role) in program.buffers.iter().zip(&mut rows.roles) {
            if let Origin::Argument(index) = buffer.origin
                && rows.has_rows[index]
            {
                *role = Role::Rows(program.arguments[index].view.strides[0]);
            }
        }
        for node in &program.nodes {
            rows.roles[node.buffer] = rows.role(node).ok_or_else(|| rows.suspects(node))?;
            if rows.is_row_node(node) && rows.roles[node.buffer] == Role::Summed {
                rows.totals.push(node.buffer);
            }
        }
        rows.shared = rows.shared_values();
        match program.outputs.iter().all(|output| rows.is_output(output)) {
            true => Ok(rows),
            false => Err(Vec::new()),
        }
    }

    /// Arguments with rows among the node's operands, in their order. Where an index chooses, it is among what it chooses from.
    fn suspects(&self, node: &Node) -> Vec<usize> {
        let tensors = match node.primitive {
            Primitive::Gather(_) if self.is_of_rows(&node.operands[0]) => &node.operands[..1],
            _ => &node.operands,
        };
        let arguments = self.program.arguments.iter().enumerate().filter(|(index, argument)| {
            self.has_rows[*index] && tensors.iter().any(|tensor| tensor.buffer == argument.buffer)
        });
        arguments.map(|(index, _)| index).collect()
    }

    /// Rows of the whole batch.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Elements per row that nodes compute, or, if these are more, that one of them reads from an argument.
    pub fn numbers(&self) -> usize {
        self.program.nodes.iter().map(|node| self.own_numbers(node.buffer)).sum::<usize>().max(self.read_numbers())
    }

    /// The same of what is needed at once.
    pub fn numbers_at_once(&self) -> usize {
        if keeps_values(self.program) {
            return self.numbers();
        }
        let (mut now, mut most) = (0, self.read_numbers());
        for (node, ended) in self.program.nodes.iter().zip(ended_buffers(self.program)) {
            now += self.own_numbers(node.buffer);
            most = most.max(now);
            now -= ended.into_iter().map(|buffer| self.own_numbers(buffer)).sum::<usize>();
        }
        most
    }

    /// Numbers of a row in a buffer.
    fn own_numbers(&self, buffer: usize) -> usize {
        if let Role::Rows(numbers) = self.roles[buffer] { numbers } else { 0 }
    }

    /// The most that is read of a row of an argument.
    fn read_numbers(&self) -> usize {
        let operands = self.program.nodes.iter().flat_map(|node| &node.operands);
        let is_argument = |buffer: usize| matches!(self.program.buffers[buffer].origin, Origin::Argument(_));
        operands
            .filter(|operand| is_argument(operand.buffer))
            .map(|operand| self.numbers_of(operand))
            .max()
            .unwrap_or(0)
    }

    /// Numbers of a row that an operand shows.
    fn numbers_of(&self, operand: &Tensor) -> usize {
        self.own_numbers(operand.buffer).min(operand.view.len().div_ceil(self.count().max(1)))
    }

    /// The number of rows with which nodes have this many elements, on average: those that they compute, or, if these are more,
    /// that they read from one operand.
    pub fn rows_with(&self, elements: usize) -> usize {
        let work = |node: &Node| {
            let read = node.operands.iter().map(|operand| self.numbers_of(operand));
            read.chain([self.own_numbers(node.buffer)]).max().unwrap_or(0)
        };
        let numbers = self.program.nodes.iter().map(work).filter(|&numbers| numbers > 0);
        let (count, total) = numbers.fold((0, 0), |(count, total), numbers| (count + 1, total + numbers));
        (elements * count).div_ceil(total.max(1))
    }

    /// Numbers that all rows share and that nodes with rows read.
    pub fn common_elements(&self) -> usize {
        let nodes = self.program.nodes.iter().filter(|node| self.is_row_node(node));
        let read = nodes.flat_map(|node| &node.operands).map(|operand| operand.buffer);
        let buffers: BTreeSet<usize> = read.filter(|&buffer| self.roles[buffer] == Role::Shared).collect();
        buffers.into_iter().map(|buffer| self.program.buffers[buffer].length).sum()
    }

    /// Lengths of the sums over rows, in the order in which a block returns them.
    pub fn totals(&self) -> impl Iterator<Item = usize> + '_ {
        self.totals.iter().map(|&buffer| self.program.buffers[buffer].length)
    }

    /// Outputs of the program that a block returns a part of, in its order.
    pub fn row_outputs(&self) -> Vec<usize> {
        self.outputs(true)
    }

    /// Outputs of the program that [`RowCut::after`] returns, in its order.
    pub fn other_outputs(&self) -> Vec<usize> {
        self.outputs(false)
    }

    /// Elements of the caller's memory between a row of this argument and the next; 0 where all rows share it.
    pub fn step(&self, argument: usize) -> usize {
        let view = &self.program.arguments[argument].view;
        if self.has_rows(argument) { view.strides[0] } else { 0 }
    }

    /// Whether the argument's first dimension counts rows.
    pub fn has_rows(&self, argument: usize) -> bool {
        self.has_rows[argument]
    }

    /// The part that runs once before all blocks; its outputs are what they read of it.
    pub fn before(&self) -> Result<Subprogram> {
        let mut cutting = Cutting::new(self, self.count);
        for node in self.program.nodes.iter().filter(|node| self.roles[node.buffer] == Role::Shared) {
            cutting.add(node)?;
        }
        for &buffer in &self.shared {
            cutting.returns(&self.whole(buffer))?;
        }
        Ok(cutting.part)
    }

    /// A block of this many rows; it returns its rows of the program's outputs, then its sums.
    pub fn block(&self, rows: usize) -> Result<Subprogram> {
        let mut cutting = Cutting::new(self, rows);
        for argument in (0..self.program.arguments.len()).filter(|&argument| self.has_rows(argument)) {
            cutting.argument(argument)?;
        }
        for node in self.program.nodes.iter().filter(|node| self.is_row_node(node)) {
            cutting.add(node)?;
        }
        for output in self.row_outputs() {
            let tensor = &self.program.outputs[output];
            let dim = outermost(&tensor.view.sizes);
            cutting.returns(&Tensor { view: cutting.cut(&tensor.view, dim), ..tensor.clone() })?;
        }
        for &buffer in &self.totals {
            cutting.returns(&self.whole(buffer))?;
        }
        Ok(cutting.part)
    }

    /// The part that runs once after all blocks.
    pub fn after(&self) -> Result<Subprogram> {
        let mut cutting = Cutting::new(self, self.count);
        let is_mine = |node: &&Node| self.roles[node.buffer] == Role::Summed && !self.is_row_node(node);
        for node in self.program.nodes.iter().filter(is_mine) {
            cutting.add(node)?;
        }
        for output in self.other_outputs() {
            cutting.returns(&self.program.outputs[output])?;
        }
        Ok(cutting.part)
    }

    fn outputs(&self, of_rows: bool) -> Vec<usize> {
        let outputs = self.program.outputs.iter().enumerate();
        outputs.filter(|(_, output)| self.is_of_rows(output) == of_rows).map(|(index, _)| index).collect()
    }

    /// Whether most of the work belongs to rows: else the rows that were found are not those of the batch.
    fn are_most(&self) -> bool {
        let lengths = |node: &Node| node.operands.iter().map(|operand| operand.view.len()).max();
        let work = |node: &Node| lengths(node).unwrap_or(0).max(self.program.buffers[node.buffer].length);
        let [all, own] = self.program.nodes.iter().fold([0, 0], |[all, own], node| {
            [all + work(node), own + if self.is_row_node(node) { work(node) } else { 0 }]
        });
        2 * own > all
    }

    fn is_of_rows(&self, tensor: &Tensor) -> bool {
        matches!(self.roles[tensor.buffer], Role::Rows(_))
    }

    fn is_row_node(&self, node: &Node) -> bool {
        node.operands.iter().any(|operand| self.is_of_rows(operand))
    }

    fn is_output(&self, output: &Tensor) -> bool {
        !self.is_of_rows(output) || self.fits(output, outermost(&output.view.sizes))
    }

    /// Shared values of nodes that blocks, what comes after them, or results read.
    fn shared_values(&self) -> Vec<usize> {
        let is_shared = |tensor: &&Tensor| self.roles[tensor.buffer] == Role::Shared;
        let readers = self.program.nodes.iter().filter(|node| self.roles[node.buffer] != Role::Shared);
        let read = readers.flat_map(|node| &node.operands).chain(&self.program.outputs).filter(is_shared);
        let is_computed = |buffer: &usize| matches!(self.program.buffers[*buffer].origin, Origin::Node(_));
        let buffers: BTreeSet<usize> = read.map(|tensor| tensor.buffer).filter(is_computed).collect();
        buffers.into_iter().collect()
    }

    /// A buffer as a tensor.
    fn whole(&self, buffer: usize) -> Tensor {
        Tensor { buffer, view: View::contiguous(&[self.program.buffers[buffer].length]), kind: Kind::Number }
    }

    /// The role of a node's value; `None` if it combines rows in any other way than by adding them up.
    fn role(&self, node: &Node) -> Option<Role> {
        let is_summed = node.operands.iter().any(|operand| self.roles[operand.buffer] == Role::Summed);
        match (self.is_row_node(node), is_summed) {
            (false, false) => Some(Role::Shared),
            (false, true) => Some(Role::Summed),
            (true, true) => None,
            (true, false) => self.row_role(node),
        }
    }

    fn row_role(&self, node: &Node) -> Option<Role> {
        let length = self.program.buffers[node.buffer].length;
        let own = Role::Rows(length / self.count);
        if self.is_whole_load(node) {
            return Some(own);
        }
        let dim = frame_dim(node);
        if let Primitive::Sum(target) = &node.primitive
            && self.fits(&node.operands[0], dim)
            && target.strides[dim] == 0
        {
            return Some(Role::Summed);
        }
        if self.sums_products(node) {
            return Some(Role::Summed);
        }
        let keeps_rows = length.is_multiple_of(self.count) && self.keeps_rows(node, dim, length / self.count);
        keeps_rows.then_some(own)
    }

    /// Whether a node is one product that goes down the rows of both its factors, as that of two vectors does, and no longer than
    /// these: blocks of rows give a term of it each.
    fn sums_products(&self, node: &Node) -> bool {
        let (Primitive::Product(product), [first, second]) = (&node.primitive, &node.operands[..]) else {
            return false;
        };
        let [first_dim, second_dim] = CONTRACTED;
        node.shape.len() == 2
            && product.m * product.n <= product.k
            && self.is_of_rows(first)
            && self.is_of_rows(second)
            && self.fits(first, first_dim)
            && self.fits(second, second_dim)
    }

    /// Whether a node maps each row of the operands, whose dimension `dim` counts rows, to a row of `numbers` numbers.
    fn keeps_rows(&self, node: &Node, dim: usize, numbers: usize) -> bool {
        let rank = node.shape.len();
        let all_fit = || node.operands.iter().all(|operand| self.fits(operand, dim));
        match &node.primitive {
            Primitive::Load(_) | Primitive::Map(_) | Primitive::Custom(_) => all_fit(),
            Primitive::Sum(target) => all_fit() && self.is_cut_by_rows(target, dim, numbers),
            Primitive::Max { .. } | Primitive::Length(_) => dim < rank && all_fit(),
            Primitive::Argsort(_) => dim + 1 < rank && all_fit(),
            Primitive::Softmax { columns, side, .. } => {
                let behind: usize = node.shape[(dim + 1).min(rank)..].iter().product();
                dim + 1 < rank && behind.is_multiple_of(columns * side) && all_fit()
            }
            Primitive::Normalise { columns, .. } => {
                numbers.is_multiple_of(*columns)
                    && all_fit()
                    && node.operands[1..].iter().all(|operand| !self.is_of_rows(operand))
            }
            // Rows of one product, whose second factor is as long as ever, or one product and more for each row.
            Primitive::Product(_) if dim + 2 == rank => {
                !self.is_of_rows(&node.operands[1])
                    && node.operands.iter().step_by(2).all(|operand| self.fits(operand, dim))
            }
            Primitive::Product(_) => dim + 2 < rank && all_fit(),
            // Only what is run at once is packed.
            Primitive::Linear(_) | Primitive::Round(_) | Primitive::Pack(_) | Primitive::Unpack(_) => false,
            // Moments are those of all rows.
            Primitive::Moments(_) | Primitive::Standardise { .. } => false,
            Primitive::Convolve(_) => {
                dim == 0
                    && !self.is_of_rows(&node.operands[1])
                    && node.operands.iter().step_by(2).all(|operand| self.fits(operand, dim))
            }
            Primitive::Gather(gather) => {
                let chosen = &node.operands[0];
                let stays =
                    |numbers| reach(&chosen.view, dim, self.count) + (gather.size - 1) * gather.stride < numbers;
                all_fit() && !matches!(self.roles[chosen.buffer], Role::Rows(numbers) if !stays(numbers))
            }
            Primitive::Scatter(_) => false, // an index may name any row
            Primitive::Concat { places, .. } => {
                all_fit() && places.iter().all(|place| self.is_cut_by_rows(place, dim, numbers))
            }
        }
    }

    /// Whether `dim` of a tensor counts its rows, or all rows share it.
    fn fits(&self, tensor: &Tensor, dim: usize) -> bool {
        match self.roles[tensor.buffer] {
            Role::Shared => {
                tensor.view.strides.get(dim) == Some(&0) && tensor.view.sizes[dim].is_multiple_of(self.count)
            }
            Role::Rows(numbers) => self.is_cut_by_rows(&tensor.view, dim, numbers),
            Role::Summed => false,
        }
    }

    /// Whether `dim` of a view of a buffer with `numbers` numbers per row counts rows, or runs of equal length in them.
    fn is_cut_by_rows(&self, view: &View, dim: usize, numbers: usize) -> bool {
        let Some(&size) = view.sizes.get(dim) else { return false };
        let run = size / self.count;
        run * self.count == size && run * view.strides[dim] == numbers && reach(view, dim, self.count) < numbers
    }

    /// Whether the node is the one that brings an argument into the form of numbers.
    fn is_whole_load(&self, node: &Node) -> bool {
        matches!(node.primitive, Primitive::Load(_))
            && self.program.arguments.iter().any(|argument| argument.buffer == node.buffer)
    }
}

/// The dimensions of its first two operands that a product of matrices sums over.
const CONTRACTED: [usize; 2] = [1, 0];

/// The first dimension of more than one element.
fn outermost(sizes: &[usize]) -> usize {
    sizes.iter().position(|&size| size != 1).unwrap_or(sizes.len())
}

/// The dimension of a node's operands that can count rows.
fn frame_dim(node: &Node) -> usize {
    match node.primitive {
        Primitive::Sum(_) | Primitive::Max { .. } | Primitive::Length(_) | Primitive::Argsort(_) => {
            outermost(&node.operands[0].view.sizes)
        }
        _ => outermost(&node.shape),
    }
}

/// Offset of the last element that a view has in the first of `count` rows.
fn reach(view: &View, dim: usize, count: usize) -> usize {
    let sizes = view.sizes.iter().enumerate();
    let last = sizes.map(|(other, &size)| if other == dim { size / count } else { size }.saturating_sub(1));
    view.offset + last.zip(&view.strides).map(|(last, &stride)| last * stride).sum::<usize>()
}
