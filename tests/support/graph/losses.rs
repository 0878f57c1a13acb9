//! Losses as a user would write them, recorded operator by operator.

use cladtorch::error::Result;
use cladtorch::gradient::ObservedLoss;
use cladtorch::graph::AnyBatch;
use tch::{Kind, Reduction, Tensor};

use super::network::Network;
use super::recorder::A::{self, B, I, L, V};
use super::recorder::Recorder;

/// Rows of the first observation.
const ROWS: i64 = 5;

/// A loss of events of so many outputs and labels. Its tensors are the rows (0) and what it captures.
pub struct Case {
    pub name: &'static str,
    pub outputs: usize,
    pub labels: usize,
    /// A shape for each captured tensor.
    pub captured: &'static [&'static [i64]],
    /// Whether back ends know the loss of each event.
    pub is_apart: bool,
    /// Whether a label is an index.
    pub has_index: bool,
    build: fn(&mut Network, Parts) -> usize,
}

/// Outputs, labels, and the number of events.
#[derive(Clone, Copy)]
struct Parts {
    z: usize,
    y: usize,
    rows: i64,
}

pub const CASES: &[Case] = &[
    Case { name: "squares", outputs: 2, labels: 2, captured: &[], is_apart: true, has_index: false, build: squares },
    Case {
        name: "a column",
        outputs: 1,
        labels: 1,
        captured: &[],
        is_apart: true,
        has_index: false,
        build: |n, p| logits(n, p, Reduction::None),
    },
    Case {
        name: "a mean",
        outputs: 1,
        labels: 1,
        captured: &[],
        is_apart: true,
        has_index: false,
        build: |n, p| logits(n, p, Reduction::Mean),
    },
    Case {
        name: "a mean of all elements",
        outputs: 3,
        labels: 3,
        captured: &[],
        is_apart: true,
        has_index: false,
        build: mean_of_elements,
    },
    Case {
        name: "a mean of elements in one row",
        outputs: 3,
        labels: 3,
        captured: &[],
        is_apart: true,
        has_index: false,
        build: mean_of_one_row,
    },
    Case {
        name: "means of columns",
        outputs: 3,
        labels: 3,
        captured: &[&[3]],
        is_apart: true,
        has_index: false,
        build: means_of_columns,
    },
    Case {
        name: "squares in three means",
        outputs: 1,
        labels: 1,
        captured: &[],
        is_apart: true,
        has_index: false,
        build: three_means,
    },
    Case {
        name: "a mean of transposed rows",
        outputs: 2,
        labels: 2,
        captured: &[],
        is_apart: false,
        has_index: false,
        build: transposed,
    },
    Case {
        name: "a sum of means",
        outputs: 1,
        labels: 1,
        captured: &[],
        is_apart: true,
        has_index: false,
        build: sum_of_means,
    },
    Case {
        name: "a captured tensor",
        outputs: 3,
        labels: 3,
        captured: &[&[3]],
        is_apart: true,
        has_index: false,
        build: weighted,
    },
    Case {
        name: "chosen outputs",
        outputs: 3,
        labels: 1,
        captured: &[],
        is_apart: true,
        has_index: true,
        build: chosen,
    },
    Case {
        name: "cross-entropy of class numbers",
        outputs: 3,
        labels: 1,
        captured: &[],
        is_apart: true,
        has_index: true,
        build: |n, p| of_classes(n, p, None),
    },
    Case {
        name: "a mean plus a constant",
        outputs: 1,
        labels: 1,
        captured: &[],
        is_apart: false,
        has_index: false,
        build: shifted,
    },
    Case {
        name: "a product of vectors",
        outputs: 1,
        labels: 1,
        captured: &[],
        is_apart: false,
        has_index: false,
        build: product,
    },
];

/// One number for all events that is not the mean of their losses, or whose derivative is not that of the mean.
pub const REFUSED: &[Case] = &[
    Case {
        name: "a mean kept above a level",
        outputs: 1,
        labels: 1,
        captured: &[],
        is_apart: false,
        has_index: false,
        build: flooding,
    },
    Case {
        name: "a mean with a bound",
        outputs: 1,
        labels: 1,
        captured: &[],
        is_apart: false,
        has_index: false,
        build: bounded,
    },
    Case {
        name: "a mean beside one that mixes",
        outputs: 1,
        labels: 1,
        captured: &[],
        is_apart: false,
        has_index: false,
        build: mixing,
    },
    Case {
        name: "a root beside a large constant",
        outputs: 1,
        labels: 1,
        captured: &[],
        is_apart: false,
        has_index: false,
        build: root,
    },
    Case {
        name: "means balanced by detached ones",
        outputs: 1,
        labels: 1,
        captured: &[],
        is_apart: false,
        has_index: false,
        build: balanced,
    },
    Case {
        name: "weights of classes",
        outputs: 3,
        labels: 1,
        captured: &[&[3]],
        is_apart: false,
        has_index: true,
        build: |n, p| of_classes(n, p, Some(1)),
    },
];

