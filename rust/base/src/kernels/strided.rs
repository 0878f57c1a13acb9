//! Kernels of the operator graph over strided views.
//!
//! A [`StridedView`] is checked when it is made; a call only compares its extent with the slice.

mod channels;

pub use channels::{Channels, Given, Moments};

use std::ffi::{c_int, c_void};

use super::{Scalar, check_length};

/// Largest number of dimensions of a view after neighbours are joined: `CT_RANK` of `cpp/kernels/kernels.h`.
const RANK: usize = 8;

/// The elements of a strided view in row-major order; the layout is that of `ct_view`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StridedView {
    count: usize,
    extent: usize,
    rank: usize,
    offset: usize,
    sizes: [usize; RANK],
    strides: [usize; RANK],
}

impl StridedView {
    /// Joins neighbouring dimensions; `None` if more than eight are left or a number overflows.
    pub fn new(offset: usize, sizes: &[usize], strides: &[usize]) -> Option<Self> {
        let mut view = StridedView { count: 1, extent: 0, rank: 0, offset, sizes: [0; RANK], strides: [0; RANK] };
        let mut last = offset;
        for (&size, &stride) in sizes.iter().zip(strides) {
            view.count = view.count.checked_mul(size)?;
            last = last.checked_add(size.saturating_sub(1).checked_mul(stride)?)?;
            if size != 1 {
                view.push(size, stride)?;
            }
        }
        if view.count > 0 {
            view.extent = last.checked_add(1)?;
        }
        Some(view)
    }

    fn push(&mut self, size: usize, stride: usize) -> Option<()> {
        if self.rank > 0 && Some(self.strides[self.rank - 1]) == size.checked_mul(stride) {
            self.sizes[self.rank - 1] = self.sizes[self.rank - 1].checked_mul(size)?;
            self.strides[self.rank - 1] = stride;
            return Some(());
        }
        *self.sizes.get_mut(self.rank)? = size;
        self.strides[self.rank] = stride;
        self.rank += 1;
        Some(())
    }

    /// The text of an initialiser of `ct_view` in C++.
    pub fn text(&self) -> String {
        let list = |numbers: [usize; RANK]| numbers.map(|number| number.to_string()).join(", ");
        let StridedView { count, extent, rank, offset, sizes, strides } = *self;
        format!("{{{count}, {extent}, {rank}, {offset}, {{{}}}, {{{}}}}}", list(sizes), list(strides))
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Calls `visit` with the offset of each element in row-major order.
    pub fn for_each(&self, mut visit: impl FnMut(usize)) {
        let mut index = [0; RANK];
        let mut offset = self.offset;
        for _ in 0..self.count {
            visit(offset);
            for dim in (0..self.rank).rev() {
                index[dim] += 1;
                offset += self.strides[dim];
                if index[dim] < self.sizes[dim] {
                    break;
                }
                offset -= self.sizes[dim] * self.strides[dim];
                index[dim] = 0;
            }
        }
    }

    /// Elements of memory up to the last element of the view.
    pub fn extent(&self) -> usize {
        self.extent
    }

    fn check<T>(&self, name: &str, memory: &[T], count: usize) {
        assert!(self.count == count, "the view of {name} has {} elements, its operator needs {count}", self.count);
        assert!(self.extent <= memory.len(), "the view of {name} ends beyond its {} elements", memory.len());
    }
}

/// How an index chooses along a dimension; the layout is that of `ct_pick`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    /// Elements along the dimension.
    pub size: usize,
    /// Distance between them.
    pub stride: usize,
    from_end: c_int,
    has_skip: c_int,
    skip: i64,
    is_number: c_int,
}

impl Pick {
    /// `from_end`: negative indices count from the end; `skip`: the index that chooses nothing.
    pub fn new(size: usize, stride: usize, from_end: bool, skip: Option<i64>) -> Self {
        Pick {
            size,
            stride,
            from_end: from_end.into(),
            has_skip: skip.is_some().into(),
            skip: skip.unwrap_or_default(),
            is_number: 0,
        }
    }

