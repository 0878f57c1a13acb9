//! Operators that choose elements, and those that join parts.

use super::super::Call;
use crate::error::Result;
use crate::graph::program::{Digits, Gather, Kind, Primitive, Scatter, Tensor};
use crate::graph::view::checked_length;
use crate::graph::{Function, View};
use crate::kernels::strided::{Order, Ranking};

impl Call<'_, '_> {
    /// The elements of `x` along `dim` that the index, an element of which belongs to each of the result, chooses.
    /// `bases` is the view of `x` as it would be if every index were 0.
    pub fn gather(&mut self, x: &Tensor, bases: View, gather: Gather, index: &Tensor, indices: View) -> Result<Tensor> {
        self.check_index(index)?;
        let x = self.as_number(x)?;
        if gather.size == 0 && !bases.is_empty() {
            return Err(self.refuse("chooses from no elements"));
        }
        let shape = bases.sizes.clone();
        let operands = vec![Tensor { view: bases, ..x }, Tensor { view: indices, ..index.clone() }];
        self.node(Primitive::Gather(gather), operands, shape)
    }

    /// Kernels read an index as int64, or as whole numbers that they made.
    pub fn check_index(&self, index: &Tensor) -> Result<()> {
        match index.kind {
            Kind::Index | Kind::Count => Ok(()),
            Kind::Number | Kind::Mask => Err(self.refuse("has an index of numbers, which LibTorch refuses")),
        }
    }

    /// For each row of the last dimension the places of its first elements.
    pub fn argsort(&mut self, x: &Tensor, order: Order, descending: bool, count: usize) -> Result<Tensor> {
        let x = self.as_number(x)?;
        let Some((&columns, rows)) = x.view.sizes.split_last() else {
            return Err(self.refuse("sorts a number"));
        };
        if count > columns || columns > Ranking::LONGEST {
            return Err(self.refuse(format!("takes {count} of {columns} elements")));
        }
        let shape = [rows, &[count]].concat();
        let ranking = Ranking { order, descending, columns, count };
        let places = self.node(Primitive::Argsort(ranking), vec![x], shape)?;
        Ok(Tensor { kind: Kind::Count, ..places })
    }

    /// `x` with each element of `source` added to a place that an index chooses; an element of the index belongs to each.
    pub fn scattered(
        &mut self,
        x: &Tensor,
        source: &Tensor,
        scatter: Scatter,
        index: &Tensor,
        indices: View,
    ) -> Result<Tensor> {
        self.check_index(index)?;
        if scatter.gather.size == 0 && !indices.is_empty() {
            return Err(self.refuse("adds to no elements"));
        }
        let shape = x.view.sizes.clone();
        // Nothing but this node uses the copy, so that its pullback need not add.
        let source = if self.program().is_active(source) { self.copied(source)? } else { self.dense(source)? };
        let operands = vec![source, Tensor { view: indices, ..index.clone() }, x.clone()];
        self.node(Primitive::Scatter(scatter), operands, shape)
    }

    /// Mask of the elements of an index that are `value`.
    pub fn is_index(&mut self, index: &Tensor, value: i64) -> Result<Tensor> {
        self.check_index(index)?;
        if index.kind == Kind::Count {
            return self.map_number(Function::Equal, index, value as f64);
        }
        let mut same: Option<Tensor> = None;
        for digits in Digits::PARTS {
            let part = self.digits(index, digits)?;
            let is = self.map_number(Function::Equal, &part, digits.of(value))?;
            same = Some(match same {
                Some(before) => self.map(Function::And, &[&before, &is])?,
                None => is,
            });
        }
        same.ok_or_else(|| self.refuse("compares nothing"))
    }

    /// A tensor of that shape filled with a number, and the parts at their places. Of empty ones, as `roll` by 0 has, nothing is written.
    pub fn concat(&mut self, shape: &[usize], fill: f64, mut parts: Vec<(Tensor, View)>) -> Result<Tensor> {
        if parts.iter().any(|(part, _)| !part.view.is_empty()) {
            parts.retain(|(part, _)| !part.view.is_empty());
        }
        let (operands, places) = parts.into_iter().unzip();
        self.node(Primitive::Concat { fill, places }, operands, shape.to_vec())
    }

    /// `x` with `before` and `after` elements of `fill` along `dim`.
    pub fn padded(&mut self, x: &Tensor, dim: usize, [before, after]: [usize; 2], fill: f64) -> Result<Tensor> {
        if [before, after] == [0, 0] {
            return self.as_number(x);
        }
        let x = self.as_number(x)?;
        let mut shape = x.view.sizes.clone();
        shape[dim] = shape[dim].saturating_add(before).saturating_add(after);
        checked_length(&shape, self.lowering.most)?;
        let place = View::contiguous(&shape).narrow(dim, before, x.view.sizes[dim], 1);
        self.concat(&shape, fill, vec![(x, place)])
    }

    /// `x`, which has elements, with the first one along `dim` `before` times before it, and the last one `after` times behind.
    pub fn extended(&mut self, x: &Tensor, dim: usize, [before, after]: [usize; 2]) -> Result<Tensor> {
        let x = self.as_number(x)?;
        let (size, mut shape) = (x.view.sizes[dim], x.view.sizes.clone());
        shape[dim] = size.saturating_add(before).saturating_add(after);
        checked_length(&shape, self.lowering.most)?;
        let place = |start, count| View::contiguous(&shape).narrow(dim, start, count, 1);
        let repeated = |at, count| Tensor { view: x.view.narrow(dim, at, count, 0), ..x.clone() };
        let [first, last] = [repeated(0, before), repeated(size - 1, after)];
        let places = [place(0, before), place(before, size), place(before + size, after)];
        self.concat(&shape, 0.0, [first, x, last].into_iter().zip(places).collect())
    }
}
