//! The numerical ground floor (`cpp/kernels`) over checked slices, for `f32` and `f64` through one trait, [`Scalar`].
//!
//! Matrices are dense and row-major; R rows, I inputs, O outputs, C columns of the network's output. Nothing here
//! allocates. A slice of the wrong length is a programming error and panics before anything is written.

use std::ffi::{CStr, c_char, c_int};
use std::fmt::Debug;
use std::sync::OnceLock;

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

mod sealed {
    /// Kernels exist for `f32` and `f64` alone; memory is handed out by `Scalar::KIND`, so no other type may have one.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A floating type for which the kernels exist.
pub trait Scalar: sealed::Sealed + Copy + Default + Debug + PartialEq + PartialOrd + Send + Sync + 'static {
    /// LibTorch's name of the type.
    const KIND: tch::Kind;

    /// Rounds to the nearest value of the type.
    fn from_f64(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;

    #[doc(hidden)]
    fn table() -> &'static Table<Self>;

    /// `z[R,O] = x[R,I] w[O,I]ᵀ + b[O]`, by BLAS.
    fn linear(rows: usize, inputs: usize, outputs: usize, x: &[Self], w: &[Self], b: &[Self], z: &mut [Self]) {
        check_length("w", w.len(), area(outputs, inputs));
        product(Self::table().linear, [rows, inputs, outputs], x, w, b, z);
    }

    /// `dw[O,I] += dz[R,O]ᵀ x[R,I]`, `db[O] +=` column sums of `dz` and, if wanted, `dx[R,I] = dz w`, by BLAS.
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
    ) {
        pullback(Self::table().linear_pullback, [rows, inputs, outputs], x, w, dz, dx, dw, db);
    }

    /// Numbers that [`pack`](Self::pack) writes for a weight [outputs, inputs].
    fn packed_length(inputs: usize, outputs: usize) -> usize {
        area(inputs, outputs);
        let packed_length = Self::table().packed_length;
        // SAFETY: computes with two numbers.
        unsafe { packed_length(inputs, outputs) }
    }

    /// Lays `w[O,I]` out for [`packed_linear`](Self::packed_linear).
    fn pack(inputs: usize, outputs: usize, w: &[Self], packed: &mut [Self]) {
        check_length("w", w.len(), area(outputs, inputs));
        check_length("packed", packed.len(), Self::packed_length(inputs, outputs));
        let pack = Self::table().pack;
        // SAFETY: the lengths are those of the shapes.
        unsafe { pack(inputs, outputs, w.as_ptr(), packed.as_mut_ptr()) }
    }

    /// [`linear`](Self::linear) by register tiles, from packed weights.
    fn packed_linear(
        rows: usize,
        inputs: usize,
        outputs: usize,
        x: &[Self],
        packed: &[Self],
        b: &[Self],
        z: &mut [Self],
    ) {
        check_length("packed", packed.len(), Self::packed_length(inputs, outputs));
        product(Self::table().packed_linear, [rows, inputs, outputs], x, packed, b, z);
    }

    /// [`linear_pullback`](Self::linear_pullback) by register tiles.
    #[allow(clippy::too_many_arguments)] // The mathematics has that many.
    fn tiled_pullback(
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
        pullback(Self::table().tiled_pullback, [rows, inputs, outputs], x, w, dz, dx, dw, db);
    }

    /// `a = act(z)`, element by element.
    fn activation(kind: u8, z: &[Self], a: &mut [Self]) {
        check_activation(kind);
        check_length("a", a.len(), z.len());
        let activation = Self::table().activation;
        // SAFETY: both have `z.len()` elements.
        unsafe { activation(kind.into(), z.len(), z.as_ptr(), a.as_mut_ptr()) }
    }

    /// `z = act(z)`.
    fn activation_in_place(kind: u8, z: &mut [Self]) {
        check_activation(kind);
        let (activation, n, z) = (Self::table().activation, z.len(), z.as_mut_ptr());
        // SAFETY: `z` has `n` elements, and the kernel allows its two arguments to be the same memory.
        unsafe { activation(kind.into(), n, z, z) }
    }