    /// Checks that every index from `bases` stays inside `memory`.
    fn check<T>(&self, bases: &StridedView, memory: &[T], count: usize) {
        bases.check("the source", memory, count);
        let reach = bases.extent + self.size.saturating_sub(1) * self.stride;
        assert!(reach <= memory.len() || count == 0, "an index could reach beyond {} elements", memory.len());
    }
}

/// The indices that choose elements.
#[derive(Clone, Copy)]
pub enum Index<'a, T> {
    /// int64, as in an argument of the function.
    Integers(&'a [i64]),
    /// Whole numbers of the graph's type, as kernels compute them.
    Numbers(&'a [T]),
}

impl<T> Index<'_, T> {
    fn check(&self, indices: &StridedView, count: usize) {
        match self {
            Index::Integers(index) => indices.check("the index", index, count),
            Index::Numbers(index) => indices.check("the index", index, count),
        }
    }

    /// The pick for this index type, and the address.
    fn raw(&self, pick: &Pick) -> (Pick, *const c_void) {
        let (is_number, address) = match self {
            Index::Integers(index) => (0, index.as_ptr().cast()),
            Index::Numbers(index) => (1, index.as_ptr().cast()),
        };
        (Pick { is_number, ..*pick }, address)
    }
}

/// The order of the elements of a row; the layout is that of `ct_order`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All of them, equal ones in the order of the row.
    Stable,
    /// The first ones as in LibTorch's `topk`, which sorts them.
    Top,
    /// The same, unsorted.
    TopUnsorted,
}

/// Which elements of a row come first, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// The kind of order.
    pub order: Order,
    /// From the greatest down; a NaN is greater than all numbers.
    pub descending: bool,
    /// Elements of a row.
    pub columns: usize,
    /// Number of first elements.
    pub count: usize,
}

impl Ranking {
    /// The longest row whose places float32 holds exactly.
    pub const LONGEST: usize = 1 << 24;
}

/// Elements between neighbouring rows and columns; the layout is that of `ct_matrix`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matrix {
    /// Between rows.
    pub row: usize,
    /// Between columns.
    pub column: usize,
}

impl Matrix {
    fn check<T>(&self, name: &str, memory: &[T], rows: usize, columns: usize) {
        if rows > 0 && columns > 0 {
            let last = (rows - 1) * self.row + (columns - 1) * self.column;
            assert!(last < memory.len(), "{name} ends beyond its {} elements", memory.len());
        }
    }
}

type Map<T> = unsafe extern "C" fn(c_int, usize, usize, *const *const T, *const StridedView, *mut T);
type MapPullback<T> = unsafe extern "C" fn(
    c_int,
    usize,
    usize,
    *const *const T,
    *const StridedView,
    *const T,
    c_int,
    *mut T,
    *const StridedView,
);
type Move<T> = unsafe extern "C" fn(usize, *const T, *const StridedView, *mut T, *const StridedView);
type MaxPullback<T> = unsafe extern "C" fn(
    c_int,
    usize,
    usize,
    *const T,
    *const StridedView,
    *const T,
    *const T,
    c_int,
    *mut T,
    *const StridedView,
);
type LengthPullback<T> = unsafe extern "C" fn(
    usize,
    usize,
    *const T,
    *const StridedView,
    *const T,
    *const T,
    c_int,
    *mut T,
    *const StridedView,
);
type SoftmaxPullback<T> =
    unsafe extern "C" fn(c_int, usize, usize, *const T, *const T, c_int, *mut T, *const StridedView);
type Gather<T> = unsafe extern "C" fn(
    *const Pick,
    usize,
    *const T,
    *const StridedView,
    *const c_void,
    *const StridedView,
    *mut T,
) -> c_int;
type GatherPullback<T> = unsafe extern "C" fn(
    *const Pick,
    usize,
    *const T,
    *const c_void,
    *const StridedView,
    *mut T,
    *const StridedView,
) -> c_int;
type Products<T> = unsafe extern "C" fn(
    usize,
    usize,
    usize,
    usize,
    *const T,
    RawStarts,
    Matrix,
    *const T,
    RawStarts,
    Matrix,
    c_int,
    *mut T,
    RawStarts,
    Matrix,
);

type BiasedProduct<T> = unsafe extern "C" fn(usize, usize, usize, *const T, Matrix, *const T, Matrix, *const T, *mut T);

