//! Products of matrices, and their pullbacks, which are products again.

use crate::error::Result;
use crate::graph::View;
use crate::graph::program::{Node, Product};
use crate::kernels::Scalar;
use crate::kernels::strided::{self, Factors, Matrix, Starts, StridedView};

/// Products of the same sides.
pub(super) struct Products {
    sides: [usize; 3],
    orders: [Matrix; 2],
    batches: Vec<[usize; 2]>,
    /// The whole value.
    pub dense: StridedView,
    /// See [`Node::bias`].
    pub bias: Option<usize>,
}

impl Products {
    /// Of a node.
    pub fn new(product: &Product, node: &Node) -> Result<Self> {
        Ok(Products {
            sides: [product.m, product.n, product.k],
            orders: [order(&node.operands[0].view), order(&node.operands[1].view)],
            batches: product.batches.clone(),
            dense: View::contiguous(&node.shape).strided()?,
            bias: node.bias(),
        })
    }

    /// The first factor (0) or the second (1) of each product.
    fn factors<'a, T>(&'a self, which: usize, data: &'a [T]) -> Factors<'a, T> {
        Factors { data, order: self.orders[which], starts: Starts::Listed(&self.batches, which) }
    }

    /// The products themselves, or their adjoints.
    fn values<'a, T>(&self, data: &'a [T]) -> Factors<'a, T> {
        Factors { data, order: self.dense_order(), starts: Starts::Every(self.sides[0] * self.sides[1]) }
    }

    fn dense_order(&self) -> Matrix {
        Matrix { row: self.sides[1].max(1), column: 1 }
    }

    /// c = a b for each of the batches.
    pub fn forward<T: Scalar>(&self, a: &[T], b: &[T], add: bool, c: &mut [T]) {
        let [m, n, _] = self.sides;
        let (a, b, count) = (self.factors(0, a), self.factors(1, b), self.batches.len());
        strided::products(count, self.sides, a, b, add, c, self.dense_order(), Starts::Every(m * n));
    }

    /// c = a b + bias in every row.
    pub fn biased<T: Scalar>(&self, a: &[T], b: &[T], bias: &[T], c: &mut [T]) {
        let [[a_start, b_start], ..] = self.batches[..] else { return };
        // A view of no elements may begin behind its buffer.
        let from = |data, start: usize| -> &[T] { <[T]>::get(data, start..).unwrap_or_default() };
        let (a, b) = ((from(a, a_start), self.orders[0]), (from(b, b_start), self.orders[1]));
        strided::biased_product(self.sides, a, b, &bias[..self.sides[1]], c);
    }

    /// da (add: +)= dc b^T
    pub fn first_pullback<T: Scalar>(&self, dc: &[T], b: &[T], add: bool, da: &mut [T]) {
        let [m, n, k] = self.sides;
        let (dc, b, to) = (self.values(dc), transposed(self.factors(1, b)), Starts::Listed(&self.batches, 0));
        strided::products(self.batches.len(), [m, k, n], dc, b, add, da, self.orders[0], to);
    }

    /// db (add: +)= a^T dc
    pub fn second_pullback<T: Scalar>(&self, dc: &[T], a: &[T], add: bool, db: &mut [T]) {
        let [m, n, k] = self.sides;
        let (a, dc, to) = (transposed(self.factors(0, a)), self.values(dc), Starts::Listed(&self.batches, 1));
        strided::products(self.batches.len(), [k, n, m], a, dc, add, db, self.orders[1], to);
    }
}

fn transposed<T>(factors: Factors<'_, T>) -> Factors<'_, T> {
    let Matrix { row, column } = factors.order;
    Factors { order: Matrix { row: column, column: row }, ..factors }
}

/// Layout of the matrices in the last two dimensions.
fn order(view: &View) -> Matrix {
    let rank = view.rank();
    Matrix { row: view.strides[rank - 2], column: view.strides[rank - 1] }
}
