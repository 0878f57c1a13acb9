//! An axis of a chart: the places of values, and the numbers written at it.

pub struct Scale {
    /// A scale for the values, or for their logarithms.
    low: f64,
    high: f64,
    log: bool,
    /// The places of `low` and `high`.
    ends: [f64; 2],
}

impl Scale {
    /// A scale over all `values`, with a margin; values without a place (not finite, or not positive on a logarithmic
    /// axis) do not count.
    pub fn over(values: impl Iterator<Item = f64>, log: bool, ends: [f64; 2]) -> Self {
        let places = values.map(|value| if log { value.log10() } else { value }).filter(|place| place.is_finite());
        let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), place| (l.min(place), h.max(place)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let margin = match high - low {
            range if log => (0.04 * range).max(0.1),
            range if range > 0.0 => 0.04 * range,
            _ => 0.1 * low.abs().max(1e-9),
        };
        Self { low: low - margin, high: high + margin, log, ends }
    }

    /// Values beyond the ends are placed at the ends.
    pub fn place(&self, value: f64) -> f64 {
        let at = if self.log { value.log10() } else { value };
        let share = ((at - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.ends[0] + share * (self.ends[1] - self.ends[0])
    }

    pub fn ends(&self) -> [f64; 2] {
        self.ends
    }

    /// Round numbers, few enough to be written side by side.
    pub fn ticks(&self) -> Vec<f64> {
        if !self.log {
            return multiples(self.low, self.high);
        }
        let factors: &[f64] = if self.high - self.low < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        let ticks = decades.flat_map(|decade| factors.iter().map(move |factor| factor * 10f64.powi(decade)));
        let ticks: Vec<_> = ticks.filter(|tick| (self.low..=self.high).contains(&tick.log10())).collect();
        if ticks.len() < 3 { multiples(10f64.powf(self.low), 10f64.powf(self.high)) } else { ticks }
    }
}

/// Multiples of 1, 2 or 5 times a power of ten, at least three of them.
fn multiples(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [5.0, 2.0, 1.0].iter().map(|factor| factor * power).find(|step| *step <= rough).unwrap_or(power);
    ((low / step).ceil() as i64..=(high / step).floor() as i64).map(|multiple| multiple as f64 * step).collect()
}

/// A number without the digits that rounding left.
pub fn plain(value: f64) -> String {
    let digits = format!("{value:.3e}");
    digits.parse::<f64>().map_or(digits, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_lie_at_equal_distances() {
        let scale = Scale::over([1.0, 10.0, 100.0].into_iter(), true, [0.0, 108.0]);
        let places = [1.0, 10.0, 100.0].map(|value| scale.place(value).round());
        assert_eq!(places, [5.0, 54.0, 103.0]);
        assert_eq!((scale.place(0.0), scale.place(1e9)), (0.0, 108.0));
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let ticks = |values: [f64; 2], log| Scale::over(values.into_iter(), log, [0.0, 1.0]).ticks();
        assert_eq!(ticks([0.6, 12.0], true), [0.5, 1.0, 2.0, 5.0, 10.0]);
        assert_eq!(ticks([1e-6, 1.0], true).len(), 7);
        let near = ticks([0.95, 1.3], true);
        assert!(near.len() >= 3 && near.iter().all(|tick| (0.75..1.65).contains(tick)), "{near:?}");
        assert_eq!(
            ticks([0.0, 2.0], false).iter().map(|tick| plain(*tick)).collect::<Vec<_>>(),
            ["0", "0.5", "1", "1.5", "2"]
        );
        let narrow = ticks([0.734, 0.741], false);
        assert!(narrow.len() >= 3 && narrow.iter().all(|tick| (0.733..0.742).contains(tick)), "{narrow:?}");
    }

    #[test]
    fn values_without_a_place_do_not_count() {
        let scale = Scale::over([f64::NAN, 0.0, 2.0].into_iter(), true, [0.0, 1.0]);
        assert!((scale.place(2.0) - 0.5).abs() < 1e-9);
        assert!(Scale::over(std::iter::empty(), false, [0.0, 1.0]).place(0.5).is_finite());
    }
}
