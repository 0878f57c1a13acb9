//! Products of matrices.

use super::build::without;
use super::{Call, Lowered, Operator};
use crate::graph::program::Tensor;

pub(super) const TABLE: &[Operator] = &[
    Operator { name: "matmul", does: "product of vectors, matrices or batches of them", lower: matmul },
    Operator { name: "mm", does: "product of two matrices", lower: matmul },
    Operator { name: "bmm", does: "products of two batches of matrices", lower: matmul },
    Operator { name: "mv", does: "product of a matrix and a vector", lower: matmul },
    Operator { name: "dot", does: "product of two vectors", lower: matmul },
    Operator { name: "addmm", does: "`beta c + alpha a b`", lower: addmm },
    Operator { name: "baddbmm", does: "`beta c + alpha a b` in a batch", lower: addmm },
    Operator { name: "linear", does: "`x W^T + b`", lower: linear },
];

fn matmul(call: &mut Call) -> Lowered {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let (row, column) = (a.view.rank() == 1, b.view.rank() == 1);
    let a = if row { Tensor { view: a.view.unsqueeze(0), ..a } } else { a };
    let b = if column { Tensor { view: b.view.unsqueeze(1), ..b } } else { b };
    let value = call.product(&a, &b, None)?;
    let last = value.view.rank() - 1;
    let value = if column { without(&value, &[last]) } else { value };
    let row_at = value.view.rank().saturating_sub(if column { 1 } else { 2 });
    Ok(vec![if row { without(&value, &[row_at]) } else { value }])
}

fn addmm(call: &mut Call) -> Lowered {
    let (c, a, b) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let (beta, alpha) = (call.number_or(3, 1.0)?, call.number_or(4, 1.0)?);
    let a = call.scaled(&a, alpha)?;
    if beta == 0.0 {
        return Ok(vec![call.product(&a, &b, None)?]); // LibTorch does not look at c then.
    }
    let c = call.scaled(&c, beta)?;
    Ok(vec![call.product(&a, &b, Some(&c))?])
}

fn linear(call: &mut Call) -> Lowered {
    let (x, w, b) = (call.tensor(0)?, call.tensor(1)?, call.optional(2)?);
    if w.view.rank() != 2 || x.view.rank() == 0 {
        return Err(call.refuse("has a weight that is not a matrix"));
    }
    let mut shape = x.view.sizes.clone();
    let (inputs, outputs) = (w.view.sizes[1], w.view.sizes[0]);
    shape.pop();
    let rows = shape.iter().product();
    shape.push(outputs);
    let x = call.reshape(&x, &[rows, inputs])?;
    let w = Tensor { view: w.view.transpose(0, 1), ..w };
    let value = call.product(&x, &w, b.as_ref())?;
    Ok(vec![call.reshape(&value, &shape)?])
}
