//! Optimisers: each update moves one flat parameter vector along its gradient.
//!
//! [`HostOptimiser`] runs the updates of `cpp/kernels` on host memory; [`TensorOptimiser`] is the same in LibTorch's operators,
//! for any device. The rate is given at each update. An optimiser's memory, its [`State`], can be read and set.

mod tensor;

pub use tensor::TensorOptimiser;

use std::ops::Range;

use rayon::prelude::*;

use crate::device::HostBuffer;
use crate::error::{Error, Result};
use crate::graph::Optimiser;
use crate::kernels::{Scalar, UpdateSettings};

/// Decay rates and epsilon of Adam and AdamW (Kingma and Ba 2015, section 2; LibTorch has the same).
pub(crate) const BETA1: f64 = 0.9;
pub(crate) const BETA2: f64 = 0.999;
pub(crate) const EPSILON: f64 = 1e-8;

/// Parameters that one thread updates at a time: those of small networks without waking another one.
const TOGETHER: usize = 1 << 15;

/// How parameters move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Which optimiser.
    pub optimiser: Optimiser,
    /// See [`UpdateSettings::weight_decay`].
    pub weight_decay: f64,
    /// See [`UpdateSettings::momentum`].
    pub momentum: f64,
    /// Times the sum of the parameters' absolute values is a term of the loss.
    pub l1: f64,
    /// Bound of the gradient, that term included, before the weight decay.
    pub clip: Option<Clip>,
}

/// How a gradient is kept small.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clip {
    /// Scaled down to this Euclidean norm over all parameters (Pascanu, Mikolov and Bengio 2013, algorithm 1).
    Norm(f64),
    /// Each component within plus and minus this.
    Value(f64),
}

/// As in LibTorch's `clip_grad_norm_`.
pub(crate) const NORM_EPSILON: f64 = 1e-6;

/// The memory of an optimiser from update to update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State<'a, T> {
    /// Updates so far.
    pub steps: i64,
    /// First and second moments of Adam and AdamW; the first one is the velocity of SGD, which has no second.
    pub moments: [&'a [T]; 2],
}

/// An optimiser of a parameter vector in host memory.
pub struct HostOptimiser<T> {
    rule: Rule,
    moments: [HostBuffer<T>; 2],
    steps: i64,
    /// The parameters that move: parts of them, apart and in order.
    moving: Vec<Range<usize>>,
    /// Of the gradient, for each part of a update: the sum of squares.
    squares: Vec<f64>,
}

impl<T: Scalar> HostOptimiser<T> {
    /// For `length` parameters.
    pub fn new(rule: Rule, length: usize) -> Result<Self> {
        let moments = [HostBuffer::zeros(length)?, HostBuffer::zeros(length)?];
        let moving = std::iter::once(0..length).collect();
        Ok(HostOptimiser { rule, moments, steps: 0, moving, squares: vec![0.0; length.div_ceil(TOGETHER)] })
    }

    /// Freezes the parameters `frozen`, which are disjoint and in order: their bits do not change, and their gradient
    /// does not count in the norm.
    pub fn leave(&mut self, frozen: &[Range<usize>]) {
        let length = self.moments[0].as_slice().len();
        let starts = [0].into_iter().chain(frozen.iter().map(|range| range.end));
        let ends = frozen.iter().map(|range| range.start).chain([length]);
        self.moving = starts.zip(ends).map(|(start, end)| start..end).filter(|range| !range.is_empty()).collect();
    }

    /// One step of size `rate`, on the threads of the present pool. `complete` adds to a part of the gradient, from the
    /// given parameter on, what is still missing of it, right before the part is used. Nothing is allocated.
    pub fn update(
        &mut self,
        rate: f64,
        parameters: &mut [T],
        gradient: &mut [T],
        complete: impl Fn(usize, &mut [T]) + Sync,
    ) {
        self.steps += 1;
        let scale = self.rule.changes_gradient().then(|| self.bound(parameters, gradient, &complete));
        let HostOptimiser { rule, moments: [first, second], steps, moving, .. } = self;
        let update = rule.update(rate, *steps);
        let parts = parameters.par_chunks_mut(TOGETHER).zip(gradient.par_chunks_mut(TOGETHER));
        let moments = first.as_mut_slice().par_chunks_mut(TOGETHER).zip(second.as_mut_slice().par_chunks_mut(TOGETHER));
        parts.zip(moments).enumerate().for_each(|(index, ((p, g), (m, v)))| {
            match scale {
                None => complete(index * TOGETHER, g),
                Some(scale) => g.iter_mut().for_each(|g| *g = T::from_f64(g.to_f64() * scale)),
            }
            for moving in within(moving, index, p.len()) {
                let [p, m, v] = [&mut *p, &mut *m, &mut *v].map(|all| &mut all[moving.clone()]);
                match rule.optimiser {
                    Optimiser::Adam => T::adam(&update, p, &g[moving], m, v),
                    Optimiser::AdamW => T::adamw(&update, p, &g[moving], m, v),
                    Optimiser::SGD => T::sgd(&update, p, &g[moving], Some(m)),
                }
            }
        });
    }

