//! Random search: options of fits drawn from ranges (Bergstra and Bengio, JMLR 13 (2012) 281).

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Options;
use crate::dataset::shuffle;
use crate::error::{Error, Result};
use crate::options::record;
use crate::text;

/// Combinations that are drawn without repetition; of more, a repetition is rare.
const MOST_COMBINATIONS: usize = 1 << 20;

/// The values from which an option is drawn.
#[derive(Clone, Debug)]
enum Range {
    /// All numbers between two, or all whole ones with both; by their logarithms where small ones matter as much as large ones.
    Interval { ends: [f64; 2], logarithmic: bool, whole: bool },
    /// Each with the same probability.
    Choice(Vec<f64>),
}

/// Networks and options that a search draws from.
#[derive(Clone, Debug)]
pub struct Space {
    networks: usize,
    /// By the names of options.
    ranges: Vec<(String, Range)>,
}

/// A point of a [`Space`].
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The number of the network.
    pub network: usize,
    /// Values of the options, in the order in which they were named.
    pub values: Vec<f64>,
}

impl Space {
    /// A space of this many networks, at least one, and no options yet.
    pub fn new(networks: usize) -> Self {
        Space { networks: networks.max(1), ranges: Vec::new() }
    }

    /// Draws `option` from `low` to `high`, by its logarithm if so wished.
    pub fn interval(&mut self, option: &str, low: f64, high: f64, logarithmic: bool) -> Result<()> {
        self.check_new(option)?;
        let ends = [low, high].map(text::number);
        let refused =
            |what: &str| Err(Error::invalid(format!("{option} from {} to {}", ends[0], ends[1]), what.to_owned()));
        if !(low.is_finite() && high.is_finite() && low < high) {
            return refused("give two finite numbers, the smaller one first");
        }
        if logarithmic && low <= 0.0 {
            return refused("only numbers above 0 have a logarithm: raise the first one, or draw with Uniform");
        }
        for value in [low, high] {
            record::set(&mut Options::default(), option, value)?;
        }
        let whole = record::is_whole(option);
        self.ranges.push((option.to_owned(), Range::Interval { ends: [low, high], logarithmic, whole }));
        Ok(())
    }

    /// Draws `option` from `values`.
    pub fn choice(&mut self, option: &str, values: &[f64]) -> Result<()> {
        self.check_new(option)?;
        if values.is_empty() {
            return Err(Error::invalid(format!("{option} has no values to choose from"), "give at least one"));
        }
        for (index, &value) in values.iter().enumerate() {
            record::set(&mut Options::default(), option, value)?;
            if values[..index].contains(&value) {
                return Err(Error::invalid(
                    format!("{option} has {} twice", text::number(value)),
                    "give each value once",
                ));
            }
        }
        self.ranges.push((option.to_owned(), Range::Choice(values.to_vec())));
        Ok(())
    }

    fn check_new(&self, option: &str) -> Result<()> {
        match self.options().any(|known| known == option) {
            false => Ok(()),
            true => Err(Error::invalid(format!("{option} is drawn already"), "give each option one range")),
        }
    }

    /// Names of the options that are drawn.
    pub fn options(&self) -> impl Iterator<Item = &str> {
        self.ranges.iter().map(|(option, _)| option.as_str())
    }

    /// Number of points; `None`: more than can be told apart.
    pub fn points(&self) -> Option<usize> {
        let sizes = self.ranges.iter().map(|(_, range)| match range {
            Range::Choice(values) => Some(values.len()),
            Range::Interval { .. } => None,
        });
        let count = sizes.into_iter().try_fold(self.networks, |count, size| count.checked_mul(size?));
        count.filter(|count| *count <= MOST_COMBINATIONS)
    }

    /// The points of the first `count` trials, or fewer if there are no more. Each depends on the seed and its number
    /// alone.
    pub fn draw(&self, seed: u64, count: usize) -> Vec<Point> {
        let Some(points) = self.points() else {
            return (0..count).map(|trial| self.draw_one(seed, trial)).collect();
        };
        let mut order: Vec<u32> = (0..points as u32).collect();
        shuffle(&mut order, seed, 0);
        order.into_iter().take(count).map(|at| self.point(at as usize)).collect()
    }

    /// Combination number `at` of choices.
    fn point(&self, mut at: usize) -> Point {
        let mut take = |size: usize| {
            let digit = at % size;
            at /= size;
            digit
        };
        let network = take(self.networks);
        let values = self.ranges.iter().map(|(_, range)| match range {
            Range::Choice(values) => values[take(values.len())],
            Range::Interval { ends, .. } => ends[0],
        });
        Point { network, values: values.collect() }
    }

    fn draw_one(&self, seed: u64, trial: usize) -> Point {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(trial as u64);
        let network = generator.random_range(0..self.networks);
        Point { network, values: self.ranges.iter().map(|(_, range)| range.draw(&mut generator)).collect() }
    }