/// The part of `ct_kernels_f32` and `ct_kernels_f64` for the operator graph.
#[repr(C)]
pub struct KernelTable<T> {
    map: Map<T>,
    map_pullback: MapPullback<T>,
    accumulate: Move<T>,
    copy: Move<T>,
    max: unsafe extern "C" fn(usize, usize, *const T, *const StridedView, *mut T),
    max_pullback: MaxPullback<T>,
    length: unsafe extern "C" fn(usize, usize, *const T, *const StridedView, *mut T),
    length_pullback: LengthPullback<T>,
    softmax: unsafe extern "C" fn(c_int, usize, usize, *const T, *const StridedView, *mut T),
    softmax_pullback: SoftmaxPullback<T>,
    softmax_down: unsafe extern "C" fn(c_int, usize, usize, usize, *const T, *mut T),
    softmax_down_pullback: unsafe extern "C" fn(c_int, usize, usize, usize, *const T, *const T, c_int, *mut T),
    normalise: unsafe extern "C" fn(usize, usize, T, *const T, *const T, *const T, *mut T),
    normalise_pullback: unsafe extern "C" fn(usize, usize, T, *const T, *const T, *const T, c_int, *mut T),
    normalise_scale_pullback: unsafe extern "C" fn(usize, usize, T, *const T, *const T, *mut T),
    standardise: channels::Functions<T>,
    argsort: unsafe extern "C" fn(Order, c_int, usize, usize, usize, *const T, *const StridedView, *mut T),
    gather: Gather<T>,
    gather_pullback: GatherPullback<T>,
    products: Products<T>,
    biased_product: BiasedProduct<T>,
    convolve: unsafe extern "C" fn(*const Convolution, *const T, *const T, *const T, *mut T),
    convolve_pullback: unsafe extern "C" fn(*const Convolution, *const T, *const T, c_int, *mut T),
    convolve_weight_pullback: unsafe extern "C" fn(*const Convolution, *const T, *const T, c_int, *mut T),
}

/// Numbers of functions in `operators.hpp`, by their operands: those before the first bound take one, and so on. The
/// last ones of one and of two operands are flat.
const SMOOTH_UNARY: u8 = 15 + 19;
const UNARY: u8 = SMOOTH_UNARY + 5;
const BINARY: u8 = UNARY + 18 + 4;
const FLAT: u8 = BINARY + 6;
const TERNARY: u8 = FLAT + 2;

/// Whether it has no derivative to call.
fn is_flat(function: u8) -> bool {
    (SMOOTH_UNARY..UNARY).contains(&function) || (BINARY..FLAT).contains(&function)
}

/// Operands of a function.
fn arity(function: u8) -> usize {
    match function {
        ..UNARY => 1,
        UNARY..FLAT => 2,
        FLAT..TERNARY => 3,
        _ => panic!("there is no function number {function}"),
    }
}

fn check_operands<T>(function: u8, x: &[&[T]], views: &[StridedView], count: usize) {
    let arity = arity(function);
    assert!(x.len() == arity && views.len() == arity, "function {function} takes {arity} operands");
    for (x, view) in x.iter().zip(views) {
        view.check("an operand", x, count);
    }
}

/// The addresses of up to three operands.
fn pointers<T>(x: &[&[T]]) -> [*const T; 3] {
    std::array::from_fn(|i| x.get(i).map_or(std::ptr::null(), |x| x.as_ptr()))
}

/// `y = function(x...)` over the elements of the views from `begin` on; the length of `y` is their number.
pub fn map<T: Scalar>(function: u8, begin: usize, x: &[&[T]], views: &[StridedView], y: &mut [T]) {
    let count = views.first().map_or(0, StridedView::count);
    check_operands(function, x, views, count);
    assert!(begin <= count && y.len() <= count - begin, "the output is longer than its operands");
    if y.is_empty() {
        return; // The kernels divide by the sizes of dimensions.
    }
    let (map, operands) = (T::table().strided.map, pointers(x));
    // SAFETY: every view stays inside its slice and has the elements asked for.
    unsafe { map(function.into(), begin, y.len(), operands.as_ptr(), views.as_ptr(), y.as_mut_ptr()) }
}

