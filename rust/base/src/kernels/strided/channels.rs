//! Batch normalisation: `cpp/kernels/standardise.cpp`.

use std::ffi::c_int;

use super::super::{Scalar, check_length};

/// Channels of a batch [rows, channels, side] in panels of `width` channels, each [rows, width, side]; the layout is that of
/// `ct_channels`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Events.
    pub rows: usize,
    /// Channels, each with its own mean and variance.
    pub channels: usize,
    /// Elements of a channel in an event.
    pub side: usize,
    /// Channels of a panel; of a dense batch all channels.
    pub width: usize,
}

impl Channels {
    /// The layout of a dense batch.
    pub fn dense(rows: usize, channels: usize, side: usize) -> Self {
        Channels { rows, channels, side, width: channels }
    }

    /// Elements of one panel.
    pub fn panel(&self) -> usize {
        self.rows * self.width * self.side
    }

    /// Elements of all panels.
    pub fn len(&self) -> usize {
        self.channels.div_ceil(self.width.max(1)) * self.panel()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn check<T>(&self, x: &[T], of_channels: &[&[T]]) {
        check_length("x", x.len(), self.len());
        self.check_channels(of_channels);
    }

    fn check_channels<T>(&self, of_channels: &[&[T]]) {
        assert!(self.width > 0 && (self.side == 1 || self.channels <= self.width), "{self:?} is no layout of channels");
        of_channels.iter().for_each(|numbers| check_length("numbers of channels", numbers.len(), self.channels));
    }
}

/// The moments of each channel of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Moments<'a, T> {
    /// [channels]
    pub mean: &'a [T],
    /// [channels], the root of the mean squared deviation.
    pub deviation: &'a [T],
    /// Added to the squared deviation.
    pub eps: f64,
}

type Shape = *const Channels;

/// The functions of `ct_kernels_f32` and `ct_kernels_f64` for channels.
#[repr(C)]
pub(super) struct Functions<T> {
    spread: unsafe extern "C" fn(Shape, *const T, *mut f64, *mut f64),
    moments: unsafe extern "C" fn(Shape, *const T, *mut T, *mut T),
    standardise: unsafe extern "C" fn(Shape, T, *const T, *const T, *const T, *const T, *const T, *mut T),
    sums: unsafe extern "C" fn(Shape, T, *const T, *const T, *const T, *const T, *mut f64, *mut f64),
    pullback: Pullback<T>,
}

type Pullback<T> = unsafe extern "C" fn(
    Shape,
    usize,
    T,
    *const T,
    *const T,
    *const T,
    *const T,
    *const f64,
    *const f64,
    *const T,
    c_int,
    *mut T,
);

/// The inputs of the pullback of batch normalisation for `x`, besides `x`.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a, T> {
    /// [channels], the scale.
    pub w: &'a [T],
    /// [channels]: sums of `dy`, from [`Channels::sums`].
    pub shift: &'a [f64],
    /// [channels]: sums of `dy` times the standardised `x`, likewise.
    pub slope: &'a [f64],
    /// Number of elements in each of these sums.
    pub count: usize,
}

impl Channels {
    /// Mean and deviation [channels] of `x`. Some neighbouring channels may be left out: `x` then begins with the first
    /// channel, and `width` counts all.
    pub fn moments<T: Scalar>(&self, x: &[T], mean: &mut [T], deviation: &mut [T]) {
        self.check_channels(&[mean, deviation]);
        self.check_reach(x);
        let moments = T::table().strided.standardise.moments;
        // SAFETY: `x` holds every element of the channels, `mean` and `deviation` a number for each.
        unsafe { moments(self, x.as_ptr(), mean.as_mut_ptr(), deviation.as_mut_ptr()) }
    }

    /// Mean [channels] of `x`, and the sums of squared deviations from it; channels may be left out as in
    /// [`moments`](Self::moments).
    pub fn spread<T: Scalar>(&self, x: &[T], mean: &mut [f64], squares: &mut [f64]) {
        self.check_channels(&[mean, squares]);
        self.check_reach(x);
        let spread = T::table().strided.standardise.spread;
        // SAFETY: `x` holds every element of the channels, `mean` and `squares` a number for each.
        unsafe { spread(self, x.as_ptr(), mean.as_mut_ptr(), squares.as_mut_ptr()) }
    }

    /// `y = (x - mean) / sqrt(deviation^2 + eps) w + b`
    pub fn standardise<T: Scalar>(&self, x: &[T], moments: Moments<T>, w: &[T], b: &[T], y: &mut [T]) {
        let Moments { mean, deviation, eps } = moments;
        self.check(x, &[mean, deviation, w, b]);
        check_length("y", y.len(), x.len());
        let (function, eps) = (T::table().strided.standardise.standardise, T::from_f64(eps));
        let [x, mean, deviation, w, b] = [x, mean, deviation, w, b].map(<[T]>::as_ptr);
        // SAFETY: all lengths are those of the layout, and `y` is borrowed apart.
        unsafe { function(self, eps, x, mean, deviation, w, b, y.as_mut_ptr()) }
    }

    /// The gradients of the shift and the scale by `dy`, [channels] each; channels may be left out as in
    /// [`moments`](Self::moments).
    pub fn sums<T: Scalar>(&self, x: &[T], moments: Moments<T>, dy: &[T], shift: &mut [f64], slope: &mut [f64]) {
        let Moments { mean, deviation, eps } = moments;
        self.check_channels(&[mean, deviation]);
        self.check_channels(&[shift, slope]);
        self.check_reach(x);
        self.check_reach(dy);
        let (function, eps) = (T::table().strided.standardise.sums, T::from_f64(eps));
        let [x, mean, deviation, dy] = [x, mean, deviation, dy].map(<[T]>::as_ptr);
        // SAFETY: `x` and `dy` hold every element of the channels, the rest a number for each.
        unsafe { function(self, eps, x, mean, deviation, dy, shift.as_mut_ptr(), slope.as_mut_ptr()) }
    }

    /// dx (add: +)= the part of the pullback for `x`; here may be some of the rows that `given` was computed from.
    pub fn pullback<T: Scalar>(
        &self,
        x: &[T],
        moments: Moments<T>,
        given: Given<T>,
        dy: &[T],
        add: bool,
        dx: &mut [T],
    ) {
        let (Moments { mean, deviation, eps }, Given { w, shift, slope, count }) = (moments, given);
        self.check(x, &[mean, deviation, w]);
        self.check_channels(&[shift, slope]);
        check_length("dy", dy.len(), x.len());
        check_length("dx", dx.len(), x.len());
        let (function, eps) = (T::table().strided.standardise.pullback, T::from_f64(eps));
        let [x, mean, deviation, w, dy] = [x, mean, deviation, w, dy].map(<[T]>::as_ptr);
        let [shift, slope] = [shift, slope].map(<[f64]>::as_ptr);
        // SAFETY: all lengths are those of the layout, and `dx` is borrowed apart.
        unsafe { function(self, count, eps, x, mean, deviation, w, shift, slope, dy, add.into(), dx.as_mut_ptr()) }
    }

    /// `x` must hold all elements of the channels.
    fn check_reach<T>(&self, x: &[T]) {
        if self.rows == 0 || self.channels == 0 {
            return;
        }
        let [panels, last] = [(self.channels - 1) / self.width, (self.channels - 1) % self.width];
        let reach = panels * self.panel() + ((self.rows - 1) * self.width + last + 1) * self.side;
        assert!(reach <= x.len(), "{} elements end before the {reach} of {self:?}", x.len());
    }
}