    /// Completes the gradient with all terms and bounds its components; returns the factor that bounds its norm.
    fn bound(&mut self, parameters: &[T], gradient: &mut [T], complete: &(impl Fn(usize, &mut [T]) + Sync)) -> f64 {
        let (rule, moving) = (self.rule, &self.moving);
        let parts = parameters.par_chunks(TOGETHER).zip(gradient.par_chunks_mut(TOGETHER));
        parts.zip(&mut self.squares).enumerate().for_each(|(index, ((p, g), square))| {
            complete(index * TOGETHER, g);
            if rule.l1 > 0.0 {
                g.iter_mut().zip(p).for_each(|(g, &p)| *g = T::from_f64(g.to_f64() + rule.l1 * sign(p.to_f64())));
            }
            match rule.clip {
                Some(Clip::Value(most)) => g.iter_mut().for_each(|g| *g = T::from_f64(g.to_f64().clamp(-most, most))),
                Some(Clip::Norm(_)) => {
                    let moving = within(moving, index, g.len()).flat_map(|moving| &g[moving]);
                    *square = moving.map(|g| g.to_f64() * g.to_f64()).sum();
                }
                None => {}
            }
        });
        // In order: the same bits for any number of threads.
        let norm = self.squares.iter().sum::<f64>().sqrt();
        match rule.clip {
            Some(Clip::Norm(most)) => (most / (norm + NORM_EPSILON)).min(1.0),
            _ => 1.0,
        }
    }

    /// Its memory.
    pub fn state(&self) -> State<'_, T> {
        State { steps: self.steps, moments: self.moments.each_ref().map(HostBuffer::as_slice) }
    }

    /// Goes on from `state`, which must be of as many parameters.
    pub fn set_state(&mut self, state: State<T>) -> Result<()> {
        for (own, given) in self.moments.iter_mut().zip(state.moments) {
            let own = own.as_mut_slice();
            if own.len() != given.len() {
                return Err(Error::invalid(
                    format!("moments of {} parameters for an optimiser of {}", given.len(), own.len()),
                    "pass the moments of the same network",
                ));
            }
            own.copy_from_slice(given);
        }
        self.steps = state.steps;
        Ok(())
    }
}

/// The ranges of `moving` in part `index` of an update, counted from its beginning; a part has `length` parameters.
fn within(moving: &[Range<usize>], index: usize, length: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let start = index * TOGETHER;
    let first = moving.partition_point(|range| range.end <= start);
    let inside = moving[first..].iter().take_while(move |range| range.start < start + length);
    inside.map(move |range| range.start.max(start) - start..range.end.min(start + length) - start)
}

/// -1, 0 or 1, as LibTorch's derivative of the absolute value.
fn sign(p: f64) -> f64 {
    f64::from(i8::from(p > 0.0) - i8::from(p < 0.0))
}

/// Factors of one update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// Factor of the gradient, or of the first moment, whose bias it removes.
    pub rate: f32,
    /// Factor of the root of the second moment, whose bias it removes.
    pub rescale: f32,
    /// Factor of the parameters.
    pub shrink: f32,
}

impl Rule {
    /// Whether the gradient that moves the parameters is another than the loss's.
    pub(crate) fn changes_gradient(&self) -> bool {
        self.l1 > 0.0 || self.clip.is_some()
    }

    /// The factors of update number `step`, from 1 on, as in `cpp/kernels/update.cpp`.
    pub fn factors(&self, learning_rate: f64, step: u64) -> Factors {
        let shrink = if self.optimiser == Optimiser::AdamW { 1.0 - learning_rate * self.weight_decay } else { 1.0 };
        if self.optimiser == Optimiser::SGD {
            return Factors { rate: learning_rate as f32, rescale: 1.0, shrink: 1.0 };
        }
        let left = |beta: f64| 1.0 - beta.powf(step as f64);
        let (rate, rescale) = (learning_rate / left(BETA1), left(BETA2).sqrt().recip());
        Factors { rate: rate as f32, rescale: rescale as f32, shrink: shrink as f32 }
    }

    fn update(&self, learning_rate: f64, step: i64) -> UpdateSettings {
        let &Rule { weight_decay, momentum, .. } = self;
        UpdateSettings { learning_rate, weight_decay, momentum, beta1: BETA1, beta2: BETA2, epsilon: EPSILON, step }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind, Tensor};

    /// More than one part of a update.
    const LENGTH: usize = TOGETHER + 37;
    const STEPS: i64 = 5;

    fn rules() -> impl Iterator<Item = Rule> {
        let plain = Rule { optimiser: Optimiser::Adam, weight_decay: 0.0, momentum: 0.9, l1: 0.0, clip: None };
        let variants = [
            plain,
            Rule { weight_decay: 0.1, ..plain },
            Rule { l1: 0.3, ..plain },
            Rule { clip: Some(Clip::Value(0.4)), ..plain },
            Rule { clip: Some(Clip::Norm(2.0)), l1: 0.3, weight_decay: 0.1, ..plain },
            Rule { clip: Some(Clip::Norm(1e9)), ..plain },
        ];
        Optimiser::ALL.iter().flat_map(move |&optimiser| variants.map(|rule| Rule { optimiser, ..rule }))
    }

