//! What operators are made of: each method adds the nodes of one step and returns its value.

use super::{Call, Update};
use crate::error::Result;
use crate::graph::program::{Digits, Gather, Kind, Noise, Primitive, Product, Scatter, Tensor, Ties};
use crate::graph::view::{broadcast, checked_length};
use crate::graph::{DType, Function, View};
use crate::kernels::strided::{Channels, Convolution, Order, Ranking};

impl Call<'_, '_> {
    fn node(&mut self, primitive: Primitive, operands: Vec<Tensor>, shape: Vec<usize>) -> Result<Tensor> {
        let index = self.index;
        let length = self.lowering.count(&shape)?;
        for operand in &operands {
            self.lowering.count(&operand.view.sizes)?;
        }
        if let Primitive::Gather(gather) = &primitive {
            self.lowering.count_elements(gather.size.saturating_mul(length))?;
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
        let Some(order) = memory_order(&operands, &shape) else {
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

    /// `x * factor`; nothing where that is 1.
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

    /// Another shape: a view where that can be, else a copy.
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

    /// The greatest element over `dims`; see [`Primitive::Greatest`].
    pub fn greatest(&mut self, x: &Tensor, dims: &[usize], keep: bool, ties: Ties) -> Result<Tensor> {
        let columns: usize = dims.iter().map(|&dim| x.view.sizes[dim]).product();
        if columns == 0 {
            return Err(self.refuse("takes the greatest of no elements"));
        }
        self.of_rows(x, dims, keep, Primitive::Greatest { columns, ties })
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

    /// The tensor with matrices that the kernel can read, and add adjoints to, as they lie; a copy where it has not.
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
    fn check_index(&self, index: &Tensor) -> Result<()> {
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
        let source = self.copied(source)?;
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
    pub fn assemble(&mut self, shape: &[usize], fill: f64, mut parts: Vec<(Tensor, View)>) -> Result<Tensor> {
        if parts.iter().any(|(part, _)| !part.view.is_empty()) {
            parts.retain(|(part, _)| !part.view.is_empty());
        }
        let (operands, places) = parts.into_iter().unzip();
        self.node(Primitive::Assemble { fill, places }, operands, shape.to_vec())
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
        self.assemble(&shape, fill, vec![(x, place)])
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
        let mut order: Vec<_> = (0..sizes.len()).collect();
        order.sort_by_key(|&dim| std::cmp::Reverse(strides[dim]));
        let mut view = View::contiguous(&order.iter().map(|&dim| sizes[dim]).collect::<Vec<_>>());
        view = view.permute(&inverse(&order));
        let program = self.program();
        let factors = program.argument("noise", program.dtype, view, false)?;
        program.noise.push(Noise { argument: program.arguments.len() - 1, keep: 1.0 - p });
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

/// Without dimensions of one element.
pub fn without(x: &Tensor, dims: &[usize]) -> Tensor {
    let view = dims.iter().rev().fold(x.view.clone(), |view, &dim| view.squeeze(dim));
    Tensor { view, ..x.clone() }
}

/// Where the matrices of each batch start.
fn starts(view: &View, batch_rank: usize) -> Vec<usize> {
    let mut starts = vec![view.offset];
    for dim in 0..batch_rank {
        let (size, stride) = (view.sizes[dim], view.strides[dim]);
        starts = starts.iter().flat_map(|&start| (0..size).map(move |i| start + i * stride)).collect();
    }
    starts
}

/// The order of dimensions in which elements lie one behind the other in every operand that has a place for each, if that
/// is another than theirs: a function of single elements then goes through memory once, and its value lies as they do.
fn memory_order(operands: &[Tensor], shape: &[usize]) -> Option<Vec<usize>> {
    let long: Vec<usize> = (0..shape.len()).filter(|&dim| shape[dim] != 1).collect();
    let mut found: Option<Vec<usize>> = None;
    for view in operands.iter().map(|operand| &operand.view) {
        if long.iter().any(|&dim| view.strides[dim] == 0) {
            continue; // broadcast
        }
        let mut sorted = long.clone();
        sorted.sort_by_key(|&dim| std::cmp::Reverse(view.strides[dim]));
        if found.as_ref().is_some_and(|found| *found != sorted) {
            return None;
        }
        found = Some(sorted);
    }
    let sorted = found.filter(|sorted| *sorted != long)?;
    let mut order: Vec<usize> = (0..shape.len()).collect();
    for (&place, dim) in long.iter().zip(sorted) {
        order[place] = dim;
    }
    Some(order)
}

/// Whether a walk through the view, a large one, leaps from line to line of the cache though its elements are neighbours: a
/// copy by tiles is then faster than one walk.
fn leaps(view: &View) -> bool {
    const LARGE: usize = 1 << 12;
    let steps: Vec<usize> = (0..view.rank()).filter(|&dim| view.sizes[dim] > 1).map(|dim| view.strides[dim]).collect();
    view.len() >= LARGE && !steps.contains(&0) && steps.last().is_some_and(|&last| last > 1) && steps.contains(&1)
}

/// The order that undoes `order`.
fn inverse(order: &[usize]) -> Vec<usize> {
    let mut undone = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &dim)| undone[dim] = place);
    undone
}
