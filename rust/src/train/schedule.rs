//! The learning rate at each step.

use std::f64::consts::PI;

use super::Options;
use crate::graph::Schedule;

/// The part of a one-cycle fit in which the rate rises, where it starts and where it ends as parts of its peak: those of
/// LibTorch's `OneCycleLR`.
const RISE: f64 = 0.3;
const ONE_CYCLE_START: f64 = 1.0 / 25.0;
const ONE_CYCLE_END: f64 = ONE_CYCLE_START / 1e4;

/// How much smaller a loss must be for the plateau to have ended, relative to the best: LibTorch's `ReduceLROnPlateau`.
const PLATEAU_THRESHOLD: f64 = 1e-4;

/// Where a step is in a fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepPosition {
    /// Epochs that have ended.
    pub epoch: u32,
    /// Steps of this epoch before it.
    pub step: usize,
    /// Steps of an epoch.
    pub steps: usize,
}

/// The rates of a fit.
pub(super) struct Rates {
    schedule: Schedule,
    learning_rate: f64,
    epochs: u32,
    decay: f64,
    decay_epochs: u32,
    warm_up: f64,
    pub plateau: Plateau,
}

/// What [`Schedule::Plateau`] has seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plateau {
    /// Product of the decays so far.
    pub factor: f64,
    /// The smallest loss, and the epochs since.
    pub best: f64,
    pub waited: u32,
}

impl Rates {
    /// The schedule of a fit with these options.
    pub fn new(options: &Options) -> Self {
        let &Options { schedule, learning_rate, epochs, decay, decay_epochs, warm_up, .. } = options;
        let plateau = Plateau { factor: 1.0, best: f64::INFINITY, waited: 0 };
        Rates { schedule, learning_rate, epochs, decay, decay_epochs, warm_up, plateau }
    }

    /// The step size at `place`.
    pub fn at(&self, place: StepPosition) -> f64 {
        let rate = self.learning_rate * self.factor(place);
        let warm_steps = self.warm_up * place.steps as f64;
        let step = f64::from(place.epoch) * place.steps as f64 + place.step as f64;
        if step + 1.0 < warm_steps { rate * (step + 1.0) / warm_steps } else { rate }
    }

    /// Takes notice of the validation loss of an epoch.
    pub fn epoch(&mut self, loss: f64) {
        let Plateau { factor, best, waited } = &mut self.plateau;
        if loss < *best - PLATEAU_THRESHOLD * best.abs() || best.is_infinite() {
            (*best, *waited) = (loss, 0);
            return;
        }
        *waited += 1;
        if *waited > self.decay_epochs {
            (*factor, *waited) = (*factor * self.decay, 0);
        }
    }

    fn factor(&self, StepPosition { epoch, step, steps }: StepPosition) -> f64 {
        match self.schedule {
            Schedule::Constant => 1.0,
            Schedule::Cosine => {
                let done = f64::from(epoch) / f64::from(self.epochs.max(1));
                0.5 * (1.0 + (PI * done.min(1.0)).cos())
            }
            Schedule::Step => self.decay.powf(f64::from(epoch / self.decay_epochs)),
            Schedule::OneCycle => {
                let of_fit = f64::from(self.epochs) * steps as f64;
                one_cycle(f64::from(epoch) * steps as f64 + step.min(steps.saturating_sub(1)) as f64, of_fit)
            }
            Schedule::Plateau => self.plateau.factor,
        }
    }
}

