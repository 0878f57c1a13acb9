//! Cutting a part out of a program.

use super::super::program::{Node, Origin, Primitive, Tensor};
use super::super::{Program, View};
use super::{CONTRACTED, Input, Role, RowCut, Subprogram, frame_dim};
use crate::error::{Error, Result};

/// A part in the making.
pub struct Cutting<'a> {
    whole: &'a RowCut<'a>,
    rows: usize,
    pub part: Subprogram,
    /// The part's buffer for each of the whole program's.
    buffers: Vec<Option<usize>>,
}

impl<'a> Cutting<'a> {
    pub fn new(whole: &'a RowCut<'a>, rows: usize) -> Self {
        let part = Subprogram { program: Program::new(whole.program.dtype), inputs: Vec::new() };
        Cutting { whole, rows, part, buffers: vec![None; whole.program.buffers.len()] }
    }

    /// The view with as many rows as the part has, which `dim` counts.
    pub fn cut(&self, view: &View, dim: usize) -> View {
        View { sizes: self.cut_sizes(&view.sizes, dim), ..view.clone() }
    }

    fn cut_sizes(&self, sizes: &[usize], dim: usize) -> Vec<usize> {
        let mut sizes = sizes.to_vec();
        if let Some(size) = sizes.get_mut(dim) {
            *size = *size / self.whole.count * self.rows;
        }
        sizes
    }

    /// The whole program's argument, as numbers where it is not an index.
    pub fn argument(&mut self, index: usize) -> Result<usize> {
        let argument = &self.whole.program.arguments[index];
        let view = if self.whole.has_rows(index) { self.cut(&argument.view, 0) } else { argument.view.clone() };
        let tensor = self.part.program.argument(&argument.name, argument.dtype, view, argument.gradient)?;
        self.part.inputs.push(Input::Argument(index));
        self.buffers[argument.buffer] = Some(tensor.buffer);
        Ok(tensor.buffer)
    }

    /// The part's buffer for one of the whole program.
    fn buffer(&mut self, buffer: usize) -> Result<usize> {
        if let Some(known) = self.buffers[buffer] {
            return Ok(known);
        }
        let RowCut { program, shared, totals, .. } = self.whole;
        let own = &program.buffers[buffer];
        let made = match &own.origin {
            Origin::Argument(index) => return self.argument(*index),
            Origin::Literal(values) => self.part.program.table(values.to_vec(), &[own.length])?.buffer,
            Origin::Node(_) => {
                let position = |list: &[usize]| list.iter().position(|&one| one == buffer);
                let input = position(shared).map(Input::Shared).or_else(|| position(totals).map(Input::Total));
                let input = input.ok_or_else(|| Error::Internal(format!("buffer {buffer} is in no other part")))?;
                self.part.inputs.push(input);
                let view = View::contiguous(&[own.length]);
                self.part.program.argument("", program.dtype, view, own.active)?.buffer
            }
        };
        self.buffers[buffer] = Some(made);
        Ok(made)
    }

    fn tensor(&mut self, tensor: &Tensor) -> Result<Tensor> {
        Ok(Tensor { buffer: self.buffer(tensor.buffer)?, ..tensor.clone() })
    }

    pub fn returns(&mut self, tensor: &Tensor) -> Result<()> {
        let output = self.tensor(tensor)?;
        self.part.program.outputs.push(output);
        Ok(())
    }

    pub fn add(&mut self, node: &Node) -> Result<()> {
        if let (true, Origin::Argument(index)) =
            (self.whole.is_whole_load(node), &self.whole.program.buffers[node.operands[0].buffer].origin)
        {
            if self.buffers[node.buffer].is_none() {
                self.argument(*index)?;
            }
            return Ok(());
        }
        let node = if self.whole.is_row_node(node) { self.cut_node(node) } else { node.clone() };
        let operands = node.operands.iter().map(|operand| self.tensor(operand)).collect::<Result<_>>()?;
        let value = self.part.program.node(node.primitive, operands, node.shape, node.observed)?;
        // A detached value has operands with derivatives, and none itself.
        self.part.program.buffers[value.buffer].active &= self.whole.program.buffers[node.buffer].active;
        self.buffers[node.buffer] = Some(value.buffer);
        Ok(())
    }

    /// The product of as many rows of both factors as the part has.
    fn cut_sum_of_products(&self, node: &Node) -> Node {
        let mut cut = node.clone();
        for (operand, dim) in cut.operands.iter_mut().zip(CONTRACTED) {
            operand.view = self.cut(&operand.view, dim);
        }
        if let Primitive::Product(product) = &mut cut.primitive {
            product.k = cut.operands[1].view.sizes[0];
        }
        cut
    }

    /// A node of the whole program with as many rows as the part has.
    fn cut_node(&self, node: &Node) -> Node {
        if self.whole.sums_products(node) {
            return self.cut_sum_of_products(node);
        }
        let dim = frame_dim(node);
        let mut cut = node.clone();
        // Of one product of many rows the second factor stays as it is, and the weights of a convolution.
        let stays = |operand: usize| match node.primitive {
            Primitive::Product(_) => operand == 1 && dim + 2 == node.shape.len(),
            Primitive::Convolve(_) => operand == 1,
            _ => false,
        };
        for (_, operand) in cut.operands.iter_mut().enumerate().filter(|(index, _)| !stays(*index)) {
            operand.view = self.cut(&operand.view, dim);
        }
        if self.whole.roles[node.buffer] != Role::Summed {
            cut.shape = self.cut_sizes(&node.shape, dim);
        }
        match &mut cut.primitive {
            Primitive::Sum(target) => *target = self.cut(target, dim),
            Primitive::Concat { places, .. } => *places = places.iter().map(|place| self.cut(place, dim)).collect(),
            Primitive::Product(product) => {
                let [.., m, _] = cut.shape[..] else { return cut };
                product.m = m;
                let batches = cut.shape[..cut.shape.len() - 2].iter().product();
                product.batches.truncate(batches);
            }
            Primitive::Convolve(convolution) => convolution.events = cut.shape[0],
            _ => (),
        }
        cut
    }
}
