//! The numerical ground floor (`cpp/kernels`) over checked slices, for `f32` and `f64` through one trait, [`Scalar`].
//!
//! Matrices are dense and row-major; R rows, I inputs, O outputs, C columns of the network's output. Nothing here
//! allocates. A slice of the wrong length is a programming error and panics before anything is written.

use std::ffi::c_int;
use std::fmt::Debug;

/// Numbers of one optimiser sweep; the layout is that of `ct_sweep` in `cpp/kernels/kernels.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// Step size.
    pub learning_rate: f64,
    /// L2 term added to the gradient (SGD, Adam) or taken from the parameter (AdamW).
    pub weight_decay: f64,
    /// Heavy-ball momentum of SGD.
    pub momentum: f64,
    /// Decay of Adam's first moment.
    pub beta1: f64,
    /// Decay of Adam's second moment.
    pub beta2: f64,
    /// Added to Adam's denominator.
    pub epsilon: f64,
    /// Counts from 1 (Adam's bias correction).
    pub step: i64,
}

/// How many activations and losses `kernels.h` numbers.
const ACTIVATIONS: u8 = 8;
const LOSSES: u8 = 4;
const SOFTMAX_CROSS_ENTROPY: u8 = 1;

/// Restricts LibTorch's BLAS to one thread for calls from this thread; false where this BLAS has no such switch.
pub fn blas_single_thread() -> bool {
    // SAFETY: takes nothing and touches only a thread-local setting of the BLAS.
    unsafe { ct_blas_single_thread() == 1 }
}

/// A floating type for which the kernels exist.
pub trait Scalar: Copy + Default + Debug + PartialEq + PartialOrd + Send + Sync + 'static {
    /// LibTorch's name of the type.
    const KIND: tch::Kind;

    /// Rounds to the nearest value of the type.
    fn from_f64(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;

    /// `z[R,O] = x[R,I] w[O,I]ᵀ + b[O]`.
    fn linear(rows: usize, inputs: usize, outputs: usize, x: &[Self], w: &[Self], b: &[Self], z: &mut [Self]);

    /// `dw[O,I] += dz[R,O]ᵀ x[R,I]`, `db[O] +=` column sums of `dz` and, if wanted, `dx[R,I] = dz w`.
    #[allow(clippy::too_many_arguments)] // The mathematics has that many.
    fn linear_pullback(
        rows: usize,
        inputs: usize,
        outputs: usize,
        x: &[Self],
        w: &[Self],
        dz: &[Self],
        dx: Option<&mut [Self]>,
        dw: &mut [Self],
        db: &mut [Self],
    );

    /// `a = act(z)`, element by element.
    fn activation(kind: u8, z: &[Self], a: &mut [Self]);
    /// `z = act(z)`.
    fn activation_in_place(kind: u8, z: &mut [Self]);
    /// `dz = da act'(z)`, with the derivative that Clad made.
    fn activation_pullback(kind: u8, z: &[Self], da: &[Self], dz: &mut [Self]);
    /// `d = d act'(z)`: on entry the adjoint of the activation's value, on return that of `z`.
    fn activation_pullback_in_place(kind: u8, z: &[Self], d: &mut [Self]);

    /// Returns `sum_r w[r] loss(z[r,:], y[r,:])` and, if wanted, writes `dz[R,C] = scale` times its gradient.
    ///
    /// Losses over elements are means over the C columns and take `y[R,C]`; softmax cross-entropy takes `y[R]`, the
    /// class as a number in `0..C` (anything else panics).
    #[allow(clippy::too_many_arguments)] // The mathematics has that many.
    fn loss(
        kind: u8,
        rows: usize,
        cols: usize,
        z: &[Self],
        y: &[Self],
        w: &[Self],
        scale: f64,
        dz: Option<&mut [Self]>,
    ) -> f64;

    /// One sweep of stochastic gradient descent; `velocity` is needed where the momentum is not 0.
    fn sgd(sweep: &Sweep, p: &mut [Self], g: &[Self], velocity: Option<&mut [Self]>);
    /// One sweep of Adam with moments `m` and `v`.
    fn adam(sweep: &Sweep, p: &mut [Self], g: &[Self], m: &mut [Self], v: &mut [Self]);
    /// One sweep of AdamW with moments `m` and `v`.
    fn adamw(sweep: &Sweep, p: &mut [Self], g: &[Self], m: &mut [Self], v: &mut [Self]);
}

/// Number of elements of a matrix whose sides BLAS can count (32 bits).
fn area(rows: usize, cols: usize) -> usize {
    let limit = i32::MAX as usize;
    assert!(rows <= limit && (1..=limit).contains(&cols), "matrix of {rows} x {cols}: sides must be 1 to {limit}");
    rows.checked_mul(cols).expect("a matrix has more elements than memory has addresses")
}

