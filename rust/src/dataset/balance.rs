//! Class balance by event weights.

use super::Dataset;
use crate::error::{Error, Result};

/// More labels than this are not classes.
const MOST_CLASSES: usize = 1000;

/// A label and the sum of its events' weights.
struct Class {
    label: f32,
    weight: f64,
}

impl Dataset {
    /// Scales the event weights so that all K classes (events of one label) weigh the same and the total stays:
    /// w -> w W / (K W_c).
    pub fn balance(&mut self) -> Result<()> {
        self.targets.check_single("Balance")?;
        if self.is_sharded() {
            return Err(Error::invalid(
                "Balance of events of which each process holds a part",
                "give FitOptions::fClassWeights instead",
            ));
        }
        let classes = self.classes()?;
        let total: f64 = classes.iter().map(|class| class.weight).sum();
        let share = total / classes.len() as f64;
        let Dataset { labels, weights, .. } = self;
        for (&label, weight) in labels.as_slice()?.iter().zip(weights.written()?.as_mut_slice()) {
            if let Some(class) = classes.iter().find(|class| class.label == label) {
                *weight = (f64::from(*weight) * share / class.weight) as f32;
            }
        }
        Ok(())
    }

    /// In the order of their labels; every one weighs more than 0.
    fn classes(&self) -> Result<Vec<Class>> {
        let mut classes: Vec<Class> = Vec::new();
        for (&label, &weight) in self.labels()?.iter().zip(self.weights()?) {
            let found = classes.binary_search_by(|class| class.label.total_cmp(&(label + 0.0)));
            let at = found.unwrap_or_else(|at| {
                classes.insert(at, Class { label: label + 0.0, weight: 0.0 }); // -0 is 0
                at
            });
            classes[at].weight += f64::from(weight);
            if classes.len() > MOST_CLASSES {
                return Err(Error::invalid(
                    format!("the labels have more than {MOST_CLASSES} different values"),
                    "only classes can be balanced: label the events with their class",
                ));
            }
        }
        match classes.iter().find(|class| class.weight <= 0.0) {
            _ if classes.is_empty() => Err(Error::invalid("the dataset has no events", "add a source first")),
            Some(Class { label, weight }) => Err(Error::invalid(
                format!("the weights of the events with label {label} sum to {weight}"),
                "every class needs a positive total weight to be balanced: check the weights of this one",
            )),
            None => Ok(classes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Column;
    use crate::dataset::Targets;

    fn with(labels: &[f32], weights: &[f32]) -> Dataset {
        let mut data = Dataset::new(&[Column::new("a", 1)]).unwrap();
        data.begin("s").unwrap();
        data.append(&vec![0.0; labels.len()], labels, weights).unwrap();
        data.commit().unwrap();
        data
    }

    #[test]
    fn classes_weigh_the_same_and_the_total_stays() {
        let mut data = with(&[1.0, 0.0, -0.0, 2.0, 0.0], &[2.0, 3.0, -1.0, 0.5, 4.0]);
        data.balance().unwrap();
        let third = 8.5 / 3.0;
        let expected = [third, third * 3.0 / 6.0, -third / 6.0, third, third * 4.0 / 6.0];
        for (weight, expected) in data.weights().unwrap().iter().zip(expected) {
            assert!((weight - expected).abs() < 1e-6, "{weight} {expected}");
        }
    }

    #[test]
    fn what_has_no_balance_is_refused_and_stays() {
        let mut data = with(&[0.0, 1.0, 1.0], &[1.0, 2.0, -2.0]);
        let error = data.balance().unwrap_err().to_string();
        assert!(error.contains("label 1 sum to 0"), "{error}");
        assert_eq!(data.weights().unwrap(), [1.0, 2.0, -2.0]);
        let labels: Vec<f32> = (0..2000).map(|i| i as f32).collect();
        assert!(with(&labels, &labels).balance().unwrap_err().to_string().contains("more than 1000"));
        assert!(Dataset::new(&[]).unwrap().balance().is_err());
        let targets = Targets::new(&["a".into(), "b".into()]).unwrap();
        let mut data = Dataset::new(&[Column::new("x", 1)]).unwrap();
        data.begin_with("s", &targets).unwrap();
        data.append(&[0.0], &[0.0, 1.0], &[1.0]).unwrap();
        data.commit().unwrap();
        assert!(data.balance().unwrap_err().to_string().contains("2 targets (a, b)"));
    }
}
