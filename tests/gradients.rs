//! The derivatives that Clad made, and the matrix product's by hand, function by function: float64 against LibTorch
//! autograd and central differences, float32 against float64, at ordinary and at awkward points. The checkers return a
//! `Result`, so that the suite can also show that it catches a wrong pullback.

mod common;

use std::path::Path;
use std::process::Command;

use cladtorch::graph::{Activation, Loss};
use cladtorch::kernels::Scalar;
use common::{central_difference, compare};
use tch::{Kind, Reduction, Tensor};

type Checked = Result<(), String>;

/// Zeros of both signs, denormals, large values, and where exp overflows or underflows in one of the types.
const AWKWARD: [f64; 25] = [
    0.0, -0.0, 1e-40, -1e-40, 5e-324, -5e-324, 1e-8, -1e-8, 1.0, -1.0, 16.5, -16.5, 20.0, -20.0, 88.0, -88.0, 100.0,
    -100.0, 104.0, -104.0, 750.0, -750.0, 1e4, -1e4, 37.0,
];

/// The awkward points and a grid from -12 to 12.
fn points() -> Vec<f64> {
    AWKWARD.into_iter().chain((-64..=64).map(|i| f64::from(i) * 0.1875)).collect()
}

/// Seeded numbers in [-1, 1].
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    (1..=count).map(|i| (i as f64 * (seed as f64 + 0.37)).sin()).collect()
}

fn cast<T: Scalar>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&v| T::from_f64(v)).collect()
}

fn widen<T: Scalar>(values: &[T]) -> Vec<f64> {
    values.iter().map(|v| v.to_f64()).collect()
}

fn tensor(values: &[f64], shape: [usize; 2]) -> Tensor {
    Tensor::from_slice(values).reshape(shape.map(|side| side as i64))
}

fn leaf(values: &[f64], shape: [usize; 2]) -> Tensor {
    tensor(values, shape).set_requires_grad(true)
}

fn values(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double).flatten(0, -1)).unwrap()
}

// ---------------------------------------------------------------------------------------------------- activations

fn activation<T: Scalar>(kind: Activation, z: &[f64]) -> Vec<f64> {
    let mut a = vec![T::default(); z.len()];
    T::activation(kind as u8, &cast::<T>(z), &mut a);
    widen(&a)
}

fn activation_pullback<T: Scalar>(kind: Activation, z: &[f64], da: &[f64]) -> Vec<f64> {
    let mut dz = vec![T::default(); z.len()];
    T::activation_pullback(kind as u8, &cast::<T>(z), &cast::<T>(da), &mut dz);
    widen(&dz)
}

fn torch_activation(kind: Activation, z: &Tensor) -> Tensor {
    match kind {
        Activation::Identity => z * 1.0,
        Activation::ReLU => z.relu(),
        Activation::LeakyReLU => z.leaky_relu(),
        Activation::Tanh => z.tanh(),
        Activation::Sigmoid => z.sigmoid(),
        Activation::SiLU => z.silu(),
        Activation::GELU => z.gelu("none"),
        Activation::Softplus => z.softplus(),
    }
}

/// LibTorch's softplus is linear above 20: it is off by exp(-20) = 2e-9 there.
fn torch_rtol(kind: Activation) -> f64 {
    if kind == Activation::Softplus { 2.1e-9 } else { 1e-12 }
}

/// Points where central differences mean something: none within a step of a kink.
fn smooth(kind: Activation, z: f64) -> bool {
    !matches!(kind, Activation::ReLU | Activation::LeakyReLU) || z.abs() > 1e-4
}

/// `pullback(z, da)` against LibTorch and against differences of the kernel itself.
fn check_activation(kind: Activation, pullback: impl Fn(&[f64], &[f64]) -> Vec<f64>) -> Checked {
    let z = points();
    let da: Vec<f64> = numbers(z.len(), 1).iter().map(|d| d + 1.5).collect();
    let got = pullback(&z, &da);
    let input = leaf(&z, [1, z.len()]);
    (torch_activation(kind, &input) * tensor(&da, [1, z.len()])).sum(Kind::Double).backward();
    compare(&got, &values(&input.grad()), torch_rtol(kind), 1e-14).map_err(|e| format!("autograd: {e}"))?;

    let numeric = |i: usize| da[i] * central_difference(|z| activation::<f64>(kind, z)[0], &z[i..=i])[0];
    let usable: Vec<_> = (0..z.len()).filter(|&i| smooth(kind, z[i])).collect();
    let want: Vec<_> = usable.iter().map(|&i| numeric(i)).collect();
    let got: Vec<_> = usable.iter().map(|&i| got[i]).collect();
    compare(&got, &want, 1e-9, 1e-9).map_err(|e| format!("central differences: {e}"))
}