/// The target of a pullback: a view of an adjoint.
pub struct Adjoint<'a, T> {
    /// Its memory.
    pub data: &'a mut [T],
    /// The elements that the pullback computes.
    pub view: &'a StridedView,
    /// Whether it is added to their values; otherwise they are overwritten, and no two of them may be the same memory.
    pub add: bool,
}

impl<T> Adjoint<'_, T> {
    fn check(&self, count: usize) {
        self.view.check("an adjoint", self.data, count);
    }
}

/// Writes `dy` times the derivative of the function by operand `which` to the elements of the views.
pub fn map_pullback<T: Scalar>(
    function: u8,
    which: usize,
    x: &[&[T]],
    views: &[StridedView],
    dy: &[T],
    dx: Adjoint<T>,
) {
    let count = views.first().map_or(0, StridedView::count);
    check_operands(function, x, views, count);
    assert!(which < x.len() && !is_flat(function), "function {function} has no such derivative");
    assert!(dy.len() <= count, "the adjoint is longer than the operands");
    dx.check(dy.len());
    if dy.is_empty() {
        return;
    }
    let (pullback, operands) = (T::table().strided.map_pullback, pointers(x));
    let (views, dy, n, add) = (views.as_ptr(), dy.as_ptr(), dy.len(), dx.add.into());
    let (dx, target) = (dx.data.as_mut_ptr(), std::ptr::from_ref(dx.view));
    // SAFETY: every view of an operand and that of the adjoint stay inside their slices and have `n` elements.
    unsafe { pullback(function.into(), which, n, operands.as_ptr(), views, dy, add, dx, target) }
}

/// Adds the view of `x` to the view `target` of `y`, in order: for strides 0 in `target` that is a sum.
pub fn accumulate<T: Scalar>(x: &[T], view: &StridedView, y: &mut [T], target: &StridedView) {
    view.check("x", x, view.count);
    target.check("y", y, view.count);
    if view.count == 0 {
        return;
    }
    let accumulate = T::table().strided.accumulate;
    // SAFETY: both views stay inside their slices and have the same number of elements.
    unsafe { accumulate(view.count, x.as_ptr(), view, y.as_mut_ptr(), target) }
}

/// Copies the view of `x` to the view `target` of `y`.
pub fn copy<T: Scalar>(x: &[T], view: &StridedView, y: &mut [T], target: &StridedView) {
    view.check("x", x, view.count);
    target.check("y", y, view.count);
    if view.count == 0 {
        return;
    }
    let copy = T::table().strided.copy;
    // SAFETY: both views stay inside their slices and have the same number of elements.
    unsafe { copy(view.count, x.as_ptr(), view, y.as_mut_ptr(), target) }
}

/// `y[rows]` = the greatest of each row of the view [rows, columns]; a NaN counts as greater than all.
pub fn max<T: Scalar>(columns: usize, x: &[T], view: &StridedView, y: &mut [T]) {
    view.check("x", x, y.len() * columns);
    if y.is_empty() {
        return;
    }
    let max = T::table().strided.max;
    // SAFETY: the view stays inside `x` and has `columns` elements for each of `y`.
    unsafe { max(y.len(), columns, x.as_ptr(), view, y.as_mut_ptr()) }
}

/// Passes the view of `d`, which has as many elements, on to `dx`.
pub fn pass_on<T: Scalar>(d: &[T], view: &StridedView, dx: Adjoint<T>) {
    let transfer = if dx.add { accumulate } else { copy };
    transfer(d, view, dx.data, dx.view);
}

/// The pullback of [`greatest`]: `ties`, one of `ct_ties`, tells which of equal elements receive the derivative.
pub fn max_pullback<T: Scalar>(
    ties: u8,
    columns: usize,
    x: &[T],
    view: &StridedView,
    y: &[T],
    dy: &[T],
    dx: Adjoint<T>,
) {
    view.check("x", x, y.len() * columns);
    check_length("dy", dy.len(), y.len());
    dx.check(y.len() * columns);
    let pullback = T::table().strided.max_pullback;
    let (x, rows, add) = (x.as_ptr(), y.len(), dx.add.into());
    let (dx, target) = (dx.data.as_mut_ptr(), std::ptr::from_ref(dx.view));
    // SAFETY: both views stay inside their slices and have `columns` elements for each of the rows of `y` and `dy`.
    unsafe { pullback(ties.into(), rows, columns, x, view, y.as_ptr(), dy.as_ptr(), add, dx, target) }
}

