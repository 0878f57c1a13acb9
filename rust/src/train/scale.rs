//! A further fit to data of another scale: the model keeps its function ([`Model::parameters_for`]), and the weights that
//! do so are too large or too small to learn well.

use super::warnings::shown;
use crate::columns;
use crate::dataset::{Dataset, Scaler};
use crate::model::Model;

/// Deviations whose ratio is larger, and means more of the model's deviations apart, are of another scale.
const FAR: f64 = 10.0;

/// The warning before a fit of `model` to `data` whose scalers are `scaler` and, for the labels, `target`.
pub(super) fn other_scale(
    model: &Model,
    data: &Dataset,
    scaler: &Scaler,
    target: Option<&Scaler>,
) -> impl Iterator<Item = String> {
    let old = model.training();
    let feature = |index| format!("column \"{}\"", columns::element_name(data.columns(), index));
    let label = |index| data.targets().describe(index);
    let features = old.scaler.as_ref().map(|old| far(old, scaler, feature));
    let labels = old.label_scaler().zip(target).map(|(old, new)| far(&old, new, label));
    let found: Vec<String> = features.into_iter().chain(labels).flatten().collect();
    let is_foreign = old.options.is_none() && old.scaler.as_ref() == Some(&Scaler::identity(scaler.mean.len()));
    let changes_units = (is_foreign && old.scaler.as_ref() != Some(scaler)).then(|| {
        "the network was read from a file of another program and takes features in its own units, which this fit \
         standardises: fStandardise = false goes on from its weights"
            .to_owned()
    });
    let message = (!found.is_empty()).then(|| {
        format!(
            "the data are on another scale than those of the fit before: {}; the model goes on from weights for that scale \
             and may learn worse than a new one: give the data in the same units, or fit a new Mlp",
            shown(&found)
        )
    });
    // A module's parameters cannot follow another scale: it keeps that of its first fit.
    let keeps = old.scaler.as_ref() == Some(scaler);
    let unlike = if keeps { model.unlike_columns(data.features()) } else { Vec::new() };
    let kept = (!unlike.is_empty()).then(|| {
        format!(
            "the data are not like those of the fit before: {}; the network keeps the scale of that fit and may learn worse than a \
             new one: give the data in the same units, or make a new model",
            shown(&unlike)
        )
    });
    message.into_iter().chain(changes_units).chain(kept)
}

/// Describes the columns that differ. A model that was trained on columns as they are (`fStandardise = false`) has no scale
/// to compare with.
fn far(old: &Scaler, new: &Scaler, name: impl Fn(usize) -> String) -> Vec<String> {
    let width = new.mean.len();
    if *old == Scaler::identity(width) {
        return Vec::new();
    }
    let (before, now): (Vec<f64>, Vec<f64>) = (old.deviation().collect(), new.deviation().collect());
    let difference = |index: usize| {
        let (before, now) = (before[index], now[index]);
        let (old_mean, mean) = (f64::from(old.mean[index]), f64::from(new.mean[index]));
        let (ratio, apart) = ((now / before).max(before / now), (mean - old_mean).abs() / before);
        // A constant column has the scale 1, and nothing to learn.
        if ratio > FAR && now != 1.0 {
            Some(format!("{} (scale {before:.3e} before, {now:.3e} now, a factor of {ratio:.3e})", name(index)))
        } else if apart > FAR {
            let means = format!("mean {old_mean:.3e} before, {mean:.3e} now");
            Some(format!("{} ({means}, {apart:.3e} standard deviations apart)", name(index)))
        } else {
            None
        }
    };
    (0..width).filter_map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(old: [f64; 2], new: [f64; 2]) -> Vec<String> {
        let scaler = |[mean, deviation]: [f64; 2]| Scaler::new(&[0.5, mean], &[2.0, deviation]).unwrap();
        far(&scaler(old), &scaler(new), |index| format!("column {index}"))
    }

    #[test]
    fn scales_that_differ_by_more_than_ten_are_named() {
        for (old, new, part) in [
            ([0.0, 2.0], [0.0, 2000.0], "column 1 (scale 2.000e0 before, 2.000e3 now, a factor of 1.000e3)"),
            ([0.0, 2e3], [0.0, 2.0], "a factor of 1.000e3"),
            ([90.0, 2.0], [90.0, 21.0], "a factor of 1.050e1"),
            (
                [5.0, 2.0],
                [-35.0, 3.0],
                "column 1 (mean 5.000e0 before, -3.500e1 now, 2.000e1 standard deviations apart)",
            ),
            ([5.0, 2.0], [95.0, 1.0], "4.500e1 standard deviations"),
        ] {
            let found = found(old, new);
            assert!(found.len() == 1 && found[0].contains(part), "{old:?} {new:?}: {found:?}");
        }
        for (old, new) in [
            ([3.0, 2.0], [3.0, 2.0]),
            ([3.0, 2.0], [20.0, 19.0]),
            ([3.0, 2.0], [-15.0, 0.21]),
            ([3.0, 2e3], [3.0, 1.0]), // constant in the new data
        ] {
            assert!(found(old, new).is_empty(), "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_model_without_a_scale_has_none_to_compare_with() {
        let new = Scaler::new(&[1e3], &[1e3]).unwrap();
        assert!(far(&Scaler::identity(1), &new, |_| "x".into()).is_empty());
    }
}
