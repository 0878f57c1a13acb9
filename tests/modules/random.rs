//! Random networks that normalise batches: in batches that are run in blocks, and in others that blocks would change.

use cladtorch::graph::RowsMeet;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::graph::modules::{Case, batch_norm, linear, plus, silu};
use support::graph::recorder::{A, A::B, A::L, A::V, Recorder};
use support::say::say;
use tch::Kind;

use super::{agrees_with_autograd, cat, slice};

const NETWORKS: u64 = 60;
const LONGEST: usize = 7;

/// The width of every layer.
const WIDTH: i64 = 6;
/// Rows that are normalised with those of every batch.
const ANCHORS: i64 = 3;
/// Events that are normalised apart.
const FIRST_DOMAIN: i64 = 4;

#[derive(Clone, Copy)]
enum Layer {
    Linear,
    Silu,
    /// Of two earlier values.
    Sum,
    Normalised,
    NormalisedWithAnchors,
    NormalisedDomains,
    /// Less the mean of the batch.
    Centred,
}

/// Normalisation is frequent.
const LAYERS: [Layer; 10] = [
    Layer::Linear,
    Layer::Linear,
    Layer::Silu,
    Layer::Sum,
    Layer::Normalised,
    Layer::Normalised,
    Layer::Normalised,
    Layer::NormalisedWithAnchors,
    Layer::NormalisedDomains,
    Layer::Centred,
];

impl Layer {
    /// Shapes of its parameters, and the number of its running statistics.
    fn tensors(self) -> (Vec<&'static [i64]>, usize) {
        let vector: &[i64] = &[WIDTH];
        match self {
            Layer::Linear => (vec![&[WIDTH, WIDTH], vector], 0),
            Layer::Silu | Layer::Sum | Layer::Centred => (vec![], 0),
            Layer::Normalised => (vec![vector; 2], 2),
            Layer::NormalisedWithAnchors => (vec![&[ANCHORS, WIDTH], vector, vector], 2),
            Layer::NormalisedDomains => (vec![vector; 4], 4),
        }
    }

    /// Records it for `x`, and `y` if it takes two, with tensors from `w` and statistics from `s` on.
    fn record(self, r: &mut Recorder, [x, y]: [usize; 2], [w, s]: [usize; 2], training: bool) -> usize {
        let rows = r.tensors[x].size()[0];
        match self {
            Layer::Linear => linear(r, x, w),
            Layer::Silu => silu(r, x),
            Layer::Sum => plus(r, x, y),
            Layer::Normalised => batch_norm(r, x, w, s, training),
            Layer::NormalisedWithAnchors => {
                let all = cat(r, x, w);
                let all = batch_norm(r, all, w + 1, s, training);
                slice(r, all, [0, rows])
            }
            Layer::NormalisedDomains => {
                let [first, second] = [[0, FIRST_DOMAIN], [FIRST_DOMAIN, rows]].map(|part| slice(r, x, part));
                let first = batch_norm(r, first, w, s, training);
                let second = batch_norm(r, second, w + 2, s + 2, training);
                cat(r, first, second)
            }
            Layer::Centred => {
                let mean = r.tensors[x].mean_dim(&[0i64][..], true, r.tensors[x].kind());
                let mean = r.record("mean", "dim", &[V(x), L(vec![0]), B(true), A::None], vec![mean]);
                plus(r, x, mean)
            }
        }
    }
}

fn network(seed: u64) -> Case {
    let mut random = StdRng::seed_from_u64(seed);
    let length = random.random_range(2..=LONGEST);
    let layers: Vec<(Layer, usize)> =
        (0..length).map(|_| (LAYERS[random.random_range(0..LAYERS.len())], random.random_range(0..LONGEST))).collect();
    let mut parameters: Vec<&[i64]> = vec![&[WIDTH, 4], &[WIDTH]];
    let mut states = 0;
    let mut places = Vec::new();
    for (layer, _) in &layers {
        places.push([1 + parameters.len(), states]);
        let (own, count) = layer.tensors();
        parameters.extend(own);
        states += count;
    }
    let last = 1 + parameters.len();
    parameters.extend([&[3, WIDTH][..], &[3]]);
    let first_state = 1 + parameters.len();
    let build = move |r: &mut Recorder, training: bool| {
        let mut made = vec![linear(r, 0, 1)];
        for ((layer, other), [w, s]) in layers.iter().zip(&places) {
            let operands = [made[made.len() - 1], made[other % made.len()]];
            made.push(layer.record(r, operands, [*w, first_state + s], training));
        }
        linear(r, made[made.len() - 1], last)
    };
    Case {
        name: format!("random network {seed}").leak(),
        event: &[4],
        parameters: parameters.leak(),
        state: vec![&[WIDTH][..]; states].leak(),
        draws: false,
        build: Box::leak(Box::new(build)),
    }
}

#[test]
fn random_networks_agree_with_libtorch_autograd() {
    let ways = [RowsMeet::Nowhere, RowsMeet::InStatistics, RowsMeet::Elsewhere];
    let mut met = [0; 3];
    for case in (0..NETWORKS).map(network) {
        let way = case.module(Kind::Double).rows_meet();
        met.iter_mut().zip(ways).filter(|(_, other)| *other == way).for_each(|(count, _)| *count += 1);
        // The last one ends with a block of another size.
        for rows in [40, 520, 600] {
            agrees_with_autograd(&case, rows);
        }
    }
    say(&format!("networks by where their events meet: {ways:?}, {met:?}"));
    assert!(met[1..].iter().all(|&count| count > 10), "{met:?}");
}
