//! Products of every shape that takes its own code path, against sums computed one by one.

use super::*;

/// Around the numbers in a register of 4, 8 and 16, and twice and three times as many.
const SIDES: [usize; 18] = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33, 47, 48, 70];
/// Around the depths at which the second factor is laid out again, or not at all.
const DEPTHS: [usize; 10] = [0, 1, 2, 7, 16, 33, 64, 65, 128, 300];

/// Surrounds the result, and must stay unchanged.
const GUARD: f64 = 12345.0;

/// Small whole numbers: sums of their products are exact.
fn numbers<T: Scalar>(count: usize, seed: usize) -> Vec<T> {
    (0..count).map(|i| T::from_f64(((i * 7 + seed * 3) % 11) as f64 - 5.0)).collect()
}

/// [rows, columns] by rows or by columns, each `gap` numbers apart.
fn order(rows: usize, columns: usize, by_rows: bool, gap: usize) -> Matrix {
    if by_rows { Matrix { row: columns + gap, column: 1 } } else { Matrix { row: 1, column: rows + gap } }
}

fn length(rows: usize, columns: usize, order: Matrix) -> usize {
    (rows.max(1) - 1) * order.row + (columns.max(1) - 1) * order.column + 1
}

/// One product in its own memory, between guards.
fn check<T: Scalar>([m, n, k]: [usize; 3], orders: [Matrix; 3], add: bool) {
    let [a_order, b_order, c_order] = orders;
    let (a, b) = (numbers::<T>(length(m, k, a_order), 1), numbers::<T>(length(k, n, b_order), 2));
    let mut c = vec![T::from_f64(GUARD); length(m, n, c_order) + 2];
    let element = |i: usize, j: usize| 1 + i * c_order.row + j * c_order.column;
    let mut expected = c.clone();
    for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
        let begin = if add { (i % 3) as f64 } else { 0.0 };
        c[element(i, j)] = T::from_f64((i % 3) as f64);
        let terms = (0..k).map(|l| {
            a[i * a_order.row + l * a_order.column].to_f64() * b[l * b_order.row + j * b_order.column].to_f64()
        });
        expected[element(i, j)] = T::from_f64(begin + terms.sum::<f64>());
    }
    let inside = c.len() - 1;
    let factor = |order: Matrix, data| Factors { data, order, starts: Starts::Every(0) };
    let (left, right) = (factor(a_order, &a[..]), factor(b_order, &b[..]));
    products(1, [m, n, k], left, right, add, &mut c[1..inside], c_order, Starts::Every(0));
    assert!(c == expected, "[{m}, {k}] [{k}, {n}] {orders:?}, add: {add}");
}

#[test]
fn products_of_every_shape_are_sums_of_products() {
    for (m, n) in SIDES.into_iter().flat_map(|m| SIDES.map(|n| (m, n))) {
        for (index, k) in DEPTHS.into_iter().enumerate() {
            for case in 0..8 {
                let by_rows = |factor: usize| case >> factor & 1 == 1;
                let gap = (index + case) % 2 * 3;
                let orders = [order(m, k, by_rows(0), gap), order(k, n, by_rows(1), gap), order(m, n, by_rows(2), gap)];
                check::<f32>([m, n, k], orders, (m + n + case) % 2 == 0);
                check::<f64>([m, n, k], orders, (m + n + case) % 2 == 1);
            }
        }
    }
}

#[test]
fn a_bias_begins_the_sums() {
    for (m, n, k) in SIDES.into_iter().flat_map(|m| SIDES.map(|n| (m, n))).flat_map(|(m, n)| DEPTHS.map(|k| (m, n, k)))
    {
        let (a, b, bias) = (numbers::<f32>(m * k + 1, 1), numbers::<f32>(k * n + 1, 2), numbers::<f32>(n, 3));
        for by_rows in [true, false] {
            let (a_order, b_order) = (order(m, k, true, 0), order(k, n, by_rows, 0));
            let mut c = vec![0.0; m * n];
            biased_product([m, n, k], (&a, a_order), (&b, b_order), &bias, &mut c);
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let terms = (0..k).map(|l| a[i * a_order.row + l] * b[l * b_order.row + j * b_order.column]);
                assert_eq!(c[i * n + j], bias[j] + terms.sum::<f32>(), "[{m}, {k}] [{k}, {n}], element {i}, {j}");
            }
        }
    }
}

