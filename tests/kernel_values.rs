//! Kernels of the operator graph against their definitions, at lengths around those of blocks and registers, with every variant.

use cladtorch::graph::Function;
use cladtorch::kernels::Scalar;
use cladtorch::kernels::strided::{self, Adjoint, Channels, Given, Moments, Order, Ranking, StridedView};
use support::variants;
use tch::{Kind, Tensor};

/// Reproducible bits (Marsaglia 2003, xorshift64).
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// In [-1, 1).
    fn number(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn numbers<T: Scalar>(&mut self, count: usize) -> Vec<T> {
        (0..count).map(|_| T::from_f64(self.number())).collect()
    }
}

fn dense(count: usize) -> StridedView {
    StridedView::new(0, &[count], &[1]).unwrap()
}

fn map<T: Scalar>(function: Function, x: &[&[T]]) -> Vec<T> {
    let mut y = vec![T::default(); x[0].len()];
    strided::map(function as u8, 0, x, &vec![dense(y.len()); x.len()], &mut y);
    y
}

/// With arbitrary bits, with a whole number of divisors and the numbers next to it, and of usual sizes.
macro_rules! check_rests {
    ($type:ty, $bits:ty) => {{
        let mut bits = Bits(0x9E37_79B9_7F4A_7C15);
        let pairs: Vec<[$type; 2]> = (0..200_000)
            .map(|case| {
                let [a, b] = [bits.next(), bits.next()].map(|bits| <$type>::from_bits(bits as $bits));
                match case / 256 % 4 {
                    0 => [a, b],
                    1 => {
                        let product = b * (bits.next() % 100_000) as $type;
                        [
                            <$type>::from_bits(
                                product.to_bits().wrapping_add((bits.next() % 3) as $bits).wrapping_sub(1),
                            ),
                            b,
                        ]
                    }
                    2 => [a, a / (1 + bits.next() % 1000) as $type],
                    _ => [bits.number(), bits.number()].map(|x| (100.0 * x) as $type),
                }
            })
            .collect();
        let [a, b] = [0, 1].map(|which| pairs.iter().map(|pair| pair[which]).collect::<Vec<_>>());
        let rests = [Function::Fmod, Function::Remainder].map(|function| map(function, &[&a, &b]));
        for (index, (a, b)) in a.into_iter().zip(b).enumerate() {
            let rest = a % b; // fmod
            let below = rest != 0.0 && (rest < 0.0) != (b < 0.0);
            for (got, wanted) in
                [rests[0][index], rests[1][index]].into_iter().zip([rest, if below { rest + b } else { rest }])
            {
                let same = got.to_bits() == wanted.to_bits() || got.is_nan() && wanted.is_nan();
                assert!(same, "of {a:e} and {b:e}: {got:e} instead of {wanted:e}");
            }
        }
    }};
}

#[test]
fn rests_have_the_bits_of_the_definition() {
    check_rests!(f32, u32);
    check_rests!(f64, u64);
}

