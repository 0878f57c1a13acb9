//! Columns whose standard deviation few extreme values make, such as -999 where there is no value: standardised, all other values lie
//! close together, and a network hardly tells them apart.

use super::warnings::shown;
use crate::columns::{self, Column};
use crate::dataset::{Dataset, Scaler};
use crate::text;

/// The deviation of a column over that of its other values.
const FAR: f64 = 20.0;
/// Numbers that are looked at, of as many events at least and at most: of more every n-th one.
const LOOKED_AT: usize = 2_000_000;
const EVENTS: std::ops::RangeInclusive<usize> = 1000..=20_000;

/// The warning before a fit to the rows `train` of `data` whose scaler is `scaler`; elements with a mask are not looked at.
pub(super) fn extreme(data: &Dataset, train: &[u32], masks: &[Option<usize>], scaler: &Scaler) -> Option<String> {
    let width = data.width();
    let found: Vec<String> = (0..width)
        .zip(scaler.deviation())
        .filter(|&(index, _)| masks[index].is_none())
        .filter_map(|(index, deviation)| {
            let most = (LOOKED_AT / width).clamp(*EVENTS.start(), *EVENTS.end());
            let step = train.len().div_ceil(most).max(1);
            let values = train.iter().step_by(step).map(|&row| data.features()[row as usize * width + index]);
            let what = of_column(&values.collect::<Vec<_>>(), deviation)?;
            Some(format!("column \"{}\" ({what})", columns::element_name(data.columns(), index)))
        })
        .collect();
    (!found.is_empty()).then(|| {
        format!(
            "extreme values make the standard deviation, and the others lie close together after the standardisation: {}; cut these \
             events, or replace the values in the expression of the column, as in \"x > -900 ? x : 0\"",
            shown(&found)
        )
    })
}

/// The warning about pads that are extreme numbers for a network: they do not count for the standardisation, but take part in it.
pub(super) fn far_pads(data: &Dataset, masks: &[Option<usize>], scaler: &Scaler) -> Option<String> {
    let is_far = |&(column, start): &(&Column, usize)| {
        (start..start + column.length).any(|at| masks[at].is_some() && scaler.apply(at, column.pad).abs() > FAR)
    };
    let pads = columns::starts(data.columns())
        .filter(is_far)
        .map(|(column, _)| format!("column \"{}\" ({})", column.name, text::number(f64::from(column.pad))));
    let found: Vec<String> = pads.collect();
    (!found.is_empty()).then(|| {
        format!(
            "the pads of lists with a mask lie far from the values, which disturbs a network that does not leave them out: {}; give one \
             among the values",
            shown(&found)
        )
    })
}

/// What is extreme in a column whose values have this deviation.
fn of_column(values: &[f32], deviation: f64) -> Option<String> {
    let is_little = |spread: f64| spread > 0.0 && spread * FAR < deviation;
    if is_little(spread(values.iter().copied())) {
        return Some("few of its values".to_owned());
    }
    let (least, greatest) = values.iter().fold((f32::MAX, f32::MIN), |(a, b), &x| (a.min(x), b.max(x)));
    for extreme in [least, greatest] {
        if is_little(spread(values.iter().copied().filter(|&x| x != extreme))) {
            let share = values.iter().filter(|&&x| x == extreme).count() as f64 / values.len() as f64;
            // As float32 writes it.
            let extreme = extreme.to_string().parse().unwrap_or(f64::from(extreme));
            return Some(format!("{} in {:.2} % of the events", text::number(extreme), 100.0 * share));
        }
    }
    None
}

/// The standard deviation; 0 of fewer than two values.
fn spread(values: impl Iterator<Item = f32> + Clone) -> f64 {
    let count = values.clone().count();
    if count < 2 {
        return 0.0;
    }
    let mean = values.clone().map(f64::from).sum::<f64>() / count as f64;
    (values.map(|x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(values: impl Fn(usize) -> f64) -> Option<String> {
        let values: Vec<f32> = (0..5000).map(|i| values(i) as f32).collect();
        of_column(&values, spread(values.iter().copied()))
    }

    /// Numbers as those of a normal distribution.
    fn wave(i: usize) -> f64 {
        (i as f64 * 0.37).sin() + (i as f64 * 1.93).sin()
    }

    #[test]
    fn a_sentinel_or_a_single_number_out_of_all_bounds_is_found() {
        let some = |part: usize, other: f64| found(move |i| if i % part == 0 { other } else { wave(i) });
        assert_eq!(some(50, -999.0).as_deref(), Some("-999 in 2.00 % of the events"));
        assert_eq!(some(1000, -999.0).as_deref(), Some("-999 in 0.10 % of the events"));
        assert_eq!(some(5000, 1e12).as_deref(), Some("1e12 in 0.02 % of the events"));
        assert_eq!(
            found(|i| if i % 10 < 7 { -999.0 } else { wave(i) }).as_deref(),
            Some("-999 in 70.00 % of the events")
        );
        let values: Vec<f32> = (0..5000).map(|i| wave(i) as f32).collect();
        assert_eq!(of_column(&values, 1e5).as_deref(), Some("few of its values"));
    }

    #[test]
    fn ordinary_columns_are_left_alone() {
        assert_eq!(found(wave), None);
        assert_eq!(found(|i| (2.0 * wave(i)).exp()), None, "a long tail");
        assert_eq!(found(|i| (i % 2) as f64), None, "two values");
        assert_eq!(found(|i| (i % 100 / 99) as f64), None, "a rare mark");
        assert_eq!(found(|_| 3.0), None, "a constant");
        assert_eq!(found(|i| if i % 3 == 0 { 0.0 } else { 80.0 + 30.0 * wave(i) }), None, "padding by 0");
        assert_eq!(found(|i| if i % 3 == 0 { -1.0 } else { wave(i).abs() / 2.0 }), None, "a score, or -1");
    }
}
