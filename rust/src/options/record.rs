//! The options of a fit as names and values: for people, and in the model file.

use super::Options;
use crate::error::{Error, Result};
use crate::graph::{CUSTOM, Gradient, Loss, NegativeWeights, Optimiser, Precision, Schedule};
use crate::text;

/// One option: its name, its value as text, back again, and as users write it.
struct Field {
    name: &'static str,
    write: fn(&Options) -> String,
    read: fn(&mut Options, &str) -> Option<()>,
    show: fn(&Options) -> String,
}

/// A field of [`Options`] whose text is that of its type.
macro_rules! plain {
    ($field:ident) => {
        plain!($field, |value: &_| ToString::to_string(value))
    };
    ($field:ident, $show:expr) => {
        Field {
            name: stringify!($field),
            write: |options| options.$field.to_string(),
            read: |options, text| {
                options.$field = text.parse().ok()?;
                Some(())
            },
            show: |options| $show(&options.$field),
        }
    };
}

/// A field that is a member of a list.
macro_rules! listed {
    ($field:ident, $list:ident) => {
        Field {
            name: stringify!($field),
            write: |options| options.$field.name().to_owned(),
            read: |options, text| {
                options.$field = $list::from_name(text)?;
                Some(())
            },
            show: |options| options.$field.enumerator().to_owned(),
        }
    };
}

/// Everything but the threads and the part of a GPU, which belong to the machine.
static FIELDS: [Field; 37] = [
    plain!(epochs),
    plain!(batch_size),
    plain!(learning_rate, |value: &f64| text::number(*value)),
    listed!(schedule, Schedule),
    plain!(decay, |value: &f64| text::number(*value)),
    plain!(decay_epochs),
    plain!(warm_up, |value: &f64| text::number(*value)),
    plain!(weight_decay, |value: &f64| text::number(*value)),
    plain!(l1, |value: &f64| text::number(*value)),
    plain!(clip_norm, |value: &f64| text::number(*value)),
    plain!(clip_value, |value: &f64| text::number(*value)),
    plain!(momentum, |value: &f64| text::number(*value)),
    plain!(validation, |value: &f64| text::number(*value)),
    plain!(seed),
    plain!(split_seed),
    plain!(shuffle),
    plain!(standardise),
    plain!(device),
    listed!(optimiser, Optimiser),
    Field {
        name: "loss",
        write: |options| options.loss_name().to_owned(),
        read: |options, text| {
            options.loss = if text == CUSTOM { None } else { Some(Loss::from_name(text)?) };
            Some(())
        },
        show: |options| options.loss.map_or("", Loss::enumerator).to_owned(),
    },
    plain!(loss_function),
    plain!(logits),
    plain!(label_smoothing, |value: &f64| text::number(*value)),
    plain!(focus, |value: &f64| text::number(*value)),
    plain!(quantile, |value: &f64| text::number(*value)),
    Field {
        name: "class_weights",
        write: |options| numbers(&options.class_weights),
        read: |options, text| {
            let parts = text.split(", ").filter(|part| !part.is_empty());
            options.class_weights = parts.map(|part| part.parse().ok()).collect::<Option<_>>()?;
            Some(())
        },
        show: |options| format!("{{{}}}", numbers(&options.class_weights)),
    },
    listed!(negative_weights, NegativeWeights),
    plain!(patience),
    plain!(min_improvement, |value: &f64| text::number(*value)),
    plain!(keep_best),
    plain!(checkpoint),
    plain!(checkpoint_epochs),
    plain!(checkpoint_minutes, |value: &f64| text::number(*value)),
    Field {
        name: "metrics",
        write: |options| options.metrics.join(SEPARATOR),
        read: |options, text| {
            let names = text.split(SEPARATOR).filter(|name| !name.is_empty());
            options.metrics = names.map(str::to_owned).collect();
            Some(())
        },
        show: |options| format!("{{{}}}", options.metrics.join(", ")),
    },
    listed!(gradient, Gradient),
    listed!(precision, Precision),
    plain!(verbose),
];

/// Separates names; none of them contains it.
pub(crate) const SEPARATOR: &str = "; ";

/// "0.5, 2"
fn numbers(values: &[f64]) -> String {
    text::list(values.iter().map(f64::to_string), ", ")
}

/// Options that are named whatever their values are: those of the first model files.
const ALWAYS: [&str; 15] = [
    "epochs",
    "batch_size",
    "learning_rate",
    "schedule",
    "weight_decay",
    "momentum",
    "validation",
    "seed",
    "shuffle",
    "standardise",
    "device",
    "optimiser",
    "loss",
    "loss_function",
    "gradient",
];