    /// `dz = da act'(z)`, with the derivative that Clad made.
    fn activation_pullback(kind: u8, z: &[Self], da: &[Self], dz: &mut [Self]) {
        check_activation(kind);
        check_length("da", da.len(), z.len());
        check_length("dz", dz.len(), z.len());
        let pullback = Self::table().activation_pullback;
        // SAFETY: all three have `z.len()` elements.
        unsafe { pullback(kind.into(), z.len(), z.as_ptr(), da.as_ptr(), dz.as_mut_ptr()) }
    }

    /// `d = d act'(z)`: on entry the adjoint of the activation's value, on return that of `z`.
    fn activation_pullback_in_place(kind: u8, z: &[Self], d: &mut [Self]) {
        check_activation(kind);
        check_length("d", d.len(), z.len());
        let (pullback, d) = (Self::table().activation_pullback, d.as_mut_ptr());
        // SAFETY: both have `z.len()` elements, and the kernel allows `da` and `dz` to be the same memory.
        unsafe { pullback(kind.into(), z.len(), z.as_ptr(), d, d) }
    }

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
    ) -> f64 {
        check_loss(kind, rows, cols, z, y, w, dz.as_deref());
        let (z, y, w, dz) = (z.as_ptr(), y.as_ptr(), w.as_ptr(), pointer(dz));
        let loss = Self::table().loss;
        // SAFETY: the lengths are those of the shapes, classes are in range; `dz` may be null.
        unsafe { loss(kind.into(), rows, cols, z, y, w, scale, dz) }
    }

    /// `sum += term`, element by element.
    fn add(term: &[Self], sum: &mut [Self]) {
        check_length("sum", sum.len(), term.len());
        let add = Self::table().add;
        // SAFETY: both have `term.len()` elements.
        unsafe { add(term.len(), term.as_ptr(), sum.as_mut_ptr()) }
    }

    /// One sweep of stochastic gradient descent; `velocity` is needed where the momentum is not 0.
    fn sgd(sweep: &Sweep, p: &mut [Self], g: &[Self], velocity: Option<&mut [Self]>) {
        check_length("g", g.len(), p.len());
        assert!(velocity.is_some() || sweep.momentum == 0.0, "momentum needs a velocity");
        if let Some(velocity) = &velocity {
            check_length("velocity", velocity.len(), p.len());
        }
        let (sgd, n) = (Self::table().sgd, p.len());
        // SAFETY: all have `n` elements; `velocity` may be null where the momentum is 0.
        unsafe { sgd(sweep, n, p.as_mut_ptr(), g.as_ptr(), pointer(velocity)) }
    }

    /// One sweep of Adam with moments `m` and `v`.
    fn adam(sweep: &Sweep, p: &mut [Self], g: &[Self], m: &mut [Self], v: &mut [Self]) {
        check_moments(p, g, m, v);
        let adam = Self::table().adam;
        // SAFETY: all four have `p.len()` elements and are borrowed apart.
        unsafe { adam(sweep, p.len(), p.as_mut_ptr(), g.as_ptr(), m.as_mut_ptr(), v.as_mut_ptr()) }
    }

    /// One sweep of AdamW with moments `m` and `v`.
    fn adamw(sweep: &Sweep, p: &mut [Self], g: &[Self], m: &mut [Self], v: &mut [Self]) {
        check_moments(p, g, m, v);
        let adamw = Self::table().adamw;
        // SAFETY: all four have `p.len()` elements and are borrowed apart.
        unsafe { adamw(sweep, p.len(), p.as_mut_ptr(), g.as_ptr(), m.as_mut_ptr(), v.as_mut_ptr()) }
    }
}

/// Checks the shapes of a linear layer, but that of `w`, which the caller has checked in its own layout, and calls it.
fn product<T: Scalar>(kernel: Product<T>, [rows, inputs, outputs]: [usize; 3], x: &[T], w: &[T], b: &[T], z: &mut [T]) {
    check_length("x", x.len(), area(rows, inputs));
    check_length("b", b.len(), outputs);
    check_length("z", z.len(), area(rows, outputs));
    // SAFETY: the lengths are those of the shapes, and `z` is borrowed apart from the others.
    unsafe { kernel(rows, inputs, outputs, x.as_ptr(), w.as_ptr(), b.as_ptr(), z.as_mut_ptr()) }
}