/// The convolution and its pullbacks by definition: y, dx, dw, added to `begin`.
fn by_definition(c: &Convolution, [x, w, bias, dy]: [&[f64]; 4], begin: f64) -> [Vec<f64>; 3] {
    let columns = c.columns().unwrap();
    let mut y = vec![0.0; dy.len()];
    let (mut dx, mut dw) = (vec![begin; x.len()], vec![begin; w.len()]);
    for event_group in 0..c.events * c.groups {
        let group = event_group % c.groups;
        for (output, n) in (0..c.outputs).flat_map(|output| (0..columns).map(move |n| (output, n))) {
            let to = (event_group * c.outputs + output) * columns + n;
            y[to] = bias[group * c.outputs + output];
            for (input, tap) in (0..c.inputs).flat_map(|input| (0..c.taps).map(move |tap| (input, tap))) {
                let from = (event_group * c.inputs + input) * c.length + n + tap * c.dilation;
                let weight = ((group * c.outputs + output) * c.inputs + input) * c.taps + tap;
                y[to] += x[from] * w[weight];
                dx[from] += w[weight] * dy[to];
                dw[weight] += x[from] * dy[to];
            }
        }
    }
    [y, dx, dw]
}

fn check_convolution<T: Scalar>(c: Convolution, add: bool) {
    let [signals, weights, results] = c.lengths().unwrap();
    let [x, w, dy] = [(signals, 1), (weights, 2), (results, 3)].map(|(count, seed)| numbers::<T>(count, seed));
    let bias = numbers::<T>(c.groups * c.outputs, 4);
    let [wide_x, wide_w, wide_bias, wide_dy] =
        [&x, &w, &bias, &dy].map(|values| values.iter().map(|value| value.to_f64()).collect::<Vec<_>>());
    let begin = if add { 2.0 } else { 0.0 };
    let expected = by_definition(&c, [&wide_x, &wide_w, &wide_bias, &wide_dy], begin);
    // Between guards; memory that is not added to is overwritten.
    let room = |count: usize| {
        let mut room = vec![T::from_f64(GUARD); count + 2];
        room[1..=count].fill(T::from_f64(if add { 2.0 } else { 77.0 }));
        room
    };
    let [mut y, mut dx, mut dw] = [results, signals, weights].map(room);
    convolve(&c, &x, &w, Some(&bias), &mut y[1..=results]);
    convolve_pullback(&c, &w, &dy, add, &mut dx[1..=signals]);
    convolve_weight_pullback(&c, &x, &dy, add, &mut dw[1..=weights]);
    for (found, expected) in [y, dx, dw].iter().zip(expected) {
        let guarded: Vec<f64> = [GUARD].into_iter().chain(expected).chain([GUARD]).collect();
        assert!(found.iter().map(|value| value.to_f64()).eq(guarded), "{c:?}, add: {add}");
    }
}

#[test]
fn convolutions_and_their_pullbacks_are_those_of_the_definition() {
    let channels = [(1, 1), (1, 16), (3, 5), (12, 13), (33, 2)];
    for (case, (inputs, outputs)) in channels.into_iter().enumerate() {
        for (taps, dilation) in [(1, 1), (2, 3), (5, 1), (8, 1), (16, 2), (17, 1), (130, 1)] {
            for columns in [1, 2, 15, 16, 17, 31, 33, 50, 64, 140] {
                let (events, groups) = (1 + (case + columns) % 3, 1 + (taps + columns) % 2);
                let length = columns + (taps - 1) * dilation;
                let c = Convolution { events, groups, inputs, outputs, taps, dilation, length };
                check_convolution::<f32>(c, columns % 2 == 0);
                check_convolution::<f64>(c, columns % 2 == 1);
            }
        }
    }
}

#[test]
#[should_panic(expected = "elements")]
fn a_convolution_of_other_lengths_is_refused() {
    let c = Convolution { events: 1, groups: 1, inputs: 1, outputs: 1, taps: 3, dilation: 1, length: 8 };
    convolve(&c, &[0f32; 8], &[0f32; 3], None, &mut [0f32; 7]);
}

/// Views without elements: the kernels would divide by their dimensions of size 0.
#[test]
fn nothing_is_computed_of_views_without_elements() {
    let first_of_two_operands = UNARY;
    let none: &[f32] = &[];
    for (sizes, strides) in [([0, 0], [[1, 0], [0, 1]]), ([3, 0], [[0, 1], [1, 0]]), ([0, 3], [[1, 0], [0, 1]])] {
        let views = strides.map(|strides| StridedView::new(0, &sizes, &strides).unwrap());
        let view = &views[0];
        map(first_of_two_operands, 0, &[none; 2], &views, &mut []);
        for add in [false, true] {
            let dx = Adjoint { data: &mut [], view, add };
            map_pullback(first_of_two_operands, 0, &[none; 2], &views, none, dx);
            pass_on(none, view, Adjoint { data: &mut [], view, add });
        }
        max(3, none, view, &mut []);
    }
}