/// Units in the last place of float32.
fn units(got: f32, wanted: f64) -> f64 {
    if got.is_nan() || wanted.is_nan() {
        return if got.is_nan() && wanted.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let rounded = wanted as f32;
    if rounded.is_infinite() || got.is_infinite() {
        return if rounded == got { 0.0 } else { f64::INFINITY };
    }
    let size = rounded.abs();
    let unit = f64::from(f32::from_bits(size.to_bits() + 1)) - f64::from(size);
    (f64::from(got) - wanted).abs() / unit
}

/// The float32 functions built on our own exponential against LibTorch's in float64; gelu(x) = x erfc(-x / sqrt(2)) /
/// 2.
#[test]
fn exponentials_are_exact_to_a_few_units_in_the_last_place() {
    type Reference = fn(&Tensor) -> Tensor;
    let gelu: Reference = |x| x * 0.5 * (x * -std::f64::consts::FRAC_1_SQRT_2).erfc();
    let functions: [(Function, Reference, f64); 5] = [
        (Function::Exp, |x| x.exp(), 1.0),
        (Function::Tanh, |x| x.tanh(), 3.0),
        (Function::Sigmoid, |x| x.sigmoid(), 3.0),
        (Function::Silu, |x| x * x.sigmoid(), 4.0),
        (Function::Gelu, gelu, 7.0),
    ];
    let mut bits = Bits(1);
    for (function, reference, most) in functions {
        for scale in [1e-3, 1.0, 10.0, 105.0] {
            let x: Vec<f32> = (0..100_003).map(|_| (scale * bits.number()) as f32).collect();
            let exact: Vec<f64> = Vec::try_from(reference(&Tensor::from_slice(&x).to_kind(Kind::Double))).unwrap();
            for ((x, got), exact) in x.iter().zip(map(function, &[&x])).zip(exact) {
                // A denormal number, or a product of one: its steps are many units.
                let off = if exact.abs() < 2e-36 { (f64::from(got) - exact).abs() / 3e-43 } else { units(got, exact) };
                // The portable kernels, without fused multiply-adds, lose one more; of x / sqrt(2) erfc has x^2 times the
                // roundings, of the product and of the root.
                let most = most + 1.0 + if function == Function::Gelu { 1.5 * f64::from(x * x) } else { 0.0 };
                assert!(off <= most, "{function:?}({x:e}) = {got:e} instead of {exact:e}: off by {off:.2} units");
            }
        }
    }
}

/// As in `sums.hpp`: partial sums, halved until one is left, with as many of the last terms as fit at each step.
fn sum_by_halves<T: Scalar + std::ops::AddAssign>(x: &[T]) -> T {
    let line = 64 / size_of::<T>();
    let partial = if x.len() < 4 * line { line } else { 4 * line };
    let (mut sums, mut rest) = (vec![T::default(); partial], x);
    let add = |sums: &mut [T], rest: &mut &[T]| {
        if rest.len() >= sums.len() {
            let (terms, others) = rest.split_at(sums.len());
            sums.iter_mut().zip(terms).for_each(|(sum, &term)| *sum += term);
            *rest = others;
        }
    };
    while rest.len() >= partial {
        add(&mut sums, &mut rest);
    }
    while sums.len() > 1 {
        let upper = sums.split_off(sums.len() / 2);
        sums.iter_mut().zip(upper).for_each(|(sum, other)| *sum += other);
        add(&mut sums, &mut rest);
    }
    sums[0]
}

/// Sums of more numbers than that are computed in float64.
fn sum_in_order<T: Scalar + std::ops::AddAssign>(x: &[T]) -> T {
    match x.len() {
        ..=4096 => sum_by_halves(x),
        _ => T::from_f64(x.chunks(4096).map(|some| sum_by_halves(some).to_f64()).sum()),
    }
}

fn check_sums<T: Scalar + std::ops::AddAssign>() {
    let mut bits = Bits(2);
    for columns in (17..300).chain([511, 512, 513, 1000, 1024, 4095, 4096, 4097, 5000, 8192, 20_000]) {
        let x: Vec<T> = bits.numbers(3 * columns);
        let (mut y, target) = (vec![T::default(); 3], StridedView::new(0, &[3, columns], &[1, 0]).unwrap());
        strided::accumulate(&x, &dense(x.len()), &mut y, &target);
        let wanted: Vec<T> = x.chunks(columns).map(sum_in_order).collect();
        assert!(y == wanted, "rows of {columns}: {y:?} instead of {wanted:?}");
    }
}

/// The bits of a sum do not depend on the processor.
#[test]
fn sums_are_taken_in_one_order() {
    check_sums::<f32>();
    check_sums::<f64>();
}

const LENGTHS: [usize; 16] = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 33, 64, 65, 255, 256, 300];

/// Softmax, or its logarithm, of one row in float64, and its pullback.
fn softmax_of(logarithm: bool, x: &[f64], dy: &[f64]) -> [Vec<f64>; 2] {
    let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = x.iter().map(|x| (x - top).exp()).sum();
    let part: Vec<f64> = x.iter().map(|x| (x - top).exp() / sum).collect();
    let whole: f64 = dy.iter().zip(&part).map(|(dy, part)| if logarithm { *dy } else { dy * part }).sum();
    let pulled = dy.iter().zip(&part).map(|(dy, part)| if logarithm { dy - part * whole } else { part * (dy - whole) });
    let pulled = pulled.collect();
    [if logarithm { x.iter().map(|x| x - top - sum.ln()).collect() } else { part }, pulled]
}

