//! The numerical ground floor (`cpp/kernels`) over checked slices, for `f32` and `f64` through one trait, [`Scalar`].
//!
//! Matrices are dense and row-major; R rows, I inputs, O outputs, C columns of the network's output. Nothing here
//! allocates. A slice of the wrong length is a programming error and panics before anything is written.

pub mod bf16;
mod columns;
pub mod strided;

pub use columns::{Column, Lists, convert, gather_rows, interleave, scatter};

use std::ffi::{CStr, c_char, c_int};
use std::fmt::Debug;
use std::sync::OnceLock;

/// Numbers of one optimiser update; the layout is that of `ct_update` in `cpp/kernels/kernels.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct UpdateSettings {
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
const SIGN_ACTIVATIONS: u8 = 3;
const LOSSES: u8 = 7;
const SOFTMAX_CROSS_ENTROPY: u8 = 1;
const GAUSSIAN: u8 = 6;

/// Restricts LibTorch's BLAS to one thread for calls from this thread; false if this BLAS has no such switch.
pub fn blas_single_thread() -> bool {
    blas_threads(1) >= 0
}

/// Runs `work` with LibTorch's BLAS on this thread alone, and restores the setting.
pub fn with_blas_on_this_thread<R>(work: impl FnOnce() -> R) -> R {
    struct Before(c_int);
    impl Drop for Before {
        fn drop(&mut self) {
            if self.0 >= 0 {
                blas_threads(self.0);
            }
        }
    }
    let _before = Before(blas_threads(1));
    work()
}

fn blas_threads(count: c_int) -> c_int {
    // SAFETY: touches only a thread-local setting of the BLAS.
    unsafe { ct_blas_threads(count) }
}

