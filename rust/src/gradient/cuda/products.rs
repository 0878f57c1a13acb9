//! Products of matrices and convolutions.

use super::super::jit::emit;
use super::super::reverse::Begin;
use super::places::{Apart, at};
use super::program::{Launch, Slot};
use super::put::Target;
use super::writer::{Draft, Work, Writer};
use crate::error::Result;
use crate::graph::View;
use crate::graph::program::{Node, Product};
use crate::kernels::strided::Convolution;

/// Tiles that keep every multiprocessor busy.
const MANY_TILES: usize = 132;
/// Terms of a sum that are worth a tile of their own.
const PART: usize = 256;
/// Most tiles that share a sum.
const MOST_PARTS: usize = 64;

/// A factor: `[batches, rows, columns]` in memory.
struct Factor {
    slot: Slot,
    view: View,
}

impl Factor {
    /// The last two dimensions are the matrices, and all before are batches.
    fn new(slot: Slot, view: &View) -> Self {
        Factor { slot, view: view.clone() }
    }

    fn transposed(self) -> Self {
        let rank = self.view.rank();
        Factor { view: self.view.transpose(rank - 2, rank - 1), ..self }
    }

    /// Declares `name(batch, i, j)`.
    fn declare(&self, draft: &mut Draft, name: &str) {
        let (from, place) = (draft.read(self.slot), self.place());
        emit!(
            draft.body,
            "   const auto {name} = [=](Index batch, Index i, Index j) -> T {{ return {from}[{place}]; }};"
        );
    }

    /// Of an element of matrix `batch`.
    fn place(&self) -> String {
        let View { offset, sizes, strides } = &self.view;
        let [before @ .., _, _] = &sizes[..] else { unreachable!("a matrix has two dimensions") };
        let rank = sizes.len();
        let batches = View { offset: *offset, sizes: before.to_vec(), strides: strides[..rank - 2].to_vec() };
        format!("{} + i * {} + j * {}", at(&batches, "batch"), strides[rank - 2], strides[rank - 1])
    }

    /// Whether neighbours in memory are those in a row.
    fn is_along_rows(&self) -> bool {
        self.view.strides.last() == Some(&1)
    }
}