#[test]
fn activations_have_the_right_values() {
    let z = points();
    for &kind in Activation::ALL {
        let want = values(&torch_activation(kind, &tensor(&z, [1, z.len()])));
        let got = activation::<f64>(kind, &z);
        compare(&got, &want, torch_rtol(kind), 1e-14).unwrap_or_else(|e| panic!("{}: {e}", kind.name()));
    }
}

#[test]
fn activations_have_the_right_derivatives() {
    for &kind in Activation::ALL {
        check_activation(kind, |z, da| activation_pullback::<f64>(kind, z, da))
            .unwrap_or_else(|e| panic!("{}: {e}", kind.name()));
    }
}

#[test]
fn a_wrong_activation_pullback_is_caught() {
    for &kind in Activation::ALL {
        let right = |z: &[f64], da: &[f64]| activation_pullback::<f64>(kind, z, da);
        let plant = |name: &str, error: &dyn Fn(f64, f64) -> f64| {
            let wrong = |z: &[f64], da: &[f64]| right(z, da).iter().zip(z).map(|(&d, &z)| error(d, z)).collect();
            assert!(check_activation(kind, wrong).is_err(), "{}: {name} passed", kind.name());
        };
        plant("a factor of 1 + 1e-6", &|d, _| d * (1.0 + 1e-6));
        plant("a sign", &|d, _| -d);
        plant("a different derivative at 0", &|d, z| if z == 0.0 { d + 0.5 } else { d });
        plant("a NaN at -100", &|d, z| if z == -100.0 { f64::NAN } else { d });
        for &other in Activation::ALL.iter().filter(|&&other| other != kind) {
            let swapped = |z: &[f64], da: &[f64]| activation_pullback::<f64>(other, z, da);
            assert!(check_activation(kind, swapped).is_err(), "{} passed as {}", other.name(), kind.name());
        }
    }
}

#[test]
fn activations_in_float_agree_with_double() {
    // Points that float32 has, so that only the arithmetic differs.
    let z: Vec<f64> = points().into_iter().map(|z| f64::from(z as f32)).collect();
    let ones = vec![1.0; z.len()];
    for &kind in Activation::ALL {
        let value = compare(&activation::<f32>(kind, &z), &activation::<f64>(kind, &z), 1e-6, 1e-7);
        value.unwrap_or_else(|e| panic!("value of {}: {e}", kind.name()));
        let (single, double) =
            (activation_pullback::<f32>(kind, &z, &ones), activation_pullback::<f64>(kind, &z, &ones));
        compare(&single, &double, 1e-6, 2e-7).unwrap_or_else(|e| panic!("derivative of {}: {e}", kind.name()));
    }
}

#[test]
fn activations_at_kinks_and_far_out() {
    let tiny = f64::from(f32::from_bits(1));
    let table = [
        (Activation::ReLU, 0.0, 0.0, 0.0),
        (Activation::ReLU, -0.0, 0.0, 0.0),
        (Activation::ReLU, tiny, tiny, 1.0),
        (Activation::ReLU, -tiny, 0.0, 0.0),
        (Activation::LeakyReLU, 0.0, 0.0, 0.01),
        (Activation::LeakyReLU, tiny, tiny, 1.0),
        (Activation::Tanh, 1e4, 1.0, 0.0),
        (Activation::Sigmoid, 0.0, 0.5, 0.25),
        (Activation::Sigmoid, -1e4, 0.0, 0.0),
        (Activation::SiLU, 0.0, 0.0, 0.5),
        (Activation::SiLU, -100.0, 0.0, 0.0),
        (Activation::SiLU, 1e4, 1e4, 1.0),
        (Activation::GELU, 0.0, 0.0, 0.5),
        (Activation::GELU, 1e4, 1e4, 1.0),
        (Activation::GELU, -1e4, 0.0, 0.0),
        (Activation::Softplus, 0.0, 2f64.ln(), 0.5),
        (Activation::Softplus, 1e4, 1e4, 1.0),
        (Activation::Softplus, -1e4, 0.0, 0.0),
    ];
    for (kind, z, value, derivative) in table {
        for (type_name, got) in [
            ("f64", [activation::<f64>(kind, &[z])[0], activation_pullback::<f64>(kind, &[z], &[1.0])[0]]),
            ("f32", [activation::<f32>(kind, &[z])[0], activation_pullback::<f32>(kind, &[z], &[1.0])[0]]),
        ] {
            compare(&got, &[value, derivative], 1e-7, 1e-37)
                .unwrap_or_else(|e| panic!("{} at {z:e}, {type_name}: {e}", kind.name()));
        }
    }
}