fn check_length(name: &str, length: usize, expected: usize) {
    assert!(length == expected, "{name} has {length} elements, its shape needs {expected}");
}

fn check_activation(kind: u8) {
    assert!(kind < ACTIVATIONS, "there is no activation number {kind}");
}

fn check_loss<T: Scalar>(kind: u8, rows: usize, cols: usize, z: &[T], y: &[T], w: &[T], dz: Option<&[T]>) {
    assert!(kind < LOSSES, "there is no loss number {kind}");
    let size = area(rows, cols);
    check_length("z", z.len(), size);
    check_length("w", w.len(), rows);
    if let Some(dz) = dz {
        check_length("dz", dz.len(), size);
    }
    if kind == SOFTMAX_CROSS_ENTROPY {
        check_length("y", y.len(), rows);
        let is_class = |y: f64| y >= 0.0 && y < cols as f64 && y.fract() == 0.0;
        assert!(
            y.iter().all(|y| is_class(y.to_f64())),
            "softmax cross-entropy needs labels that count 0 to {}",
            cols - 1
        );
    } else {
        check_length("y", y.len(), size);
    }
}

/// Null for `None`, for the optional outputs of the C functions.
fn pointer<T>(slice: Option<&mut [T]>) -> *mut T {
    slice.map_or(std::ptr::null_mut(), <[T]>::as_mut_ptr)
}

unsafe extern "C" {
    fn ct_blas_single_thread() -> c_int;
}

