//! Operators that reduce dimensions: sums, maxima, softmax, normalisation.

use super::super::Call;
use super::order::without;
use crate::error::Result;
use crate::graph::program::{Primitive, Tensor, Ties};
use crate::graph::{Function, View};
use crate::kernels::strided::Channels;

impl Call<'_, '_> {
    /// The sum over `dims`; they stay as dimensions of one element if `keep`.
    pub fn sum(&mut self, x: &Tensor, dims: &[usize], keep: bool) -> Result<Tensor> {
        let x = self.as_number(x)?;
        let mut kept = x.view.sizes.clone();
        for &dim in dims {
            kept[dim] = 1;
        }
        let mut target = View::contiguous(&kept);
        for &dim in dims {
            target.strides[dim] = 0;
        }
        target.sizes.clone_from(&x.view.sizes);
        let sum = self.node(Primitive::Sum(target), vec![x], kept)?;
        Ok(if keep { sum } else { without(&sum, dims) })
    }

    pub fn mean(&mut self, x: &Tensor, dims: &[usize], keep: bool) -> Result<Tensor> {
        let count: usize = dims.iter().map(|&dim| x.view.sizes[dim]).product();
        let sum = self.sum(x, dims, keep)?;
        self.map_number(Function::Div, &sum, count as f64)
    }

    /// The greatest element over `dims`; see [`Primitive::Max`].
    pub fn max(&mut self, x: &Tensor, dims: &[usize], keep: bool, ties: Ties) -> Result<Tensor> {
        let columns: usize = dims.iter().map(|&dim| x.view.sizes[dim]).product();
        if columns == 0 {
            return Err(self.refuse("reduces a dimension without elements"));
        }
        self.of_rows(x, dims, keep, Primitive::Max { columns, ties })
    }

    /// The root of the sum of squares over `dims`; see [`Primitive::Length`].
    pub fn length(&mut self, x: &Tensor, dims: &[usize], keep: bool) -> Result<Tensor> {
        let columns: usize = dims.iter().map(|&dim| x.view.sizes[dim]).product();
        if columns == 1 {
            // Even where the square would be no number of the type. Of NaN and infinity, whose derivative is NaN, it is the square.
            let (size, square) = (self.map(Function::Abs, &[x])?, self.map(Function::Mul, &[x, x])?);
            let is_finite = self.map_number(Function::Less, &size, f64::INFINITY)?;
            let size = self.map(Function::Where, &[&is_finite, &size, &square])?;
            return Ok(if keep { size } else { without(&size, dims) });
        }
        self.of_rows(x, dims, keep, Primitive::Length(columns))
    }

    /// A number for each row of `x` over `dims`.
    fn of_rows(&mut self, x: &Tensor, dims: &[usize], keep: bool, primitive: Primitive) -> Result<Tensor> {
        let x = self.as_number(x)?;
        let kept: Vec<usize> = (0..x.view.rank()).filter(|dim| !dims.contains(dim)).collect();
        let order: Vec<usize> = kept.iter().chain(dims).copied().collect();
        let shape: Vec<usize> = kept.iter().map(|&dim| x.view.sizes[dim]).collect();
        let rows = Tensor { view: x.view.permute(&order), ..x };
        let mut value = self.node(primitive, vec![rows], shape)?;
        if keep {
            for &dim in dims {
                value.view = value.view.unsqueeze(dim);
            }
        }
        Ok(value)
    }

    pub fn softmax(&mut self, x: &Tensor, dim: usize, logarithm: bool) -> Result<Tensor> {
        let x = self.as_number(x)?;
        if x.view.rank() == 0 {
            let row = Tensor { view: x.view.unsqueeze(0), ..x };
            let value = self.softmax(&row, 0, logarithm)?;
            return Ok(Tensor { view: value.view.squeeze(0), ..value });
        }
        let last = x.view.rank() - 1;
        let (columns, side) = (x.view.sizes[dim], x.view.sizes[dim + 1..].iter().product::<usize>());
        if side > 1 && x.view.is_contiguous() {
            let shape = x.view.sizes.clone();
            return self.node(Primitive::Softmax { columns, side, logarithm }, vec![x], shape);
        }
        let mut rows = Tensor { view: x.view.transpose(dim, last), ..x };
        if rows.view.strides[last] > 1 && rows.view.sizes[last] > 1 {
            rows = self.copied(&rows)?; // it is read more than once
        }
        let shape = rows.view.sizes.clone();
        let value = self.node(Primitive::Softmax { columns, side: 1, logarithm }, vec![rows], shape)?;
        Ok(Tensor { view: value.view.transpose(dim, last), ..value })
    }

    /// Rows over the last dimensions `shape`, see [`Primitive::Normalise`]; 1 and 0 stand in for a missing scale and shift.
    pub fn normalised(&mut self, x: &Tensor, shape: &[usize], [w, b]: [Option<Tensor>; 2], eps: f64) -> Result<Tensor> {
        let columns: usize = shape.iter().product();
        let mut operands = vec![self.dense(x)?];
        for (row, number) in [(w, 1.0), (b, 0.0)] {
            self.lowering.count(shape)?;
            let row = match row {
                Some(row) if row.view.sizes != shape => {
                    return Err(self.refuse("has a factor or term for other elements"));
                }
                Some(row) => self.dense(&row)?,
                None => self.program().table(vec![number; columns], shape)?,
            };
            operands.push(self.expand(&row, &x.view.sizes)?);
        }
        self.node(Primitive::Normalise { columns, eps }, operands, x.view.sizes.clone())
    }

    /// `x` [N, C, ...] with each channel brought to mean 0 and variance 1, times `w` [C] plus `b` [C], and the moments [2, C], which
    /// the reverse pass takes for constants; see [`Primitive::Standardise`]. 1 and 0 stand in for a missing scale and shift.
    pub fn standardised(&mut self, x: &Tensor, [w, b]: [Option<Tensor>; 2], eps: f64) -> Result<[Tensor; 2]> {
        let (x, sizes) = (self.dense(x)?, x.view.sizes.clone());
        let channels = Channels::dense(sizes[0], sizes[1], sizes[2..].iter().product());
        let moments = self.node(Primitive::Moments(channels), vec![x.clone()], vec![2, sizes[1]])?;
        self.program().buffers[moments.buffer].active = false;
        let mut operands = vec![x, moments.clone()];
        for (row, number) in [(w, 1.0), (b, 0.0)] {
            operands.push(match row {
                Some(row) if row.view.sizes != sizes[1..2] => {
                    return Err(self.refuse("has a factor or term for other channels"));
                }
                Some(row) => self.dense(&row)?,
                None => self.program().table(vec![number; sizes[1]], &sizes[1..2])?,
            });
        }
        Ok([self.node(Primitive::Standardise { channels, eps }, operands, sizes)?, moments])
    }
}