#[test]
fn a_nan_is_not_hidden() {
    for &kind in Activation::ALL {
        assert!(activation::<f64>(kind, &[f64::NAN])[0].is_nan(), "{}", kind.name());
    }
    for &kind in Loss::ALL {
        let (value, _) = loss::<f64>(kind, 1, 2, &[0.0, f64::NAN], &labels(kind, 1, 2), &[1.0], 1.0);
        assert!(value.is_nan(), "{}", kind.name());
    }
}

#[test]
fn in_place_gives_the_same_bits() {
    let z = points();
    let da = numbers(z.len(), 2);
    for &kind in Activation::ALL {
        let mut a = z.clone();
        f64::activation_in_place(kind as u8, &mut a);
        assert_eq!(a, activation::<f64>(kind, &z), "{}", kind.name());
        let mut d = da.clone();
        f64::activation_pullback_in_place(kind as u8, &z, &mut d);
        assert_eq!(d, activation_pullback::<f64>(kind, &z, &da), "{}", kind.name());
    }
}

// --------------------------------------------------------------------------------------------------------- losses

/// The loss and its gradient.
fn loss<T: Scalar>(
    kind: Loss,
    rows: usize,
    cols: usize,
    z: &[f64],
    y: &[f64],
    w: &[f64],
    scale: f64,
) -> (f64, Vec<f64>) {
    let mut dz = vec![T::default(); z.len()];
    let (z, y, w) = (cast::<T>(z), cast::<T>(y), cast::<T>(w));
    let value = T::loss(kind as u8, rows, cols, &z, &y, &w, scale, Some(&mut dz));
    assert_eq!(value, T::loss(kind as u8, rows, cols, &z, &y, &w, scale, None), "the value without the gradient");
    (value, widen(&dz))
}

/// Labels of each kind that a loss is for: classes, 0 and 1 with some between, any number.
fn labels(kind: Loss, rows: usize, cols: usize) -> Vec<f64> {
    match kind {
        Loss::SoftmaxCrossEntropy => (0..rows).map(|r| (r % cols) as f64).collect(),
        Loss::BinaryCrossEntropy => (0..rows * cols).map(|i| [0.0, 1.0, 0.25][i % 3]).collect(),
        Loss::MeanSquaredError | Loss::Huber => numbers(rows * cols, 3).iter().map(|y| 3.0 * y).collect(),
    }
}

/// Ordinary weights with one 0 and one negative among them.
fn weights(rows: usize) -> Vec<f64> {
    (0..rows).map(|r| [1.0, 0.3, 0.0, -0.7, 2.5][r % 5]).collect()
}

/// LibTorch's value and gradient of `sum_r w[r] loss_r`.
fn torch_loss(kind: Loss, rows: usize, cols: usize, z: &[f64], y: &[f64], w: &[f64]) -> (f64, Vec<f64>) {
    let z = leaf(z, [rows, cols]);
    let target = || tensor(y, [rows, cols]);
    let none: Option<Tensor> = None;
    let elements = match kind {
        Loss::BinaryCrossEntropy => {
            z.binary_cross_entropy_with_logits(&target(), none.as_ref(), none.as_ref(), Reduction::None)
        }
        Loss::SoftmaxCrossEntropy => {
            let classes = Tensor::from_slice(y).to_kind(Kind::Int64);
            z.cross_entropy_loss(&classes, none.as_ref(), Reduction::None, -100, 0.0).unsqueeze(1)
        }
        Loss::MeanSquaredError => z.mse_loss(&target(), Reduction::None),
        Loss::Huber => z.huber_loss(&target(), Reduction::None, 1.0),
    };
    let row_means = elements.mean_dim(1, false, Kind::Double);
    let total = (row_means * Tensor::from_slice(w)).sum(Kind::Double);
    total.backward();
    (total.double_value(&[]), values(&z.grad()))
}

