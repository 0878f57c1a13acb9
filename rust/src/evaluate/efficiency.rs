//! The efficiency of a classifier against another quantity of the events, at a false-alarm probability.

use super::calibration::wilson;
use super::points::Passed;
use super::{Sample, positive_total};
use crate::error::{Error, Result};

/// Shares of signal that pass, in bins of the other quantity. Bins without signal are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Efficiency {
    /// Middle of each bin.
    pub middle: Vec<f64>,
    /// Share of its signal above the threshold.
    pub value: Vec<f64>,
    /// Its interval of one standard deviation (Wilson 1927).
    pub lower: Vec<f64>,
    /// The upper end.
    pub upper: Vec<f64>,
}

/// `against` is [N]; the bins lie between the rising `edges`. The threshold is the lowest score that no more than the share
/// `false_alarm` of the background exceeds.
pub fn efficiency(sample: Sample, against: &[f32], edges: &[f64], false_alarm: f64) -> Result<Efficiency> {
    if against.len() != sample.scores.len() {
        return Err(Error::invalid(
            format!("{} values for {} events", against.len(), sample.scores.len()),
            "give one value of the quantity for each event",
        ));
    }
    if edges.len() < 2 || !edges.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(Error::invalid(
            format!("{} edges of bins that do not all rise", edges.len()),
            "give two or more rising numbers",
        ));
    }
    let threshold = threshold(sample, false_alarm)?;
    let mut bins = vec![[Passed::default(); 2]; edges.len() - 1];
    for ((score, label, weight), value) in sample.events().zip(against) {
        let above = edges.partition_point(|edge| *edge <= f64::from(*value));
        if label <= 0.5 || above == 0 || above == edges.len() {
            continue;
        }
        let [all, passed] = &mut bins[above - 1];
        all.add(weight);
        if f64::from(score) > threshold {
            passed.add(weight);
        }
    }
    let mut found = Efficiency::default();
    for ([all, passed], edge) in bins.iter().zip(edges.windows(2)) {
        if all.weight <= 0.0 {
            continue;
        }
        let value = passed.weight / all.weight;
        let (lower, upper) = wilson(value, all.events());
        found.middle.push(0.5 * (edge[0] + edge[1]));
        found.value.push(value);
        found.lower.push(lower);
        found.upper.push(upper);
    }
    Ok(found)
}

fn threshold(sample: Sample, false_alarm: f64) -> Result<f64> {
    let mut background: Vec<(f32, f64)> =
        sample.events().filter(|event| event.1 <= 0.5).map(|event| (event.0, event.2)).collect();
    background.sort_by(|a, b| b.0.total_cmp(&a.0));
    let total = positive_total("the background", background.iter().map(|event| event.1))?;
    let least = 1.0 / background.len() as f64;
    if !(least..1.0).contains(&false_alarm) {
        return Err(Error::invalid(
            format!(
                "the false-alarm probability is {false_alarm}, and {} background events are known",
                background.len()
            ),
            format!("give a number from {least} to below 1, or more background events"),
        ));
    }
    // An event of rounding more than the share counts as the share: 1e-3 of 1000 events is one.
    let allowed = false_alarm * total * (1.0 + 1e-9);
    let mut passed = 0.0;
    for same in background.chunk_by(|a, b| a.0 == b.0) {
        passed += same.iter().map(|event| event.1).sum::<f64>();
        if passed > allowed {
            return Ok(f64::from(same[0].0));
        }
    }
    Ok(f64::NEG_INFINITY)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Events;
    use super::*;

    #[test]
    fn shares_are_those_of_the_events() {
        let events = Events::draw(4000, 5, 500.0, 0.2);
        let against: Vec<f32> = (0..4000).map(|i| (i % 40) as f32).collect();
        let edges = [0.0, 10.0, 15.0, 30.0, 50.0, 60.0];
        let sum = |pass: &dyn Fn(usize) -> bool| {
            (0..4000).filter(|i| pass(*i)).map(|i| f64::from(events.weights[i])).sum::<f64>()
        };
        let signal = |i: usize| events.labels[i] > 0.5;
        for alarm in [0.3, 0.01, 1e-3] {
            let found = efficiency(events.sample(), &against, &edges, alarm).unwrap();
            let threshold = threshold(events.sample(), alarm).unwrap();
            let above = |i: usize| f64::from(events.scores[i]) > threshold;
            let share = sum(&|i| !signal(i) && above(i)) / sum(&|i| !signal(i));
            let lower = |i: usize| f64::from(events.scores[i]) >= threshold;
            assert!(share <= alarm && sum(&|i| !signal(i) && lower(i)) / sum(&|i| !signal(i)) > alarm);
            assert_eq!(found.middle, [5.0, 12.5, 22.5, 40.0]); // nothing lies from 50 to 60
            for (bin, edge) in edges.windows(2).take(4).enumerate() {
                let inside = |i: usize| signal(i) && (edge[0]..edge[1]).contains(&f64::from(against[i]));
                let value = sum(&|i| inside(i) && above(i)) / sum(&inside);
                assert!((found.value[bin] - value).abs() < 1e-12);
                assert!(found.lower[bin] <= value && value <= found.upper[bin] && found.lower[bin] < found.upper[bin]);
            }
        }
    }

    #[test]
    fn whole_numbers_of_events_are_not_lost_to_rounding() {
        // 1000 events of background, one signal at each score.
        let scores: Vec<f32> = (0..2000).map(|i| (i / 2) as f32).collect();
        let labels: Vec<f32> = (0..2000).map(|i| (i % 2) as f32).collect();
        let weights = vec![1.0; 2000];
        let sample = Sample::new(&scores, &labels, &weights).unwrap();
        for count in [1, 3, 10, 100, 700] {
            let found = efficiency(sample, &vec![0.5; 2000], &[0.0, 1.0], count as f64 / 1000.0).unwrap();
            assert_eq!(found.value, [count as f64 / 1000.0]);
        }
    }

    #[test]
    fn what_has_no_efficiency_is_refused_by_name() {
        let events = Events::draw(100, 5, 500.0, 0.2);
        let of = |against: &[f32], edges: &[f64], alarm: f64| {
            efficiency(events.sample(), against, edges, alarm).unwrap_err().to_string()
        };
        let zeros = [0.0; 100];
        assert!(of(&zeros[1..], &[0.0, 1.0], 0.5).contains("99 values for 100 events"));
        assert!(of(&zeros, &[0.0], 0.5).contains("edges"));
        assert!(of(&zeros, &[0.0, f64::NAN], 0.5).contains("edges"));
        assert!(of(&zeros, &[0.0, 1.0], 1e-3).contains("more background events"));
        assert!(of(&zeros, &[0.0, 1.0], f64::NAN).contains("false-alarm probability is NaN"));
    }
}
