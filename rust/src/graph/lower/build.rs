//! Building blocks of operators: each method adds the nodes of one step and returns its value.

mod indices;
mod joined;
mod order;
mod reduce;

use super::compare::EXACT;
use super::{Call, Update};
use crate::error::Result;
use crate::graph::program::{Digits, Dropout, Kind, Primitive, Product, Tensor};
use crate::graph::view::{broadcast, checked_length, inverse};
use crate::graph::{DType, Function, View};
use crate::kernels::strided::Convolution;
use order::{leaps, memory_order, starts};

pub use order::without;

impl Call<'_, '_> {
    fn node(&mut self, primitive: Primitive, operands: Vec<Tensor>, shape: Vec<usize>) -> Result<Tensor> {
        let index = self.index;
        self.lowering.count(&shape)?;
        for operand in &operands {
            self.lowering.count(&operand.view.sizes)?;
        }
        if let Primitive::Gather(gather) = &primitive {
            // What an index may choose, once for each base.
            let bases = operands[0].view.sizes.iter().zip(&operands[0].view.strides).filter(|(_, stride)| **stride > 0);
            let bases: usize = bases.map(|(&size, _)| size).product();
            self.lowering.count_elements(gather.size.saturating_mul(bases))?;
        }
        self.program().node(primitive, operands, shape, index)
    }

    /// The tensor as numbers.
    pub fn as_number(&mut self, tensor: &Tensor) -> Result<Tensor> {
        match tensor.kind {
            Kind::Number => Ok(tensor.clone()),
            Kind::Mask | Kind::Count => Ok(Tensor { kind: Kind::Number, ..tensor.clone() }),
            Kind::Index => self.digits(tensor, Digits::All),
        }
    }

    /// A part of the elements of an index.
    pub fn digits(&mut self, index: &Tensor, digits: Digits) -> Result<Tensor> {
        self.node(Primitive::Load(digits), vec![index.clone()], index.view.sizes.clone())
    }

    pub fn literal(&mut self, value: f64) -> Result<Tensor> {
        self.program().literal(value)
    }

    /// Integers below this in size are exact in the graph's type, and no other integer rounds to one of them.
    pub fn exact_integers(&mut self) -> usize {
        if self.program().dtype == DType::Float32 { EXACT as usize } else { 1 << f64::MANTISSA_DIGITS }
    }

    /// The greatest finite number of the graph's type.
    pub fn greatest_number(&mut self) -> f64 {
        if self.program().dtype == DType::Float32 { f32::MAX.into() } else { f64::MAX }
    }

    /// A mask known now.
    pub fn mask(&mut self, shape: &[usize], is_set: impl Fn(usize) -> bool) -> Result<Tensor> {
        let length = self.lowering.count(shape)?;
        checked_length(shape, 1 << 28)?;
        let values = (0..length).map(|index| f64::from(u8::from(is_set(index)))).collect();
        let mask = self.program().table(values, shape)?;
        Ok(Tensor { kind: Kind::Mask, ..mask })
    }

    /// A function of tensors that are broadcast against each other.
    pub fn map(&mut self, function: Function, operands: &[&Tensor]) -> Result<Tensor> {
        let mut shape = Vec::new();
        for operand in operands {
            let both = broadcast(&shape, &operand.view.sizes);
            shape = both.ok_or_else(|| self.refuse("has operands that do not broadcast"))?;
        }
        let operands = operands.iter().map(|operand| {
            let operand = self.as_number(operand)?;
            self.expand(&operand, &shape)
        });
        let operands = operands.collect::<Result<Vec<_>>>()?;
        let Some(order) = memory_order(&operands) else {
            let operands = operands.into_iter().map(|x| if leaps(&x.view) { self.copied(&x) } else { Ok(x) });
            let operands = operands.collect::<Result<_>>()?;
            return self.node(Primitive::Map(function), operands, shape);
        };
        let ordered = |x: Tensor| Tensor { view: x.view.permute(&order), ..x };
        let operands = operands.into_iter().map(ordered).collect();
        let shape = order.iter().map(|&dim| shape[dim]).collect();
        let value = self.node(Primitive::Map(function), operands, shape)?;
        Ok(Tensor { view: value.view.permute(&inverse(&order)), ..value })
    }

