//! Products of matrices as a library takes them.

use std::fmt;

use crate::graph::View;

/// Multiplications from which on a library's product is worth asking for.
const LARGE: usize = 1 << 26;

/// Where the equal matrices of a batch lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Matrix {
    /// Numbers before the first one.
    pub start: usize,
    /// Whether they are stored column by column, not row by row.
    pub is_transposed: bool,
    /// Numbers from one row, or column, to the next one.
    pub leading: usize,
    /// Numbers from one matrix to the next one.
    pub stride: usize,
}

impl Matrix {
    /// The last two dimensions are the matrices, and all before are batches; `None` if it is no such memory.
    pub fn of(view: &View) -> Option<Self> {
        let rank = view.rank().checked_sub(2)?;
        let ([rows, columns], [down, along]) =
            ([view.sizes[rank], view.sizes[rank + 1]], [view.strides[rank], view.strides[rank + 1]]);
        // What a single row or column is away from the next one does not matter.
        let by_rows = (along == 1 || columns == 1) && (down >= columns || rows == 1);
        let by_columns = (down == 1 || rows == 1) && (along >= rows || columns == 1);
        let leading = match (by_rows, by_columns) {
            (true, _) => {
                if rows == 1 {
                    columns
                } else {
                    down
                }
            }
            (_, true) => {
                if columns == 1 {
                    rows
                } else {
                    along
                }
            }
            _ => return None,
        };
        let stride = stride(&view.sizes[..rank], &view.strides[..rank])?;
        Some(Matrix { start: view.offset, is_transposed: !by_rows, leading, stride })
    }
}

/// The one stride of these dimensions, if they have one.
fn stride(sizes: &[usize], strides: &[usize]) -> Option<usize> {
    let mut dims = sizes.iter().zip(strides).rev().filter(|&(&size, _)| size != 1);
    let Some((&size, &first)) = dims.next() else { return Some(0) };
    let mut next = first * size;
    for (size, &stride) in dims {
        if stride != next {
            return None;
        }
        next *= size;
    }
    Some(first)
}

/// The numbers of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numbers {
    /// float32, all of whose digits count.
    Float,
    /// float32, whose factors are rounded to TF32: 11 significant bits and the range of float32. Sums are float32.
    FloatAsTf32,
    /// float32, whose factors are rounded to bfloat16: 8 significant bits and the range of float32. Sums are float32.
    FloatAsBf16,
    /// float64
    Double,
}

impl Numbers {
    /// Those whose products older GPUs do not have.
    pub const ROUNDED: [Numbers; 2] = [Numbers::FloatAsTf32, Numbers::FloatAsBf16];

    /// The largest relative error of a rounded sum, or a bound of it.
    pub fn rounding(self) -> f64 {
        if self == Numbers::Double { f64::EPSILON } else { f64::from(f32::EPSILON) }
    }
}

/// c = a b, with matrices a [m, k], b [k, n] and c [m, n], for each of a batch; c is stored row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixProduct {
    /// What the matrices hold.
    pub numbers: Numbers,
    /// Products, and then m, n and k.
    pub sizes: [usize; 4],
    /// a, b and c.
    pub matrices: [Matrix; 3],
    /// Whether what is there stays: c += a b.
    pub adds: bool,
    /// Where a vector [n] begins that each row of c has added: numbers before the first one.
    pub bias: Option<usize>,
}

impl fmt::Display for MatrixProduct {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [batches, m, n, k] = self.sizes;
        write!(f, "{batches} of [{m}, {k}] by [{k}, {n}]")?;
        f.write_str(match self.numbers {
            Numbers::Float | Numbers::Double => "",
            Numbers::FloatAsTf32 => " in TF32",
            Numbers::FloatAsBf16 => " in bfloat16",
        })?;
        f.write_str(if self.bias.is_some() { " with a bias" } else { "" })?;
        f.write_str(if self.adds { ", added" } else { "" })
    }
}

impl MatrixProduct {
    /// Bytes of a number.
    pub fn size(&self) -> usize {
        if self.numbers == Numbers::Double { size_of::<f64>() } else { size_of::<f32>() }
    }

    /// Whether a library is likely to be faster than a kernel.
    pub fn is_large(&self) -> bool {
        self.sizes.iter().fold(1, |all: usize, &size| all.saturating_mul(size)) >= LARGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_where_their_views_say() {
        let of = |start, is_transposed, leading, stride| Some(Matrix { start, is_transposed, leading, stride });
        let x = View::contiguous(&[6, 4, 5]);
        let scalar = View::contiguous(&[5]).expand(&[6, 4, 5]).unwrap();
        let heads = View::contiguous(&[2, 4, 3, 5]).transpose(1, 2);
        let cases = [
            (x.clone(), of(0, false, 5, 20)),
            (x.transpose(1, 2), of(0, true, 5, 20)),
            (x.narrow(2, 1, 3, 1), of(1, false, 5, 20)),
            (x.narrow(0, 1, 3, 2), of(20, false, 5, 40)),
            (x.transpose(0, 1), of(0, false, 20, 5)),
            (View::contiguous(&[2, 3, 4, 5]), of(0, false, 5, 20)),
            (heads.clone(), None),
            (heads.narrow(0, 1, 1, 1), of(60, false, 15, 5)),
            (View::contiguous(&[4, 5]).unsqueeze(0).expand(&[6, 4, 5]).unwrap(), of(0, false, 5, 0)),
            (scalar, None),
            (x.narrow(2, 0, 3, 2), None),
            (x.narrow(1, 2, 1, 1), of(10, false, 5, 20)),
            (x.narrow(2, 2, 1, 1), of(2, false, 5, 20)),
            (x.narrow(2, 2, 1, 1).transpose(1, 2), of(2, true, 5, 20)),
            (View::contiguous(&[5]), None),
        ];
        for (view, expected) in cases {
            assert_eq!(Matrix::of(&view), expected, "{view:?}");
            let Some(Matrix { start, is_transposed, leading, stride }) = expected else { continue };
            let [before @ .., rows, columns] = &view.sizes[..] else { unreachable!() };
            let [down, along] = if is_transposed { [1, leading] } else { [leading, 1] };
            let places = (0..before.iter().product()).flat_map(|batch: usize| {
                (0..*rows).flat_map(move |i| (0..*columns).map(move |j| start + batch * stride + i * down + j * along))
            });
            assert_eq!(places.collect::<Vec<_>>(), view.offsets().collect::<Vec<_>>(), "{view:?}");
        }
    }
}