/// Checks the shapes of a linear layer's pullback and calls it.
#[allow(clippy::too_many_arguments)] // The mathematics has that many.
fn pullback<T: Scalar>(
    kernel: Pullback<T>,
    [rows, inputs, outputs]: [usize; 3],
    x: &[T],
    w: &[T],
    dz: &[T],
    dx: Option<&mut [T]>,
    dw: &mut [T],
    db: &mut [T],
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
    unsafe { kernel(rows, inputs, outputs, x, w, dz, dx, dw.as_mut_ptr(), db.as_mut_ptr()) }
}

/// `ct_kernels_f32` or `ct_kernels_f64` of `cpp/kernels/kernels.h`, which says what each function computes.
#[repr(C)]
#[doc(hidden)]
pub struct Table<T> {
    linear: Product<T>,
    linear_pullback: Pullback<T>,
    packed_length: unsafe extern "C" fn(usize, usize) -> usize,
    pack: unsafe extern "C" fn(usize, usize, *const T, *mut T),
    packed_linear: Product<T>,
    tiled_pullback: Pullback<T>,
    activation: unsafe extern "C" fn(c_int, usize, *const T, *mut T),
    activation_pullback: unsafe extern "C" fn(c_int, usize, *const T, *const T, *mut T),
    loss: unsafe extern "C" fn(c_int, usize, usize, *const T, *const T, *const T, f64, *mut T) -> f64,
    add: unsafe extern "C" fn(usize, *const T, *mut T),
    sgd: unsafe extern "C" fn(*const Sweep, usize, *mut T, *const T, *mut T),
    adam: unsafe extern "C" fn(*const Sweep, usize, *mut T, *const T, *mut T, *mut T),
    adamw: unsafe extern "C" fn(*const Sweep, usize, *mut T, *const T, *mut T, *mut T),
}

type Product<T> = unsafe extern "C" fn(usize, usize, usize, *const T, *const T, *const T, *mut T);

type Pullback<T> = unsafe extern "C" fn(usize, usize, usize, *const T, *const T, *const T, *mut T, *mut T, *mut T);

/// `ct_kernels`.
#[repr(C)]
struct Variant {
    name: *const c_char,
    f32: Table<f32>,
    f64: Table<f64>,
}

// SAFETY: the library's tables are constants; `name` points to a string literal.
unsafe impl Sync for Variant {}

unsafe extern "C" {
    fn ct_blas_single_thread() -> c_int;
    fn ct_kernels_for_this_machine(portable: c_int) -> *const Variant;
}

/// The kernels for this processor. `CLADTORCH_KERNELS=portable` in the environment asks for those that run on every
/// processor of the architecture, for tests.
fn variant() -> &'static Variant {
    static CHOSEN: OnceLock<&Variant> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let portable = std::env::var_os("CLADTORCH_KERNELS").is_some_and(|wanted| wanted == "portable");
        // SAFETY: the function returns the address of a constant.
        unsafe { &*ct_kernels_for_this_machine(portable.into()) }
    })
}

/// Which variant of the kernels runs here: `Avx2` or `Portable`.
pub fn variant_name() -> &'static str {
    // SAFETY: a string literal of the library, in ASCII.
    unsafe { CStr::from_ptr(variant().name) }.to_str().unwrap_or("unknown")
}

impl Scalar for f32 {
    const KIND: tch::Kind = tch::Kind::Float;

    fn from_f64(value: f64) -> Self {
        value as f32
    }

    fn to_f64(self) -> f64 {
        self.into()
    }

    fn table() -> &'static Table<Self> {
        &variant().f32
    }
}

impl Scalar for f64 {
    const KIND: tch::Kind = tch::Kind::Double;

    fn from_f64(value: f64) -> Self {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn table() -> &'static Table<Self> {
        &variant().f64
    }
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

fn check_moments<T>(p: &[T], g: &[T], m: &[T], v: &[T]) {
    check_length("g", g.len(), p.len());
    check_length("m", m.len(), p.len());
    check_length("v", v.len(), p.len());
}

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