/// It has no value for the label 0.
pub const OF_POSITIVE_LABELS: Case = Case {
    name: "a logarithm of the label",
    outputs: 2,
    labels: 1,
    captured: &[],
    is_apart: true,
    has_index: false,
    build: log_normal,
};

/// The mean of the losses where a label is small; else it is weighted by labels.
pub const WEIGHTED_BY_LABELS: Case = Case {
    name: "weights of large labels",
    outputs: 1,
    labels: 1,
    captured: &[],
    is_apart: false,
    has_index: false,
    build: by_labels,
};

fn difference(n: &mut Network, p: Parts) -> usize {
    n.minus(p.z, p.y)
}

fn squares(n: &mut Network, p: Parts) -> usize {
    let d = difference(n, p);
    let squares = n.times(d, d);
    let value = n.t(squares).sum_dim_intlist([1i64].as_slice(), false, Kind::Float);
    n.add_node("sum", "dim_IntList", &[V(squares), L(vec![1]), B(false), A::None], value)
}

fn logits(n: &mut Network, p: Parts, reduction: Reduction) -> usize {
    let value = n.t(p.z).binary_cross_entropy_with_logits::<Tensor>(&n.t(p.y), None, None, reduction);
    let number = i64::from(reduction == Reduction::Mean);
    n.add_node("binary_cross_entropy_with_logits", "", &[V(p.z), V(p.y), A::None, A::None, I(number)], value)
}

fn mean_of_elements(n: &mut Network, p: Parts) -> usize {
    let d = difference(n, p);
    let d = n.unary("abs", d, Tensor::abs);
    n.mean(d)
}

fn mean_of_one_row(n: &mut Network, p: Parts) -> usize {
    let d = difference(n, p);
    let value = n.t(d).reshape([-1]);
    let row = n.add_node("reshape", "", &[V(d), L(vec![-1])], value);
    let row = n.unary("abs", row, Tensor::abs);
    n.mean(row)
}

fn means_of_columns(n: &mut Network, p: Parts) -> usize {
    let d = difference(n, p);
    let d = n.unary("tanh", d, Tensor::tanh);
    let value = n.t(d).mean_dim([0i64].as_slice(), false, Kind::Float);
    let means = n.add_node("mean", "dim", &[V(d), L(vec![0]), B(false), A::None], value);
    let weighted = n.times(means, 1);
    let value = n.t(weighted).sum(Kind::Float);
    n.add_node("sum", "", &[V(weighted), A::None], value)
}

fn transposed(n: &mut Network, p: Parts) -> usize {
    let d = difference(n, p);
    let value = n.t(d).transpose(0, 1).contiguous();
    let turned = n.t(d).transpose(0, 1);
    let turned = n.add_node("transpose", "int", &[V(d), I(0), I(1)], turned);
    let whole = n.add_node("clone", "", &[V(turned), I(0)], value);
    let whole = n.unary("exp", whole, Tensor::exp);
    n.mean(whole)
}

fn sum_of_means(n: &mut Network, p: Parts) -> usize {
    let loss = logits(n, p, Reduction::Mean);
    let size = n.unary("abs", p.z, Tensor::abs);
    let size = n.mean(size);
    let size = n.times_number(size, 0.25);
    n.plus(loss, size)
}

fn weighted(n: &mut Network, p: Parts) -> usize {
    let d = difference(n, p);
    let d = n.times(d, 1);
    let d = n.unary("abs", d, Tensor::abs);
    let value = n.t(d).mean_dim([1i64].as_slice(), false, Kind::Float);
    n.add_node("mean", "dim", &[V(d), L(vec![1]), B(false), A::None], value)
}