/// Two matrices whose rows have elements `side` numbers apart; row `r` of a matrix begins at number r.
fn check_softmax<T: Scalar>(logarithm: bool, columns: usize, side: usize, tolerance: f64) {
    let count = 2 * columns * side;
    let mut bits = Bits(count as u64);
    let [x, dy, begin]: [Vec<T>; 3] =
        [3.0, 1.0, 1.0].map(|scale| (0..count).map(|_| T::from_f64(scale * bits.number())).collect());
    for add in [false, true] {
        let (mut y, mut dx, all) = (vec![T::default(); count], begin.clone(), dense(count));
        if side == 1 {
            strided::softmax(logarithm, columns, &x, &all, &mut y);
            strided::softmax_pullback(logarithm, columns, &y, &dy, Adjoint { data: &mut dx, view: &all, add });
        } else {
            strided::softmax_down(logarithm, [columns, side], &x, &mut y);
            strided::softmax_down_pullback(logarithm, [columns, side], &y, &dy, add, &mut dx);
        }
        for (matrix, row) in (0..2).flat_map(|matrix| (0..side).map(move |row| (matrix, row))) {
            let places = (0..columns).map(|column| (matrix * columns + column) * side + row);
            let of = |data: &[T]| places.clone().map(|place| data[place].to_f64()).collect::<Vec<_>>();
            let [value, mut pulled] = softmax_of(logarithm, &of(&x), &of(&dy));
            if add {
                pulled.iter_mut().zip(of(&begin)).for_each(|(pulled, begin)| *pulled += begin);
            }
            for (got, wanted) in of(&y).into_iter().zip(value).chain(of(&dx).into_iter().zip(pulled)) {
                let off = (got - wanted).abs();
                assert!(
                    off <= tolerance * (1.0 + wanted.abs()),
                    "{columns} columns, side {side}: {got} instead of {wanted}"
                );
            }
        }
    }
}

#[test]
fn softmax_is_that_of_the_definition_along_rows_and_down_columns() {
    for (columns, logarithm) in LENGTHS.into_iter().flat_map(|columns| [(columns, false), (columns, true)]) {
        for side in [1, 2, 3, 16, 63, 130, 255, 256, 257] {
            check_softmax::<f32>(logarithm, columns, side, 4e-6);
            check_softmax::<f64>(logarithm, columns, side, 1e-14);
        }
    }
}

/// Batch normalisation of one channel in float64: mean, deviation, value, and its pullback for x, w and b.
struct Standardised {
    moments: [f64; 2],
    value: Vec<f64>,
    dx: Vec<f64>,
    sums: [f64; 2],
}

fn standardised(x: &[f64], [w, b]: [f64; 2], eps: f64, dy: &[f64]) -> Standardised {
    let count = x.len() as f64;
    let mean = x.iter().sum::<f64>() / count;
    let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
    let factor = 1.0 / (variance + eps).sqrt();
    let unit: Vec<f64> = x.iter().map(|x| (x - mean) * factor).collect();
    let sums = [dy.iter().sum::<f64>(), dy.iter().zip(&unit).map(|(dy, unit)| dy * unit).sum()];
    let pulled = dy.iter().zip(&unit).map(|(dy, unit)| factor * w * (dy - (sums[0] + unit * sums[1]) / count));
    let (dx, value) = (pulled.collect(), unit.iter().map(|unit| unit * w + b).collect());
    Standardised { moments: [mean, variance.sqrt()], value, dx, sums }
}

/// The place of element `side` of a channel in row `row`; see `Channels`.
fn place(all: &Channels, row: usize, channel: usize, side: usize) -> usize {
    channel / all.width * all.panel() + (row * all.width + channel % all.width) * all.side + side
}