/// `y[rows]` = the root of the sum of the squares of each row of the view [rows, columns].
pub fn length<T: Scalar>(columns: usize, x: &[T], view: &StridedView, y: &mut [T]) {
    view.check("x", x, y.len() * columns);
    let length = T::table().strided.length;
    // SAFETY: the view stays inside `x` and has `columns` elements for each of `y`.
    unsafe { length(y.len(), columns, x.as_ptr(), view, y.as_mut_ptr()) }
}

/// The pullback of [`length`]; nothing for a length of 0.
pub fn length_pullback<T: Scalar>(columns: usize, x: &[T], view: &StridedView, y: &[T], dy: &[T], dx: Adjoint<T>) {
    view.check("x", x, y.len() * columns);
    check_length("dy", dy.len(), y.len());
    dx.check(y.len() * columns);
    let pullback = T::table().strided.length_pullback;
    let (x, rows, add) = (x.as_ptr(), y.len(), dx.add.into());
    let (dx, target) = (dx.data.as_mut_ptr(), std::ptr::from_ref(dx.view));
    // SAFETY: both views stay inside their slices and have `columns` elements for each of the rows of `y` and `dy`.
    unsafe { pullback(rows, columns, x, view, y.as_ptr(), dy.as_ptr(), add, dx, target) }
}

/// `y[rows, columns]` = softmax of each row of the view, or its logarithm.
pub fn softmax<T: Scalar>(logarithm: bool, columns: usize, x: &[T], view: &StridedView, y: &mut [T]) {
    view.check("x", x, y.len());
    let rows = y.len().checked_div(columns).unwrap_or(0);
    check_length("y", y.len(), rows * columns);
    let softmax = T::table().strided.softmax;
    // SAFETY: the view stays inside `x`; it and `y` have rows * columns elements.
    unsafe { softmax(logarithm.into(), rows, columns, x.as_ptr(), view, y.as_mut_ptr()) }
}

/// The pullback of [`softmax`], from its value.
pub fn softmax_pullback<T: Scalar>(logarithm: bool, columns: usize, y: &[T], dy: &[T], dx: Adjoint<T>) {
    dx.check(y.len());
    check_length("dy", dy.len(), y.len());
    let rows = y.len().checked_div(columns).unwrap_or(0);
    check_length("y", y.len(), rows * columns);
    let (pullback, add) = (T::table().strided.softmax_pullback, dx.add.into());
    let (dx, target) = (dx.data.as_mut_ptr(), std::ptr::from_ref(dx.view));
    // SAFETY: the view stays inside `dx`; it, `y` and `dy` have rows * columns elements.
    unsafe { pullback(logarithm.into(), rows, columns, y.as_ptr(), dy.as_ptr(), add, dx, target) }
}

/// `y` = softmax down the columns of matrices `x[columns, side]`, or its logarithm.
pub fn softmax_down<T: Scalar>(logarithm: bool, [columns, side]: [usize; 2], x: &[T], y: &mut [T]) {
    let matrices = y.len().checked_div(columns * side).unwrap_or(0);
    check_length("x", x.len(), y.len());
    check_length("y", y.len(), matrices * columns * side);
    let softmax = T::table().strided.softmax_down;
    // SAFETY: both have matrices * columns * side elements.
    unsafe { softmax(logarithm.into(), matrices, columns, side, x.as_ptr(), y.as_mut_ptr()) }
}

/// The pullback of [`softmax_down`], from its value: `dx` (`add`: +)= it.
pub fn softmax_down_pullback<T: Scalar>(
    logarithm: bool,
    [columns, side]: [usize; 2],
    y: &[T],
    dy: &[T],
    add: bool,
    dx: &mut [T],
) {
    let matrices = y.len().checked_div(columns * side).unwrap_or(0);
    check_length("dy", dy.len(), y.len());
    check_length("dx", dx.len(), y.len());
    check_length("y", y.len(), matrices * columns * side);
    let pullback = T::table().strided.softmax_down_pullback;
    let (y, dy, dx) = (y.as_ptr(), dy.as_ptr(), dx.as_mut_ptr());
    // SAFETY: all have matrices * columns * side elements.
    unsafe { pullback(logarithm.into(), matrices, columns, side, y, dy, add.into(), dx) }
}

