//! The operating points of a classifier: for each cut `score >= cut` the efficiencies of signal and background.

use super::thin::kept_points;
use super::{Sample, positive_total};
use crate::error::Result;

/// Sums over the events that pass a cut.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Passed {
    /// Of weights, and of their squares.
    pub weight: f64,
    pub square: f64,
}

impl Passed {
    pub fn add(&mut self, weight: f64) {
        self.weight += weight;
        self.square += weight * weight;
    }

    /// As many events of equal weight would be known as well.
    pub fn events(&self) -> f64 {
        if self.square > 0.0 { self.weight * self.weight / self.square } else { 0.0 }
    }

    /// The efficiency and its standard error, which for equal weights is that of a binomial distribution: of an
    /// efficiency ε = P / T, var ε = ((1 - ε)² Σ_pass w² + ε² Σ_fail w²) / T².
    fn efficiency(&self, all: &Passed) -> (f64, f64) {
        let efficiency = self.weight / all.weight;
        let failed = (all.square - self.square).max(0.0);
        let variance = ((1.0 - efficiency).powi(2) * self.square + efficiency.powi(2) * failed) / all.weight.powi(2);
        (efficiency, variance.sqrt())
    }
}

/// All cuts that differ, the highest first; before them one that nothing passes.
pub struct OperatingPoints {
    pub(super) cuts: Vec<f64>,
    pub(super) signal: Vec<Passed>,
    pub(super) background: Vec<Passed>,
}

/// Efficiencies over falling cuts; where it was thinned out, of some of the cuts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Events with at least this score pass; the first one is infinite.
    pub cut: Vec<f64>,
    /// Of the background.
    pub background: Vec<f64>,
    /// Its standard error.
    pub background_error: Vec<f64>,
    /// Of the signal.
    pub signal: Vec<f64>,
    /// Its standard error.
    pub signal_error: Vec<f64>,
    /// Standard error of the signal efficiency at this background efficiency: that of the cut's signal efficiency, and in
    /// quadrature what the uncertainty of the background efficiency moves along the curve.
    pub band: Vec<f64>,
}

impl OperatingPoints {
    /// Both classes need a positive weight.
    pub fn new(sample: Sample) -> Result<Self> {
        let class = |wanted: bool| sample.events().filter(move |event| (event.1 > 0.5) == wanted).map(|event| event.2);
        positive_total("the signal (labels over 0.5)", class(true))?;
        positive_total("the background (labels up to 0.5)", class(false))?;
        // Adding 0 makes -0 and 0 one score.
        let mut events: Vec<_> =
            sample.events().map(|(score, label, weight)| (score + 0.0, label > 0.5, weight)).collect();
        events.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut points = OperatingPoints {
            cuts: vec![f64::INFINITY],
            signal: vec![Passed::default()],
            background: vec![Passed::default()],
        };
        let mut passed = [Passed::default(); 2];
        for tied in events.chunk_by(|a, b| a.0 == b.0) {
            for &(_, signal, weight) in tied {
                passed[usize::from(signal)].add(weight);
            }
            points.cuts.push(tied[0].0.into());
            points.background.push(passed[0]);
            points.signal.push(passed[1]);
        }
        Ok(points)
    }

    pub(super) fn totals(&self) -> [Passed; 2] {
        let last = self.cuts.len() - 1; // there is one that nothing passes
        [self.signal[last], self.background[last]]
    }

    /// Some of the points, such that what is left out cannot be seen: see [`kept_points`].
    pub fn curve(&self) -> Curve {
        let [all_signal, all_background] = self.totals();
        let efficiencies = |passed: &[Passed], all: &Passed| -> (Vec<f64>, Vec<f64>) {
            passed.iter().map(|passed| passed.efficiency(all)).unzip()
        };
        let (signal, signal_error) = efficiencies(&self.signal, &all_signal);
        let (background, background_error) = efficiencies(&self.background, &all_background);
        let kept = kept_points(&background, &signal);
        // Negative weights lead back, where no efficiency stands for one place: the envelope does.
        let envelope: Vec<f64> = background
            .iter()
            .scan(0.0f64, |most, &b| {
                *most = most.max(b);
                Some(*most)
            })
            .collect();
        let at = |wanted: f64| interpolated(&envelope, &signal, wanted);
        let band = |point: usize| {
            let moved = (at(background[point] + background_error[point])
                - at(background[point] - background_error[point]))
                / 2.0;
            signal_error[point].hypot(moved)
        };
        let of = |values: &[f64]| kept.iter().map(|&point| values[point]).collect();
        Curve {
            cut: of(&self.cuts),
            band: kept.iter().map(|&point| band(point)).collect(),
            background: of(&background),
            background_error: of(&background_error),
            signal: of(&signal),
            signal_error: of(&signal_error),
        }
    }
}