/// A function that returns the value and gradient of a loss for rows, columns, z, y, w.
type LossFunction<'a> = &'a dyn Fn(usize, usize, &[f64], &[f64], &[f64]) -> (f64, Vec<f64>);

/// `function` against LibTorch over many shapes and awkward logits, and against differences of its own value.
fn check_loss(kind: Loss, function: LossFunction) -> Checked {
    for cols in [1, 2, 3, 7] {
        let z: Vec<f64> = points().iter().cycle().take(points().len() * cols).copied().collect();
        let rows = z.len() / cols;
        let (y, w) = (labels(kind, rows, cols), weights(rows));
        let (value, gradient) = function(rows, cols, &z, &y, &w);
        let (torch_value, torch_gradient) = torch_loss(kind, rows, cols, &z, &y, &w);
        let place = |e| format!("{cols} columns, autograd: {e}");
        compare(&[value], &[torch_value], 1e-13, 1e-13).map_err(place)?;
        compare(&gradient, &torch_gradient, 1e-12, 1e-14).map_err(place)?;

        let (rows, z) = (5, numbers(5 * cols, 4).iter().map(|z| 4.0 * z).collect::<Vec<_>>());
        let (y, w) = (labels(kind, rows, cols), weights(rows));
        let numeric = central_difference(|z| function(rows, cols, z, &y, &w).0, &z);
        compare(&function(rows, cols, &z, &y, &w).1, &numeric, 1e-8, 1e-8)
            .map_err(|e| format!("{cols} columns, central differences: {e}"))?;
    }
    Ok(())
}

#[test]
fn losses_have_the_right_values_and_gradients() {
    for &kind in Loss::ALL {
        check_loss(kind, &|rows, cols, z, y, w| loss::<f64>(kind, rows, cols, z, y, w, 1.0))
            .unwrap_or_else(|e| panic!("{}: {e}", kind.name()));
    }
}

#[test]
fn a_wrong_loss_gradient_is_caught() {
    for &kind in Loss::ALL {
        let plant = |name: &str, error: &dyn Fn(f64, f64) -> f64| {
            let wrong = |rows: usize, cols: usize, z: &[f64], y: &[f64], w: &[f64]| {
                let (value, gradient) = loss::<f64>(kind, rows, cols, z, y, w, 1.0);
                (value, gradient.iter().zip(z).map(|(&d, &z)| error(d, z)).collect())
            };
            assert!(check_loss(kind, &wrong).is_err(), "{}: {name} passed", kind.name());
        };
        plant("a factor of 1 + 1e-6", &|d, _| d * (1.0 + 1e-6));
        plant("a sign", &|d, _| -d);
        plant("a different derivative at 0", &|d, z| if z == 0.0 { d - 1.0 } else { d });
        plant("a NaN at 1e4", &|d, z| if z == 1e4 { f64::NAN } else { d });
        let unweighted = |rows: usize, cols: usize, z: &[f64], y: &[f64], _: &[f64]| {
            loss::<f64>(kind, rows, cols, z, y, &vec![1.0; rows], 1.0)
        };
        assert!(check_loss(kind, &unweighted).is_err(), "{}: no weights passed", kind.name());
    }
}

#[test]
fn losses_in_float_agree_with_double() {
    let z: Vec<f64> = points().into_iter().map(|z| f64::from(z as f32)).collect();
    for &kind in Loss::ALL {
        for cols in [1, 2, 7] {
            let rows = z.len() / cols;
            let z = &z[..rows * cols];
            let y: Vec<f64> = labels(kind, rows, cols).into_iter().map(|y| f64::from(y as f32)).collect();
            let w: Vec<f64> = weights(rows).into_iter().map(|w| f64::from(w as f32)).collect();
            let (single, single_gradient) = loss::<f32>(kind, rows, cols, z, &y, &w, 0.5);
            let (double, double_gradient) = loss::<f64>(kind, rows, cols, z, &y, &w, 0.5);
            let what = |e| panic!("{}, {cols} columns: {e}", kind.name());
            compare(&[single], &[double], 1e-6, 1e-6).unwrap_or_else(what);
            compare(&single_gradient, &double_gradient, 1e-6, 5e-7).unwrap_or_else(what);
        }
    }
}