    /// A dense copy, whatever the order of the tensor's memory.
    fn copied(&mut self, x: &Tensor) -> Result<Tensor> {
        let x = self.as_number(x)?;
        let shape = x.view.sizes.clone();
        self.node(Primitive::Map(Function::Identity), vec![x], shape)
    }

    /// A function of a tensor and a number.
    pub fn map_number(&mut self, function: Function, x: &Tensor, number: f64) -> Result<Tensor> {
        let number = self.literal(number)?;
        self.map(function, &[x, &number])
    }

    /// `x * factor`; no node if that is 1.
    pub fn scaled(&mut self, x: &Tensor, factor: f64) -> Result<Tensor> {
        if factor == 1.0 { Ok(x.clone()) } else { self.map_number(Function::Mul, x, factor) }
    }

    pub fn expand(&self, x: &Tensor, sizes: &[usize]) -> Result<Tensor> {
        let view = x.view.expand(sizes).ok_or_else(|| self.refuse("has operands that do not broadcast"))?;
        checked_length(sizes, self.lowering.most)?;
        Ok(Tensor { view, ..x.clone() })
    }

    /// The same elements, dense.
    pub fn dense(&mut self, x: &Tensor) -> Result<Tensor> {
        let x = self.as_number(x)?;
        if x.view.is_contiguous() { Ok(x) } else { self.copied(&x) }
    }

    /// Another shape: a view if possible, otherwise a copy.
    pub fn reshape(&mut self, x: &Tensor, sizes: &[usize]) -> Result<Tensor> {
        if sizes.iter().product::<usize>() != x.view.len() {
            return Err(self.refuse(format!("reshapes {:?} to {sizes:?}", x.view.sizes)));
        }
        if let Some(view) = x.view.reshape(sizes) {
            return Ok(Tensor { view, ..x.clone() });
        }
        if x.kind == Kind::Index {
            return Err(self.refuse("copies integers to look at them in another shape"));
        }
        let copy = self.copied(x)?;
        Ok(Tensor { view: View::contiguous(sizes), kind: x.kind, ..copy })
    }

    /// `a [.., m, k] b [.., k, n] (+ start)`, leading dimensions broadcast.
    pub fn product(&mut self, a: &Tensor, b: &Tensor, start: Option<&Tensor>) -> Result<Tensor> {
        let (a, b) = (self.as_number(a)?, self.as_number(b)?);
        let ([before_a @ .., m, k], [before_b @ .., k_b, n]) = (&a.view.sizes[..], &b.view.sizes[..]) else {
            return Err(self.refuse("multiplies something else than matrices"));
        };
        let (m, n, k) = (*m, *n, *k);
        if k != *k_b {
            return Err(self.refuse(format!("multiplies {:?} and {:?}", a.view.sizes, b.view.sizes)));
        }
        // Rows of a batch that all meet the same matrix are rows of one product.
        if before_b.is_empty() && !before_a.is_empty() && start.is_none() {
            let rows = before_a.iter().product::<usize>() * m;
            let shape: Vec<usize> = before_a.iter().copied().chain([m, n]).collect();
            let flat = self.reshape(&a, &[rows, k])?;
            let value = self.product(&flat, &b, None)?;
            return self.reshape(&value, &shape);
        }
        let batch = broadcast(before_a, before_b).ok_or_else(|| self.refuse("has batches that do not broadcast"))?;
        let with = |sides: [usize; 2]| batch.iter().copied().chain(sides).collect::<Vec<_>>();
        let shape = with([m, n]);
        let (a, b) = (self.matrices(&a)?, self.matrices(&b)?);
        let (a, b) = (self.expand(&a, &with([m, k]))?, self.expand(&b, &with([k, n]))?);
        self.lowering.count(&batch)?;
        let starts = |x: &Tensor| starts(&x.view, batch.len());
        let batches = starts(&a).into_iter().zip(starts(&b)).map(|(a, b)| [a, b]).collect();
        let mut operands = vec![a, b];
        if let Some(start) = start {
            let start = self.as_number(start)?;
            operands.push(self.expand(&start, &shape)?);
        }
        self.node(Primitive::Product(Product { m, n, k, batches }), operands, shape)
    }