/// The value of the polygon through (x, y) at `wanted`; x rises. Beyond its ends that of the end.
fn interpolated(x: &[f64], y: &[f64], wanted: f64) -> f64 {
    let above = x.partition_point(|x| *x < wanted).min(x.len() - 1);
    let below = above.saturating_sub(1);
    let step = x[above] - x[below];
    let share = if step > 0.0 { ((wanted - x[below]) / step).clamp(0.0, 1.0) } else { 1.0 };
    y[below] + share * (y[above] - y[below])
}

#[cfg(test)]
mod tests {
    use super::super::testing::Events;
    use super::*;

    /// Efficiencies and errors of each cut, event by event.
    fn slow(sample: Sample, cut: f64, wanted: bool) -> (f64, f64) {
        let class: Vec<_> = sample.events().filter(|event| (event.1 > 0.5) == wanted).collect();
        let total: f64 = class.iter().map(|event| event.2).sum();
        let passes = |event: &&(f32, f32, f64)| f64::from(event.0) >= cut;
        let efficiency = class.iter().filter(passes).map(|event| event.2).sum::<f64>() / total;
        let share = |event: &(f32, f32, f64)| if passes(&event) { 1.0 - efficiency } else { efficiency };
        let variance = class.iter().map(|event| (event.2 * share(event)).powi(2)).sum::<f64>() / total.powi(2);
        (efficiency, variance.sqrt())
    }

    #[test]
    fn efficiencies_and_errors_are_those_of_the_events() {
        for (seed, steps, lowest) in [(1, 1e6, 1.0), (2, 12.0, 0.2), (3, 1e6, -0.3), (4, 1.0, 1.0)] {
            let events = Events::draw(400, seed, steps, lowest);
            let curve = OperatingPoints::new(events.sample()).unwrap().curve();
            assert_eq!((curve.cut[0], curve.signal[0], curve.background[0]), (f64::INFINITY, 0.0, 0.0));
            for point in 0..curve.cut.len() {
                let (signal, signal_error) = slow(events.sample(), curve.cut[point], true);
                let (background, background_error) = slow(events.sample(), curve.cut[point], false);
                let pairs = [
                    (curve.signal[point], signal),
                    (curve.signal_error[point], signal_error),
                    (curve.background[point], background),
                    (curve.background_error[point], background_error),
                ];
                for (found, expected) in pairs {
                    assert!((found - expected).abs() < 1e-9, "seed {seed}, point {point}: {found}, not {expected}");
                }
                assert!(curve.band[point] >= signal_error - 1e-12);
            }
        }
    }

    #[test]
    fn the_band_is_the_spread_of_many_samples() {
        let at = |wanted: f64, seed: u64| {
            let points = OperatingPoints::new(Events::draw(2000, seed, 1e9, 1.0).sample()).unwrap().curve();
            let point = points.background.iter().position(|b| *b >= wanted).unwrap();
            (points.signal[point], points.band[point])
        };
        for wanted in [0.05, 0.2, 0.5] {
            let samples: Vec<_> = (0..200).map(|seed| at(wanted, 1000 + seed)).collect();
            let mean = samples.iter().map(|s| s.0).sum::<f64>() / 200.0;
            let spread = (samples.iter().map(|s| (s.0 - mean).powi(2)).sum::<f64>() / 199.0).sqrt();
            let stated = samples.iter().map(|s| s.1).sum::<f64>() / 200.0;
            assert!((stated / spread - 1.0).abs() < 0.25, "at {wanted}: stated {stated}, seen {spread}");
        }
    }

    #[test]
    fn one_class_is_refused() {
        let error = |labels: [f32; 2], weights: [f32; 2]| {
            let sample = Sample::new(&[0.1, 0.2], &labels, &weights).unwrap();
            OperatingPoints::new(sample).err().unwrap().to_string()
        };
        assert!(error([1.0, 1.0], [1.0; 2]).contains("background"));
        assert!(error([0.0, 0.0], [1.0; 2]).contains("signal"));
        assert!(error([0.0, 1.0], [1.0, 0.0]).contains("signal"));
    }
}
