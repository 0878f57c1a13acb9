//! Common graphs, recorded operator by operator as LibTorch would run them.

use tch::{Kind, Reduction, Tensor};

use super::recorder::A::{self, B, F, I, L, S, V, VL};
use super::recorder::Recorder;

/// A recorder that grows by named layers.
pub struct Network(pub Recorder);

impl Network {
    pub fn new(shapes: &[&[i64]], kind: Kind) -> Self {
        let input = |(number, shape): (usize, &&[i64])| {
            let count: i64 = shape.iter().product();
            let values: Vec<f32> = (0..count).map(|i| ((i as f32 + 0.4) * (0.7 + number as f32)).sin() * 0.6).collect();
            Tensor::from_slice(&values).reshape(*shape).to_kind(kind)
        };
        Network(Recorder::new(&shapes.iter().enumerate().map(input).collect::<Vec<_>>()))
    }

    pub(super) fn t(&self, value: usize) -> Tensor {
        self.0.tensors[value].shallow_clone()
    }

    pub(super) fn add_node(&mut self, op: &str, overload: &str, arguments: &[A], value: Tensor) -> usize {
        self.0.record(op, overload, arguments, vec![value])
    }

    fn linear(&mut self, x: usize, w: usize, b: usize) -> usize {
        let value = self.t(x).linear(&self.t(w), Some(&self.t(b)));
        self.add_node("linear", "", &[V(x), V(w), V(b)], value)
    }

    pub(super) fn unary(&mut self, op: &str, x: usize, f: impl Fn(&Tensor) -> Tensor) -> usize {
        let value = f(&self.t(x));
        self.add_node(op, "", &[V(x)], value)
    }

    fn gelu(&mut self, x: usize) -> usize {
        let value = self.t(x).gelu("none");
        self.add_node("gelu", "", &[V(x), S("none")], value)
    }

    pub(super) fn plus(&mut self, x: usize, y: usize) -> usize {
        let value = self.t(x) + self.t(y);
        self.add_node("add", "Tensor", &[V(x), V(y), I(1)], value)
    }

    pub(super) fn minus(&mut self, x: usize, y: usize) -> usize {
        let value = self.t(x) - self.t(y);
        self.add_node("sub", "Tensor", &[V(x), V(y), I(1)], value)
    }

    pub(super) fn times(&mut self, x: usize, y: usize) -> usize {
        let value = self.t(x) * self.t(y);
        self.add_node("mul", "Tensor", &[V(x), V(y)], value)
    }

    pub(super) fn times_number(&mut self, x: usize, factor: f64) -> usize {
        let value = self.t(x) * factor;
        self.add_node("mul", "Scalar", &[V(x), F(factor)], value)
    }

    fn layer_norm(&mut self, x: usize, w: usize, b: usize) -> usize {
        let width = *self.t(x).size().last().expect("a dimension");
        let value = self.t(x).layer_norm([width], Some(self.t(w)), Some(self.t(b)), 1e-5, false);
        self.add_node("layer_norm", "", &[V(x), L(vec![width]), V(w), V(b), F(1e-5), B(false)], value)
    }

    fn reshape(&mut self, x: usize, sizes: &[i64]) -> usize {
        let value = self.t(x).reshape(sizes);
        self.add_node("reshape", "", &[V(x), L(sizes.to_vec())], value)
    }

    fn transpose(&mut self, x: usize, a: i64, b: i64) -> usize {
        let value = self.t(x).transpose(a, b);
        self.add_node("transpose", "int", &[V(x), I(a), I(b)], value)
    }

    pub(super) fn narrow(&mut self, x: usize, dim: i64, start: i64, end: i64) -> usize {
        let value = self.t(x).slice(dim, start, end, 1);
        self.add_node("slice", "Tensor", &[V(x), I(dim), I(start), I(end), I(1)], value)
    }

    pub(super) fn mean(&mut self, x: usize) -> usize {
        let value = self.t(x).mean(None);
        self.add_node("mean", "", &[V(x), A::None], value)
    }