/// `places` = the place of each of the row's first elements in its row of the view.
pub fn argsort<T: Scalar>(ranking: Ranking, x: &[T], view: &StridedView, places: &mut [T]) {
    let Ranking { order, descending, columns, count } = ranking;
    let rows = places.len().checked_div(count).unwrap_or(0);
    check_length("places", places.len(), rows * count);
    assert!(count <= columns && columns <= Ranking::LONGEST, "the first {count} of {columns} elements");
    view.check("the operand", x, if count == 0 { view.count } else { rows * columns });
    let argsort = T::table().strided.argsort;
    // SAFETY: the view has `rows` rows of `columns` elements, and there are `count` places for each.
    unsafe { argsort(order, descending.into(), rows, columns, count, x.as_ptr(), view, places.as_mut_ptr()) }
}

/// `y` = the elements that the indices choose, each from its place in `bases`; false if an index is out of range.
pub fn gather<T: Scalar>(
    pick: &Pick,
    x: &[T],
    bases: &StridedView,
    index: Index<T>,
    indices: &StridedView,
    y: &mut [T],
) -> bool {
    pick.check(bases, x, y.len());
    index.check(indices, y.len());
    let (pick, index) = index.raw(pick);
    let gather = T::table().strided.gather;
    // SAFETY: the views have y.len() elements; every index in range, which the kernel checks, stays inside `x`.
    unsafe { gather(&pick, y.len(), x.as_ptr(), bases, index, indices, y.as_mut_ptr()) != 0 }
}

/// The pullback of [`gather`].
pub fn gather_pullback<T: Scalar>(
    pick: &Pick,
    dy: &[T],
    index: Index<T>,
    indices: &StridedView,
    dx: &mut [T],
    bases: &StridedView,
) -> bool {
    pick.check(bases, dx, dy.len());
    index.check(indices, dy.len());
    let (pick, index) = index.raw(pick);
    let pullback = T::table().strided.gather_pullback;
    // SAFETY: as for `gather`, with `dx` written and `dy` read.
    unsafe { pullback(&pick, dy.len(), dy.as_ptr(), index, indices, dx.as_mut_ptr(), bases) != 0 }
}

/// The starts of the matrices of several products.
#[derive(Clone, Copy)]
pub enum Starts<'a> {
    /// One after the other, this many numbers apart.
    Every(usize),
    /// From one number of each pair: the first (0) or the second (1).
    Listed(&'a [[usize; 2]], usize),
}

/// The layout is that of `ct_starts`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawStarts {
    list: *const usize,
    step: usize,
}

impl Starts<'_> {
    /// The last place of `count`.
    fn last(self, count: usize) -> usize {
        match self {
            Starts::Every(step) => (count - 1) * step,
            Starts::Listed(pairs, which) => pairs[..count].iter().map(|pair| pair[which]).max().unwrap_or(0),
        }
    }

    fn raw(self) -> RawStarts {
        match self {
            Starts::Every(step) => RawStarts { list: std::ptr::null(), step },
            Starts::Listed(pairs, which) => RawStarts { list: pairs.as_flattened()[which..].as_ptr(), step: 2 },
        }
    }
}

/// Factors of several products.
#[derive(Clone, Copy)]
pub struct Factors<'a, T> {
    /// All of them.
    pub data: &'a [T],
    /// The layout of each matrix.
    pub order: Matrix,
    /// The starts of the matrices.
    pub starts: Starts<'a>,
}

