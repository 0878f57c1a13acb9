//! Cases of convolutions and pools along two and three dimensions.

use super::A::{self, B, I, L, S, V};
use super::{Cases, Tensor, n};

pub fn images(c: &mut Cases) {
    convolutions(c);
    pools(c);
}

fn convolutions(c: &mut Cases) {
    let none = || None::<Tensor>;
    for (stride, padding, dilation, groups) in [
        ([1, 1], [0, 0], [1, 1], 1),
        ([1, 1], [1, 2], [1, 1], 2),
        ([2, 1], [1, 0], [1, 2], 1),
        ([2, 2], [1, 1], [1, 1], 1),
        ([1, 2], [0, 1], [2, 1], 2),
    ] {
        let inputs = || vec![n(&[3, 4, 6, 7]), n(&[6, 4 / groups, 3, 2]), n(&[6])];
        let run = move |x: &[Tensor]| x[0].conv2d(&x[1], Some(&x[2]), stride, padding, dilation, groups);
        let sizes = [stride, padding, dilation].map(|sizes| L(sizes.to_vec()));
        let head = [V(0), V(1), V(2)].into_iter().chain(sizes);
        c.add("conv2d", inputs(), head.clone().chain([I(groups)]).collect(), run);
        let tail = [B(false), L(vec![0, 0]), I(groups)];
        c.add("convolution", inputs(), head.clone().chain(tail.clone()).collect(), run);
        let flags = [B(false), B(false), B(false), B(true)];
        c.add("_convolution", inputs(), head.chain(tail).chain(flags).collect(), run);
    }
    // Windows of one element, of one row, of one column, and of all.
    for sizes in [[1, 1], [1, 3], [4, 1], [5, 6]] {
        let steps = vec![V(0), V(1), A::None, L(vec![1, 1]), L(vec![0, 0]), L(vec![1, 1]), I(1)];
        c.add("conv2d", vec![n(&[2, 3, 5, 6]), n(&[4, 3, sizes[0], sizes[1]])], steps.clone(), move |x| {
            x[0].conv2d(&x[1], none(), [1, 1], [0, 0], [1, 1], 1)
        });
        c.add("conv2d", vec![n(&[3, 5, 6]), n(&[4, 3, sizes[0], sizes[1]])], steps, move |x| {
            x[0].conv2d(&x[1], none(), [1, 1], [0, 0], [1, 1], 1)
        });
    }
    let same = vec![V(0), V(1), A::None, L(vec![1, 1]), S("same"), L(vec![1, 2]), I(1)];
    c.add("conv2d.padding", vec![n(&[2, 3, 6, 7]), n(&[4, 3, 3, 2])], same.clone(), move |x| {
        x[0].conv2d_padding(&x[1], none(), [1, 1], "same", [1, 2], 1)
    });
    c.add("_convolution_mode", vec![n(&[2, 3, 6, 7]), n(&[4, 3, 3, 2])], same, move |x| {
        x[0].internal_convolution_mode(&x[1], none(), [1, 1], "same", [1, 2], 1)
    });
    for stride in [[1, 1, 1], [1, 2, 2]] {
        let steps = vec![V(0), V(1), V(2), L(stride.to_vec()), L(vec![1, 0, 1]), L(vec![1, 1, 1]), I(2)];
        c.add("conv3d", vec![n(&[2, 2, 3, 4, 5]), n(&[4, 1, 2, 2, 3]), n(&[4])], steps, move |x| {
            x[0].conv3d(&x[1], Some(&x[2]), stride, [1, 0, 1], [1, 1, 1], 2)
        });
    }
}

fn pools(c: &mut Cases) {
    for (size, stride, padding, dilation) in [
        ([2, 2], [2, 2], [0, 0], [1, 1]),
        ([3, 2], [1, 2], [1, 1], [1, 1]),
        ([2, 3], [2, 1], [0, 1], [2, 1]),
        ([8, 7], [1, 1], [0, 0], [1, 1]),
    ] {
        let steps = || [size, stride, padding].map(|sizes| L(sizes.to_vec()));
        for ceil in [false, true] {
            let greatest = [V(0)].into_iter().chain(steps()).chain([L(dilation.to_vec()), B(ceil)]).collect();
            c.add("max_pool2d", vec![n(&[2, 3, 8, 7])], greatest, move |x| {
                x[0].max_pool2d(size, stride, padding, dilation, ceil)
            });
        }
        let mean = [V(0)].into_iter().chain(steps()).chain([B(false), B(true), A::None]).collect();
        c.add("avg_pool2d", vec![n(&[3, 8, 7])], mean, move |x| {
            x[0].avg_pool2d(size, stride, padding, false, true, None)
        });
    }
    let steps = || [V(0), L(vec![2, 1, 2]), L(vec![]), L(vec![0, 0, 1])].into_iter();
    let stride: [i64; 0] = [];
    let greatest = steps().chain([L(vec![1, 1, 1]), B(false)]).collect();
    c.add("max_pool3d", vec![n(&[2, 2, 4, 3, 6])], greatest, move |x| {
        x[0].max_pool3d([2, 1, 2], stride, [0, 0, 1], [1, 1, 1], false)
    });
    c.add("avg_pool3d", vec![n(&[2, 2, 4, 3, 6])], steps().chain([B(false), B(true), A::None]).collect(), move |x| {
        x[0].avg_pool3d([2, 1, 2], stride, [0, 0, 1], false, true, None)
    });
    for counts in [[1, 1], [3, 2], [6, 4]] {
        let arguments = || vec![V(0), L(counts.to_vec())];
        c.add("adaptive_avg_pool2d", vec![n(&[2, 3, 6, 4])], arguments(), move |x| x[0].adaptive_avg_pool2d(counts));
        c.add("adaptive_max_pool2d", vec![n(&[2, 3, 6, 4])], arguments(), move |x| x[0].adaptive_max_pool2d(counts).0);
    }
}
