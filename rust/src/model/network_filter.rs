//! A model of windows on long series: the score of each window, without computing again what neighbours share.

use std::sync::Arc;

use rayon::prelude::*;

use super::Model;
use super::predictor::{Numbers, Predictor};
use crate::dataset::Scaler;
use crate::device::shared_pool;
use crate::error::{Error, Result};
use crate::graph::{Mode, sliding};
use crate::interrupt;

/// Lengths of a piece of a series beyond its first window, in windows: one share in this many is computed again.
const PIECE: usize = 8;
/// Windows that are copied at once where they are computed one by one.
const WINDOWS: usize = 1024;

/// A frozen model that is slid over series.
pub struct NetworkFilter {
    model: Model,
    channels: usize,
    window: usize,
    stride: usize,
    layers: std::result::Result<Layers, String>,
}

/// A network in two parts.
struct Layers {
    trunk: Predictor,
    head: Predictor,
    /// Windows of a piece.
    windows: usize,
    /// Channels and times of a window, in what the trunk gives.
    joint: [usize; 2],
    /// Times between two windows there.
    apart: usize,
}

impl NetworkFilter {
    /// A filter of windows of `channels` series each, one after the other in an event, with `stride` samples between
    /// the beginnings of two windows.
    pub fn new(model: Model, channels: usize, stride: usize) -> Result<Self> {
        let window = window_of(&model, channels)?;
        if !(1..=window).contains(&stride) {
            return Err(Error::invalid(
                format!("a stride of {stride} samples between windows of {window}"),
                format!("give 1 to {window}"),
            ));
        }
        let layers = Layers::of(&model, window, stride)?;
        let mut filter = NetworkFilter { model, channels, window, stride, layers };
        filter.model.freeze();
        Ok(filter)
    }

    /// Samples of a window of each channel.
    pub fn window(&self) -> usize {
        self.window
    }

    /// Numbers of a window's score.
    pub fn outputs(&self) -> usize {
        self.model.outputs()
    }

    /// Why every window is computed by itself; empty: the network is slid as one convolution.
    pub fn obstacle(&self) -> &str {
        self.layers.as_ref().err().map_or("", |why| why)
    }

    /// Multiplications, as a share of those of windows computed by themselves.
    pub fn arithmetic(&self) -> f64 {
        let Ok(layers) = &self.layers else { return 1.0 };
        let [trunk, head] = [&layers.trunk, &layers.head].map(|part| part.module().cost().work as f64);
        (trunk / layers.windows as f64 + head) / self.model.work() as f64
    }

    /// `series` are [channels, n]; gives the raw predictions [1 + (n - window) / stride, outputs].
    pub fn scores(&self, series: &[f32], threads: usize) -> Result<Vec<f32>> {
        let length = series.len() / self.channels;
        if length < self.window {
            return Err(Error::invalid(
                format!("series of {length} samples for windows of {}", self.window),
                "give longer ones",
            ));
        }
        let mut scores = vec![0.0; (1 + (length - self.window) / self.stride) * self.outputs()];
        match &self.layers {
            Ok(layers) => {
                let piece = layers.windows * self.outputs();
                let run = |(index, out)| self.piece(layers, series, index * layers.windows, out);
                shared_pool(threads)?.install(|| scores.par_chunks_mut(piece).enumerate().try_for_each(run))?;
            }
            Err(_) => {
                for (index, out) in scores.chunks_mut(WINDOWS * self.outputs()).enumerate() {
                    let first = index * WINDOWS;
                    let windows = first..first + out.len() / self.outputs();
                    let features: Vec<f32> = windows.flat_map(|at| self.samples(series, at, self.window)).collect();
                    self.model.predict_rows(&features, true, threads, out)?;
                }
            }
        }
        interrupt::check("the search")?;
        Ok(scores)
    }

    /// [channels, count] from the window `first` on, with zeros behind the end of the series.
    fn samples(&self, series: &[f32], first: usize, count: usize) -> Vec<f32> {
        let mut samples = Vec::with_capacity(self.channels * count);
        for (index, channel) in series.chunks_exact(series.len() / self.channels).enumerate() {
            let rest = &channel[first * self.stride..];
            samples.extend_from_slice(&rest[..count.min(rest.len())]);
            samples.resize((index + 1) * count, 0.0);
        }
        samples
    }

    /// The scores of the windows from `first` on, of one piece or the beginning of one.
    fn piece(&self, layers: &Layers, series: &[f32], first: usize, out: &mut [f32]) -> Result<()> {
        if interrupt::requested() {
            return Ok(());
        }
        let numbers = Numbers { parameters: self.model.parameters(), state: self.model.state(), scaler: None };
        let (trunk, outputs) = (layers.trunk.module(), self.outputs());
        let samples = self.samples(series, first, trunk.inputs() / self.channels);
        let mut values = vec![0.0; trunk.outputs()];
        layers.trunk.predict(numbers, &samples, &mut values, |_| ())?;
        let [channels, times] = layers.joint;
        let long = values.len() / channels;
        let windows = (0..out.len() / outputs).map(|window| window * layers.apart);
        let of_channels = windows.flat_map(|at| (0..channels).map(move |channel| channel * long + at));
        let windows: Vec<f32> = of_channels.flat_map(|at| values[at..at + times].iter().copied()).collect();
        layers.head.predict(numbers, &windows, out, |rows| self.model.finish(true, rows))
    }
}

/// Samples of a window of each of `channels` series, one after the other.
pub(super) fn window_of(model: &Model, channels: usize) -> Result<usize> {
    let inputs = model.inputs();
    let shape = model.module().map(|module| module.shape().to_vec()).unwrap_or_default();
    match channels > 0 && inputs.is_multiple_of(channels) && (shape.len() != 2 || shape[0] == channels) {
        true => Ok(inputs / channels),
        false => Err(Error::invalid(
            format!("{channels} detector(s) for a model that takes {inputs} numbers of shape {shape:?}"),
            "give as many as the model was made for: its events are [detectors, samples]",
        )),
    }
}

impl Layers {
    fn of(model: &Model, window: usize, stride: usize) -> Result<std::result::Result<Self, String>> {
        let Some(module) = model.module() else {
            return Ok(Err("LibTorch runs the network".into()));
        };
        let identity = Scaler::identity(model.inputs());
        if model.training().scaler.as_ref().is_some_and(|scaler| *scaler != identity) {
            return Ok(Err(
                "each sample of a window is standardised by its own mean and deviation; fit with fStandardise = \
                           false"
                    .into(),
            ));
        }
        let windows = 1 + (PIECE * window).div_ceil(stride);
        let parts = match sliding::cut(module, stride, windows - 1)? {
            Ok(parts) => parts,
            Err(why) => return Ok(Err(why)),
        };
        if !parts.trunk.takes_one(Mode::Evaluation) {
            return Ok(Err("the network does not take a single event".into()));
        }
        let [channels, times] = parts.head.shape()[..] else {
            return Err(Error::Internal(format!("a head of shape {:?}", parts.head.shape())));
        };
        let [trunk, head] = [parts.trunk, parts.head].map(|part| Predictor::new(Arc::new(part)));
        Ok(Ok(Layers { trunk, head, windows, joint: [channels, times], apart: stride / parts.step }))
    }
}
