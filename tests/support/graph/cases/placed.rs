//! Cases of operators that choose elements by several indices, add to chosen ones, count, or put parts of tensors together.

use super::A::{self, B, F, I, L, S, V, VL};
use super::{Cases, In, Tensor, ints, m, n, p};

pub fn placed(c: &mut Cases) {
    chosen(c);
    ordered(c);
    added(c);
    padded(c);
    parts(c);
    statistics(c);
}

fn chosen(c: &mut Cases) {
    let both = vec![V(0), VL(vec![1, 2])];
    c.add("index.Tensor", vec![n(&[4, 3]), ints(&[6], 4), ints(&[6], 3)], both.clone(), |x| {
        x[0].index(&[Some(&x[1]), Some(&x[2])])
    });
    c.add("index.Tensor", vec![n(&[4, 3, 2]), ints(&[2, 1], 4), ints(&[3], 3)], both, |x| {
        x[0].index(&[Some(&x[1]), Some(&x[2])])
    });
    let inner = vec![V(0), VL(vec![-1, 1, 2])];
    c.add("index.Tensor", vec![n(&[2, 3, 4]), ints(&[5], 3), ints(&[5], 4)], inner, |x| {
        x[0].index(&[None, Some(&x[1]), Some(&x[2])])
    });
    let arguments = vec![V(0), V(1), I(2), B(false), B(false)];
    c.add("embedding", vec![n(&[5, 4]), ints(&[2, 6], 5)], arguments, |x| {
        Tensor::embedding(&x[0], &x[1], 2, false, false)
    })
    .is_smooth = false; // the padding's row has no gradient
}

/// Along each dimension; for rows that LibTorch sorts as a whole and for rows that it sorts in part.
fn ordered(c: &mut Cases) {
    let shape = [3, 5, 4];
    for (dim, largest) in [(0, true), (1, false), (-1, true), (2, false)] {
        for sorted in [true, false] {
            for count in [1, 3] {
                let arguments = vec![V(0), I(count), I(dim), B(largest), B(sorted)];
                let run = move |x: &[Tensor]| {
                    let (values, places) = x[0].topk(count, dim, largest, sorted);
                    vec![values, places]
                };
                c.many("topk", vec![n(&shape)], arguments, run);
            }
        }
        c.many("sort", vec![n(&shape)], vec![V(0), I(dim), B(largest)], move |x| {
            let (values, places) = x[0].sort(dim, largest);
            vec![values, places]
        });
        c.many("sort.stable", vec![n(&shape)], vec![V(0), A::None, I(dim), B(largest)], move |x| {
            let (values, places) = x[0].sort_stable(false, dim, largest);
            vec![values, places]
        });
        let numbers = || vec![n(&shape), p(&shape)];
        c.add("argsort", numbers(), vec![V(0), I(dim), B(largest)], move |x| x[0].argsort(dim, largest)).is_smooth =
            false;
        for keep in [true, false] {
            let factor: Vec<i64> = match keep {
                true => (0..3).map(|d| if d == dim.rem_euclid(3) { 1 } else { shape[d as usize] }).collect(),
                false => (0..3).filter(|d| *d != dim.rem_euclid(3)).map(|d| shape[d as usize]).collect(),
            };
            let numbers = || vec![n(&shape), p(&factor)];
            let arguments = || vec![V(0), I(dim), B(keep)];
            c.add("argmax", numbers(), arguments(), move |x| x[0].argmax(dim, keep)).is_smooth = false;
            c.add("argmin", numbers(), arguments(), move |x| x[0].argmin(dim, keep)).is_smooth = false;
        }
    }
    let arguments = vec![V(0), I(2), I(1), B(true), B(true)];
    c.many("topk", vec![n(&[3, 300])], arguments, |x| {
        let (values, places) = x[0].topk(2, 1, true, true);
        vec![values, places]
    })
    .is_smooth = false;
    for keep in [true, false] {
        let all = || vec![V(0), A::None, B(keep)];
        c.add("argmax", vec![n(&shape), p(&[1, 1])], all(), move |x| x[0].argmax(None, keep)).is_smooth = false;
        c.add("argmin", vec![n(&shape), p(&[1, 1])], all(), move |x| x[0].argmin(None, keep)).is_smooth = false;
    }
}