mod sealed {
    /// Kernels exist for `f32` and `f64` only; zeroed memory is handed out as such numbers, so no other type may
    /// implement the trait.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A floating type for which the kernels exist.
pub trait Scalar: sealed::Sealed + Copy + Default + Debug + PartialEq + PartialOrd + Send + Sync + 'static {
    /// Rounds to the nearest value of the type.
    fn from_f64(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;

    #[doc(hidden)]
    fn table() -> &'static KernelTable<Self>;

    /// The products of bfloat16 pairs that represent numbers of this type.
    #[doc(hidden)]
    fn pairs() -> Option<&'static bf16::KernelTable<Self>>;

    /// `z[R,O] = x[R,I] w[O,I]ᵀ + b[O]`, by BLAS.
    fn linear(rows: usize, inputs: usize, outputs: usize, x: &[Self], w: &[Self], b: &[Self], z: &mut [Self]) {
        check_length("x", x.len(), area(rows, inputs));
        check_length("w", w.len(), area(outputs, inputs));
        check_length("b", b.len(), outputs);
        check_length("z", z.len(), area(rows, outputs));
        let linear = Self::table().linear;
        // SAFETY: the lengths are those of the shapes, and `z` is borrowed apart from the others.
        unsafe { linear(rows, inputs, outputs, x.as_ptr(), w.as_ptr(), b.as_ptr(), z.as_mut_ptr()) }
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
        check_length("x", x.len(), area(rows, inputs));
        check_length("w", w.len(), area(outputs, inputs));
        check_length("dz", dz.len(), area(rows, outputs));
        if let Some(dx) = &dx {
            check_length("dx", dx.len(), x.len());
        }
        check_length("dw", dw.len(), w.len());
        check_length("db", db.len(), outputs);
        let kernel = Self::table().linear_pullback;
        let (x, w, dz, dx) = (x.as_ptr(), w.as_ptr(), dz.as_ptr(), pointer(dx));
        // SAFETY: the lengths are those of the shapes, the outputs are borrowed apart; `dx` may be null.
        unsafe { kernel(rows, inputs, outputs, x, w, dz, dx, dw.as_mut_ptr(), db.as_mut_ptr()) }
    }

    /// Columns of a packed matrix of `width` columns (`cpp/kernels/packed.cpp`): those of whole panels.
    fn padded(width: usize) -> usize {
        // Registers hold a power of two of numbers. A division would take as long as the rest of a check.
        let last = Self::table().panel_width - 1;
        (width + last) & !last
    }

    /// Length of a layer's packed parameters.
    fn layer_length(inputs: usize, outputs: usize) -> usize {
        area(inputs, outputs);
        let layer_length = Self::table().layer_length;
        // SAFETY: computes with two numbers.
        unsafe { layer_length(inputs, outputs) }
    }

    /// `w[O,I]` and `b[O]` packed; zeros where the layer has no output.
    fn pack_layer(inputs: usize, outputs: usize, w: &[Self], b: &[Self], layer: &mut [Self]) {
        check_layer(inputs, outputs, layer, w, b);
        let pack_layer = Self::table().pack_layer;
        // SAFETY: the lengths are those of the shapes.
        unsafe { pack_layer(inputs, outputs, w.as_ptr(), b.as_ptr(), layer.as_mut_ptr()) }
    }

    /// The inverse of [`pack_layer`](Self::pack_layer).
    fn unpack_layer(inputs: usize, outputs: usize, layer: &[Self], w: &mut [Self], b: &mut [Self]) {
        check_layer(inputs, outputs, layer, w, b);
        let unpack_layer = Self::table().unpack_layer;
        // SAFETY: the lengths are those of the shapes.
        unsafe { unpack_layer(inputs, outputs, layer.as_ptr(), w.as_mut_ptr(), b.as_mut_ptr()) }
    }

    /// Number of elements that [`transpose_layer`](Self::transpose_layer) writes.
    fn transposed_length(inputs: usize, outputs: usize) -> usize {
        area(inputs, outputs);
        let transposed_length = Self::table().transposed_length;
        // SAFETY: computes with two numbers.
        unsafe { transposed_length(inputs, outputs) }
    }

    /// The weight of `layer` again, in the order in which [`packed_pullback`](Self::packed_pullback) reads it.
    fn transpose_layer(inputs: usize, outputs: usize, layer: &[Self], transposed: &mut [Self]) {
        check_length("layer", layer.len(), Self::layer_length(inputs, outputs));
        check_length("transposed", transposed.len(), Self::transposed_length(inputs, outputs));
        let transpose_layer = Self::table().transpose_layer;
        // SAFETY: the lengths are those of the shapes.
        unsafe { transpose_layer(inputs, outputs, layer.as_ptr(), transposed.as_mut_ptr()) }
    }

    /// `z = act(x wᵀ + b)`, all packed; `act` is one that [`packed_pullback`](Self::packed_pullback) supports.
    fn packed_linear(act: u8, rows: usize, inputs: usize, outputs: usize, x: &[Self], layer: &[Self], z: &mut [Self]) {
        check_sign_activation(act);
        check_length("x", x.len(), packed_length::<Self>(rows, inputs));
        check_length("layer", layer.len(), Self::layer_length(inputs, outputs));
        check_length("z", z.len(), packed_length::<Self>(rows, outputs));
        let (kernel, act) = (Self::table().packed_linear, act.into());
        // SAFETY: the lengths are those of the shapes, and `z` is borrowed apart from the others.
        unsafe { kernel(act, rows, inputs, outputs, x.as_ptr(), layer.as_ptr(), z.as_mut_ptr()) }
    }

    /// From `dz`, the adjoint of a layer's value before its activation: `dlayer` gets (with `sum`: is increased by)
    /// the adjoint of its parameters, and `dx`, if wanted, is (with `add`: is increased by) `act'(x)` times that of `x`, where
    /// `x` is the value of `act`: identity, ReLU or leaky ReLU. All packed; shape is rows, inputs, outputs.
    #[allow(clippy::too_many_arguments)] // The mathematics has that many.
    fn packed_pullback(
        act: u8,
        shape: [usize; 3],
        x: &[Self],
        transposed: &[Self],
        dz: &[Self],
        sum: bool,
        dx: Option<&mut [Self]>,
        add: bool,
        dlayer: &mut [Self],
    ) {
        let [rows, inputs, outputs] = shape;
        check_sign_activation(act);
        check_length("x", x.len(), packed_length::<Self>(rows, inputs));
        check_length("transposed", transposed.len(), Self::transposed_length(inputs, outputs));
        check_length("dz", dz.len(), packed_length::<Self>(rows, outputs));
        if let Some(dx) = &dx {
            check_length("dx", dx.len(), x.len());
        }
        check_length("dlayer", dlayer.len(), Self::layer_length(inputs, outputs));
        let (kernel, act) = (Self::table().packed_pullback, act.into());
        let (x, w, dz, dx) = (x.as_ptr(), transposed.as_ptr(), dz.as_ptr(), pointer(dx));
        // SAFETY: the lengths are those of the shapes, the outputs are borrowed apart; `dx` may be null.
        unsafe { kernel(act, rows, inputs, outputs, x, w, dz, sum.into(), dx, add.into(), dlayer.as_mut_ptr()) }
    }

    /// The part of [`packed_pullback`](Self::packed_pullback) that computes `dlayer`, for a layer of more than one
    /// output. Neighbouring whole panels of a layer's outputs are a layer, too.
    fn packed_weight_pullback(shape: [usize; 3], x: &[Self], dz: &[Self], sum: bool, dlayer: &mut [Self]) {
        let [rows, inputs, outputs] = shape;
        assert!(outputs > 1, "a layer of one output has its pullback in one piece");
        check_length("x", x.len(), packed_length::<Self>(rows, inputs));
        check_length("dz", dz.len(), packed_length::<Self>(rows, outputs));
        check_length("dlayer", dlayer.len(), Self::layer_length(inputs, outputs));
        let (x, dz, none) = (x.as_ptr(), dz.as_ptr(), std::ptr::null_mut());
        // SAFETY: the lengths are those of the shapes, `dlayer` is borrowed apart; the weight is read for `dx` alone.
        unsafe {
            let kernel = Self::table().packed_pullback;
            kernel(0, rows, inputs, outputs, x, none, dz, sum.into(), none, 0, dlayer.as_mut_ptr())
        }
    }

    /// The part of [`packed_pullback`](Self::packed_pullback) that computes `dx`, for a layer of more than one output.
    /// Neighbouring whole panels of a layer's inputs, with theirs of `transposed`, are the inputs of a layer, too.
    fn packed_input_pullback(
        act: u8,
        shape: [usize; 3],
        x: &[Self],
        transposed: &[Self],
        dz: &[Self],
        dx: &mut [Self],
        add: bool,
    ) {
        let [rows, inputs, outputs] = shape;
        assert!(outputs > 1, "a layer of one output has its pullback in one piece");
        check_sign_activation(act);
        check_length("x", x.len(), packed_length::<Self>(rows, inputs));
        check_length("transposed", transposed.len(), Self::transposed_length(inputs, outputs));
        check_length("dz", dz.len(), packed_length::<Self>(rows, outputs));
        check_length("dx", dx.len(), x.len());
        let (kernel, act) = (Self::table().packed_pullback, act.into());
        let (x, w, dz, none) = (x.as_ptr(), transposed.as_ptr(), dz.as_ptr(), std::ptr::null_mut());
        // SAFETY: the lengths are those of the shapes, `dx` is borrowed apart; `dlayer` may be null.
        unsafe { kernel(act, rows, inputs, outputs, x, w, dz, 0, dx.as_mut_ptr(), add.into(), none) }
    }

    /// Packs `dense` [rows, columns], with zeros where there is no column.
    fn pack_matrix(rows: usize, columns: usize, dense: &[Self], into: &mut [Self]) {
        check_length("dense", dense.len(), area(rows, columns));
        check_length("packed", into.len(), packed_length::<Self>(rows, columns));
        let pack_matrix = Self::table().pack_matrix;
        // SAFETY: the lengths are those of the shapes.
        unsafe { pack_matrix(rows, columns, dense.as_ptr(), into.as_mut_ptr()) }
    }

    /// The inverse of [`pack_matrix`](Self::pack_matrix).
    fn unpack_matrix(rows: usize, columns: usize, from: &[Self], dense: &mut [Self]) {
        check_length("packed", from.len(), packed_length::<Self>(rows, columns));
        check_length("dense", dense.len(), area(rows, columns));
        let unpack_matrix = Self::table().unpack_matrix;
        // SAFETY: the lengths are those of the shapes.
        unsafe { unpack_matrix(rows, columns, from.as_ptr(), dense.as_mut_ptr()) }
    }

    /// The given rows of `features` [_, columns] as `(x - mean) * inverse`, packed.
    fn gather(rows: &[u32], features: &[f32], mean: &[f32], inverse: &[f32], into: &mut [Self]) {
        let columns = mean.len();
        let there = features.len() / columns.max(1);
        assert!(rows.iter().all(|&row| (row as usize) < there), "a row beyond the {there} that there are");
        check_gather(rows.len(), columns, inverse, into);
        let (gather, rows, count) = (Self::table().gather, rows.as_ptr(), rows.len());
        // SAFETY: every row lies in `features`, and the lengths are those of the shapes.
        unsafe { gather(count, columns, rows, features.as_ptr(), mean.as_ptr(), inverse.as_ptr(), into.as_mut_ptr()) }
    }

    /// All rows of `features` [rows, columns] as `(x - mean) * inverse`, packed.
    fn standardise(features: &[f32], mean: &[f32], inverse: &[f32], into: &mut [Self]) {
        let columns = mean.len();
        let count = features.len() / columns.max(1);
        check_length("features", features.len(), area(count, columns));
        check_gather(count, columns, inverse, into);
        let (gather, rows) = (Self::table().gather, std::ptr::null());
        // SAFETY: without row numbers the kernel reads the first `count` rows, which is what there is.
        unsafe { gather(count, columns, rows, features.as_ptr(), mean.as_ptr(), inverse.as_ptr(), into.as_mut_ptr()) }
    }

    /// `d = d act'(z)`, with the derivative that Clad made, where `a = act(z)`: on entry the adjoint of `a`, on return that
    /// of `z`. The activation is one that [`packed_linear`](Self::packed_linear) takes.
    fn activation_pullback(act: u8, a: &[Self], d: &mut [Self]) {
        check_sign_activation(act);
        check_length("d", d.len(), a.len());
        let pullback = Self::table().activation_pullback;
        // SAFETY: both have `a.len()` elements, and `d` is borrowed apart from `a`.
        unsafe { pullback(act.into(), a.len(), a.as_ptr(), d.as_mut_ptr()) }
    }

    /// Returns `sum_r w[r] loss(z[r,:], y[r,:])` and, if wanted, writes `dz[R,C] = scale` times its gradient.
    ///
    /// Losses over elements are means over the C columns and take `y[R,C]`; softmax cross-entropy takes `y[R]`, the
    /// class as a number in `0..C` (anything else panics); the Gaussian likelihood takes C/2 means, then as many logarithms of
    /// variances (an odd C panics), and `y[R,C/2]`, over which it sums. `parameter` is the label smoothing of the cross-entropies,
    /// the focus of the focal loss, the share of the quantile and the least logarithm of a variance.
    #[allow(clippy::too_many_arguments)] // The mathematics has that many.
    fn loss(
        kind: u8,
        parameter: f64,
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
        unsafe { loss(kind.into(), parameter, rows, cols, z, y, w, scale, dz) }
    }

    /// `sum += term`, element by element.
    fn add(term: &[Self], sum: &mut [Self]) {
        check_length("sum", sum.len(), term.len());
        let add = Self::table().add;
        // SAFETY: both have `term.len()` elements.
        unsafe { add(term.len(), term.as_ptr(), sum.as_mut_ptr()) }
    }

    /// One update of stochastic gradient descent; `velocity` is needed if the momentum is not 0.
    fn sgd(update: &UpdateSettings, p: &mut [Self], g: &[Self], velocity: Option<&mut [Self]>) {
        check_length("g", g.len(), p.len());
        assert!(velocity.is_some() || update.momentum == 0.0, "momentum needs a velocity");
        if let Some(velocity) = &velocity {
            check_length("velocity", velocity.len(), p.len());
        }
        let (sgd, n) = (Self::table().sgd, p.len());
        // SAFETY: all have `n` elements; `velocity` may be null where the momentum is 0.
        unsafe { sgd(update, n, p.as_mut_ptr(), g.as_ptr(), pointer(velocity)) }
    }

    /// One update of Adam with moments `m` and `v`.
    fn adam(update: &UpdateSettings, p: &mut [Self], g: &[Self], m: &mut [Self], v: &mut [Self]) {
        check_moments(p, g, m, v);
        let adam = Self::table().adam;
        // SAFETY: all four have `p.len()` elements and are borrowed apart.
        unsafe { adam(update, p.len(), p.as_mut_ptr(), g.as_ptr(), m.as_mut_ptr(), v.as_mut_ptr()) }
    }

    /// One update of AdamW with moments `m` and `v`.
    fn adamw(update: &UpdateSettings, p: &mut [Self], g: &[Self], m: &mut [Self], v: &mut [Self]) {
        check_moments(p, g, m, v);
        let adamw = Self::table().adamw;
        // SAFETY: all four have `p.len()` elements and are borrowed apart.
        unsafe { adamw(update, p.len(), p.as_mut_ptr(), g.as_ptr(), m.as_mut_ptr(), v.as_mut_ptr()) }
    }
}

/// `ct_kernels_f32` or `ct_kernels_f64` of `cpp/kernels/kernels.h`, which says what each function computes.
#[repr(C)]
#[doc(hidden)]
pub struct KernelTable<T> {
    linear: Product<T>,
    linear_pullback: Pullback<T>,
    panel_width: usize,
    layer_length: unsafe extern "C" fn(usize, usize) -> usize,
    pack_layer: unsafe extern "C" fn(usize, usize, *const T, *const T, *mut T),
    unpack_layer: unsafe extern "C" fn(usize, usize, *const T, *mut T, *mut T),
    transposed_length: unsafe extern "C" fn(usize, usize) -> usize,
    transpose_layer: unsafe extern "C" fn(usize, usize, *const T, *mut T),
    packed_linear: unsafe extern "C" fn(c_int, usize, usize, usize, *const T, *const T, *mut T),
    packed_pullback: PackedPullback<T>,
    pack_matrix: unsafe extern "C" fn(usize, usize, *const T, *mut T),
    unpack_matrix: unsafe extern "C" fn(usize, usize, *const T, *mut T),
    gather: unsafe extern "C" fn(usize, usize, *const u32, *const f32, *const f32, *const f32, *mut T),
    activation_pullback: unsafe extern "C" fn(c_int, usize, *const T, *mut T),
    loss: unsafe extern "C" fn(c_int, f64, usize, usize, *const T, *const T, *const T, f64, *mut T) -> f64,
    add: unsafe extern "C" fn(usize, *const T, *mut T),
    sgd: unsafe extern "C" fn(*const UpdateSettings, usize, *mut T, *const T, *mut T),
    adam: unsafe extern "C" fn(*const UpdateSettings, usize, *mut T, *const T, *mut T, *mut T),
    adamw: unsafe extern "C" fn(*const UpdateSettings, usize, *mut T, *const T, *mut T, *mut T),
    strided: strided::KernelTable<T>,
}

type Product<T> = unsafe extern "C" fn(usize, usize, usize, *const T, *const T, *const T, *mut T);

type PackedPullback<T> =
    unsafe extern "C" fn(c_int, usize, usize, usize, *const T, *const T, *const T, c_int, *mut T, c_int, *mut T);

type Pullback<T> = unsafe extern "C" fn(usize, usize, usize, *const T, *const T, *const T, *mut T, *mut T, *mut T);

/// `ct_kernels`.
#[repr(C)]
struct Variant {
    name: *const c_char,
    f32: KernelTable<f32>,
    f64: KernelTable<f64>,
    columns: columns::KernelTable,
}

// SAFETY: the library's tables are constants; `name` points to a string literal.
unsafe impl Sync for Variant {}

unsafe extern "C" {
    fn ct_blas_threads(count: c_int) -> c_int;
    fn ct_kernels_for_this_machine(widest: c_int) -> *const Variant;
    fn ct_bf16_for_this_machine(widest: c_int) -> *const bf16::KernelTable<f32>;
}

/// Names of the variants that `CLADTORCH_KERNELS` in the environment may request, in the order of `ct_variant`.
const VARIANTS: [&str; 3] = ["portable", "avx2", "avx512"];

/// The kernels that run here: the table, and products in bfloat16 if there are any.
struct Chosen {
    table: &'static Variant,
    bf16: Option<&'static bf16::KernelTable<f32>>,
}

/// The kernels for this processor. `CLADTORCH_KERNELS=portable` (or `avx2`) requests none with wider registers, for
/// tests and comparisons; `avx512` none in bfloat16.
fn variant() -> &'static Chosen {
    static CHOSEN: OnceLock<Chosen> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let wanted = std::env::var_os("CLADTORCH_KERNELS");
        let widest = VARIANTS.iter().position(|&name| wanted.as_deref().is_some_and(|wanted| wanted == name));
        if let Some(unknown) = wanted.filter(|wanted| !wanted.is_empty() && widest.is_none()) {
            let (unknown, known) = (unknown.display(), VARIANTS.join(", "));
            eprintln!("CladTorch: CLADTORCH_KERNELS={unknown} is ignored; it may be one of {known}");
        }
        let widest = widest.unwrap_or(VARIANTS.len()) as c_int;
        // SAFETY: the functions return addresses of constants, the second one perhaps null.
        unsafe {
            let (table, bf16) = (ct_kernels_for_this_machine(widest), ct_bf16_for_this_machine(widest));
            Chosen { table: &*table, bf16: bf16.as_ref() }
        }
    })
}