fn check_channels<T: Scalar>(all: Channels, centre: f64, tolerance: f64) {
    let (mut bits, eps, length) = (Bits(all.len() as u64 + 1), 1e-3, all.len());
    let [mut x, dy, begin]: [Vec<T>; 3] = std::array::from_fn(|_| bits.numbers(length));
    x.iter_mut().for_each(|x| *x = T::from_f64(x.to_f64() + centre));
    let [w, b]: [Vec<T>; 2] = std::array::from_fn(|_| bits.numbers(all.channels));
    let [mut mean, mut deviation] = [(); 2].map(|()| vec![T::default(); all.channels]);
    all.moments(&x, &mut mean, &mut deviation);
    let moments = Moments { mean: &mean, deviation: &deviation, eps };
    let [mut shift, mut slope] = [(); 2].map(|()| vec![0.0; all.channels]);
    all.sums(&x, moments, &dy, &mut shift, &mut slope);
    let mut y = begin.clone();
    all.standardise(&x, moments, &w, &b, &mut y);
    let given = Given { w: &w, shift: &shift, slope: &slope, count: all.rows * all.side };
    let [mut stored, mut added] = [begin.clone(), begin.clone()];
    all.pullback(&x, moments, given, &dy, false, &mut stored);
    all.pullback(&x, moments, given, &dy, true, &mut added);
    let mut seen = vec![false; length];
    for channel in 0..all.channels {
        let elements = (0..all.rows).flat_map(|row| (0..all.side).map(move |side| (row, side)));
        let places: Vec<usize> = elements.map(|(row, side)| place(&all, row, channel, side)).collect();
        let of = |data: &[T]| places.iter().map(|&place| data[place].to_f64()).collect::<Vec<_>>();
        let wanted = standardised(&of(&x), [w[channel], b[channel]].map(T::to_f64), eps, &of(&dy));
        let check = |got: &[f64], wanted: &[f64], what: &str| {
            for (got, wanted) in got.iter().zip(wanted) {
                let off = (got - wanted).abs();
                assert!(
                    off <= tolerance * (1.0 + wanted.abs()),
                    "{all:?}, channel {channel}: {what} {got}, not {wanted}"
                );
            }
        };
        check(&[mean[channel].to_f64(), deviation[channel].to_f64()], &wanted.moments, "moments");
        check(&of(&y), &wanted.value, "value");
        check(&[shift[channel], slope[channel]], &wanted.sums, "sums");
        check(&of(&stored), &wanted.dx, "pullback");
        let sum: Vec<f64> = wanted.dx.iter().zip(of(&begin)).map(|(dx, begin)| dx + begin).collect();
        check(&of(&added), &sum, "added pullback");
        places.iter().for_each(|&place| seen[place] = true);
    }
    // Where there is no channel.
    for (place, _) in seen.iter().enumerate().filter(|(_, seen)| !**seen) {
        let values = [y[place], stored[place], added[place]];
        assert!(values == [T::default(), T::default(), begin[place]], "{all:?}: {values:?} at {place}");
    }
    // Some neighbouring channels have the bits that all of them have.
    let first = all.channels / 3 / all.width.min(16) * all.width.min(16);
    if all.width == all.channels || first.is_multiple_of(all.width) {
        let (own, start) = (Channels { channels: all.channels - first, ..all }, place(&all, 0, first, 0));
        let [mut part_mean, mut part_deviation] = [(); 2].map(|()| vec![T::default(); own.channels]);
        own.moments(&x[start..], &mut part_mean, &mut part_deviation);
        assert!(part_mean == mean[first..] && part_deviation == deviation[first..], "{all:?} from channel {first} on");
        let [mut part_shift, mut part_slope] = [(); 2].map(|()| vec![0.0; own.channels]);
        let moments = Moments { mean: &part_mean, deviation: &part_deviation, eps };
        own.sums(&x[start..], moments, &dy[start..], &mut part_shift, &mut part_slope);
        assert!(part_shift == shift[first..] && part_slope == slope[first..], "{all:?} from channel {first} on");
    }
}

#[test]
fn channels_are_standardised_as_defined_in_every_layout() {
    for (rows, channels) in
        [2, 3, 63, 64, 65, 130].into_iter().flat_map(|rows| LENGTHS.map(|channels| (rows, channels)))
    {
        let panels = [f32::padded(1), f64::padded(1)].map(|width| Channels { rows, channels, side: 1, width });
        check_channels::<f32>(panels[0], 0.0, 1e-5);
        check_channels::<f64>(panels[1], 0.0, 1e-12);
        for side in [1, 2, 7, 33] {
            check_channels::<f32>(Channels::dense(rows, channels, side), 0.0, 1e-5);
            check_channels::<f64>(Channels::dense(rows, channels, side), 0.0, 1e-12);
        }
    }
    // Far from 0, where float32 has fewer digits than the deviation needs.
    check_channels::<f64>(Channels::dense(500, 3, 5), 1e5, 1e-8);
}

/// Views of [rows, columns] and the memory that they need.
fn views(rows: usize, columns: usize) -> [(StridedView, usize); 6] {
    let strides = [[columns, 1], [1, rows], [0, 1], [1, 0], [2 * columns + 3, 2], [0, 0]];
    strides.map(|strides| {
        let view = StridedView::new(0, &[rows, columns], &strides).unwrap();
        let extent = view.extent();
        (view, extent)
    })
}

fn read(view: &StridedView, memory: &[f64]) -> Vec<f64> {
    let mut elements = Vec::new();
    view.for_each(|offset| elements.push(memory[offset]));
    elements
}

