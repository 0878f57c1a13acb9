//! Names of the label columns.

use std::fmt;

use crate::error::{Error, Result};
use crate::text;

/// Names of the label columns; without names, a label is one number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets(Vec<String>);

impl Targets {
    /// A label that is a number, or comes from columns of different names.
    pub const NONE: Targets = Targets(Vec::new());

    /// Checks `names`; without names the same as [`NONE`](Self::NONE).
    pub fn new(names: &[String]) -> Result<Self> {
        for (index, name) in names.iter().enumerate() {
            if name.is_empty() {
                return Err(Error::invalid("a label column without a name", "name every label column"));
            }
            if names[..index].contains(name) {
                return Err(Error::invalid(
                    format!("label column \"{}\" is listed twice", text::name(name)),
                    "list it once",
                ));
            }
        }
        Ok(Targets(names.to_vec()))
    }

    /// Numbers in a label, at least 1.
    pub fn count(&self) -> usize {
        self.0.len().max(1)
    }

    /// Empty for [`NONE`](Self::NONE).
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Number `index` of a label, for messages.
    pub fn describe(&self, index: usize) -> String {
        match self.0.get(index) {
            Some(name) if self.0.len() > 1 => format!("target \"{}\"", text::name(name)),
            _ => "the label".to_owned(),
        }
    }

    /// ", label column 'y'," of single labels that have a name, for messages; else empty.
    pub(crate) fn column(&self) -> String {
        match &self.0[..] {
            [name] => format!(", label column '{}',", text::name(name)),
            _ => String::new(),
        }
    }

    /// The targets of earlier sources (`self`) and of `source` (`more`) together. Several targets must be the same in every
    /// source; single labels with different names become one without a name.
    pub fn joined(&self, more: &Targets, source: &str) -> Result<Targets> {
        match (self.count(), more.count()) {
            (1, 1) if self != more => Ok(Targets::default()),
            _ if self == more => Ok(more.clone()),
            _ => Err(Error::invalid(
                format!("{source} gives {more}, the sources before it give {self}"),
                "give every source the same targets, in the same order",
            )),
        }
    }

    /// Returns an error for several targets, which `what` does not support.
    pub fn check_single(&self, what: &str) -> Result<()> {
        match self.count() {
            1 => Ok(()),
            _ => {
                Err(Error::invalid(format!("{what} needs one label, the events have {self}"), "name one label column"))
            }
        }
    }
}

impl fmt::Display for Targets {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.count() {
            1 => write!(f, "one label"),
            count => write!(f, "{count} targets ({})", text::list(self.0.iter(), ", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(names: &[&str]) -> Targets {
        Targets::new(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn names_are_given_and_given_once() {
        for (names, word) in [(&["a", ""][..], "without a name"), (&["a", "b", "a"], "\"a\" is listed twice")] {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            let error = Targets::new(&names).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        assert_eq!((targets(&[]).count(), targets(&["a"]).count(), targets(&["a", "b"]).count()), (1, 1, 2));
    }

    #[test]
    fn several_targets_are_the_same_everywhere_and_single_labels_lose_names_that_differ() {
        let (none, a, b, ab, ba) =
            (targets(&[]), targets(&["a"]), targets(&["b"]), targets(&["a", "b"]), targets(&["b", "a"]));
        for (first, second, joined) in
            [(&none, &none, &none), (&a, &a, &a), (&a, &b, &none), (&a, &none, &none), (&ab, &ab, &ab)]
        {
            assert_eq!(first.joined(second, "s").unwrap(), *joined);
        }
        for (first, second, words) in [
            (&ab, &ba, "s gives 2 targets (b, a), the sources before it give 2 targets (a, b)"),
            (&ab, &a, "s gives one label"),
            (&none, &ab, "give one label"),
        ] {
            let error = first.joined(second, "s").unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
