//! The significance that a cut on the score gives a search.

use super::points::{OperatingPoints, Passed};
use super::thin::kept_points;
use crate::error::{Error, Result};

/// Background events, of equal weight, with which a cut's background counts as known (to about 30 %).
const KNOWN: f64 = 10.0;

/// Which figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Significance {
    /// s / sqrt(s + b + σ²)
    Simple,
    /// The median significance of a discovery: Cowan, Cranmer, Gross and Vitells (Eur. Phys. J. C 71 (2011) 1554), eq. 97,
    /// and with an uncertain background G. Cowan, "Discovery sensitivity for a counting experiment with background
    /// uncertainty" (2012), eq. 20.
    Asimov,
}

impl Significance {
    /// Significance of `signal` and `background` expected events, with the background known to the relative `error`.
    pub fn of(self, signal: f64, background: f64, error: f64) -> f64 {
        let (s, b, variance) = (signal.max(0.0), background, error * error);
        match self {
            Significance::Simple => s / (s + b + variance).sqrt(),
            Significance::Asimov if variance == 0.0 => (2.0 * ((s + b) * (s / b).ln_1p() - s)).max(0.0).sqrt(),
            Significance::Asimov => {
                let more = (s + b) * (s * b / (b * b + (s + b) * variance)).ln_1p();
                let less = b * b / variance * (variance * s / (b * (b + variance))).ln_1p();
                (2.0 * (more - less)).max(0.0).sqrt()
            }
        }
    }
}

/// Events that a search expects before the cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Signal events; 0: the sum of weights.
    pub signal: f64,
    /// Background events; 0: the sum of weights.
    pub background: f64,
    /// Relative uncertainty of the background.
    pub background_error: f64,
}

/// A curve of significances over falling cuts, and the best of all cuts.
#[derive(Clone, Debug, PartialEq)]
pub struct Working {
    /// Some of the cuts; see [`kept_points`].
    pub cut: Vec<f64>,
    /// Of each.
    pub value: Vec<f64>,
    /// Where it is highest, the highest cut of several.
    pub best_cut: f64,
    /// There.
    pub best: f64,
}

/// Significance of all cuts whose background is known from at least ten events of equal weight.
pub fn significance(points: &OperatingPoints, expected: Expected, kind: Significance) -> Result<Working> {
    for (what, value) in [
        ("number of signal events", expected.signal),
        ("number of background events", expected.background),
        ("relative uncertainty of the background", expected.background_error),
    ] {
        if !value.is_finite() || value < 0.0 {
            return Err(Error::invalid(format!("a {what} of {value}"), "give a finite number of at least 0"));
        }
    }
    let scale = |wanted: f64, all: Passed| if wanted == 0.0 { 1.0 } else { wanted / all.weight };
    let [all_signal, all_background] = points.totals();
    let [signal_scale, background_scale] =
        [scale(expected.signal, all_signal), scale(expected.background, all_background)];
    let known = |point: &usize| {
        let background = &points.background[*point];
        background.weight > 0.0 && background.events() >= KNOWN
    };
    let known: Vec<usize> = (0..points.cuts.len()).filter(known).collect();
    let of = |&point: &usize| {
        let background = points.background[point].weight * background_scale;
        kind.of(points.signal[point].weight * signal_scale, background, expected.background_error * background)
    };
    let values: Vec<f64> = known.iter().map(of).collect();
    // The first of the highest, as `max_by` would give the last.
    let best = (0..values.len()).reduce(|best, next| if values[next] > values[best] { next } else { best });
    let best = best.ok_or_else(|| {
        Error::invalid(
            format!("a background that is worth {:.3} events of equal weight", all_background.events()),
            format!("a significance needs at least {KNOWN} background events that pass a cut"),
        )
    })?;
    let shares =
        |passed: &[Passed], all: Passed| known.iter().map(|&k| passed[k].weight / all.weight).collect::<Vec<_>>();
    let kept = kept_points(&shares(&points.background, all_background), &shares(&points.signal, all_signal));
    Ok(Working {
        cut: kept.iter().map(|&k| points.cuts[known[k]]).collect(),
        value: kept.iter().map(|&k| values[k]).collect(),
        best_cut: points.cuts[known[best]],
        best: values[best],
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::Events;
    use super::*;

    #[test]
    fn the_formulas_agree_where_they_must() {
        for (s, b) in [(1.0, 1e6), (0.1, 50.0), (5.0, 1e4)] {
            let (simple, asimov) = (s / f64::sqrt(b), Significance::Asimov.of(s, b, 0.0));
            assert!((asimov / simple - 1.0).abs() < 2e-3, "{s} over {b}: {asimov}, not about {simple}");
        }
        for (s, b) in [(1.0, 10.0), (30.0, 100.0), (500.0, 20.0)] {
            let (exact, limit) = (Significance::Asimov.of(s, b, 0.0), Significance::Asimov.of(s, b, 1e-4 * b));
            assert!((limit / exact - 1.0).abs() < 1e-5, "{s} over {b}: {limit}, not {exact}");
            assert!(Significance::Asimov.of(s, b, 0.5 * b) < exact);
        }
        // Equation 97 with s = 10, b = 9, by hand: sqrt(2 (19 ln(19/9) - 10)).
        assert!((Significance::Asimov.of(10.0, 9.0, 0.0) - 2.897_265_481_4).abs() < 1e-6);
        assert_eq!(Significance::Simple.of(16.0, 9.0, 0.0), 3.2);
    }

    #[test]
    fn the_best_cut_is_that_of_a_search_through_all() {
        for seed in 0..5 {
            let events = Events::draw(3000, seed, 1e5, 0.5);
            let points = OperatingPoints::new(events.sample()).unwrap();
            let expected = Expected { signal: 30.0, background: 1000.0, background_error: 0.1 };
            let found = significance(&points, expected, Significance::Asimov).unwrap();
            let weight = |cut: f64, wanted: bool| -> f64 {
                let passes = |event: &(f32, f32, f64)| f64::from(event.0) >= cut && (event.1 > 0.5) == wanted;
                events.sample().events().filter(passes).map(|event| event.2).sum()
            };
            let (all_s, all_b) = (weight(-1.0, true), weight(-1.0, false));
            let at = |cut: f64| {
                let (s, b) = (30.0 * weight(cut, true) / all_s, 1000.0 * weight(cut, false) / all_b);
                Significance::Asimov.of(s, b, 0.1 * b)
            };
            assert!((at(found.best_cut) - found.best).abs() < 1e-9);
            let tried = found.cut.iter().map(|&cut| at(cut)).fold(0.0, f64::max);
            assert!(tried <= found.best + 1e-9 && tried > 0.97 * found.best, "{tried} of {}", found.best);
        }
    }

    #[test]
    fn a_background_that_nobody_knows_is_refused() {
        let events = Events::draw(8, 1, 1e5, 1.0);
        let points = OperatingPoints::new(events.sample()).unwrap();
        let expected = Expected { signal: 0.0, background: 0.0, background_error: 0.0 };
        assert!(significance(&points, expected, Significance::Simple).unwrap_err().to_string().contains("background"));
        let wrong = Expected { background_error: -0.1, ..expected };
        assert!(significance(&points, wrong, Significance::Simple).is_err());
    }
}