    fn wave(seed: i64) -> Vec<f64> {
        (1..=LENGTH).map(|i| (i as f64 * (seed as f64 + 0.7)).sin()).collect()
    }

    /// At step `step`.
    fn rate(step: i64) -> f64 {
        0.02 / step as f64
    }

    /// The steps from `first` to `last`, whose gradient at step s is `wave(s)`; half of it comes at the last moment.
    fn run(optimiser: &mut HostOptimiser<f64>, parameters: &mut [f64], first: i64, last: i64) {
        for step in first..=last {
            let whole = wave(step);
            let mut half: Vec<f64> = whole.iter().map(|g| 0.5 * g).collect();
            optimiser.update(rate(step), parameters, &mut half, |start, part| {
                part.iter_mut().zip(&whole[start..]).for_each(|(part, g)| *part += 0.5 * g);
            });
        }
    }

    #[test]
    fn slices_and_tensors_move_alike() {
        for rule in rules() {
            let mut ours = wave(0);
            run(&mut HostOptimiser::new(rule, LENGTH).unwrap(), &mut ours, 1, STEPS);
            let mut theirs = Tensor::from_slice(&wave(0));
            let mut optimiser = TensorOptimiser::new(rule, &theirs).unwrap();
            for step in 1..=STEPS {
                optimiser.update(rate(step), &mut theirs, Tensor::from_slice(&wave(step))).unwrap();
            }
            assert_eq!((theirs.kind(), theirs.device()), (Kind::Double, Device::Cpu));
            let theirs = Vec::<f64>::try_from(&theirs).unwrap();
            let largest = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(largest < 1e-13, "{rule:?}: {largest}");
        }
    }

    /// Some within a part of a update, one over its end, one at the end of all.
    fn frozen() -> [Range<usize>; 4] {
        [0..3, 700..701, TOGETHER - 5..TOGETHER + 6, LENGTH - 2..LENGTH]
    }

    fn moving(values: &[f64]) -> Vec<f64> {
        let is_moving = |at: &usize| !frozen().iter().any(|range| range.contains(at));
        (0..LENGTH).filter(is_moving).map(|at| values[at]).collect()
    }

    /// What is left out does not move, and the rest moves as if it were all there is.
    #[test]
    fn frozen_parameters_stay_and_the_others_move_as_without_them() {
        for rule in rules() {
            let (mut all, before) = (wave(0), wave(0));
            let mut optimiser = HostOptimiser::new(rule, LENGTH).unwrap();
            optimiser.leave(&frozen());
            run(&mut optimiser, &mut all, 1, STEPS);
            for range in frozen() {
                assert_eq!(all[range.clone()], before[range], "{rule:?}");
            }
            let mut few = moving(&before);
            let mut alone = HostOptimiser::new(rule, few.len()).unwrap();
            for step in 1..=STEPS {
                alone.update(rate(step), &mut few, &mut moving(&wave(step)), |_, _| ());
            }
            let largest = moving(&all).iter().zip(&few).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(largest < 1e-13, "{rule:?}: {largest}");
            let mut theirs = Tensor::from_slice(&before);
            let mut optimiser = TensorOptimiser::new(rule, &theirs).unwrap();
            optimiser.leave(&frozen()).unwrap();
            for step in 1..=STEPS {
                optimiser.update(rate(step), &mut theirs, Tensor::from_slice(&wave(step))).unwrap();
            }
            let theirs = Vec::<f64>::try_from(&theirs).unwrap();
            for range in frozen() {
                assert_eq!(theirs[range.clone()], before[range], "{rule:?}");
            }
            let largest = all.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(largest < 1e-13, "{rule:?}: {largest}");
        }
    }

    #[test]
    fn a_restored_state_goes_on_with_the_same_bits() {
        for rule in rules() {
            let mut whole = wave(0);
            run(&mut HostOptimiser::new(rule, LENGTH).unwrap(), &mut whole, 1, STEPS);
            let mut parts = wave(0);
            let mut first = HostOptimiser::new(rule, LENGTH).unwrap();
            run(&mut first, &mut parts, 1, 2);
            let mut second = HostOptimiser::new(rule, LENGTH).unwrap();
            second.set_state(first.state()).unwrap();
            assert_eq!(second.state(), first.state());
            run(&mut second, &mut parts, 3, STEPS);
            assert_eq!(whole, parts, "{rule:?}");
            let mut forgetful = HostOptimiser::new(rule, LENGTH).unwrap();
            let mut others = wave(0);
            run(&mut forgetful, &mut others, 3, STEPS);
            assert_ne!(whole, others, "{rule:?}");
        }
    }

    #[test]
    fn a_state_of_another_network_is_refused() {
        let rule = rules().next().unwrap();
        let (small, mut large) = (HostOptimiser::<f32>::new(rule, 3).unwrap(), HostOptimiser::new(rule, 4).unwrap());
        let error = large.set_state(small.state()).unwrap_err().to_string();
        assert!(error.contains("3 parameters") && error.contains("of 4"), "{error}");
    }
}
