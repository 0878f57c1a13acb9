//! Each kernel against sums of rounded numbers in float64.

use cladtorch::kernels::{Scalar, bf16};

use crate::reference::nearest;
use crate::runs;

/// Rows, inputs, outputs: odd sums, single rows and inputs, whole tiles, panels cut off at every edge.
const SHAPES: [[usize; 3]; 10] = [
    [1, 1, 2],
    [2, 2, 2],
    [7, 5, 3],
    [3, 33, 17],
    [12, 32, 32],
    [13, 31, 33],
    [33, 64, 48],
    [24, 17, 65],
    [77, 129, 16],
    [128, 100, 10],
];

const RELU: u8 = 1;

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 + seed * 101) as f32 * 0.37).sin() * 1.3).collect()
}

/// Packed, with NaN where there is no column.
fn packed(rows: usize, columns: usize, dense: &[f32]) -> Vec<f32> {
    let mut packed = vec![0.0; rows * f32::padded(columns)];
    f32::pack_matrix(rows, columns, dense, &mut packed);
    let width = f32::padded(1);
    for (index, row) in packed.chunks_exact_mut(width).enumerate() {
        let first = index / rows * width;
        row[width.min(columns - first)..].fill(f32::NAN);
    }
    packed
}

fn dense(rows: usize, columns: usize, packed: &[f32]) -> Vec<f32> {
    let mut dense = vec![0.0; rows * columns];
    f32::unpack_matrix(rows, columns, packed, &mut dense);
    dense
}

/// Both halves of pairs.
fn halves(pair: f32) -> [f32; 2] {
    let bits = pair.to_bits();
    [bits << 16, bits & 0xffff_0000].map(f32::from_bits)
}

/// A matrix as pairs along rows and across them.
fn pairs(rows: usize, columns: usize, dense: &[f32]) -> [Vec<f32>; 2] {
    let mut along = vec![f32::NAN; bf16::along::<f32>(rows, columns)];
    let mut across = vec![f32::NAN; bf16::across::<f32>(rows, columns)];
    bf16::round(rows, columns, &packed(rows, columns, dense), Some(&mut along), &mut across);
    [along, across]
}

/// Whether `found` are the sums of these products, whose rounding errors are those of float32 sums.
fn compare(what: &str, shape: [usize; 3], found: &[f32], terms: impl Fn(usize) -> Vec<f64>) -> Result<(), String> {
    for (index, &found) in found.iter().enumerate() {
        let terms = terms(index);
        let (sum, size): (f64, f64) = (terms.iter().sum(), terms.iter().map(|term| term.abs()).sum());
        let error = (f64::from(found) - sum).abs();
        if error.is_nan() || error > 1e-6 * size + 1e-12 {
            return Err(format!("{what} of {shape:?}: {found} instead of {sum} at {index}"));
        }
    }
    Ok(())
}

struct Layer {
    shape: [usize; 3],
    x: Vec<f32>,
    w: Vec<f32>,
    b: Vec<f32>,
    dz: Vec<f32>,
}

impl Layer {
    fn new(shape: [usize; 3]) -> Self {
        let [rows, inputs, outputs] = shape;
        let [x, w, b, dz] = [(rows * inputs, 1), (inputs * outputs, 2), (outputs, 3), (rows * outputs, 4)]
            .map(|(count, seed)| numbers(count, seed));
        Layer { shape, x, w, b, dz }
    }

    fn packed(&self) -> Vec<f32> {
        let [_, inputs, outputs] = self.shape;
        let mut layer = vec![0.0; f32::layer_length(inputs, outputs)];
        f32::pack_layer(inputs, outputs, &self.w, &self.b, &mut layer);
        layer
    }

    /// The weight as pairs of inputs and of outputs.
    fn rounded(&self) -> [Vec<f32>; 2] {
        let [_, inputs, outputs] = self.shape;
        let mut weight = vec![f32::NAN; bf16::across::<f32>(inputs, outputs)];
        let mut alone = weight.clone();
        // Where there is no input, nothing is written and nothing is read as a number of the result.
        let mut transposed = vec![0.0; bf16::across::<f32>(outputs, inputs)];
        bf16::round_layer(inputs, outputs, &self.packed(), &mut weight, Some(&mut transposed));
        bf16::round_layer(inputs, outputs, &self.packed(), &mut alone, None);
        assert!(weight.iter().zip(&alone).all(|(a, b)| a.to_bits() == b.to_bits()), "without the transposed weight");
        [weight, transposed]
    }

    fn forward(&self) -> Vec<f32> {
        let [rows, inputs, outputs] = self.shape;
        let mut z = vec![f32::NAN; rows * f32::padded(outputs)];
        let [x, _] = pairs(rows, inputs, &self.x);
        bf16::linear(RELU, self.shape, &x, &self.rounded()[0], &self.packed(), &mut z);
        dense(rows, outputs, &z)
    }

    /// Compares with the reference whose factors are rounded by `round`.
    fn check_forward(&self, found: &[f32], round: fn(f32) -> f32) -> Result<(), String> {
        let [_, inputs, outputs] = self.shape;
        let product = |x: f32, w: f32| f64::from(round(x)) * f64::from(round(w));
        compare("forward", self.shape, found, |at| {
            let (x, w) = (&self.x[at / outputs * inputs..], &self.w[at % outputs * inputs..][..inputs]);
            let mut terms: Vec<f64> = x.iter().zip(w).map(|(&x, &w)| product(x, w)).collect();
            terms.push(self.b[at % outputs].into());
            if terms.iter().sum::<f64>() > 0.0 { terms } else { vec![0.0; 2] }
        })
    }