fn added(c: &mut Cases) {
    let inputs = || vec![n(&[4, 3]), ints(&[6], 4), n(&[6, 3])];
    c.add("index_add", inputs(), vec![V(0), I(0), V(1), V(2), F(1.0)], |x| x[0].index_add(0, &x[1], &x[2]));
    let scaled = vec![V(0), I(-1), V(1), V(2), F(0.5)];
    c.add("index_add", vec![n(&[3, 4]), ints(&[6], 4), n(&[3, 6])], scaled, |x| {
        x[0].index_add(1, &x[1], &(&x[2] * 0.5))
    });
    for (dim, shape, bound) in [(0, [5, 2], 4), (1, [4, 7], 3)] {
        let inputs = vec![n(&[4, 3]), ints(&shape, bound), n(&shape)];
        c.add("scatter_add", inputs, vec![V(0), I(dim), V(1), V(2)], move |x| x[0].scatter_add(dim, &x[1], &x[2]));
    }
}

fn padded(c: &mut Cases) {
    for pad in [vec![1, 2], vec![0, 1, 2, 0]] {
        let arguments = vec![V(0), L(pad.clone()), F(0.0)];
        c.add("constant_pad_nd", vec![n(&[4, 3])], arguments, move |x| x[0].constant_pad_nd(&pad[..]));
    }
    for (mode, number) in [("reflect", 0), ("replicate", 1), ("circular", 2)] {
        let run = move |x: &[Tensor]| x[0].pad([2, 1], mode, None);
        c.add("pad", vec![n(&[2, 3, 4])], vec![V(0), L(vec![2, 1]), S(mode), A::None], run);
        c.add("_pad_enum", vec![n(&[2, 3, 4])], vec![V(0), L(vec![2, 1]), I(number), A::None], run);
    }
    let filled = vec![V(0), L(vec![1, 0]), S("constant"), F(2.5)];
    c.add("pad", vec![n(&[4, 3])], filled, |x| x[0].pad([1, 0], "constant", 2.5));
    let none = || None::<Tensor>;
    for padding in ["same", "valid"] {
        let same = vec![V(0), V(1), A::None, L(vec![1]), S(padding), L(vec![2]), I(1)];
        c.add("_convolution_mode", vec![n(&[2, 3, 9]), n(&[4, 3, 3])], same, move |x| {
            x[0].internal_convolution_mode(&x[1], none(), 1, padding, 2, 1)
        });
    }
    for count in [1, 2, 6] {
        let arguments = || vec![V(0), L(vec![count])];
        c.add("adaptive_avg_pool1d", vec![n(&[2, 3, 6])], arguments(), move |x| x[0].adaptive_avg_pool1d(count));
        c.add("adaptive_max_pool1d", vec![n(&[2, 3, 6])], arguments(), move |x| x[0].adaptive_max_pool1d(count).0);
    }
}

