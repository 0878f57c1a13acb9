//! Continuous searches: blocks of long strain, clusters of scores, the sensitive distance by an independent count.

use std::f64::consts::PI;

use cladtorch::signal::{
    Average, Candidate, Injection, OnlineWhitener, OwnWhitening, Window, find_candidates, interpolate_psd, noise,
    sensitive_distance, truncate_inverse, welch, whiten, whiten_by_own, whiten_in_blocks,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{RATE, assert_close, assert_refused, detector_psd, variance};

const HOW: OwnWhitening = OwnWhitening { segment: 128, filter: 64, lowest: 0.0 };

#[test]
fn blocks_lose_no_sample_and_have_their_own_densities() {
    let block = 1024;
    let fresh = block - HOW.filter;
    for samples in [512, block, 5 * fresh + HOW.filter, 5 * fresh + 300] {
        let strain = noise(&detector_psd(samples, RATE).unwrap(), RATE, 3).unwrap();
        let white = whiten_in_blocks(&strain, RATE, block, HOW).unwrap();
        assert_eq!(white.len(), samples - HOW.filter);
        for (index, part) in white.chunks(fresh).enumerate() {
            let start = (index * fresh).min(samples.saturating_sub(block));
            let alone = whiten_by_own(&strain[start..(start + block).min(samples)], RATE, HOW).unwrap();
            assert_eq!(part, &alone[alone.len() - part.len()..], "block {index} of {samples} samples");
        }
        assert_close(variance(&white), 1.0, 0.2, "variance");
    }
    // The noise increases tenfold in amplitude halfway, and affects no block but the one in between.
    let mut strain = noise(&detector_psd(8 * fresh, RATE).unwrap(), RATE, 4).unwrap();
    strain[4 * fresh..].iter_mut().for_each(|h| *h *= 10.0);
    let white = whiten_in_blocks(&strain, RATE, block, HOW).unwrap();
    for part in [&white[..3 * fresh], &white[5 * fresh..]] {
        assert_close(variance(part), 1.0, 0.15, "variance on one side");
    }
    let strain = vec![0.5; 2048];
    let run = |block, filter| whiten_in_blocks(&strain, RATE, block, OwnWhitening { filter, ..HOW }).map(|_| ());
    assert_refused(vec![(run(1023, 64), "a block has 1023 samples"), (run(1024, 1024), "whitening filter is 1024")]);
}

#[test]
fn candidates_are_the_largest_of_their_clusters() {
    let mut scores = vec![0.0; 40];
    for (index, score) in [(3, 1.5), (4, 4.0), (7, 4.5), (11, 1.0), (12, 2.0), (20, 3.0), (24, 3.0), (39, 9.0)] {
        scores[index] = score;
    }
    let found = |gap| {
        let found = find_candidates(&scores, 1e9, 0.1, 1.0, gap).unwrap();
        found.iter().map(|one| (((one.time - 1e9) / 0.1).round() as usize, one.statistic)).collect::<Vec<_>>()
    };
    // 0.35 s: three steps belong together, four do not; a score equal to the threshold does not count.
    assert_eq!(found(0.35), [(7, 4.5), (12, 2.0), (20, 3.0), (24, 3.0), (39, 9.0)]);
    // Of equal scores the first one; a distance of exactly the gap still belongs together, at large times, too.
    assert_eq!(found(0.4), [(7, 4.5), (12, 2.0), (20, 3.0), (39, 9.0)]);
    assert_eq!(found(0.0).len(), 7);
    assert!(find_candidates(&[], 0.0, 0.1, 0.0, 0.35).unwrap().is_empty());
    let refused = |scores: &[f32], step, gap| find_candidates(scores, 0.0, step, 0.0, gap).map(|_| ());
    assert_refused(vec![
        (refused(&[1.0], 0.0, 0.3), "distance of the scores"),
        (refused(&[1.0], 0.1, -0.1), "gap between clusters"),
        (refused(&[f32::NAN], 0.1, 0.1), "score 0 is no number"),
    ]);
}

/// Counts by the wording of the challenge's definition, pair by pair.
#[test]
fn sensitive_distances_are_what_a_slow_count_gives() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut candidates = |count: usize| -> Vec<Candidate> {
        let mut one =
            || Candidate { time: random.random_range(0.0..1000.0), statistic: random.random_range(0.0..10.0) };
        (0..count).map(|_| one()).collect()
    };
    let (foreground, background) = (candidates(700), candidates(120));
    let injections: Vec<_> = (0..200)
        .map(|index| Injection {
            time: 5.0 * index as f64 + random.random_range(0.0..1.0),
            distance: random.random_range(100.0..400.0),
            chirp_mass: random.random_range(8.0..40.0),
        })
        .collect();
    let (duration, tolerance) = (1000.0, 0.7);
    let rates = [1e-3, 2e-3, 0.0105, 0.119];
    let found = sensitive_distance(&foreground, &background, &injections, duration, &rates, tolerance).unwrap();
    for (one, rate) in found.iter().zip(rates) {
        let louder = background.iter().filter(|noise| noise.statistic > one.threshold).count();
        assert_eq!(louder, (rate * duration + 1e-6) as usize, "at {rate} per s");
        let is_found = |source: &&Injection| {
            foreground.iter().any(|candidate| {
                let away = |other: &Injection| (other.time - candidate.time).abs();
                let is_nearest = injections.iter().all(|other| away(source) <= away(other));
                candidate.statistic > one.threshold && away(source) <= tolerance && is_nearest
            })
        };
        let known: Vec<_> = injections.iter().filter(is_found).collect();
        let largest = |of: fn(&Injection) -> f64| injections.iter().map(of).fold(0.0, f64::max);
        let (farthest, heaviest) = (largest(|one| one.distance), largest(|one| one.chirp_mass));
        let sum: f64 = known.iter().map(|source| source.chirp_mass.powf(2.5)).sum();
        let volume = 4.0 / 3.0 * PI * farthest.powi(3) * sum / heaviest.powf(2.5) / injections.len() as f64;
        assert_close(one.distance.value, (3.0 * volume / (4.0 * PI)).cbrt(), 1e-9, "distance");
        assert_close(one.fraction.value, known.len() as f64 / 200.0, 1e-12, "share");
        let binomial = (one.fraction.value * (1.0 - one.fraction.value) / 200.0).sqrt();
        assert_close(one.fraction.error, binomial, 1e-12, "error of the share");
    }
    assert!(found.windows(2).all(|pair| pair[0].distance.value < pair[1].distance.value), "{found:?}");
    let refused =
        |rate: f64| sensitive_distance(&foreground, &background, &injections, duration, &[rate], tolerance).map(|_| ());
    assert_refused(vec![
        (refused(0.9e-3), "give rates from 0.001"),
        (refused(0.12), "more noise"),
        (sensitive_distance(&foreground, &background, &[], duration, &[0.01], 0.3).map(|_| ()), "no injections"),
        (sensitive_distance(&foreground, &background, &injections, 0.0, &[0.01], 0.3).map(|_| ()), "duration"),
    ]);
}