impl Writer<'_> {
    pub(super) fn product(&mut self, node: &Node, product: &Product) -> Result<Vec<Launch>> {
        self.check(node, product)?;
        let whole = View::contiguous(&node.shape);
        let slot = self.slot(node.buffer);
        let target = |begin| Target { slot, view: &whole, length: whole.len(), begin };
        let mut launches = Vec::new();
        if let Some(start) = node.operands.get(2) {
            launches = self.copy(self.slot(start.buffer), &start.view, target(Begin::Store));
        }
        let begin = if node.operands.len() == 3 { Begin::Add } else { Begin::Store };
        let [a, b] = [0, 1].map(|at| {
            let operand = &node.operands[at];
            Factor::new(self.slot(operand.buffer), &operand.view)
        });
        launches.extend(self.products([product.batches.len(), product.m, product.n, product.k], a, b, target(begin)));
        Ok(launches)
    }

    /// Whether the matrices start where the views of the operands say.
    fn check(&self, node: &Node, product: &Product) -> Result<()> {
        let starts = |operand: usize| -> Vec<usize> {
            let view = &node.operands[operand].view;
            let before = view.rank() - 2;
            let (sizes, strides) = (view.sizes[..before].to_vec(), view.strides[..before].to_vec());
            View { offset: view.offset, sizes, strides }.offsets().collect()
        };
        let [a, b] = [0, 1].map(starts);
        match a.into_iter().zip(b).map(|(a, b)| [a, b]).eq(product.batches.iter().copied()) {
            true => Ok(()),
            false => Err(self.refuse(node, "its matrices start elsewhere than its operands say")),
        }
    }

    /// The contribution of the adjoint `seed` of the product to the first or the second factor.
    pub(super) fn product_pullback(
        &mut self,
        node: &Node,
        product: &Product,
        operand: usize,
        seed: Slot,
        target: Target,
    ) -> Result<Vec<Launch>> {
        let &Product { m, n, k, ref batches } = product;
        let other = &node.operands[1 - operand];
        let other = Factor::new(self.slot(other.buffer), &other.view).transposed();
        let d = Factor::new(seed, &View::contiguous(&node.shape));
        Ok(match operand {
            0 => self.products([batches.len(), m, k, n], d, other, target),
            _ => self.products([batches.len(), k, n, m], other, d, target),
        })
    }

    /// target[batches, M, N] (as it begins) = a[M, K] b[K, N] for each of the batches.
    fn products(&mut self, [batches, m, n, k]: [usize; 4], a: Factor, b: Factor, target: Target) -> Vec<Launch> {
        if batches * m * n * k == 0 {
            return self.put_nothing(target);
        }
        let tiles = |side: usize| batches * m.div_ceil(side) * n.div_ceil(side);
        let of_threads = [4, 2].into_iter().find(|each| tiles(16 * each) >= MANY_TILES).unwrap_or(1);
        let tiles = tiles(16 * of_threads);
        let parts =
            if tiles < MANY_TILES { k.div_ceil(PART).min(MANY_TILES.div_ceil(tiles)).min(MOST_PARTS) } else { 1 };
        let length = k.div_ceil(parts).next_multiple_of(16);
        let parts = k.div_ceil(length);
        let is_direct = parts == 1 && Apart::new(target.view).summed.len() == 1;
        let rest = View::contiguous(&[batches, parts, m, n]);
        let (slot, view, adds) = match is_direct {
            true => (target.slot, target.view.clone(), target.adds()),
            false => (self.scratch(rest.len()), View::contiguous(&[batches * parts, m, n]), false),
        };
        let mut launches = if is_direct { self.begin(&target) } else { Vec::new() };
        let mut draft = Draft::default();
        a.declare(&mut draft, "a");
        b.declare(&mut draft, "b");
        let (to, place) = (draft.write(slot), Factor { slot, view }.place());
        let [along_a, along_b] = [&a, &b].map(Factor::is_along_rows);
        emit!(
            draft.body,
            "   Products<{of_threads}, {along_a}, {along_b}, T>(Index({batches}), Index({parts}), Index({length}), \
             Index({m}), Index({n}), Index({k}), a, b,\n      \
             [=](Index matrix, Index part, Index i, Index j, T sum) {{\n         \
             const Index batch = matrix * {parts} + part;\n         Put<{adds}>({to}[{place}], sum);\n      }});"
        );
        self.counts_to(tiles * parts);
        launches.push(self.launch(draft, Work::Tiles(tiles * parts)));
        if !is_direct {
            launches.extend(self.add_parts(slot, [batches, parts, m * n], target));
        }
        launches
    }

    /// The target = the sums of parts [batches, parts, size].
    fn add_parts(&mut self, from: Slot, [batches, parts, size]: [usize; 3], target: Target) -> Vec<Launch> {
        let sizes: Vec<usize> = [&[parts][..], &target.view.sizes].concat();
        let strides = [&[0][..], &target.view.strides].concat();
        let view = View { offset: target.view.offset, sizes, strides };
        let parts_first = View { offset: 0, sizes: vec![parts, batches, size], strides: vec![size, parts * size, 1] };
        self.copy(from, &parts_first, Target { view: &view, ..target })
    }

    /// Signals [events, groups, inputs, length] and weights [groups, outputs, inputs, taps].
    pub(super) fn convolve(&mut self, node: &Node, c: &Convolution) -> Vec<Launch> {
        let &Convolution { groups, inputs, outputs, taps, dilation, length, .. } = c;
        let count: usize = node.shape.iter().product();
        if count == 0 {
            return Vec::new();
        }
        let (columns, channels) = (c.columns().unwrap_or(1), groups * outputs);
        let mut draft = Draft::default();
        let [x, w] = [0, 1].map(|at| self.operand(&mut draft, &node.operands[at]));
        let bias = node.operands.get(2).map(|bias| {
            let from = self.operand(&mut draft, bias);
            format!(" + {from}[{}]", at(&bias.view, "o"))
        });
        let y = draft.write(self.slot(node.buffer));
        emit!(
            draft.body,
            "   const auto each = [=](Index o, Index d) -> T {{\n      \
             const Index n = o % {columns}, channel = o / {columns} % {channels}, event = o / {columns} / {channels};\n      \
             const Index i = d / {taps}, k = d % {taps}, group = channel / {outputs};\n      \
             return {x}[((event * {groups} + group) * {inputs} + i) * {length} + n + k * {dilation}] *\n             \
             {w}[(channel * {inputs} + i) * {taps} + k];\n   }};"
        );
        let writes = format!("{y}[o] = sum{};", bias.unwrap_or_default());
        vec![self.sums(draft, [count, inputs * taps], &writes)]
    }

    /// The contribution of the adjoint `seed` of the convolution to the signals or the weights.
    pub(super) fn convolve_pullback(
        &mut self,
        node: &Node,
        c: &Convolution,
        operand: usize,
        seed: Slot,
        target: Target,
    ) -> Vec<Launch> {
        let &Convolution { events, groups, inputs, outputs, taps, dilation, length } = c;
        let (columns, channels) = (c.columns().unwrap_or(1), groups * outputs);
        let mut draft = Draft::default();
        let other = self.operand(&mut draft, &node.operands[1 - operand]);
        let (d, to) = (draft.read(seed), draft.write(target.slot));
        let terms = match operand {
            0 => {
                emit!(
                    draft.body,
                    "   const auto each = [=](Index o, Index d) -> T {{\n      \
                     const Index l = o % {length}, i = o / {length} % {inputs}, row = o / {length} / {inputs};\n      \
                     const Index k = d % {taps}, channel = row % {groups} * {outputs} + d / {taps}, event = row / {groups};\n      \
                     if (l < k * {dilation} || l - k * {dilation} >= {columns}) return 0;\n      \
                     return {d}[(event * {channels} + channel) * {columns} + l - k * {dilation}] *\n             \
                     {other}[(channel * {inputs} + i) * {taps} + k];\n   }};"
                );
                outputs * taps
            }
            _ => {
                emit!(
                    draft.body,
                    "   const auto each = [=](Index o, Index d) -> T {{\n      \
                     const Index k = o % {taps}, i = o / {taps} % {inputs}, channel = o / {taps} / {inputs};\n      \
                     const Index n = d % {columns}, event = d / {columns}, group = channel / {outputs};\n      \
                     return {d}[(event * {channels} + channel) * {columns} + n] *\n             \
                     {other}[((event * {groups} + group) * {inputs} + i) * {length} + n + k * {dilation}];\n   }};"
                );
                events * columns
            }
        };
        let mut launches = self.begin(&target);
        let writes = format!("Put<{}>({to}[o], sum);", target.adds());
        launches.push(self.sums(draft, [target.view.len(), terms], &writes));
        launches
    }
}