/// The fields worth naming: the others have their defaults.
fn named(options: &Options) -> impl Iterator<Item = &'static Field> {
    let usual = Options::default();
    FIELDS.iter().filter(move |field| ALWAYS.contains(&field.name) || (field.write)(options) != (field.write)(&usual))
}

/// The options as users write them, `fBatchSize = 256`, without those that are empty or have an unremarkable default.
pub(crate) fn describe(options: &Options) -> String {
    let values = named(options).map(|field| (field.name, (field.show)(options)));
    let shown =
        values.filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{} = {value}", member(name)));
    text::list(shown.collect::<Vec<_>>().iter(), ", ")
}

/// The member of FitOptions that `name` stands for: fBatchSize for batch_size.
fn member(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').map(capital).fold("f".to_owned(), |member, word| member + &word)
}

/// The first option, as users write it, that is neither the default nor that of `other`, with both values.
pub(crate) fn conflict(options: &Options, other: &Options) -> Option<(String, [String; 2])> {
    let usual = Options::default();
    let differs = |field: &&Field, from: &Options| (field.write)(options) != (field.write)(from);
    let field = FIELDS.iter().find(|field| differs(field, &usual) && differs(field, other))?;
    Some((member(field.name), [(field.show)(options), (field.show)(other)]))
}

/// Options that a search does not vary: texts, files, the machine's, and what decides on the events that judge.
const FIXED: [&str; 11] = [
    "validation",
    "split_seed",
    "device",
    "loss_function",
    "logits",
    "class_weights",
    "checkpoint",
    "checkpoint_epochs",
    "checkpoint_minutes",
    "metrics",
    "verbose",
];

/// The field of a number, an enumerator or a truth value that users write as `option`.
fn number(option: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| !FIXED.contains(&field.name) && member(field.name) == option)
}

/// Sets the option that users write as `option`, fBatchSize, to a number, or to that of an enumerator; 0 and 1 are false and true.
pub(crate) fn set(options: &mut Options, option: &str, value: f64) -> Result<()> {
    let Some(field) = number(option) else {
        let known = FIELDS.iter().filter(|field| !FIXED.contains(&field.name)).map(|field| member(field.name));
        return Err(Error::invalid(
            format!("there is no option \"{}\" that can be drawn", text::name(option)),
            format!("these can: {}", text::list(known.collect::<Vec<_>>().iter(), ", ")),
        ));
    };
    // Texts that the field may have: of a number, a truth value, or an enumerator.
    let names = Optimiser::ALL.iter().map(|each| (*each as u8, each.name()));
    let names = names.chain(Schedule::ALL.iter().map(|each| (*each as u8, each.name())));
    let names = names.chain(Gradient::ALL.iter().map(|each| (*each as u8, each.name())));
    let names = names.chain(NegativeWeights::ALL.iter().map(|each| (*each as u8, each.name())));
    let names = names.chain(Precision::ALL.iter().map(|each| (*each as u8, each.name())));
    let names = names.chain(Loss::ALL.iter().map(|each| (1 + *each as u8, each.name())));
    let names = names.chain([(0, "false"), (1, "true"), (0, CUSTOM)]); // kAuto, if no function is given
    let named = names.filter(|(number, _)| f64::from(*number) == value).map(|(_, name)| name.to_owned());
    let texts = std::iter::once(value.to_string()).chain(named);
    for text in texts {
        if (field.read)(options, &text).is_some() {
            return Ok(());
        }
    }
    let takes = |text: &str| (field.read)(&mut Options::default(), text).is_some();
    let kind = match [takes("0.5"), takes("1"), takes("true")] {
        [true, ..] => "a number",
        [_, true, _] => "a whole number of 0 or more",
        [.., true] => "true or false",
        _ => "an enumerator of its kind",
    };
    Err(Error::invalid(format!("{option} = {}", text::number(value)), format!("it must be {kind}")))
}

/// Whether the option takes no fractions.
pub(crate) fn is_whole(option: &str) -> bool {
    number(option).is_some_and(|field| (field.read)(&mut Options::default(), "0.5").is_none())
}

/// Names and values.
pub(crate) fn write(options: &Options) -> Vec<(String, String)> {
    named(options).map(|field| (field.name.to_owned(), (field.write)(options))).collect()
}

/// The options from which [`write()`] made `record`.
pub(crate) fn read(record: &[(String, String)]) -> Result<Options> {
    record.iter().try_fold(Options::default(), |mut options, (name, value)| {
        let bad = || {
            Error::invalid(
                format!("option {} = \"{}\"", text::name(name), text::name(value)),
                "it is unknown, or has no such value",
            )
        };
        let field = FIELDS.iter().find(|field| field.name == name).ok_or_else(bad)?;
        (field.read)(&mut options, value).ok_or_else(bad)?;
        Ok(options)
    })
}