/// The address of the table of kernels for T, for code compiled against `kernels.h`.
pub fn table_address<T: Scalar>() -> *const std::ffi::c_void {
    std::ptr::from_ref(T::table()).cast()
}

/// Which variant of the kernels runs here: `Avx512`, `Avx2` or `Portable`.
pub fn variant_name() -> &'static str {
    // SAFETY: a string literal of the library, in ASCII.
    unsafe { CStr::from_ptr(variant().table.name) }.to_str().unwrap_or("unknown")
}

impl Scalar for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    fn to_f64(self) -> f64 {
        self.into()
    }

    fn table() -> &'static KernelTable<Self> {
        &variant().table.f32
    }

    fn pairs() -> Option<&'static bf16::KernelTable<Self>> {
        variant().bf16
    }
}

impl Scalar for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn table() -> &'static KernelTable<Self> {
        &variant().table.f64
    }

    fn pairs() -> Option<&'static bf16::KernelTable<Self>> {
        None
    }
}

/// Number of elements of a matrix whose sides BLAS can count (32 bits).
fn area(rows: usize, cols: usize) -> usize {
    let limit = i32::MAX as usize;
    assert!(rows <= limit && (1..=limit).contains(&cols), "matrix of {rows} x {cols}: sides must be 1 to {limit}");
    rows.checked_mul(cols).expect("a matrix has more elements than memory has addresses")
}