    fn logit_loss(&mut self, x: usize, y: usize) -> usize {
        let value = self.t(x).binary_cross_entropy_with_logits::<Tensor>(&self.t(y), None, None, Reduction::Mean);
        self.add_node("binary_cross_entropy_with_logits", "", &[V(x), V(y), A::None, A::None, I(1)], value)
    }

    fn returning(mut self, outputs: &[usize]) -> Recorder {
        self.0.returns(outputs);
        self.0
    }
}

/// A graph of rows of a batch.
type Graph = fn(i64, Kind) -> Recorder;

/// Every graph by name.
pub const GRAPHS: &[(&str, Graph)] = &[
    ("logistic regression", logistic),
    ("MLP", mlp),
    ("residual MLP with layer norm", residual),
    ("1-D CNN", cnn),
    ("transformer block", transformer),
    ("coupling layer of a normalising flow", coupling),
    ("Gaussian mixture likelihood", mixture),
];

fn logistic(rows: i64, kind: Kind) -> Recorder {
    let mut n = Network::new(&[&[rows, 6], &[1, 6], &[1], &[rows, 1]], kind);
    let z = n.linear(0, 1, 2);
    let loss = n.logit_loss(z, 3);
    n.returning(&[loss])
}

fn mlp(rows: i64, kind: Kind) -> Recorder {
    let shapes: &[&[i64]] = &[&[rows, 28], &[64, 28], &[64], &[64, 64], &[64], &[1, 64], &[1], &[rows, 1]];
    let mut n = Network::new(shapes, kind);
    let h = n.linear(0, 1, 2);
    let h = n.unary("relu", h, Tensor::relu);
    let h = n.linear(h, 3, 4);
    let h = n.unary("tanh", h, Tensor::tanh);
    let z = n.linear(h, 5, 6);
    let loss = n.logit_loss(z, 7);
    n.returning(&[loss, z])
}

fn residual(rows: i64, kind: Kind) -> Recorder {
    let shapes: &[&[i64]] = &[&[rows, 16], &[16], &[16], &[32, 16], &[32], &[16, 32], &[16]];
    let mut n = Network::new(shapes, kind);
    let mut x = 0;
    for _ in 0..2 {
        let h = n.layer_norm(x, 1, 2);
        let h = n.linear(h, 3, 4);
        let h = n.unary("silu", h, Tensor::silu);
        let h = n.linear(h, 5, 6);
        x = n.plus(x, h);
    }
    n.returning(&[x])
}

fn cnn(rows: i64, kind: Kind) -> Recorder {
    let shapes: &[&[i64]] = &[&[rows, 1, 40], &[4, 1, 5], &[4], &[6, 4, 3], &[6], &[2, 48], &[2]];
    let mut n = Network::new(shapes, kind);
    let mut x = 0;
    for (w, b, padding) in [(1, 2, 2), (3, 4, 1)] {
        let value = n.t(x).conv1d(&n.t(w), Some(n.t(b)), 1, padding, 1, 1);
        let arguments = [V(x), V(w), V(b), L(vec![1]), L(vec![padding]), L(vec![1]), I(1)];
        x = n.add_node("conv1d", "", &arguments, value);
        x = n.unary("relu", x, Tensor::relu);
        let (stride, pooled) = if padding == 2 { (2, n.t(x).max_pool1d(2, 2, 0, 1, false)) } else { (1, n.t(x)) };
        if stride == 2 {
            let arguments = [V(x), L(vec![2]), L(vec![2]), L(vec![0]), L(vec![1]), B(false)];
            x = n.add_node("max_pool1d", "", &arguments, pooled);
        }
    }
    let value = n.t(x).avg_pool1d(4, 2, 0, false, true);
    x = n.add_node("avg_pool1d", "", &[V(x), L(vec![4]), L(vec![2]), L(vec![0]), B(false), B(true)], value);
    let narrow = n.narrow(x, 2, 0, 8);
    let flat = n.reshape(narrow, &[rows, 48]);
    let z = n.linear(flat, 5, 6);
    n.returning(&[z])
}