    /// Signals [events, groups inputs, length] convolved with weights [groups outputs, inputs, taps], plus a bias
    /// [groups outputs].
    pub fn convolved(&mut self, c: Convolution, x: &Tensor, w: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        let columns = c.columns().ok_or_else(|| self.refuse("has no window that fits"))?;
        let shape = vec![c.events, c.groups * c.outputs, columns];
        let mut operands = vec![self.dense(x)?, self.dense(w)?];
        if let Some(bias) = bias {
            let bias = self.dense(bias)?;
            let column = self.reshape(&bias, &[1, c.groups * c.outputs, 1])?;
            operands.push(self.expand(&column, &shape)?);
        }
        self.node(Primitive::Convolve(c), operands, shape)
    }

    /// The tensor with matrices that the kernel can read, and add adjoints to, in their layout; a copy if it has no
    /// such layout.
    fn matrices(&mut self, x: &Tensor) -> Result<Tensor> {
        let mut view = x.view.clone();
        let (row, column) = (view.rank() - 2, view.rank() - 1);
        let [rows, columns] = [view.sizes[row], view.sizes[column]];
        // The stride of a dimension of one element is never used: it may be what suits.
        if columns <= 1 {
            view.strides[column] = 1;
        }
        if rows <= 1 {
            view.strides[row] = if view.strides[column] == 1 { columns.max(1) } else { 1 };
        }
        let [down, right] = [view.strides[row], view.strides[column]];
        let plain = (right == 1 && down >= columns) || (down == 1 && right >= rows);
        if plain { Ok(Tensor { view, ..x.clone() }) } else { self.copied(x) }
    }

    /// `x` times factors that the caller draws: 0 with probability `p`, else 1 / (1 - p).
    ///
    /// LibTorch draws them in the order of its own memory, in which `x` has `strides`.
    pub fn dropped(&mut self, x: &Tensor, p: f64, strides: &[usize]) -> Result<Tensor> {
        self.dropped_together(x, p, &x.view.sizes, strides)
    }

    /// The same with factors of these sizes, each for all elements over which it is broadcast.
    pub fn dropped_together(&mut self, x: &Tensor, p: f64, sizes: &[usize], strides: &[usize]) -> Result<Tensor> {
        if p == 0.0 {
            return Ok(x.clone());
        }
        if p == 1.0 {
            return self.scaled(x, 0.0);
        }
        if sizes.len() != strides.len() || sizes.iter().zip(strides).any(|(&size, &stride)| size > 1 && stride == 0) {
            return Err(self.refuse("draws factors for elements that share their memory"));
        }
        let order = View { offset: 0, sizes: sizes.to_vec(), strides: strides.to_vec() }.stride_order();
        let view = View::contiguous(&order.iter().map(|&dim| sizes[dim]).collect::<Vec<_>>()).permute(&inverse(&order));
        let program = self.program();
        let factors = program.argument("noise", program.dtype, view, false)?;
        program.dropout.push(Dropout { argument: program.arguments.len() - 1, keep: 1.0 - p });
        self.map(Function::Mul, &[x, &factors])
    }

    /// Cuts the tensor off from the reverse pass.
    pub fn detached(&mut self, x: &Tensor) -> Result<Tensor> {
        if !self.program().is_active(x) {
            return Ok(x.clone());
        }
        let copy = self.copied(x)?;
        self.program().buffers[copy.buffer].active = false;
        Ok(copy)
    }

    /// The function's argument at `position` takes, after the call, the value that `next` makes of what it is by then.
    pub fn update(&mut self, position: usize, next: impl FnOnce(&mut Self, &Tensor) -> Result<Tensor>) -> Result<()> {
        let argument = self.argument_number(position)?;
        let earlier = self.lowering.updates.iter().position(|update| update.argument == argument);
        let old = match earlier {
            Some(index) => self.lowering.updates[index].value.clone(),
            None => self.tensor(position)?,
        };
        let value = next(self, &old)?;
        match earlier {
            Some(index) => {
                let update = &mut self.lowering.updates[index];
                (update.value, update.count) = (value, update.count + 1);
            }
            None => self.lowering.updates.push(Update { argument, value, count: 1 }),
        }
        Ok(())
    }
}