/// An index out of range where a label is none.
fn chosen(n: &mut Network, p: Parts) -> usize {
    let value = n.t(p.y).to_kind(Kind::Int64);
    let y = n.add_node("to", "dtype", &[V(p.y), I(4), B(false), B(false), A::None], value);
    let value = n.t(p.z).log_softmax(1, Kind::Float);
    let z = n.add_node("log_softmax", "int", &[V(p.z), I(1), A::None], value);
    let value = n.t(z).gather(1, &n.t(y), false);
    let chosen = n.add_node("gather", "", &[V(z), I(1), V(y), B(false)], value);
    n.times_number(chosen, -1.0)
}

fn of_classes(n: &mut Network, p: Parts, weight: Option<usize>) -> usize {
    let value = n.t(p.y).squeeze_dim(1);
    let y = n.add_node("squeeze", "dim", &[V(p.y), I(1)], value);
    let value = n.t(y).to_kind(Kind::Int64);
    let y = n.add_node("to", "dtype", &[V(y), I(4), B(false), B(false), A::None], value);
    let (weights, passed) = (weight.map(|weight| n.t(weight).detach()), weight.map_or(A::None, V));
    let value = n.t(p.z).cross_entropy_loss(&n.t(y), weights.as_ref(), Reduction::Mean, -100, 0.0);
    n.add_node("cross_entropy_loss", "", &[V(p.z), V(y), passed, I(1), I(-100), A::F(0.0)], value)
}

fn plus_number(n: &mut Network, x: usize, number: f64) -> usize {
    let value = n.t(x) + number;
    n.add_node("add", "Scalar", &[V(x), A::F(number), I(1)], value)
}

fn flooding(n: &mut Network, p: Parts) -> usize {
    let loss = logits(n, p, Reduction::Mean);
    let above = plus_number(n, loss, -0.002);
    let above = n.unary("abs", above, Tensor::abs);
    plus_number(n, above, 0.002)
}

fn bounded(n: &mut Network, p: Parts) -> usize {
    let loss = logits(n, p, Reduction::Mean);
    let value = n.t(loss).clamp_min(1e-3);
    n.add_node("clamp_min", "", &[V(loss), A::F(1e-3)], value)
}

fn mean_square(n: &mut Network, p: Parts, factor: f64) -> usize {
    let d = difference(n, p);
    let d = n.times_number(d, factor);
    let squares = n.times(d, d);
    n.mean(squares)
}

fn mixing(n: &mut Network, p: Parts) -> usize {
    let (loss, mean) = (mean_square(n, p, 100.0), n.mean(p.z));
    let square = n.times(mean, mean);
    n.plus(loss, square)
}

fn root(n: &mut Network, p: Parts) -> usize {
    let loss = mean_square(n, p, 1.0);
    let root = n.unary("sqrt", loss, Tensor::sqrt);
    plus_number(n, root, 1e5)
}

/// Twice the value of the first mean; the gradient is that of both.
fn balanced(n: &mut Network, p: Parts) -> usize {
    let (first, size) = (logits(n, p, Reduction::Mean), n.unary("abs", p.z, Tensor::abs));
    let second = n.mean(size);
    let value = n.t(first) / n.t(second);
    let ratio = n.add_node("div", "Tensor", &[V(first), V(second)], value);
    let ratio = n.unary("detach", ratio, Tensor::detach);
    let scaled = n.times(second, ratio);
    n.plus(first, scaled)
}

fn by_labels(n: &mut Network, p: Parts) -> usize {
    let d = difference(n, p);
    let squares = n.times(d, d);
    let value = n.t(p.y).gt(100.0);
    let is_large = n.add_node("gt", "Scalar", &[V(p.y), A::F(100.0)], value);
    let value = n.t(is_large).to_kind(Kind::Float) * 4.0;
    let more = n.add_node("mul", "Scalar", &[V(is_large), A::F(4.0)], value);
    let weights = plus_number(n, more, 1.0);
    let weighted = n.times(squares, weights);
    let sums = [weighted, weights].map(|x| {
        let value = n.t(x).sum(Kind::Float);
        n.add_node("sum", "", &[V(x), A::None], value)
    });
    let value = n.t(sums[0]) / n.t(sums[1]);
    n.add_node("div", "Tensor", &[V(sums[0]), V(sums[1])], value)
}

/// Which nearly cancel where an output is nearly its label.
fn three_means(n: &mut Network, p: Parts) -> usize {
    let products = [(p.z, p.z), (p.z, p.y), (p.y, p.y)].map(|(a, b)| n.times(a, b));
    let [first, second, third] = products.map(|product| n.mean(product));
    let twice = n.times_number(second, -2.0);
    let sum = n.plus(first, twice);
    n.plus(sum, third)
}