/// The error of the distance is the scatter of the distances of many sets of injections.
#[test]
fn the_error_of_the_distance_is_its_scatter() {
    let background: Vec<_> = (0..10).map(|index| Candidate { time: 0.0, statistic: 0.1 * f64::from(index) }).collect();
    let mut random = ChaCha8Rng::seed_from_u64(6);
    let mut drawn = Vec::new();
    for _ in 0..400 {
        let (mut foreground, mut injections) = (Vec::new(), Vec::new());
        for index in 0..300 {
            let time = f64::from(index);
            let chirp_mass = if index == 0 { 40.0 } else { random.random_range(8.0..40.0) };
            injections.push(Injection { time, distance: 1000.0, chirp_mass });
            foreground
                .push(Candidate { time, statistic: if random.random_range(0.0..1.0) < 0.4 { 2.0 } else { -2.0 } });
        }
        drawn.push(sensitive_distance(&foreground, &background, &injections, 10.0, &[0.1], 0.3).unwrap()[0].distance);
    }
    let count = drawn.len() as f64;
    let mean = drawn.iter().map(|one| one.value).sum::<f64>() / count;
    let scatter = (drawn.iter().map(|one| (one.value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let error = drawn.iter().map(|one| one.error).sum::<f64>() / count;
    // The scatter of 400 has an error of 1 in 28.
    assert_close(error / scatter, 1.0, 0.12, "error over scatter");
}

/// Block by block gives the result of the whole series so far.
#[test]
fn blocks_are_whitened_by_what_came_before() {
    let (block, memory, how) = (32, 1024, OwnWhitening { lowest: 10.0, ..HOW });
    let strain = noise(&detector_psd(8192, RATE).unwrap(), RATE, 8).unwrap();
    let mut online = OnlineWhitener::new(RATE, block, memory, how).unwrap();
    assert_eq!(online.delay(), 32);
    let mut power = Vec::new();
    for round in 0..2 {
        for (index, fresh) in strain.chunks_exact(block).enumerate() {
            let white = online.add(fresh).unwrap();
            let past = &strain[..(index + 1) * block];
            assert_eq!(white.is_some(), past.len() >= memory, "round {round}, block {index}");
            let Some(white) = white else { continue };
            power.extend_from_slice(&white);
            // The density is that at the end of the last segment.
            let known = &past[..past.len() - past.len() % 64];
            let density =
                welch(&known[known.len() - memory..], how.segment, RATE, Average::Median, Window::Hann).unwrap();
            let density = interpolate_psd(&density, 2 * how.segment).unwrap();
            let density = truncate_inverse(&density, RATE, how.filter, how.lowest).unwrap();
            let expected = whiten(&past[past.len() - 2 * how.segment..], &density, RATE).unwrap();
            let end = expected.len() - online.delay();
            assert_eq!(white, expected[end - block..end], "round {round}, block {index}");
        }
        online.reset();
    }
    // What lies below 10 Hz, 1 in 26, is taken out.
    assert_close(variance(&power), 1.0, 0.1, "variance");
    let refused =
        |block, memory, filter| OnlineWhitener::new(RATE, block, memory, OwnWhitening { filter, ..HOW }).map(|_| ());
    assert_refused(vec![
        (refused(0, 1024, 64), "length of a block is 0"),
        (refused(65, 1024, 64), "length of a block is 65"),
        (refused(32, 255, 64), "memory of the density is 255"),
        (refused(32, 1024, 129), "whitening filter is 129"),
        (online.add(&[0.0; 31]).map(|_| ()), "length of a block is 31"),
        (online.add(&[f64::NAN; 32]).map(|_| ()), "strain is NaN"),
    ]);
}