macro_rules! scalar {
    ($type:ident, $kind:ident, $linear:ident, $linear_pullback:ident, $activation:ident, $activation_pullback:ident,
     $loss:ident, $sgd:ident, $adam:ident, $adamw:ident) => {
        unsafe extern "C" {
            fn $linear(r: usize, i: usize, o: usize, x: *const $type, w: *const $type, b: *const $type, z: *mut $type);
            fn $linear_pullback(
                r: usize,
                i: usize,
                o: usize,
                x: *const $type,
                w: *const $type,
                dz: *const $type,
                dx: *mut $type,
                dw: *mut $type,
                db: *mut $type,
            );
            fn $activation(kind: c_int, n: usize, z: *const $type, a: *mut $type);
            fn $activation_pullback(kind: c_int, n: usize, z: *const $type, da: *const $type, dz: *mut $type);
            fn $loss(
                kind: c_int,
                r: usize,
                c: usize,
                z: *const $type,
                y: *const $type,
                w: *const $type,
                scale: f64,
                dz: *mut $type,
            ) -> f64;
            fn $sgd(sweep: *const Sweep, n: usize, p: *mut $type, g: *const $type, velocity: *mut $type);
            fn $adam(sweep: *const Sweep, n: usize, p: *mut $type, g: *const $type, m: *mut $type, v: *mut $type);
            fn $adamw(sweep: *const Sweep, n: usize, p: *mut $type, g: *const $type, m: *mut $type, v: *mut $type);
        }

        impl Scalar for $type {
            const KIND: tch::Kind = tch::Kind::$kind;

            fn from_f64(value: f64) -> Self {
                value as $type
            }

            fn to_f64(self) -> f64 {
                self.into()
            }

            fn linear(rows: usize, inputs: usize, outputs: usize, x: &[Self], w: &[Self], b: &[Self], z: &mut [Self]) {
                check_length("x", x.len(), area(rows, inputs));
                check_length("w", w.len(), area(outputs, inputs));
                check_length("b", b.len(), outputs);
                check_length("z", z.len(), area(rows, outputs));
                // SAFETY: the lengths are those of the shapes, and `z` is borrowed apart from the others.
                unsafe { $linear(rows, inputs, outputs, x.as_ptr(), w.as_ptr(), b.as_ptr(), z.as_mut_ptr()) }
            }

            fn linear_pullback(
                rows: usize,
                inputs: usize,
                outputs: usize,
                x: &[Self],
                w: &[Self],
                dz: &[Self],
                dx: Option<&mut [Self]>,
                dw: &mut [Self],
                db: &mut [Self],
            ) {
                check_length("x", x.len(), area(rows, inputs));
                check_length("w", w.len(), area(outputs, inputs));
                check_length("dz", dz.len(), area(rows, outputs));
                if let Some(dx) = &dx {
                    check_length("dx", dx.len(), x.len());
                }
                check_length("dw", dw.len(), w.len());
                check_length("db", db.len(), outputs);
                let (x, w, dz, dx) = (x.as_ptr(), w.as_ptr(), dz.as_ptr(), pointer(dx));
                // SAFETY: the lengths are those of the shapes, the outputs are borrowed apart; `dx` may be null.
                unsafe { $linear_pullback(rows, inputs, outputs, x, w, dz, dx, dw.as_mut_ptr(), db.as_mut_ptr()) }
            }

            fn activation(kind: u8, z: &[Self], a: &mut [Self]) {
                check_activation(kind);
                check_length("a", a.len(), z.len());
                // SAFETY: both have `z.len()` elements.
                unsafe { $activation(kind.into(), z.len(), z.as_ptr(), a.as_mut_ptr()) }
            }

            fn activation_in_place(kind: u8, z: &mut [Self]) {
                check_activation(kind);
                let (n, z) = (z.len(), z.as_mut_ptr());
                // SAFETY: `z` has `n` elements, and the kernel allows its two arguments to be the same memory.
                unsafe { $activation(kind.into(), n, z, z) }
            }

            fn activation_pullback(kind: u8, z: &[Self], da: &[Self], dz: &mut [Self]) {
                check_activation(kind);
                check_length("da", da.len(), z.len());
                check_length("dz", dz.len(), z.len());
                // SAFETY: all three have `z.len()` elements.
                unsafe { $activation_pullback(kind.into(), z.len(), z.as_ptr(), da.as_ptr(), dz.as_mut_ptr()) }
            }

            fn activation_pullback_in_place(kind: u8, z: &[Self], d: &mut [Self]) {
                check_activation(kind);
                check_length("d", d.len(), z.len());
                let d = d.as_mut_ptr();
                // SAFETY: both have `z.len()` elements, and the kernel allows `da` and `dz` to be the same memory.
                unsafe { $activation_pullback(kind.into(), z.len(), z.as_ptr(), d, d) }
            }

            fn loss(
                kind: u8,
                rows: usize,
                cols: usize,
                z: &[Self],
                y: &[Self],
                w: &[Self],
                scale: f64,
                dz: Option<&mut [Self]>,
            ) -> f64 {
                check_loss(kind, rows, cols, z, y, w, dz.as_deref());
                let (z, y, w, dz) = (z.as_ptr(), y.as_ptr(), w.as_ptr(), pointer(dz));
                // SAFETY: the lengths are those of the shapes, classes are in range; `dz` may be null.
                unsafe { $loss(kind.into(), rows, cols, z, y, w, scale, dz) }
            }

            fn sgd(sweep: &Sweep, p: &mut [Self], g: &[Self], velocity: Option<&mut [Self]>) {
                check_length("g", g.len(), p.len());
                assert!(velocity.is_some() || sweep.momentum == 0.0, "momentum needs a velocity");
                if let Some(velocity) = &velocity {
                    check_length("velocity", velocity.len(), p.len());
                }
                let n = p.len();
                // SAFETY: all have `n` elements; `velocity` may be null where the momentum is 0.
                unsafe { $sgd(sweep, n, p.as_mut_ptr(), g.as_ptr(), pointer(velocity)) }
            }

            fn adam(sweep: &Sweep, p: &mut [Self], g: &[Self], m: &mut [Self], v: &mut [Self]) {
                check_moments(p, g, m, v);
                // SAFETY: all four have `p.len()` elements and are borrowed apart.
                unsafe { $adam(sweep, p.len(), p.as_mut_ptr(), g.as_ptr(), m.as_mut_ptr(), v.as_mut_ptr()) }
            }

            fn adamw(sweep: &Sweep, p: &mut [Self], g: &[Self], m: &mut [Self], v: &mut [Self]) {
                check_moments(p, g, m, v);
                // SAFETY: all four have `p.len()` elements and are borrowed apart.
                unsafe { $adamw(sweep, p.len(), p.as_mut_ptr(), g.as_ptr(), m.as_mut_ptr(), v.as_mut_ptr()) }
            }
        }
    };
}

fn check_moments<T>(p: &[T], g: &[T], m: &[T], v: &[T]) {
    check_length("g", g.len(), p.len());
    check_length("m", m.len(), p.len());
    check_length("v", v.len(), p.len());
}

scalar!(
    f32,
    Float,
    ct_linear_f32,
    ct_linear_pullback_f32,
    ct_activation_f32,
    ct_activation_pullback_f32,
    ct_loss_f32,
    ct_sgd_f32,
    ct_adam_f32,
    ct_adamw_f32
);
scalar!(
    f64,
    Double,
    ct_linear_f64,
    ct_linear_pullback_f64,
    ct_activation_f64,
    ct_activation_pullback_f64,
    ct_loss_f64,
    ct_sgd_f64,
    ct_adam_f64,
    ct_adamw_f64
);

#[cfg(test)]
mod tests {
    use super::*;
    use tch::nn::{self, OptimizerConfig};
    use tch::{Device, Tensor};