fn transformer(rows: i64, kind: Kind) -> Recorder {
    let (tokens, width, heads) = (5, 8, 2);
    let shapes: &[&[i64]] = &[
        &[rows, tokens, width],
        &[3 * width, width],
        &[3 * width],
        &[width, width],
        &[width],
        &[width],
        &[width],
        &[2 * width, width],
        &[2 * width],
        &[width, 2 * width],
        &[width],
    ];
    let mut n = Network::new(shapes, kind);
    let h = n.layer_norm(0, 5, 6);
    let qkv = n.linear(h, 1, 2);
    let mut parts = Vec::new();
    for part in 0..3 {
        let p = n.narrow(qkv, 2, part * width, (part + 1) * width);
        let p = n.reshape(p, &[rows, tokens, heads, width / heads]);
        parts.push(n.transpose(p, 1, 2));
    }
    let [q, k, v] = [parts[0], parts[1], parts[2]];
    let attention =
        Tensor::scaled_dot_product_attention::<Tensor>(&n.t(q), &n.t(k), &n.t(v), None, 0.0, false, None, false);
    let arguments = [V(q), V(k), V(v), A::None, F(0.0), B(false), A::None, B(false)];
    let a = n.add_node("scaled_dot_product_attention", "", &arguments, attention);
    let a = n.transpose(a, 1, 2);
    let a = n.reshape(a, &[rows, tokens, width]);
    let a = n.linear(a, 3, 4);
    let x = n.plus(0, a);
    let h = n.layer_norm(x, 5, 6);
    let h = n.linear(h, 7, 8);
    let h = n.gelu(h);
    let h = n.linear(h, 9, 10);
    let x = n.plus(x, h);
    n.returning(&[x])
}

/// y = (x1, x2 exp(s(x1)) + t(x1)), with the logarithm of the Jacobian determinant.
fn coupling(rows: i64, kind: Kind) -> Recorder {
    let mut n = Network::new(&[&[rows, 6], &[16, 3], &[16], &[6, 16], &[6]], kind);
    let (first, second) = (n.narrow(0, 1, 0, 3), n.narrow(0, 1, 3, 6));
    let h = n.linear(first, 1, 2);
    let h = n.unary("tanh", h, Tensor::tanh);
    let st = n.linear(h, 3, 4);
    let (s, t) = (n.narrow(st, 1, 0, 3), n.narrow(st, 1, 3, 6));
    let s = n.unary("tanh", s, Tensor::tanh);
    let factor = n.unary("exp", s, Tensor::exp);
    let moved = n.times(second, factor);
    let moved = n.plus(moved, t);
    let value = Tensor::cat(&[n.t(first), n.t(moved)], 1);
    let y = n.add_node("cat", "", &[VL(vec![first as i64, moved as i64]), I(1)], value);
    let value = n.t(s).sum_dim_intlist(1, false, None);
    let logarithm = n.add_node("sum", "dim_IntList", &[V(s), L(vec![1]), B(false), A::None], value);
    n.returning(&[y, logarithm])
}

/// -mean(log sum_k softmax(a)_k exp(-(x - mu_k)^2 / (2 sigma_k^2)) / sigma_k) with sigma_k = exp(l_k).
fn mixture(rows: i64, kind: Kind) -> Recorder {
    let mut n = Network::new(&[&[rows, 1], &[3], &[3], &[3]], kind);
    let value = n.t(1).log_softmax(0, None);
    let weight = n.add_node("log_softmax", "int", &[V(1), I(0), A::None], value);
    let d = n.minus(0, 2);
    let scale = n.unary("neg", 3, Tensor::neg);
    let inverse = n.unary("exp", scale, Tensor::exp);
    let z = n.times(d, inverse);
    let value = n.t(z).pow_tensor_scalar(2);
    let square = n.add_node("pow", "Tensor_Scalar", &[V(z), I(2)], value);
    let half = n.times_number(square, -0.5);
    let term = n.plus(half, weight);
    let term = n.minus(term, 3);
    let value = n.t(term).logsumexp(1, false);
    let likelihood = n.add_node("logsumexp", "", &[V(term), L(vec![1]), B(false)], value);
    let mean = n.mean(likelihood);
    let loss = n.unary("neg", mean, Tensor::neg);
    n.returning(&[loss])
}
