//! Products of matrices.

use super::super::jit::emit;
use super::super::reverse::Begin;
use super::cublas::ASIDE;
use super::multiply::{Matrix, MatrixProduct, Numbers};
use super::places::{Apart, at};
use super::program::{Launch, Run, Slot};
use super::put::Target;
use super::writer::{Draft, Work, Writer};
use crate::error::Result;
use crate::graph::program::{Node, Product};
use crate::graph::{DType, View};

/// Tiles that keep every multiprocessor busy.
const MANY_TILES: usize = 132;
/// Rows and columns of a tile by those of a thread.
const SIDE: usize = 16;
/// Rows and columns of a thread.
const OF_THREADS: [[usize; 2]; 11] =
    [[4, 4], [2, 8], [8, 2], [4, 2], [2, 4], [2, 2], [1, 8], [8, 1], [1, 4], [4, 1], [1, 1]];
/// Terms of a sum that are worth a tile of their own.
const PART: usize = 256;
/// Most tiles that share a sum.
const MOST_PARTS: usize = 64;

/// A factor: `[batches, rows, columns]` in memory.
#[derive(Clone)]
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

    fn elements(&self) -> Elements {
        let is_along_rows = self.view.strides.last() == Some(&1);
        Elements { is_along_rows, ..Elements::new(self.slot, self.place()) }
    }

    /// Of an element of matrix `batch`.
    fn place(&self) -> String {
        let View { offset, sizes, strides } = &self.view;
        let [before @ .., _, _] = &sizes[..] else { unreachable!("a matrix has two dimensions") };
        let rank = sizes.len();
        let batches = View { offset: *offset, sizes: before.to_vec(), strides: strides[..rank - 2].to_vec() };
        format!("{} + i * {} + j * {}", at(&batches, "batch"), strides[rank - 2], strides[rank - 1])
    }
}

/// The elements of a factor, wherever they lie.
pub(super) struct Elements {
    pub slot: Slot,
    /// Statements before that with the place; they may return 0 instead.
    pub before: String,
    /// An expression of `batch`, `i` and `j`.
    pub place: String,
    /// Whether neighbours in memory are those in a row.
    pub is_along_rows: bool,
}

impl Elements {
    /// There without a condition, with neighbours in a row.
    pub fn new(slot: Slot, place: String) -> Self {
        Elements { slot, before: String::new(), place, is_along_rows: true }
    }

    /// Declares `name(batch, i, j)`.
    fn declare(&self, draft: &mut Draft, name: &str) {
        let (from, Elements { before, place, .. }) = (draft.read(self.slot), self);
        emit!(
            draft.body,
            "   const auto {name} = [=](Index batch, Index i, Index j) -> T {{ {before}return {from}[{place}]; }};"
        );
    }
}

/// Whether it is one row of numbers that lie side by side, again and again.
fn is_row(view: &View) -> bool {
    match (&view.sizes[..], &view.strides[..]) {
        ([before @ .., columns], [apart @ .., along]) => {
            (*along == 1 || *columns == 1) && before.iter().zip(apart).all(|(&size, &stride)| size == 1 || stride == 0)
        }
        _ => false,
    }
}

impl Writer<'_> {
    pub(super) fn product(&mut self, node: &Node, product: &Product) -> Result<Vec<Launch>> {
        self.check(node, product)?;
        let whole = View::contiguous(&node.shape);
        let slot = self.slot(node.buffer);
        let target = |begin| Target { slot, view: &whole, length: whole.len(), begin };
        let sizes = [product.batches.len(), product.m, product.n, product.k];
        let [a, b] = [0, 1].map(|at| {
            let operand = &node.operands[at];
            Factor::new(self.slot(operand.buffer), &operand.view)
        });
        let row = node.operands.get(2).filter(|start| is_row(&start.view));
        let bias = row.map(|start| (self.slot(start.buffer), start.view.offset));
        if let Some(launch) = bias.and_then(|bias| self.by_library(sizes, [&a, &b], &target(Begin::Store), Some(bias)))
        {
            return Ok(vec![launch]);
        }
        let (mut launches, begin) = self.start(node);
        launches.extend(self.products(sizes, a, b, target(begin)));
        Ok(launches)
    }

    /// A node begins with its third operand, if it has one; how what follows begins.
    pub(super) fn start(&mut self, node: &Node) -> (Vec<Launch>, Begin) {
        let Some(start) = node.operands.get(2) else { return (Vec::new(), Begin::Store) };
        let (slot, view) = (self.slot(node.buffer), View::contiguous(&node.shape));
        let target = Target { slot, view: &view, length: view.len(), begin: Begin::Store };
        (self.copy(self.slot(start.buffer), &start.view, target), Begin::Add)
    }

    /// The product by the device's library, which takes it as a whole; where the target begins with zeros, these are there.
    fn by_library(
        &mut self,
        sizes: [usize; 4],
        factors: [&Factor; 2],
        target: &Target,
        bias: Option<(Slot, usize)>,
    ) -> Option<Launch> {
        if sizes.contains(&0) || !target.view.is_injective() {
            return None;
        }
        let result = Factor::new(target.slot, target.view);
        // A result that is stored column by column is the transposed product of the transposed factors.
        let (sizes, [a, b, c]) = match Matrix::of(&result.view)?.is_transposed {
            false => (sizes, [factors[0].clone(), factors[1].clone(), result]),
            true => {
                let [batches, m, n, k] = sizes;
                ([batches, n, m, k], [factors[1], factors[0], &result].map(|factor| factor.clone().transposed()))
            }
        };
        let matrices = [Matrix::of(&a.view)?, Matrix::of(&b.view)?, Matrix::of(&c.view)?];
        let product = MatrixProduct {
            numbers: if self.program.dtype == DType::Float64 { Numbers::Double } else { self.floats },
            sizes,
            matrices,
            adds: target.adds(),
            bias: bias.map(|(_, start)| start),
        };
        if !(self.multiplies)(&product) {
            return None;
        }
        let aside = self.scratch(ASIDE.div_ceil(product.size()));
        let slots = vec![a.slot, b.slot, c.slot, bias.map_or(a.slot, |(slot, _)| slot), aside];
        Some(Launch { run: Run::Product(product), slots })
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
        if let Some(launch) = self.by_library([batches, m, n, k], [&a, &b], &target, None) {
            return self.begin(&target).into_iter().chain([launch]).collect();
        }
        self.tiles([batches, m, n, k], &a.elements(), &b.elements(), target)
    }

    /// The same by kernels, where no size is 0.
    pub(super) fn tiles(
        &mut self,
        [batches, m, n, k]: [usize; 4],
        a: &Elements,
        b: &Elements,
        target: Target,
    ) -> Vec<Launch> {
        let tiles = |[rows, columns]: [usize; 2]| batches * m.div_ceil(SIDE * rows) * n.div_ceil(SIDE * columns);
        // A thread reads its rows and columns of a tile from shared memory for each term, which takes most of the time.
        let reads = |&of: &[usize; 2]| tiles(of) * (of[0] + of[1]);
        let many = OF_THREADS.into_iter().filter(|&of| tiles(of) >= MANY_TILES);
        let of_thread = many.min_by_key(reads).unwrap_or([1, 1]);
        let ([rows, columns], tiles) = (of_thread, tiles(of_thread));
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
        let [along_a, along_b] = [a, b].map(|factor| factor.is_along_rows);
        emit!(
            draft.body,
            "   Products<{rows}, {columns}, {along_a}, {along_b}, T>(Index({batches}), Index({parts}), Index({length}), \
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
}