    fn check_input_pullback(&self) -> Result<(), String> {
        let [rows, inputs, outputs] = self.shape;
        let ([dz, _], [_, transposed]) = (pairs(rows, outputs, &self.dz), self.rounded());
        let x = packed(rows, inputs, &self.x);
        let mut dx = vec![f32::NAN; x.len()];
        bf16::input_pullback(RELU, self.shape, &x, &transposed, &dz, &mut dx, false);
        let once = dense(rows, inputs, &dx);
        bf16::input_pullback(RELU, self.shape, &x, &transposed, &dz, &mut dx, true);
        let twice = dense(rows, inputs, &dx);
        assert!(once.iter().zip(&twice).all(|(once, twice)| (2.0 * once - twice).abs() <= 1e-6 * once.abs()));
        compare("input pullback", self.shape, &once, |at| {
            let (row, input) = (at / inputs, at % inputs);
            let slope = f64::from(u8::from(self.x[at] > 0.0));
            let term = |o: usize| {
                let [dz, w] = [self.dz[row * outputs + o], self.w[o * inputs + input]].map(|n| f64::from(nearest(n)));
                slope * dz * w
            };
            (0..outputs).map(term).collect()
        })
    }

    fn check_weight_pullback(&self) -> Result<(), String> {
        let [rows, inputs, outputs] = self.shape;
        let [[_, x], [_, pairs]] = [pairs(rows, inputs, &self.x), pairs(rows, outputs, &self.dz)];
        let dz = packed(rows, outputs, &self.dz);
        let mut gradient = vec![f32::NAN; f32::layer_length(inputs, outputs)];
        bf16::weight_pullback(self.shape, &x, &pairs, &dz, false, &mut gradient);
        // Half a panel without a column is not written; it is zero in the engine's memory.
        let unpack = |gradient: &[f32]| {
            let (mut w, mut b) = (vec![0.0; inputs * outputs], vec![0.0; outputs]);
            f32::unpack_layer(inputs, outputs, gradient, &mut w, &mut b);
            (w, b)
        };
        let (w, b) = unpack(&gradient);
        bf16::weight_pullback(self.shape, &x, &pairs, &dz, true, &mut gradient);
        let twice = unpack(&gradient).0;
        assert!(w.iter().zip(&twice).all(|(w, twice)| (2.0 * w - twice).abs() <= 1e-5), "added to itself");
        compare("bias pullback", self.shape, &b, |o| (0..rows).map(|row| self.dz[row * outputs + o].into()).collect())?;
        compare("weight pullback", self.shape, &w, |at| {
            let (output, input) = (at / inputs, at % inputs);
            let term = |row: usize| {
                let factors = [self.dz[row * outputs + output], self.x[row * inputs + input]];
                factors.map(|n| f64::from(nearest(n))).iter().product()
            };
            (0..rows).map(term).collect()
        })
    }
}

#[test]
fn products_are_sums_of_rounded_factors() {
    if !runs("kernels in bfloat16") {
        return;
    }
    for shape in SHAPES {
        let layer = Layer::new(shape);
        let found = layer.forward();
        layer.check_forward(&found, nearest).unwrap();
        layer.check_input_pullback().unwrap();
        layer.check_weight_pullback().unwrap();
        let cut = |x: f32| f32::from_bits(x.to_bits() & 0xffff_0000);
        let wrong = layer.check_forward(&found, cut).is_err() && layer.check_forward(&found, |x| x).is_err();
        assert!(wrong || shape == [1, 1, 2], "a reference that rounds otherwise is not noticed for {shape:?}");
    }
}

#[test]
fn a_value_does_not_depend_on_the_other_rows() {
    if !runs("rows of kernels in bfloat16") {
        return;
    }
    let all = Layer::new([77, 65, 40]).forward();
    for rows in [1, 2, 11, 30] {
        assert!(Layer::new([rows, 65, 40]).x == Layer::new([77, 65, 40]).x[..rows * 65]);
        let few = Layer::new([rows, 65, 40]).forward();
        assert!(few.iter().zip(&all).all(|(few, all)| few.to_bits() == all.to_bits()), "{rows} rows");
    }
}

#[test]
fn rounding_is_to_the_nearest_even_bfloat16() {
    if !runs("rounding to bfloat16") {
        return;
    }
    let one = 1.0f32.to_bits();
    let mut values: Vec<f32> =
        [0, 0x7fff, 0x8000, 0x8001, 0x17fff, 0x18000, 0x18001].map(|more| f32::from_bits(one + more)).into();
    values.extend([0.0, -0.0, f32::MAX, -f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40, -1e-40]);
    values.extend([f32::MIN_POSITIVE, 65504.0, -1.0 / 3.0, 1e-30]);
    values.extend(numbers(77, 5));
    for columns in [1, 2, 15, 16, 17, 31, 32, 33, 97] {
        let rows = values.len() / columns;
        let [along, across] = pairs(rows, columns, &values[..rows * columns]);
        let width = f32::padded(1);
        for (row, column) in
            (0..rows + rows % 2).flat_map(|row| (0..f32::padded(columns)).map(move |column| (row, column)))
        {
            let there = row < rows && column < columns;
            let expected = if there { nearest(values[row * columns + column]) } else { 0.0 };
            let (panel, inside) = (column / width, column % width);
            let down = halves(across[(panel * rows.div_ceil(2) + row / 2) * width + inside])[row % 2];
            let beside = (row < rows).then(|| halves(along[(panel * rows + row) * width / 2 + inside / 2])[column % 2]);
            for found in [Some(down), beside].into_iter().flatten() {
                let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
                assert!(same, "{found:e} instead of {expected:e} in row {row}, column {column} of {columns}");
            }
        }
    }
}