    const PARAMETERS: usize = 37;
    const STEPS: i64 = 6;

    fn wave(seed: i64) -> Vec<f64> {
        (1..=PARAMETERS).map(|i| (i as f64 * (seed as f64 + 0.7)).sin()).collect()
    }

    fn sweep(step: i64, momentum: f64, weight_decay: f64) -> Sweep {
        Sweep { learning_rate: 0.02, weight_decay, momentum, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, step }
    }

    /// Parameters after `STEPS` steps of LibTorch's optimiser, whose gradient at step s is `wave(s)`.
    fn torch(config: impl OptimizerConfig) -> Vec<f64> {
        let mut store = nn::VarStore::new(Device::Cpu);
        let mut p = store.root().var("p", &[PARAMETERS as i64], nn::Init::Const(0.0));
        store.double();
        tch::no_grad(|| p.copy_(&Tensor::from_slice(&wave(0))));
        let mut optimiser = config.build(&store, 0.02).unwrap();
        for step in 1..=STEPS {
            optimiser.backward_step(&(&p * Tensor::from_slice(&wave(step))).sum(tch::Kind::Double));
        }
        Vec::try_from(&p).unwrap()
    }

    /// The same with one of the sweeps, which gets the step, parameters, gradient and two zeroed arrays of state.
    fn ours(sweep: impl Fn(i64, &mut [f64], &[f64], &mut [f64], &mut [f64])) -> Vec<f64> {
        let (mut p, mut m, mut v) = (wave(0), vec![0.0; PARAMETERS], vec![0.0; PARAMETERS]);
        for step in 1..=STEPS {
            sweep(step, &mut p, &wave(step), &mut m, &mut v);
        }
        p
    }

    fn assert_close(ours: &[f64], torch: &[f64]) {
        for (i, (a, b)) in ours.iter().zip(torch).enumerate() {
            assert!((a - b).abs() < 1e-13, "parameter {i} is {a}, LibTorch's {b}");
        }
    }

    #[test]
    fn sgd_is_that_of_libtorch() {
        for (momentum, wd) in [(0.0, 0.0), (0.0, 0.1), (0.9, 0.0), (0.9, 0.1)] {
            let got = ours(|step, p, g, m, _| {
                let velocity = (momentum != 0.0).then_some(m);
                f64::sgd(&sweep(step, momentum, wd), p, g, velocity);
            });
            assert_close(&got, &torch(nn::Sgd { momentum, wd, ..Default::default() }));
        }
    }

    #[test]
    fn adam_is_that_of_libtorch() {
        for wd in [0.0, 0.1] {
            let got = ours(|step, p, g, m, v| f64::adam(&sweep(step, 0.0, wd), p, g, m, v));
            assert_close(&got, &torch(nn::Adam { beta2: 0.99, wd, ..Default::default() }));
        }
    }

    #[test]
    fn adamw_is_that_of_libtorch() {
        for wd in [0.0, 0.1] {
            let got = ours(|step, p, g, m, v| f64::adamw(&sweep(step, 0.0, wd), p, g, m, v));
            assert_close(&got, &torch(nn::AdamW { beta2: 0.99, wd, ..Default::default() }));
        }
    }

    /// The official LibTorch carries MKL; workers that each open threads would fight for the cores.
    #[test]
    fn libtorchs_blas_can_be_kept_to_one_thread() {
        assert!(blas_single_thread());
    }

    #[test]
    #[should_panic(expected = "z has 5 elements, its shape needs 6")]
    fn a_short_output_panics() {
        f32::linear(2, 1, 3, &[0.0; 2], &[0.0; 3], &[0.0; 3], &mut [0.0; 5]);
    }

    #[test]
    #[should_panic(expected = "sides must be 1 to")]
    fn a_side_that_blas_cannot_count_panics() {
        f32::linear(1, 1 << 31, 1, &[], &[], &[0.0], &mut [0.0]);
    }

    #[test]
    #[should_panic(expected = "labels that count 0 to 1")]
    fn a_class_that_does_not_exist_panics() {
        f64::loss(SOFTMAX_CROSS_ENTROPY, 1, 2, &[0.0; 2], &[2.0], &[1.0], 1.0, None);
    }

    #[test]
    #[should_panic(expected = "momentum needs a velocity")]
    fn momentum_without_velocity_panics() {
        f32::sgd(&sweep(1, 0.9, 0.0), &mut [0.0], &[0.0], None);
    }

    #[test]
    #[should_panic(expected = "no activation number 8")]
    fn an_unknown_activation_panics() {
        f32::activation_in_place(ACTIVATIONS, &mut [0.0]);
    }
}
