//! Early stopping, and the parameters of the best epoch.

use super::Options;
use crate::error::Result;

/// What is kept from an epoch: parameters and running statistics.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kept {
    pub parameters: Vec<f32>,
    pub state: Vec<f32>,
}

/// Looks at the validation loss of each epoch.
pub(super) struct Stopping {
    patience: u32,
    min_improvement: f64,
    keeps: bool,
    /// The smallest loss, and the number of its epoch, from 1 on; 0: there was none.
    pub best: f64,
    pub best_epoch: u32,
    /// Parameters and state kept from that epoch.
    pub kept: Option<Kept>,
    /// The loss that must be improved on, and the epochs since.
    pub reference: f64,
    pub waited: u32,
}

impl Stopping {
    /// For a fit with these options.
    pub fn new(options: &Options) -> Self {
        Stopping {
            patience: options.patience,
            min_improvement: options.min_improvement,
            keeps: options.keeps_best(),
            best: f64::INFINITY,
            best_epoch: 0,
            kept: None,
            reference: f64::INFINITY,
            waited: 0,
        }
    }

    /// After epoch `number`, from 1 on: whether the fit is over. `keep` returns what is kept from this epoch.
    pub fn epoch(&mut self, number: u32, loss: f64, keep: impl FnOnce() -> Result<Kept>) -> Result<bool> {
        if loss < self.best {
            (self.best, self.best_epoch) = (loss, number);
            if self.keeps {
                self.kept = Some(keep()?);
            }
        }
        if loss < self.reference - self.min_improvement {
            (self.reference, self.waited) = (loss, 0);
        } else {
            self.waited += 1;
        }
        Ok(self.is_over())
    }

    /// Whether it has waited long enough.
    pub fn is_over(&self) -> bool {
        self.patience > 0 && self.waited >= self.patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of the last epoch, of the best one, and what was kept.
    fn run(patience: u32, min_improvement: f64, losses: &[f64]) -> (u32, u32, Option<f32>) {
        let mut stopping = Stopping::new(&Options { patience, min_improvement, ..Options::default() });
        let mut last = 0;
        for (number, &loss) in (1..).zip(losses) {
            last = number;
            let kept = Kept { parameters: vec![number as f32], state: Vec::new() };
            if stopping.epoch(number, loss, || Ok(kept)).unwrap() {
                break;
            }
        }
        (last, stopping.best_epoch, stopping.kept.map(|kept| kept.parameters[0]))
    }

    #[test]
    fn a_fit_ends_when_it_has_waited_and_keeps_its_best_epoch() {
        let losses = [5.0, 4.0, 4.5, 3.9, 3.95, 3.95, 3.8, 3.79, 6.0];
        for (patience, min_improvement, expected) in [
            (0, 0.0, (9, 8, None)),
            (1, 0.0, (3, 2, Some(2.0))),
            (2, 0.0, (6, 4, Some(4.0))),
            (3, 0.0, (9, 8, Some(8.0))),
            // 3.9 is the best, but no improvement on 4.
            (3, 0.2, (5, 4, Some(4.0))),
            (9, 0.0, (9, 8, Some(8.0))),
        ] {
            assert_eq!(run(patience, min_improvement, &losses), expected, "{patience}, {min_improvement}");
        }
        assert_eq!(run(2, 0.0, &[1.0, 1.0, 1.0]), (3, 1, Some(1.0)), "the first of equal ones is the best");
    }
}