#[test]
fn binary_cross_entropy_at_zero_is_symmetric() {
    for (y, derivative) in [(0.0, 0.5), (1.0, -0.5), (0.5, 0.0)] {
        for z in [0.0, -0.0] {
            let want = (2f64.ln(), vec![derivative]);
            assert_eq!(loss::<f64>(Loss::BinaryCrossEntropy, 1, 1, &[z], &[y], &[1.0], 1.0), want);
        }
    }
}

#[test]
fn softmax_survives_extreme_logits() {
    for z in [[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4], [1e4, 1e4, 1e4], [0.0, -750.0, 750.0], [0.0, 0.0, 0.0]] {
        for class in 0..3 {
            let y = [f64::from(class)];
            let (value, gradient) = loss::<f64>(Loss::SoftmaxCrossEntropy, 1, 3, &z, &y, &[1.0], 1.0);
            let want = torch_loss(Loss::SoftmaxCrossEntropy, 1, 3, &z, &y, &[1.0]);
            compare(&[value], &[want.0], 1e-13, 0.0).unwrap();
            compare(&gradient, &want.1, 1e-13, 1e-15).unwrap();
            let single = loss::<f32>(Loss::SoftmaxCrossEntropy, 1, 3, &z, &y, &[1.0], 1.0);
            compare(&[single.0], &[want.0], 1e-6, 0.0).unwrap();
            compare(&single.1, &want.1, 1e-6, 1e-7).unwrap();
        }
    }
}

#[test]
fn a_confident_row_keeps_its_small_loss() {
    let (value, _) = loss::<f64>(Loss::SoftmaxCrossEntropy, 1, 2, &[0.0, -40.0], &[0.0], &[1.0], 1.0);
    compare(&[value], &[(-40f64).exp()], 1e-12, 0.0).unwrap();
}

#[test]
fn the_scale_multiplies_the_gradient_only() {
    for &kind in Loss::ALL {
        let (z, y, w) = (numbers(12, 5), labels(kind, 4, 3), weights(4));
        let (value, gradient) = loss::<f64>(kind, 4, 3, &z, &y, &w, 1.0);
        let (same, halved) = loss::<f64>(kind, 4, 3, &z, &y, &w, 0.5);
        assert_eq!(value, same);
        assert_eq!(halved, gradient.iter().map(|d| 0.5 * d).collect::<Vec<_>>());
    }
}

// ----------------------------------------------------------------------------------------------------- linear layer

/// Rows, inputs, outputs: products that BLAS does, those that loops do, and sizes around the lanes of the loops.
const SHAPES: [[usize; 3]; 12] = [
    [1, 1, 1],
    [1, 28, 64],
    [64, 28, 1],
    [1, 17, 1],
    [2, 2, 2],
    [7, 5, 3],
    [64, 28, 64],
    [33, 31, 17],
    [5, 1, 4],
    [4, 33, 2],
    [64, 16, 16],
    [3, 129, 1],
];

struct Linear {
    shape: [usize; 3],
    x: Vec<f64>,
    w: Vec<f64>,
    b: Vec<f64>,
    dz: Vec<f64>,
}

impl Linear {
    fn new(shape: [usize; 3]) -> Self {
        let [rows, inputs, outputs] = shape;
        let (x, w) = (numbers(rows * inputs, 6), numbers(outputs * inputs, 7));
        Self { shape, x, w, b: numbers(outputs, 8), dz: numbers(rows * outputs, 9) }
    }

    fn forward<T: Scalar>(&self, x: &[f64], w: &[f64], b: &[f64]) -> Vec<f64> {
        let [rows, inputs, outputs] = self.shape;
        let mut z = vec![T::default(); rows * outputs];
        T::linear(rows, inputs, outputs, &cast::<T>(x), &cast::<T>(w), &cast::<T>(b), &mut z);
        widen(&z)
    }

    /// dx, dw and db, the latter two added to ones as the kernel should.
    fn pullback<T: Scalar>(&self) -> [Vec<f64>; 3] {
        let [rows, inputs, outputs] = self.shape;
        let (x, w, dz) = (cast::<T>(&self.x), cast::<T>(&self.w), cast::<T>(&self.dz));
        let mut dx = vec![T::from_f64(f64::NAN); x.len()]; // Whatever was there must be overwritten.
        let [mut dw, mut db] = [w.len(), outputs].map(|size| vec![T::from_f64(1.0); size]);
        let (mut dw_alone, mut db_alone) = (dw.clone(), db.clone());
        T::linear_pullback(rows, inputs, outputs, &x, &w, &dz, Some(&mut dx), &mut dw, &mut db);
        T::linear_pullback(rows, inputs, outputs, &x, &w, &dz, None, &mut dw_alone, &mut db_alone);
        assert!(dw == dw_alone && db == db_alone, "without dx the others must be the same");
        [dx, dw, db].map(|d| widen(&d))
    }