    /// `options` with the `values` of a point.
    pub fn apply(&self, values: &[f64], options: &Options) -> Result<Options> {
        let mut options = options.clone();
        self.options().zip(values).try_for_each(|(option, &value)| record::set(&mut options, option, value))?;
        Ok(options)
    }
}

impl Range {
    fn draw(&self, generator: &mut ChaCha8Rng) -> f64 {
        match self {
            Range::Choice(values) => values[generator.random_range(0..values.len())],
            &Range::Interval { ends: [low, high], logarithmic, whole } => {
                // Whole numbers have as much room at both ends as between.
                let margin = if whole { 0.5 } else { 0.0 };
                let scale = |value: f64| if logarithmic { value.ln() } else { value };
                let (first, last) = (scale(low - margin), scale(high + margin));
                let drawn = first + (last - first) * generator.random::<f64>();
                let value = if logarithmic { drawn.exp() } else { drawn };
                if whole { value.round().clamp(low, high) } else { value.clamp(low, high) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        let mut space = Space::new(2);
        space.interval("fLearningRate", 1e-4, 1e-1, true).unwrap();
        space.interval("fEpochs", 3.0, 6.0, false).unwrap();
        space.choice("fBatchSize", &[64.0, 256.0, 1024.0]).unwrap();
        space
    }

    #[test]
    fn points_depend_on_seed_and_number_alone() {
        let space = space();
        let all = space.draw(7, 20);
        assert_eq!(space.draw(7, 5), all[..5]);
        assert_ne!(space.draw(8, 20), all);
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
    }

    /// Shares of ranges, each known to the root of their number.
    #[test]
    fn ranges_are_drawn_evenly() {
        let (space, count) = (space(), 12_000);
        let points = space.draw(1, count);
        let check = |what: &str, expected: f64, is: &dyn Fn(&Point) -> bool| {
            let share = points.iter().filter(|point| is(point)).count() as f64 / count as f64;
            let error = (expected * (1.0 - expected) / count as f64).sqrt();
            assert!((share - expected).abs() < 5.0 * error, "{what}: {share} instead of {expected}");
        };
        check("a network", 0.5, &|point| point.network == 1);
        for decade in [1e-4, 1e-3, 1e-2] {
            check("a decade", 1.0 / 3.0, &|point| (decade..10.0 * decade).contains(&point.values[0]));
        }
        for epochs in [3.0, 4.0, 5.0, 6.0] {
            check("a whole number", 0.25, &|point| point.values[1] == epochs);
        }
        check("a choice", 1.0 / 3.0, &|point| point.values[2] == 256.0);
    }

    #[test]
    fn choices_are_not_repeated_and_come_to_an_end() {
        let mut space = Space::new(2);
        space.choice("fOptimiser", &[0.0, 1.0, 2.0]).unwrap();
        space.choice("fShuffle", &[0.0, 1.0]).unwrap();
        assert_eq!(space.points(), Some(12));
        let mut points = space.draw(3, 100);
        assert_eq!(points.len(), 12);
        assert_eq!(space.draw(3, 10), points[..10]);
        points.sort_by(|a, b| (a.network, &a.values).partial_cmp(&(b.network, &b.values)).unwrap());
        points.dedup();
        assert_eq!(points.len(), 12);
        let options = space.apply(&[2.0, 0.0], &Options::default()).unwrap();
        assert_eq!((options.optimiser.enumerator(), options.shuffle), ("kSGD", false));
    }

    #[test]
    fn options_and_ranges_that_cannot_be_drawn_are_refused_by_name() {
        let mut space = space();
        let refusals: [(Result<()>, &str); 12] = [
            (space.interval("fLearningRat", 1.0, 2.0, false), "fLearningRate, "),
            (space.interval("fDevice", 1.0, 2.0, false), "fDevice"),
            (space.interval("fValidation", 0.1, 0.2, false), "fValidation"),
            (space.interval("fEpochs", 1.0, 2.0, false), "fEpochs is drawn already"),
            (space.interval("fL1", 2.0, 1.0, false), "fL1 from 2 to 1"),
            (space.interval("fL1", f64::NAN, 1.0, false), "finite"),
            (space.interval("fL1", 0.0, 1.0, true), "logarithm"),
            (space.interval("fPatience", 0.5, 4.0, false), "fPatience = 0.5"),
            (space.choice("fL1", &[]), "no values"),
            (space.choice("fL1", &[0.0, 1.0, 0.0]), "fL1 has 0 twice"),
            (space.choice("fSchedule", &[77.0]), "fSchedule = 77"),
            (space.choice("fKeepBest", &[2.0]), "fKeepBest = 2"),
        ];
        for (result, part) in refusals {
            let error = result.expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