/// Sums of two views, copies and additions of each: small whole numbers, so that all are exact.
#[test]
fn views_are_read_where_they_lie() {
    let memory: Vec<f64> =
        (0..2 * 300 * 610).map(|i| f64::from((i * 7 % 31) as u8)).map(|x| if x == 0.0 { -x } else { x }).collect();
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    for (rows, columns) in [1, 2, 5, 17, 300].into_iter().flat_map(|rows| LENGTHS.map(|columns| (rows, columns))) {
        let count = rows * columns;
        for (first, extent) in views(rows, columns) {
            let elements = read(&first, &memory);
            let mut y = vec![1.0; count];
            strided::copy(&memory[..extent], &first, &mut y, &dense(count));
            assert!(bits(&y) == bits(&elements), "copy of {first:?}");
            strided::accumulate(&memory[..extent], &first, &mut y, &dense(count));
            assert!(y.iter().zip(&elements).all(|(y, x)| *y == 2.0 * x), "addition of {first:?}");
            for (second, other) in views(rows, columns) {
                let wanted: Vec<f64> = elements.iter().zip(read(&second, &memory)).map(|(a, b)| a - b).collect();
                for begin in [0, count / 3, count - 1] {
                    let mut y = vec![0.0; count - begin];
                    let operands = [&memory[..extent], &memory[..other]];
                    strided::map(Function::Sub as u8, begin, &operands, &[first, second], &mut y);
                    assert!(y == wanted[begin..], "{first:?} - {second:?} from {begin} on");
                }
            }
        }
    }
}

/// Numbers many of which are equal, including 0 and -0, or NaN.
fn with_equals(bits: &mut Bits, count: usize, different: u64) -> Vec<f32> {
    let number = |bits: &mut Bits| match bits.next() % (different + 2) {
        0 if different > 3 => f32::NAN,
        1 => -0.0,
        other => (other as f32 - 3.0) / 2.0,
    };
    (0..count).map(|_| number(bits)).collect()
}

/// Places as in LibTorch, also for equal elements, for rows of every kind of memory.
#[test]
fn rows_are_in_the_order_of_libtorch() {
    let mut bits = Bits(0x2545_F491_4F6C_DD1D);
    let sorted = [(Order::Stable, true), (Order::Top, true), (Order::TopUnsorted, false)];
    for columns in [1, 2, 3, 8, 15, 16, 17, 30, 64, 65, 128, 255, 256, 257, 700] {
        for different in [1, 2, 6, 40, 100_000] {
            let rows = 5;
            let numbers = with_equals(&mut bits, rows * columns, different);
            let x = Tensor::from_slice(&numbers).reshape([rows as i64, columns as i64]);
            let turned = StridedView::new(0, &[rows, columns], &[1, rows]).unwrap();
            let memory: Vec<f32> = x.transpose(0, 1).contiguous().reshape([-1]).try_into().unwrap();
            let counts = [1, 2, 3, columns / 65, columns / 64, columns / 2, columns - 1, columns, 0];
            for count in counts.into_iter().filter(|count| *count <= columns) {
                for ((order, sorts), descending) in sorted.iter().flat_map(|order| [(*order, true), (*order, false)]) {
                    let wanted = match order {
                        Order::Stable => x.sort_stable(true, 1, descending).1.narrow(1, 0, count as i64),
                        _ => x.topk(count as i64, 1, descending, sorts).1,
                    };
                    let wanted: Vec<f32> = wanted.reshape([-1]).to_kind(Kind::Float).try_into().unwrap();
                    let ranking = Ranking { order, descending, columns, count };
                    let mut places = vec![-1.0; rows * count];
                    strided::argsort(ranking, &memory, &turned, &mut places);
                    assert_eq!(places, wanted, "{ranking:?}, {different} different numbers");
                }
            }
        }
    }
}

#[test]
fn the_variants_of_the_kernels_pass_too() {
    variants::pass_too(&[
        "rests_have_the_bits_of_the_definition",
        "exponentials_are_exact_to_a_few_units_in_the_last_place",
        "sums_are_taken_in_one_order",
        "softmax_is_that_of_the_definition_along_rows_and_down_columns",
        "channels_are_standardised_as_defined_in_every_layout",
        "views_are_read_where_they_lie",
        "rows_are_in_the_order_of_libtorch",
        "the_variants_of_the_kernels_pass_too",
    ]);
}