    fn torch(&self) -> (Vec<f64>, [Vec<f64>; 3]) {
        let [rows, inputs, outputs] = self.shape;
        let (x, w, b) = (leaf(&self.x, [rows, inputs]), leaf(&self.w, [outputs, inputs]), leaf(&self.b, [1, outputs]));
        let z = x.matmul(&w.transpose(0, 1)) + &b;
        (&z * tensor(&self.dz, [rows, outputs])).sum(Kind::Double).backward();
        (values(&z), [x.grad(), &w.grad() + 1.0, &b.grad() + 1.0].map(|d| values(&d)))
    }

    /// `pulled` (dx, dw, db) against LibTorch and against differences of the layer.
    fn check(&self, pulled: &[Vec<f64>; 3]) -> Checked {
        let along = |z: Vec<f64>| z.iter().zip(&self.dz).map(|(z, d)| z * d).sum::<f64>();
        let (x, w, b) = (&self.x, &self.w, &self.b);
        let plus_one = |d: Vec<f64>| d.iter().map(|d| d + 1.0).collect();
        let numeric: [Vec<f64>; 3] = [
            central_difference(|x| along(self.forward::<f64>(x, w, b)), x),
            plus_one(central_difference(|w| along(self.forward::<f64>(x, w, b)), w)),
            plus_one(central_difference(|b| along(self.forward::<f64>(x, w, b)), b)),
        ];
        let (_, torch) = self.torch();
        for (i, name) in ["dx", "dw", "db"].into_iter().enumerate() {
            let place = |e| format!("{name} of {:?}: {e}", self.shape);
            compare(&pulled[i], &torch[i], 1e-13, 1e-13).map_err(place)?;
            compare(&pulled[i], &numeric[i], 1e-7, 1e-7).map_err(place)?;
        }
        Ok(())
    }
}

#[test]
fn linear_layers_and_their_pullbacks_are_right() {
    for shape in SHAPES {
        let layer = Linear::new(shape);
        let (z, _) = layer.torch();
        compare(&layer.forward::<f64>(&layer.x, &layer.w, &layer.b), &z, 1e-13, 1e-13).unwrap();
        layer.check(&layer.pullback::<f64>()).unwrap();
        let (single, double) = (layer.pullback::<f32>(), layer.pullback::<f64>());
        for (single, double) in single.iter().zip(&double) {
            compare(single, double, 1e-5, 1e-5).unwrap_or_else(|e| panic!("float, {shape:?}: {e}"));
        }
    }
}

#[test]
fn a_linear_layer_of_zeros_is_right() {
    for shape in SHAPES {
        let mut layer = Linear::new(shape);
        layer.w.fill(0.0);
        layer.b.fill(0.0);
        assert!(layer.forward::<f64>(&layer.x, &layer.w, &layer.b).iter().all(|&z| z == 0.0));
        layer.check(&layer.pullback::<f64>()).unwrap();
    }
}

#[test]
fn a_wrong_linear_pullback_is_caught() {
    for shape in SHAPES {
        let layer = Linear::new(shape);
        for part in 0..3 {
            for error in [|d: f64| d * (1.0 + 1e-5), |d: f64| -d, |d: f64| d - 1.0] {
                let mut wrong = layer.pullback::<f64>();
                let last = wrong[part].len() - 1;
                wrong[part][last] = error(wrong[part][last]);
                assert!(layer.check(&wrong).is_err(), "{shape:?}, part {part}");
            }
        }
    }
}

// -------------------------------------------------------------------------------------------------- generated text

/// The checked-in derivatives belong to the present kernels, and where Clad is installed they are what it writes.
#[test]
fn generated_derivatives_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    // Not captured: the message that Clad is missing is meant to be seen.
    let status =
        Command::new(env!("CARGO")).args(["xtask", "gradients", "--check"]).current_dir(root).status().unwrap();
    assert!(status.success(), "cargo xtask gradients --check: {status}");
}
