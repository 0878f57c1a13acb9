//! Products of every shape that takes a way of its own, against sums one by one.

use super::*;

/// Around the numbers in a register of 4, 8 and 16, and twice and three times as many.
const SIDES: [usize; 18] = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33, 47, 48, 70];
/// Around the depths at which the second factor is laid out again, or not at all.
const DEPTHS: [usize; 10] = [0, 1, 2, 7, 16, 33, 64, 65, 128, 300];

/// Stands around the result, and must stay.
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

/// One product in memory of its own, between guards.
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