fn parts(c: &mut Cases) {
    for (start, end, length) in [(1, 3, 2), (0, 9, 5), (-2, 5, 2), (3, 3, 0)] {
        let inputs = vec![n(&[2, 5, 3]), n(&[2, length, 3])];
        let arguments = vec![V(0), V(1), I(1), I(start), I(end), I(1)];
        c.add("slice_scatter", inputs, arguments, move |x| x[0].slice_scatter(&x[1], 1, start, end, 1));
    }
    for index in [0, 2, -1] {
        let inputs = vec![n(&[2, 4, 3]), n(&[2, 3])];
        c.add("select_scatter", inputs, vec![V(0), V(1), I(1), I(index)], move |x| {
            x[0].select_scatter(&x[1], 1, index)
        });
    }
    for dims in [vec![0], vec![-1, 0]] {
        let arguments = vec![V(0), L(dims.clone())];
        c.add("flip", vec![n(&[4, 1, 3])], arguments, move |x| x[0].flip(&dims[..]));
    }
    for (offset, a, b) in [(0, -2, -1), (1, -1, 0), (-2, 0, 2)] {
        let arguments = vec![V(0), I(offset), I(a), I(b)];
        c.add("diag_embed", vec![n(&[2, 3])], arguments, move |x| x[0].diag_embed(offset, a, b));
    }
    for shape in [[4, 4], [3, 5]] {
        // of a matrix with more rows than columns, LibTorch's derivative is wrong
        c.add("trace", vec![n(&shape)], vec![V(0)], |x| x[0].trace());
    }
    let vectors = || vec![n(&[5, 3]), n(&[5, 3])];
    c.add("linalg_cross", vectors(), vec![V(0), V(1), I(-1)], |x| x[0].linalg_cross(&x[1], -1));
    c.add("linalg_cross", vec![n(&[3, 4]), n(&[3, 1])], vec![V(0), V(1), I(0)], |x| x[0].linalg_cross(&x[1], 0));
    c.add("cross", vectors(), vec![V(0), V(1), I(1)], |x| x[0].cross(&x[1], 1));
    c.add("cross", vec![n(&[3, 3]), n(&[3, 3])], vec![V(0), V(1), A::None], |x| x[0].cross(&x[1], None));
    for (dim, size, step) in [(0, 2, 1), (-1, 3, 2)] {
        c.add("unfold", vec![n(&[4, 7])], vec![V(0), I(dim), I(size), I(step)], move |x| x[0].unfold(dim, size, step));
    }
    c.add("zero", vec![n(&[4, 3])], vec![V(0)], |x| x[0].zero());
    c.add("fill.Scalar", vec![n(&[4, 3])], vec![V(0), F(1.5)], |x| x[0].fill(1.5));
    c.many("unsafe_split.Tensor", vec![n(&[5, 2])], vec![V(0), I(2), I(0)], |x| x[0].unsafe_split(2, 0));
    c.many("unsafe_chunk", vec![n(&[2, 6])], vec![V(0), I(3), I(-1)], |x| x[0].unsafe_chunk(3, -1));
}

fn statistics(c: &mut Cases) {
    let input: [fn(&[i64]) -> In; 2] = [m, n];
    for input in input {
        let inputs = || vec![input(&[4, 3]), n(&[4, 3])];
        c.add("count_nonzero", inputs(), vec![V(0), A::None], |x| x[0].count_nonzero(None));
        c.add("count_nonzero.dim_IntList", inputs(), vec![V(0), L(vec![0])], |x| x[0].count_nonzero_dim_intlist(0));
    }
    let inputs = || vec![m(&[4, 3]), n(&[4, 3])];
    c.add("sum", inputs(), vec![V(0), A::None], |x| x[0].sum(None));
    c.add("sum.dim_IntList", inputs(), vec![V(0), L(vec![1]), B(true), A::None], |x| {
        x[0].sum_dim_intlist(&[1i64][..], true, None)
    });
    let arguments = || vec![V(0), L(vec![1]), F(1.0), B(false)];
    let pair = |(a, b)| vec![a, b];
    c.many("var_mean.correction", vec![n(&[4, 3])], arguments(), move |x| {
        pair(x[0].var_mean_correction(&[1i64][..], 1, false))
    });
    c.many("std_mean.correction", vec![n(&[4, 3])], arguments(), move |x| {
        pair(x[0].std_mean_correction(&[1i64][..], 1, false))
    });
    c.binary("xlogy.Tensor", [n, p], &[], |a, b| a.xlogy(b), true);
    c.add("rms_norm", vec![n(&[3, 5])], vec![V(0), L(vec![5]), A::None, A::None], |x| {
        x[0].rms_norm(5, None::<Tensor>, None)
    });
}
