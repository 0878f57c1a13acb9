//! Every activation and its derivative.

use super::*;
use cladtorch::graph::Activation;
use cladtorch::kernels::is_sign_activation;
use cladtorch::kernels::strided::{self, Adjoint, StridedView};

/// The operands of an activation's function at the points z, and their views.
fn operands<T: Scalar>(kind: Activation, z: &[f64]) -> (u8, Vec<Vec<T>>, Vec<StridedView>) {
    let (function, number) = kind.function();
    let operands = std::iter::once(cast(z)).chain(number.map(|number| cast(&[number]))).collect();
    let views = [1, 0].map(|stride| StridedView::new(0, &[z.len()], &[stride]).unwrap());
    (function as u8, operands, views[..1 + usize::from(number.is_some())].to_vec())
}

fn activation<T: Scalar>(kind: Activation, z: &[f64]) -> Vec<f64> {
    let (function, operands, views) = operands::<T>(kind, z);
    let mut a = vec![T::default(); z.len()];
    strided::map(function, 0, &operands.iter().map(Vec::as_slice).collect::<Vec<_>>(), &views, &mut a);
    widen(&a)
}

fn activation_pullback<T: Scalar>(kind: Activation, z: &[f64], da: &[f64]) -> Vec<f64> {
    let (function, operands, views) = operands::<T>(kind, z);
    let mut dz = vec![T::default(); z.len()];
    let adjoint = Adjoint { data: &mut dz, view: &views[0], add: false };
    let operands: Vec<&[T]> = operands.iter().map(Vec::as_slice).collect();
    strided::map_pullback(function, 0, &operands, &views, &cast::<T>(da), adjoint);
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

/// Points where central differences are meaningful: none within a step of a kink.
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
}

/// Activations that run inside a layer are pulled back from their value.
#[test]
fn the_value_tells_the_derivative_of_an_activation_inside_a_layer() {
    let z = points();
    let da = numbers(z.len(), 2);
    for &kind in Activation::ALL.iter().filter(|&&kind| is_sign_activation(kind as u8)) {
        let mut d = da.clone();
        f64::activation_pullback(kind as u8, &activation::<f64>(kind, &z), &mut d);
        assert_eq!(d, activation_pullback::<f64>(kind, &z, &da), "{}", kind.name());
    }
}