/// Length of a packed [rows, width] matrix.
fn packed_length<T: Scalar>(rows: usize, width: usize) -> usize {
    area(rows, T::padded(width))
}

fn check_layer<T: Scalar>(inputs: usize, outputs: usize, layer: &[T], w: &[T], b: &[T]) {
    check_length("layer", layer.len(), T::layer_length(inputs, outputs));
    check_length("w", w.len(), area(outputs, inputs));
    check_length("b", b.len(), outputs);
}

fn check_gather<T: Scalar>(rows: usize, columns: usize, inverse: &[f32], into: &[T]) {
    check_length("inverse", inverse.len(), columns);
    check_length("packed", into.len(), packed_length::<T>(rows, columns));
}

fn check_length(name: &str, length: usize, expected: usize) {
    assert!(length == expected, "{name} has {length} elements, its shape needs {expected}");
}

/// Whether the activation's derivative depends only on the sign of its value, so that it can run inside a layer.
pub fn is_sign_activation(kind: u8) -> bool {
    kind < SIGN_ACTIVATIONS
}

fn check_sign_activation(kind: u8) {
    assert!(is_sign_activation(kind), "activation number {kind} does not run inside a layer");
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
            "softmax cross-entropy needs class numbers from 0 to {} as labels",
            cols - 1
        );
    } else if kind == GAUSSIAN {
        assert!(cols.is_multiple_of(2), "a Gaussian likelihood needs a mean and a variance for each target");
        check_length("y", y.len(), size / 2);
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

    /// The names that the integration tests use.
    #[test]
    fn the_variants_pass_too() {
        let name = variant_name().to_lowercase();
        if let Some(wanted) = std::env::var_os("CLADTORCH_KERNELS") {
            assert_eq!(Some(name.as_str()), wanted.to_str());
            return;
        }
        let program = std::env::current_exe().unwrap();
        for variant in VARIANTS.into_iter().take_while(|variant| *variant != name) {
            let mut second = std::process::Command::new(&program);
            let output = second.arg("kernels::").env("CLADTORCH_KERNELS", variant).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && text.contains("the_variants_pass_too"), "{variant}: {text}");
        }
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
    #[should_panic(expected = "class numbers from 0 to 1")]
    fn a_class_that_does_not_exist_panics() {
        f64::loss(SOFTMAX_CROSS_ENTROPY, 0.0, 1, 2, &[0.0; 2], &[2.0], &[1.0], 1.0, None);
    }

    #[test]
    #[should_panic(expected = "momentum needs a velocity")]
    fn momentum_without_velocity_panics() {
        let (learning_rate, momentum) = (0.02, 0.9);
        let update = UpdateSettings {
            learning_rate,
            weight_decay: 0.0,
            momentum,
            beta1: 0.9,
            beta2: 0.99,
            epsilon: 1e-8,
            step: 1,
        };
        f32::sgd(&update, &mut [0.0], &[0.0], None);
    }

    #[test]
    #[should_panic(expected = "activation number 3 does not run inside a layer")]
    fn an_unknown_activation_panics() {
        f32::activation_pullback(SIGN_ACTIVATIONS, &[0.0], &mut [0.0]);
    }
}