/// `count` times `c[M,N] = a[M,K] b[K,N]`, or added to `c`; `c` has rows or columns of neighbouring elements.
#[allow(clippy::too_many_arguments)] // The mathematics has that many.
pub fn products<T: Scalar>(
    count: usize,
    [m, n, k]: [usize; 3],
    a: Factors<T>,
    b: Factors<T>,
    add: bool,
    c: &mut [T],
    c_order: Matrix,
    c_starts: Starts,
) {
    check_sides([m, n, k]);
    assert!(c_order.row == 1 || c_order.column == 1, "the product needs rows or columns of neighbouring elements");
    if count == 0 || m * n == 0 {
        return;
    }
    if k > 0 {
        a.order.check("a", &a.data[a.starts.last(count)..], m, k);
        b.order.check("b", &b.data[b.starts.last(count)..], k, n);
    }
    c_order.check("c", &c[c_starts.last(count)..], m, n);
    let products = T::table().strided.products;
    let [a_starts, b_starts, c_starts] = [a.starts, b.starts, c_starts].map(Starts::raw);
    let (left, right, c) = (a.data.as_ptr(), b.data.as_ptr(), c.as_mut_ptr());
    // SAFETY: the last matrix of each of the three ends inside its slice, `c` is borrowed apart, and lists have `count` pairs.
    unsafe {
        products(count, m, n, k, left, a_starts, a.order, right, b_starts, b.order, add.into(), c, c_starts, c_order)
    }
}

/// `c[M,N] = a[M,K] b[K,N]` with `bias[N]` added to every row; each factor a matrix and how it lies.
pub fn biased_product<T: Scalar>(
    [m, n, k]: [usize; 3],
    (a, a_order): (&[T], Matrix),
    (b, b_order): (&[T], Matrix),
    bias: &[T],
    c: &mut [T],
) {
    check_sides([m, n, k]);
    a_order.check("a", a, m, k);
    b_order.check("b", b, k, n);
    check_length("bias", bias.len(), n);
    check_length("c", c.len(), m * n);
    let product = T::table().strided.biased_product;
    // SAFETY: every matrix ends inside its slice, and `c` is borrowed apart.
    unsafe { product(m, n, k, a.as_ptr(), a_order, b.as_ptr(), b_order, bias.as_ptr(), c.as_mut_ptr()) }
}

/// A convolution along one dimension, of stride 1 and without padding: signals [events, groups, inputs, length] and weights
/// [groups, outputs, inputs, taps] give [events, groups, outputs, columns]. The layout is that of `ct_convolution`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// Rows of the batch.
    pub events: usize,
    /// Groups into which the channels are divided.
    pub groups: usize,
    /// Channels per group of the signals.
    pub inputs: usize,
    /// Channels per group of the result.
    pub outputs: usize,
    /// Weights per channel.
    pub taps: usize,
    /// Distance between two taps in elements.
    pub dilation: usize,
    /// Elements per signal.
    pub length: usize,
}

impl Convolution {
    /// Elements per signal of the result; `None` if the signals are too short, or there are no taps.
    pub fn columns(&self) -> Option<usize> {
        let reach = self.taps.checked_sub(1)?.checked_mul(self.dilation)?;
        self.length.checked_sub(reach).filter(|&columns| columns > 0)
    }

    /// Number of multiplications.
    pub fn work(&self) -> usize {
        self.lengths().map_or(0, |[_, weights, _]| weights * self.events * self.columns().unwrap_or(0))
    }

    /// Elements of the signals, the weights and the result; `None` if they overflow, or there are no columns.
    pub fn lengths(&self) -> Option<[usize; 3]> {
        let product = |factors: &[usize]| factors.iter().try_fold(1usize, |all, &factor| all.checked_mul(factor));
        Some([
            product(&[self.events, self.groups, self.inputs, self.length])?,
            product(&[self.groups, self.outputs, self.inputs, self.taps])?,
            product(&[self.events, self.groups, self.outputs, self.columns()?])?,
        ])
    }

    fn check(&self, signals: usize, weights: usize, result: usize) {
        assert!(
            self.lengths() == Some([signals, weights, result]),
            "{self:?} of {signals}, {weights} and {result} elements"
        );
    }
}