/// The factor at step number `step` of `steps`.
fn one_cycle(step: f64, steps: f64) -> f64 {
    let between = |from: f64, to: f64, part: f64| to + (from - to) / 2.0 * (1.0 + (PI * part).cos());
    let (peak, last) = (RISE * steps - 1.0, steps - 1.0);
    match step < peak {
        true => between(ONE_CYCLE_START, 1.0, step / peak),
        false => between(1.0, ONE_CYCLE_END, ((step - peak) / (last - peak)).min(1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(schedule: Schedule) -> Rates {
        let options =
            Options { schedule, learning_rate: 2.0, epochs: 4, decay: 0.5, decay_epochs: 2, ..Options::default() };
        Rates::new(&options)
    }

    /// The rate of each step of each epoch of five steps.
    fn all(rates: &Rates) -> Vec<f64> {
        let places = (0..4).flat_map(|epoch| (0..5).map(move |step| StepPosition { epoch, step, steps: 5 }));
        places.map(|place| rates.at(place)).collect()
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {expected:?}");
    }

    #[test]
    fn every_schedule_starts_from_the_rate_or_below_and_never_exceeds_it() {
        for &schedule in Schedule::ALL {
            let found = all(&rates(schedule));
            assert!(found.iter().all(|&rate| rate > 0.0 && rate <= 2.0), "{schedule:?}: {found:?}");
        }
    }

    #[test]
    fn steps_and_cosines_change_between_epochs_only() {
        let of_epochs =
            |factors: [f64; 4]| factors.into_iter().flat_map(|factor| [2.0 * factor; 5]).collect::<Vec<_>>();
        assert_close(&all(&rates(Schedule::Step)), &of_epochs([1.0, 1.0, 0.5, 0.5]));
        let half = 0.5_f64.sqrt();
        assert_close(&all(&rates(Schedule::Cosine)), &of_epochs([1.0, 0.5 + 0.5 * half, 0.5, 0.5 - 0.5 * half]));
    }

    /// What PyTorch 2.11 gives for `OneCycleLR(optimizer, max_lr=2, total_steps=20, cycle_momentum=False)`, from its formula.
    #[test]
    fn one_cycle_is_that_of_libtorch() {
        let reference: Vec<f64> = (0..20)
            .map(|step| {
                let anneal = |start: f64, end: f64, part: f64| end + (start - end) / 2.0 * ((PI * part).cos() + 1.0);
                let (initial, step) = (2.0 / 25.0, f64::from(step));
                match step <= 5.0 {
                    true => anneal(initial, 2.0, step / 5.0),
                    false => anneal(2.0, initial / 1e4, (step - 5.0) / 14.0),
                }
            })
            .collect();
        assert_close(&all(&rates(Schedule::OneCycle)), &reference);
        // So short that there is no rise.
        assert_close(&[one_cycle(0.0, 1.0)], &[ONE_CYCLE_END]);
        assert!((0..3).all(|step| one_cycle(f64::from(step), 3.0).is_finite()));
    }

    #[test]
    fn warming_up_is_proportional_to_the_steps() {
        let mut warm = rates(Schedule::Constant);
        warm.warm_up = 1.5;
        let expected: Vec<f64> = (1..=20).map(|step| 2.0 * (f64::from(step) / 7.5).min(1.0)).collect();
        assert_close(&all(&warm), &expected);
    }

    /// LibTorch's `ReduceLROnPlateau` with factor 0.5 and patience 2 as its documentation has it, line by line.
    #[test]
    fn a_plateau_lowers_the_rate() {
        let losses = [1.0, 0.9, 0.9, 0.89999, 0.95, 0.91, 0.92, 0.93, 0.5, 0.6, 0.6, 0.6, -1.0, -1.0, -1.0, -1.00005];
        let (mut best, mut bad, mut rate) = (f64::INFINITY, 0, 2.0);
        let mut ours = rates(Schedule::Plateau);
        for (epoch, loss) in losses.into_iter().enumerate() {
            let threshold = if best > 0.0 { best * (1.0 - 1e-4) } else { best * (1.0 + 1e-4) };
            if loss < threshold {
                (best, bad) = (loss, 0);
            } else {
                bad += 1;
            }
            if bad > 2 {
                (rate, bad) = (rate * 0.5, 0);
            }
            ours.epoch(loss);
            assert_close(&[ours.at(StepPosition { epoch: epoch as u32, step: 0, steps: 1 })], &[rate]);
        }
        assert_eq!(rate, 2.0 * 0.0625);
    }
}
