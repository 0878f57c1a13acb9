//! The options of a fit as names and values: for people, and in the model file.

use crate::bridge::FitSpec;
use crate::error::{Error, Result};
use crate::graph::{Gradient, Loss, Optimiser, Schedule};
use crate::model::OWN;
use crate::text;

/// One option: its name, its value as text, back again, and as users write it.
struct Field {
    name: &'static str,
    write: fn(&FitSpec) -> String,
    read: fn(&mut FitSpec, &str) -> Option<()>,
    show: fn(&FitSpec) -> String,
}

/// A field of `FitSpec` whose text is that of its type.
macro_rules! plain {
    ($field:ident) => {
        plain!($field, |value: &_| ToString::to_string(value))
    };
    ($field:ident, $show:expr) => {
        Field {
            name: stringify!($field),
            write: |spec| spec.$field.to_string(),
            read: |spec, text| {
                spec.$field = text.parse().ok()?;
                Some(())
            },
            show: |spec| $show(&spec.$field),
        }
    };
}

/// Everything but the number of threads, which belongs to the machine.
const FIELDS: [Field; 15] = [
    plain!(epochs),
    plain!(batch_size),
    plain!(learning_rate, |value: &f64| text::number(*value)),
    Field {
        name: "schedule",
        write: |spec| Schedule::from_number(spec.schedule).map_or("?", Schedule::name).to_owned(),
        read: |spec, text| {
            spec.schedule = Schedule::from_name(text)? as u8;
            Some(())
        },
        show: |spec| Schedule::from_number(spec.schedule).map_or("", Schedule::enumerator).to_owned(),
    },
    plain!(weight_decay, |value: &f64| text::number(*value)),
    plain!(momentum, |value: &f64| text::number(*value)),
    plain!(validation, |value: &f64| text::number(*value)),
    plain!(seed),
    plain!(shuffle),
    plain!(standardise),
    plain!(device),
    Field {
        name: "optimiser",
        write: |spec| Optimiser::from_number(spec.optimiser).map_or("?", Optimiser::name).to_owned(),
        read: |spec, text| {
            spec.optimiser = Optimiser::from_name(text)? as u8;
            Some(())
        },
        show: |spec| Optimiser::from_number(spec.optimiser).map_or("", Optimiser::enumerator).to_owned(),
    },
    Field {
        name: "loss",
        write: |spec| loss_name(spec).to_owned(),
        read: |spec, text| {
            spec.loss = if text == OWN { 0 } else { 1 + Loss::from_name(text)? as u8 };
            Some(())
        },
        show: |spec| loss(spec).map_or("", Loss::enumerator).to_owned(),
    },
    plain!(loss_function),
    Field {
        name: "gradient",
        write: |spec| Gradient::from_number(spec.gradient).map_or("?", Gradient::name).to_owned(),
        read: |spec, text| {
            spec.gradient = Gradient::from_name(text)? as u8;
            Some(())
        },
        show: |spec| Gradient::from_number(spec.gradient).map_or("", Gradient::enumerator).to_owned(),
    },
];

/// The loss to minimise, of options whose loss is decided; none: one of the user's own.
pub(crate) fn loss(spec: &FitSpec) -> Option<Loss> {
    Loss::from_number(spec.loss.checked_sub(1)?)
}

/// The same, for people.
pub(super) fn loss_name(spec: &FitSpec) -> &'static str {
    loss(spec).map_or(OWN, Loss::name)
}

/// The options as users write them, `fBatchSize = 256`, without those that are empty.
pub(crate) fn describe(spec: &FitSpec) -> String {
    let values = FIELDS.iter().map(|field| (field.name, (field.show)(spec)));
    let shown =
        values.filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{} = {value}", member(name)));
    text::list(shown.collect::<Vec<_>>().iter(), ", ")
}

/// The member of FitOptions that `name` stands for: fBatchSize for batch_size.
fn member(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').map(capital).fold("f".to_owned(), |member, word| member + &word)
}

/// Names and values.
pub(crate) fn write(spec: &FitSpec) -> Vec<(String, String)> {
    FIELDS.iter().map(|field| (field.name.to_owned(), (field.write)(spec))).collect()
}

/// The options of which [`write()`] made `record`.
pub(crate) fn read(record: &[(String, String)]) -> Result<FitSpec> {
    record.iter().try_fold(FitSpec::default(), |mut spec, (name, value)| {
        let bad = || {
            Error::invalid(
                format!("option {} = \"{}\"", text::name(name), text::name(value)),
                "it is unknown, or has no such value",
            )
        };
        let field = FIELDS.iter().find(|field| field.name == name).ok_or_else(bad)?;
        (field.read)(&mut spec, value).ok_or_else(bad)?;
        Ok(spec)
    })
}