fn log_normal(n: &mut Network, p: Parts) -> usize {
    let logarithm = n.unary("log", p.y, Tensor::log);
    let d = n.minus(p.z, logarithm);
    let squares = n.times(d, d);
    n.mean(squares)
}

fn shifted(n: &mut Network, p: Parts) -> usize {
    let loss = logits(n, p, Reduction::Mean);
    plus_number(n, loss, 0.5)
}

fn product(n: &mut Network, p: Parts) -> usize {
    let d = difference(n, p);
    let value = n.t(d).reshape([p.rows]);
    let d = n.add_node("reshape", "", &[V(d), L(vec![p.rows])], value);
    let value = n.t(d).dot(&n.t(d));
    let squares = n.add_node("dot", "", &[V(d), V(d)], value);
    let value = n.t(squares) / p.rows as f64;
    n.add_node("div", "Scalar", &[V(squares), A::F(p.rows as f64)], value)
}

impl Case {
    /// Elements of the captured tensors.
    fn constants(&self) -> Vec<Vec<f32>> {
        let of = |shape: &&[i64]| (0..shape.iter().product()).map(|i: i64| 0.4 + 0.3 * i as f32).collect();
        self.captured.iter().map(of).collect()
    }

    /// Recorded with rows of these outputs and labels.
    fn recorded(&self, x: &Tensor) -> Recorder {
        let tensors = self.captured.iter().zip(self.constants());
        let tensors = tensors.map(|(shape, values)| Tensor::from_slice(&values).reshape(*shape));
        let inputs: Vec<Tensor> = std::iter::once(x.shallow_clone()).chain(tensors).collect();
        let (rows, outputs) = (x.size()[0], self.outputs as i64);
        let mut n = Network(Recorder::new(&inputs));
        let z = n.narrow(0, 1, 0, outputs);
        let y = n.narrow(0, 1, outputs, outputs + self.labels as i64);
        let result = (self.build)(&mut n, Parts { z, y, rows });
        let mut recorder = n.0;
        recorder.returns(&[result]);
        recorder.graph.constants = recorder.graph.inputs.split_off(1);
        recorder
    }

    /// Labels of 0 and 1, which a choice needs, and outputs.
    fn examples(&self, rows: i64) -> Tensor {
        let width = self.outputs + self.labels;
        let x = |index: usize| match index % width < self.outputs {
            true => (index as f32 * 0.37).cos(),
            false => ((index / width) % 2) as f32,
        };
        let values: Vec<f32> = (0..rows as usize * width).map(x).collect();
        Tensor::from_slice(&values).reshape([rows, width as i64])
    }

    /// In the form that an engine gets. `takes_classes`: labels must be class numbers.
    pub fn loss(&self, takes_classes: bool) -> Result<ObservedLoss> {
        let at = |rows: i64| self.recorded(&self.examples(rows)).graph;
        let batch = AnyBatch::new([at(ROWS), at(ROWS + 1)], ROWS, &at(ROWS + 3), ROWS + 3, "another").unwrap();
        let read = |index: usize, bytes: usize| {
            let bits = self.constants()[index].iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
            assert_eq!(bits.len(), bytes);
            let words = bits.chunks(8).map(|part| {
                let mut word = [0; 8];
                word[..part.len()].copy_from_slice(part);
                u64::from_le_bytes(word)
            });
            words.collect()
        };
        ObservedLoss::new(batch, Ok(at(1)), [self.outputs, self.labels], takes_classes, read)
    }

    /// LibTorch's losses of the rows [rows, outputs + labels], one at a time, and their derivatives by these.
    pub fn by_libtorch(&self, x: &[f32]) -> (Vec<f64>, Vec<f32>) {
        let width = self.outputs + self.labels;
        let one = |x: &[f32]| {
            let recorder = self.recorded(&Tensor::from_slice(x).reshape([1, width as i64]));
            let result = recorder.graph.outputs[0] as usize;
            let loss = recorder.tensors[result].sum(Kind::Float);
            let slopes = Tensor::run_backward(&[&loss], &[&recorder.tensors[0]], false, false);
            (loss.double_value(&[]), Vec::<f32>::try_from(slopes[0].reshape([-1])).unwrap())
        };
        let (losses, slopes): (Vec<f64>, Vec<Vec<f32>>) = x.chunks(width).map(one).unzip();
        (losses, slopes.concat())
    }
}