/// y = the convolution of `x` with `w`, plus the bias, a number for each channel of the result, if there is one.
pub fn convolve<T: Scalar>(c: &Convolution, x: &[T], w: &[T], bias: Option<&[T]>, y: &mut [T]) {
    c.check(x.len(), w.len(), y.len());
    let bias = bias.map_or(std::ptr::null(), |bias| {
        check_length("bias", bias.len(), c.groups * c.outputs);
        bias.as_ptr()
    });
    let convolve = T::table().strided.convolve;
    // SAFETY: all lengths are those of `c`, and `y` is borrowed apart.
    unsafe { convolve(c, x.as_ptr(), w.as_ptr(), bias, y.as_mut_ptr()) }
}

/// dx (add: +)= the part of the pullback for the signals.
pub fn convolve_pullback<T: Scalar>(c: &Convolution, w: &[T], dy: &[T], add: bool, dx: &mut [T]) {
    c.check(dx.len(), w.len(), dy.len());
    let pullback = T::table().strided.convolve_pullback;
    // SAFETY: as for `convolve`, with `dx` written.
    unsafe { pullback(c, w.as_ptr(), dy.as_ptr(), add.into(), dx.as_mut_ptr()) }
}

/// dw (add: +)= the part of the pullback for the weights.
pub fn convolve_weight_pullback<T: Scalar>(c: &Convolution, x: &[T], dy: &[T], add: bool, dw: &mut [T]) {
    c.check(x.len(), dw.len(), dy.len());
    let pullback = T::table().strided.convolve_weight_pullback;
    // SAFETY: as for `convolve`, with `dw` written.
    unsafe { pullback(c, x.as_ptr(), dy.as_ptr(), add.into(), dw.as_mut_ptr()) }
}

/// BLAS counts in 32 bits.
fn check_sides([m, n, k]: [usize; 3]) {
    let limit = i32::MAX as usize;
    assert!(m <= limit && n <= limit && k <= limit, "matrices of {m} x {k} and {k} x {n}: sides must be up to {limit}");
}

/// `y[rows, columns]`: the rows of `x` with mean 0 and variance 1, times `w[columns]` plus `b[columns]`.
pub fn normalise<T: Scalar>(columns: usize, eps: f64, x: &[T], w: &[T], b: &[T], y: &mut [T]) {
    let rows = check_rows(columns, x, y);
    check_length("w", w.len(), columns);
    check_length("b", b.len(), columns);
    let (normalise, eps) = (T::table().strided.normalise, T::from_f64(eps));
    // SAFETY: `x` and `y` have rows * columns numbers, `w` and `b` columns.
    unsafe { normalise(rows, columns, eps, x.as_ptr(), w.as_ptr(), b.as_ptr(), y.as_mut_ptr()) }
}

/// The pullback of [`normalise`] for `x`; `dx` is dense.
pub fn normalise_pullback<T: Scalar>(columns: usize, eps: f64, x: &[T], w: &[T], dy: &[T], dx: Adjoint<T>) {
    let rows = check_rows(columns, x, dx.data);
    check_length("dy", dy.len(), x.len());
    check_length("w", w.len(), columns);
    let (pullback, eps) = (T::table().strided.normalise_pullback, T::from_f64(eps));
    // SAFETY: `x`, `dy` and `dx` have rows * columns numbers, `w` columns.
    unsafe { pullback(rows, columns, eps, x.as_ptr(), w.as_ptr(), dy.as_ptr(), dx.add.into(), dx.data.as_mut_ptr()) }
}

/// Adds the pullback of [`normalise`] for `w` to `dw`.
pub fn normalise_scale_pullback<T: Scalar>(columns: usize, eps: f64, x: &[T], dy: &[T], dw: &mut [T]) {
    let rows = check_rows(columns, x, dy);
    check_length("dw", dw.len(), columns);
    let (pullback, eps) = (T::table().strided.normalise_scale_pullback, T::from_f64(eps));
    // SAFETY: `x` and `dy` have rows * columns numbers, `dw` columns.
    unsafe { pullback(rows, columns, eps, x.as_ptr(), dy.as_ptr(), dw.as_mut_ptr()) }
}

/// The rows of two arrays of one length.
fn check_rows<T>(columns: usize, x: &[T], y: &[T]) -> usize {
    let rows = x.len().checked_div(columns).unwrap_or(0);
    check_length("x", x.len(), rows * columns);
    check_length("y", y.len(), x.len());
    rows
}

#[cfg(test)]
mod tests;
