//! Calls of every operator.

use std::fmt;

use tch::{Device, Kind, Reduction, Tensor};

use super::recorder::A::{self, B, F, I, L, S, V, VL};
use super::recorder::Recorder;

mod images;
mod placed;

/// An input of a case.
#[derive(Clone, Debug)]
pub enum In {
    /// Any numbers.
    Normal(Vec<i64>),
    /// Numbers above 0.2.
    Positive(Vec<i64>),
    /// Numbers between -1 and 1.
    Small(Vec<i64>),
    /// Numbers above 1.2.
    AboveOne(Vec<i64>),
    /// Indices below a bound.
    Index(Vec<i64>, i64),
    Mask(Vec<i64>),
}

impl In {
    pub fn is_floating(&self) -> bool {
        !matches!(self, In::Index(..) | In::Mask(_))
    }

    pub fn with_shape(&self, shape: &[i64]) -> In {
        let shape = shape.to_vec();
        match self {
            In::Normal(_) => In::Normal(shape),
            In::Positive(_) => In::Positive(shape),
            In::Small(_) => In::Small(shape),
            In::AboveOne(_) => In::AboveOne(shape),
            In::Index(_, bound) => In::Index(shape, *bound),
            In::Mask(_) => In::Mask(shape),
        }
    }

    /// Seeded by `number`: numbers that float32 can represent, none near another or near a kink at 0, 1 or -1.
    pub fn tensor(&self, number: usize, kind: Kind) -> Tensor {
        let wave = |shape: &[i64]| {
            let count: i64 = shape.iter().product();
            let values: Vec<f32> = (0..count).map(|i| ((i as f32 + 0.3) * (1.7 + number as f32)).sin() * 1.9).collect();
            Tensor::from_slice(&values).reshape(shape)
        };
        match self {
            In::Normal(shape) => wave(shape).to_kind(kind),
            In::Positive(shape) => (wave(shape).abs() + 0.25).to_kind(kind),
            In::Small(shape) => (wave(shape) / 2.0).to_kind(kind),
            In::AboveOne(shape) => (wave(shape).abs() + 1.25).to_kind(kind),
            In::Index(shape, bound) => {
                let count: i64 = shape.iter().product();
                let values: Vec<i64> = (0..count).map(|i| (i * 7 + 3 + number as i64) % bound).collect();
                Tensor::from_slice(&values).reshape(shape)
            }
            In::Mask(shape) => wave(shape).gt(0.1),
        }
    }
}

/// An operator by LibTorch itself.
type Run = Box<dyn Fn(&[Tensor]) -> Vec<Tensor>>;

pub struct Case {
    pub op: &'static str,
    pub overload: &'static str,
    pub inputs: Vec<In>,
    pub arguments: Vec<A>,
    pub run: Run,
    /// Central differences are meaningful.
    pub is_smooth: bool,
    /// Takes inputs of any one shape.
    pub is_elementwise: bool,
    /// `run` consists of other operators, which have other derivatives at a kink.
    pub has_other_kinks: bool,
}

impl Case {
    /// Runs it with LibTorch on `inputs`, as a graph whose results are numbers.
    pub fn recorded(&self, inputs: &[Tensor]) -> Recorder {
        let mut recorder = Recorder::new(inputs);
        let results = (self.run)(&recorder.tensors);
        let (count, kind) = (results.len(), results[0].kind());
        let first = recorder.record(self.op, self.overload, &self.arguments, results);
        if kind == Kind::Int64 {
            // Results are numbers: the count is a factor of the last input.
            let (counts, numbers) = (recorder.tensors[first].shallow_clone(), inputs.len() - 1);
            let product = &recorder.tensors[numbers] * counts;
            let product = recorder.record("mul", "Tensor", &[A::V(numbers), A::V(first)], vec![product]);
            recorder.returns(&[product]);
        } else if kind == Kind::Bool {
            // Results are numbers: the mask chooses between the last input and 2.
            let (mask, numbers) = (recorder.tensors[first].shallow_clone(), inputs.len() - 1);
            let two = Tensor::full([] as [i64; 0], 2.0, (inputs[numbers].kind(), Device::Cpu));
            let chosen = recorder.tensors[numbers].where_self(&mask, &two);
            let arguments = [A::V(first), A::V(numbers), A::F(2.0)];
            let chosen = recorder.record("where", "ScalarOther", &arguments, vec![chosen]);
            recorder.returns(&[chosen]);
        } else {
            // Results are numbers: places are factors of the first one.
            let as_number = |result: usize| match recorder.tensors[result].kind() {
                Kind::Int64 => {
                    let product = &recorder.tensors[first] * &recorder.tensors[result];
                    recorder.record("mul", "Tensor", &[A::V(first), A::V(result)], vec![product])
                }
                _ => result,
            };
            let results: Vec<usize> = (first..first + count).map(as_number).collect();
            recorder.returns(&results);
        }
        recorder
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}.{} {:?} of {:?}", self.op, self.overload, self.arguments, self.inputs)
    }
}

/// Collects cases.
struct Cases(Vec<Case>);

fn n(shape: &[i64]) -> In {
    In::Normal(shape.to_vec())
}

fn p(shape: &[i64]) -> In {
    In::Positive(shape.to_vec())
}

fn ints(shape: &[i64], bound: i64) -> In {
    In::Index(shape.to_vec(), bound)
}

fn m(shape: &[i64]) -> In {
    In::Mask(shape.to_vec())
}

impl Cases {
    fn add(
        &mut self,
        name: &'static str,
        inputs: Vec<In>,
        arguments: Vec<A>,
        run: impl Fn(&[Tensor]) -> Tensor + 'static,
    ) -> &mut Case {
        self.many(name, inputs, arguments, move |x| vec![run(x)])
    }

    fn many(
        &mut self,
        name: &'static str,
        inputs: Vec<In>,
        arguments: Vec<A>,
        run: impl Fn(&[Tensor]) -> Vec<Tensor> + 'static,
    ) -> &mut Case {
        let (op, overload) = name.split_once('.').unwrap_or((name, ""));
        let run = Box::new(run);
        self.0.push(Case {
            op,
            overload,
            inputs,
            arguments,
            run,
            is_smooth: true,
            is_elementwise: false,
            has_other_kinks: false,
        });
        self.0.last_mut().expect("just pushed")
    }

    /// A function of one tensor.
    fn unary(&mut self, name: &'static str, input: fn(&[i64]) -> In, run: fn(&Tensor) -> Tensor) -> &mut Case {
        let case = self.add(name, vec![input(&[3, 5])], vec![V(0)], move |x| run(&x[0]));
        case.is_elementwise = true;
        case
    }

    /// A function of two tensors, also broadcast, and one with many elements.
    fn binary(
        &mut self,
        name: &'static str,
        inputs: [fn(&[i64]) -> In; 2],
        extra: &[A],
        run: fn(&Tensor, &Tensor) -> Tensor,
        smooth: bool,
    ) {
        let [a, b] = inputs;
        for (i, shapes) in
            [[&[4, 3][..], &[4, 3]], [&[4, 3], &[3]], [&[4, 1], &[2, 1, 3]], [&[], &[5]], [&[30, 20], &[30, 1]]]
                .into_iter()
                .enumerate()
        {
            let arguments = [V(0), V(1)].into_iter().chain(extra.iter().cloned()).collect();
            let case = self.add(name, vec![a(shapes[0]), b(shapes[1])], arguments, move |x| run(&x[0], &x[1]));
            case.is_elementwise = i == 0;
            case.is_smooth = smooth && i < 4;
        }
    }
}

/// Every case; each call makes them anew.
pub fn cases() -> Vec<Case> {
    let mut cases = Cases(Vec::new());
    elementwise(&mut cases);
    chosen(&mut cases);
    reductions(&mut cases);
    products(&mut cases);
    shapes(&mut cases);
    indices(&mut cases);
    images::images(&mut cases);
    placed::placed(&mut cases);
    layers(&mut cases);
    losses(&mut cases);
    cases.0
}

fn elementwise(c: &mut Cases) {
    c.unary("neg", n, |x| x.neg());
    c.unary("frac", n, |x| x.frac());
    c.unary("hardswish", n, |x| x.hardswish());
    c.unary("square", n, |x| x.square());
    c.unary("reciprocal", p, |x| x.reciprocal());
    c.unary("exp", n, |x| x.exp());
    c.unary("expm1", n, |x| x.expm1());
    c.unary("log", p, |x| x.log());
    c.unary("log1p", p, |x| x.log1p());
    c.unary("sqrt", p, |x| x.sqrt());
    c.unary("rsqrt", p, |x| x.rsqrt());
    c.unary("sin", n, |x| x.sin());
    c.unary("cos", n, |x| x.cos());
    c.unary("erf", n, |x| x.erf());
    c.unary("abs", n, |x| x.abs());
    c.unary("tanh", n, |x| x.tanh());
    c.unary("sigmoid", n, |x| x.sigmoid());
    c.unary("log_sigmoid", n, |x| x.log_sigmoid());
    c.unary("relu", n, |x| x.relu());
    c.unary("silu", n, |x| x.silu());
    c.unary("exp2", n, |x| x.exp2());
    c.unary("log2", p, |x| x.log2());
    c.unary("log10", p, |x| x.log10());
    c.unary("tan", n, |x| x.tan());
    c.unary("deg2rad", n, |x| x.deg2rad());
    c.unary("rad2deg", n, |x| x.rad2deg());
    let truncated = vec![V(0), V(1), S("trunc")];
    c.add("div.Tensor_mode", vec![n(&[4, 3]), p(&[3])], truncated, |x| x[0].divide_tensor_mode(&x[1], "trunc"))
        .is_smooth = false;
    // Within -1 to 1: of tanh(x); the awkward numbers are those outside, too.
    c.unary("asin", small, |x| x.asin());
    c.unary("acos", small, |x| x.acos());
    c.unary("atanh", small, |x| x.atanh());
    c.unary("atan", n, |x| x.atan());
    c.unary("sinh", n, |x| x.sinh());
    c.unary("cosh", n, |x| x.cosh());
    c.unary("asinh", n, |x| x.asinh());
    c.unary("acosh", above_one, |x| x.acosh());
    c.unary("erfc", n, |x| x.erfc());
    c.unary("floor", n, |x| x.floor());
    c.unary("ceil", n, |x| x.ceil());
    c.unary("round", n, |x| x.round());
    c.unary("trunc", n, |x| x.trunc());
    c.unary("sign", n, |x| x.sign());
    c.unary("sgn", n, |x| x.sgn());
    c.unary("mish", n, |x| x.mish());
    c.unary("selu", n, |x| x.selu());
    c.unary("relu6", n, |x| x.relu6());
    // Written out: LibTorch divides by a float32 6 in float64, too.
    c.add("hardsigmoid", vec![n(&[3, 5])], vec![V(0)], |x| (&x[0] + 3.0).clamp(0.0, 6.0) / 6.0).has_other_kinks = true;
    c.add("celu", vec![n(&[3, 5])], vec![V(0), F(1.0)], |x| x[0].celu()).is_elementwise = true;
    // celu with another alpha, written out
    c.add("celu", vec![n(&[3, 5])], vec![V(0), F(0.5)], |x| {
        (x[0].clamp_max(0.0) / 0.5).expm1() * 0.5 + x[0].clamp_min(0.0)
    })
    .has_other_kinks = true;
    c.add("hardtanh", vec![n(&[3, 5])], vec![V(0), I(-1), I(1)], |x| x[0].hardtanh()).is_elementwise = true;
    c.add("softshrink", vec![n(&[3, 5])], vec![V(0), F(0.5)], |x| x[0].softshrink()).is_elementwise = true;
    let arguments = vec![V(0), F(0.5), F(-2.0)];
    c.add("threshold", vec![n(&[3, 5])], arguments, |x| x[0].threshold(0.5, -2.0)).is_elementwise = true;
    for (shape, channels) in [(vec![7], 1), (vec![4, 3], 3), (vec![2, 3, 5], 3), (vec![2, 3], 1)] {
        c.add("prelu", vec![n(&shape), n(&[channels])], vec![V(0), V(1)], |x| x[0].prelu(&x[1]));
    }
    for dim in [0, 1, -1] {
        c.add("glu", vec![n(&[4, 6])], vec![V(0), I(dim)], move |x| x[0].glu(dim));
    }
    c.binary("atan2", [n, n], &[], |a, b| a.atan2(b), true);
    c.binary("hypot", [n, n], &[], |a, b| a.hypot(b), true);
    c.binary("logaddexp", [n, n], &[], |a, b| a.logaddexp(b), true);
    c.binary("logaddexp2", [n, n], &[], |a, b| a.logaddexp2(b), true);
    c.binary("fmod.Tensor", [n, p], &[], |a, b| a.fmod_tensor(b), true);
    c.add("fmod.Scalar", vec![n(&[9])], vec![V(0), F(-0.75)], |x| x[0].fmod(-0.75)).is_elementwise = true;
    c.binary("remainder.Tensor", [n, p], &[], |a, b| a.remainder_tensor(b), true);
    c.add("remainder.Scalar", vec![n(&[9])], vec![V(0), F(-0.75)], |x| x[0].remainder(-0.75)).is_elementwise = true;
    let three = || vec![n(&[4, 3]), n(&[3]), p(&[4, 1])];
    c.add("addcmul", three(), vec![V(0), V(1), V(2), I(1)], |x| x[0].addcmul(&x[1], &x[2]));
    c.add("addcmul", three(), vec![V(0), V(1), V(2), F(0.5)], |x| &x[0] + &x[1] * &x[2] * 0.5);
    c.add("addcdiv", three(), vec![V(0), V(1), V(2), I(1)], |x| x[0].addcdiv(&x[1], &x[2]));
    c.add("lerp.Scalar", vec![n(&[4, 3]), n(&[3])], vec![V(0), V(1), F(0.3)], |x| x[0].lerp(&x[1], 0.3));
    c.add("lerp.Scalar", vec![n(&[4, 3]), n(&[3])], vec![V(0), V(1), F(0.8)], |x| x[0].lerp(&x[1], 0.8));
    c.add("lerp.Tensor", three(), vec![V(0), V(1), V(2)], |x| x[0].lerp_tensor(&x[1], &x[2]));
    for approximation in ["none", "tanh"] {
        let case = c.add("gelu", vec![n(&[3, 5])], vec![V(0), S(approximation)], move |x| x[0].gelu(approximation));
        case.is_elementwise = true;
    }
    c.add("leaky_relu", vec![n(&[3, 5])], vec![V(0), F(0.01)], |x| x[0].leaky_relu()).is_elementwise = true;
    c.add("elu", vec![n(&[3, 5])], vec![V(0), I(1), I(1), I(1)], |x| x[0].elu()).is_elementwise = true;
    let scaled = vec![V(0), F(1.3), F(0.7), I(1)];
    // scale (x above 0, alpha (exp(x) - 1) below)
    c.add("elu", vec![n(&[3, 5])], scaled, |x| (x[0].clamp_max(0.0).expm1() * 1.3 + x[0].clamp_min(0.0)) * 0.7)
        .has_other_kinks = true;
    c.add("softplus", vec![n(&[3, 5])], vec![V(0), I(1), I(20)], |x| x[0].softplus()).is_elementwise = true;
    for (low, high) in [(-0.5, 0.75), (0.5, -0.5)] {
        let case = c.add("clamp", vec![n(&[3, 5])], vec![V(0), F(low), F(high)], move |x| x[0].clamp(low, high));
        case.is_elementwise = true;
    }
    c.add("clamp", vec![n(&[3, 5])], vec![V(0), F(0.5), A::None], |x| x[0].clamp_min(0.5)).is_elementwise = true;
    c.add("clamp", vec![n(&[3, 5])], vec![V(0), A::None, F(0.5)], |x| x[0].clamp_max(0.5)).is_elementwise = true;
    c.add("clamp_min", vec![n(&[3, 5])], vec![V(0), I(1)], |x| x[0].clamp_min(1)).is_elementwise = true;
    c.add("clamp_max", vec![n(&[3, 5])], vec![V(0), I(1)], |x| x[0].clamp_max(1)).is_elementwise = true;
    c.binary("add.Tensor", [n, n], &[I(1)], |a, b| a + b, true);
    c.binary("add.Tensor", [n, n], &[F(0.3)], |a, b| a + b * 0.3, true);
    c.binary("sub.Tensor", [n, n], &[I(1)], |a, b| a - b, true);
    c.binary("rsub.Tensor", [n, n], &[I(2)], |a, b| b - a * 2, true);
    c.binary("mul.Tensor", [n, n], &[], |a, b| a * b, true);
    c.binary("div.Tensor", [n, p], &[], |a, b| a / b, true);
    c.binary("pow.Tensor_Tensor", [p, n], &[], |a, b| a.pow(b), true);
    c.binary("fmax", [n, n], &[], |a, b| a.fmax(b), true);
    c.binary("fmin", [n, n], &[], |a, b| a.fmin(b), true);
    c.binary("maximum", [n, n], &[], |a, b| a.maximum(b), true);
    c.binary("minimum", [n, n], &[], |a, b| a.minimum(b), true);
    c.add("add.Scalar", vec![n(&[4])], vec![V(0), F(0.1), I(1)], |x| &x[0] + 0.1).is_elementwise = true;
    c.add("mul.Scalar", vec![n(&[4])], vec![V(0), F(0.1)], |x| &x[0] * 0.1).is_elementwise = true;
    c.add("div.Scalar", vec![n(&[4])], vec![V(0), I(3)], |x| &x[0] / 3).is_elementwise = true;
    for exponent in [2.0, 3.0, 0.5, -0.5, -1.0, 1.7, 0.0, 1.0, -2.0] {
        let arguments = vec![V(0), F(exponent)];
        let case = c.add("pow.Tensor_Scalar", vec![p(&[7])], arguments, move |x| x[0].pow_tensor_scalar(exponent));
        case.is_elementwise = true;
    }
    c.add("pow.Scalar", vec![n(&[7])], vec![F(1.5), V(0)], |x| Tensor::pow_scalar(1.5, &x[0])).is_elementwise = true;
}

/// Numbers between -1 and 1.
fn small(shape: &[i64]) -> In {
    In::Small(shape.to_vec())
}

/// Numbers above 1.
fn above_one(shape: &[i64]) -> In {
    In::AboveOne(shape.to_vec())
}

/// Masks and the values chosen by them. Masks are not results: they are multiplied further.
fn chosen(c: &mut Cases) {
    let shape = [4, 3];
    c.add("where.self", vec![m(&shape), n(&shape), n(&shape)], vec![V(0), V(1), V(2)], |x| {
        x[1].where_self(&x[0], &x[2])
    })
    .is_elementwise = true;
    c.add("where.self", vec![m(&[3]), n(&shape), n(&[4, 1])], vec![V(0), V(1), V(2)], |x| {
        x[1].where_self(&x[0], &x[2])
    });
    c.add("masked_fill.Scalar", vec![n(&shape), m(&[3])], vec![V(0), V(1), F(-2.0)], |x| x[0].masked_fill(&x[1], -2.0));

    // Masks become results as numbers: a mask chooses between ones and zeros.
    type Compare = fn(&Tensor, &Tensor) -> Tensor;
    let comparisons: [(&'static str, Compare); 6] = [
        ("lt.Tensor", |a, b| a.lt_tensor(b)),
        ("le.Tensor", |a, b| a.le_tensor(b)),
        ("gt.Tensor", |a, b| a.gt_tensor(b)),
        ("ge.Tensor", |a, b| a.ge_tensor(b)),
        ("eq.Tensor", |a, b| a.eq_tensor(b)),
        ("ne.Tensor", |a, b| a.ne_tensor(b)),
    ];
    for (name, run) in comparisons {
        c.mask(name, n, run);
    }
    c.mask("logical_and", m, |a, b| a.logical_and(b));
    c.mask("logical_or", m, |a, b| a.logical_or(b));
    c.mask("logical_not", m, |a, _| a.logical_not());
    c.mask("logical_xor", m, |a, b| a.logical_xor(b));
    c.mask("logical_xor", n, |a, b| a.logical_xor(b));
    for name in ["bitwise_and.Tensor", "__and__.Tensor"] {
        c.mask(name, m, |a, b| a.bitwise_and_tensor(b));
    }
    for name in ["bitwise_or.Tensor", "__or__.Tensor"] {
        c.mask(name, m, |a, b| a.bitwise_or_tensor(b));
    }
    for name in ["bitwise_xor.Tensor", "__xor__.Tensor"] {
        c.mask(name, m, |a, b| a.bitwise_xor_tensor(b));
    }
    c.mask("mul.Tensor", m, |a, b| a.g_mul(b));
    c.mask("zeros_like", m, |a, _| a.zeros_like());
    c.mask("ones_like", m, |a, _| a.ones_like());
    let joined = vec![m(&[4, 3]), m(&[2, 3]), n(&[6, 3])];
    c.add("cat", joined, vec![VL(vec![0, 1]), I(0)], |x| Tensor::cat(&x[..2], 0));
    c.mask("bitwise_not", m, |a, _| a.bitwise_not());
    type Ask = fn(&Tensor) -> Tensor;
    let questions: [(&'static str, Ask); 3] =
        [("isnan", |x| x.isnan()), ("isinf", |x| x.isinf()), ("isfinite", |x| x.isfinite())];
    for (name, run) in questions {
        c.add(name, vec![n(&[4, 3])], vec![V(0)], move |x| run(&x[0])).is_elementwise = true;
    }
    c.add("nan_to_num", vec![n(&[4, 3])], vec![V(0), A::None, A::None, A::None], |x| {
        x[0].nan_to_num(None, None, None)
    })
    .is_elementwise = true;
    c.add("nan_to_num", vec![n(&[4, 3])], vec![V(0), F(1.5), F(2.5), F(-3.5)], |x| x[0].nan_to_num(1.5, 2.5, -3.5))
        .is_elementwise = true;
    for input in [m, n] {
        c.add("any", vec![input(&[4, 3]), n(&[4, 3])], vec![V(0)], |x| x[0].any());
        c.add("all", vec![input(&[4, 3]), n(&[4, 3])], vec![V(0)], |x| x[0].all());
        for (dim, keep) in [(1, true), (0, false)] {
            let arguments = || vec![V(0), I(dim), B(keep)];
            c.add("any.dim", vec![input(&[4, 3]), n(&[4, 3])], arguments(), move |x| x[0].any_dim(dim, keep));
            c.add("all.dim", vec![input(&[4, 3]), n(&[4, 3])], arguments(), move |x| x[0].all_dim(dim, keep));
        }
    }
}

impl Cases {
    /// An operator that returns a mask, which the test turns into numbers.
    fn mask(&mut self, name: &'static str, input: fn(&[i64]) -> In, run: fn(&Tensor, &Tensor) -> Tensor) {
        let inputs = vec![input(&[4, 3]), input(&[4, 3]), n(&[4, 3])];
        self.add(name, inputs, vec![V(0), V(1)], move |x| run(&x[0], &x[1]));
    }
}

fn reductions(c: &mut Cases) {
    let shape = [3, 4, 5];
    c.add("sum", vec![n(&shape)], vec![V(0), A::None], |x| x[0].sum(None));
    c.add("mean", vec![n(&shape)], vec![V(0), A::None], |x| x[0].mean(None));
    c.add("sum", vec![n(&[70, 90])], vec![V(0), A::None], |x| x[0].sum(None)).is_smooth = false;
    for (dims, keep) in
        [(vec![0], false), (vec![1], true), (vec![-1], false), (vec![0, 2], true), (vec![0, 1, 2], false)]
    {
        let arguments = || vec![V(0), L(dims.clone()), B(keep), A::None];
        let d = dims.clone();
        c.add("sum.dim_IntList", vec![n(&shape)], arguments(), move |x| x[0].sum_dim_intlist(&d[..], keep, None));
        let d = dims.clone();
        c.add("mean.dim", vec![n(&shape)], arguments(), move |x| x[0].mean_dim(&d[..], keep, None));
        let d = dims.clone();
        c.add("amax", vec![n(&shape)], vec![V(0), L(dims.clone()), B(keep)], move |x| x[0].amax(&d[..], keep));
        let d = dims.clone();
        c.add("amin", vec![n(&shape)], vec![V(0), L(dims.clone()), B(keep)], move |x| x[0].amin(&d[..], keep));
        let d = dims.clone();
        c.add("logsumexp", vec![n(&shape)], vec![V(0), L(dims.clone()), B(keep)], move |x| {
            x[0].logsumexp(&d[..], keep)
        });
        for correction in [0.0, 1.0] {
            let d = dims.clone();
            let arguments = vec![V(0), L(dims.clone()), F(correction), B(keep)];
            c.add("var.correction", vec![n(&shape)], arguments, move |x| x[0].var_correction(&d[..], correction, keep));
            let d = dims.clone();
            let arguments = vec![V(0), L(dims.clone()), F(correction), B(keep)];
            c.add("std.correction", vec![n(&shape)], arguments, move |x| x[0].std_correction(&d[..], correction, keep));
        }
    }
    c.add("var", vec![n(&shape)], vec![V(0), B(true)], |x| x[0].var(true));
    c.add("var.dim", vec![n(&shape)], vec![V(0), L(vec![1]), B(false), B(true)], |x| {
        x[0].var_dim(&[1i64][..], false, true)
    });
    c.add("std", vec![n(&shape)], vec![V(0), B(true)], |x| x[0].std(true));
    c.add("std.dim", vec![n(&[3, 1])], vec![V(0), L(vec![1]), B(false), B(true)], |x| {
        x[0].std_dim(&[1i64][..], false, true)
    });
    c.add("max", vec![n(&shape)], vec![V(0)], |x| x[0].max());
    c.add("min", vec![n(&shape)], vec![V(0)], |x| x[0].min());
    c.binary("max.other", [n, n], &[], |a, b| a.max_other(b), true);
    c.binary("min.other", [n, n], &[], |a, b| a.min_other(b), true);
    for (dim, keep) in [(0, false), (1, true), (-1, false)] {
        c.add("max.dim", vec![n(&shape)], vec![V(0), I(dim), B(keep)], move |x| x[0].max_dim(dim, keep).0);
        c.add("min.dim", vec![n(&shape)], vec![V(0), I(dim), B(keep)], move |x| x[0].min_dim(dim, keep).0);
    }
    for power in [1.0, 2.0, f64::INFINITY] {
        c.add("norm.Scalar", vec![n(&shape)], vec![V(0), F(power)], move |x| {
            x[0].norm_scalaropt_dim(power, [0i64, 1, 2], false)
        });
        for name in ["norm.ScalarOpt_dim", "linalg_vector_norm"] {
            c.add(name, vec![n(&shape)], vec![V(0), F(power), L(vec![1]), B(true)], move |x| {
                x[0].norm_scalaropt_dim(power, [1i64], true)
            });
        }
    }
    for columns in [2, 8, 16, 300] {
        c.add("amax", vec![n(&[5, columns])], vec![V(0), L(vec![1]), B(false)], |x| x[0].amax(&[1i64][..], false));
    }
    // Ties share the derivative.
    c.add("amax", vec![ints(&[4, 6], 3), n(&[1])], vec![V(1), L(vec![0]), B(false)], |x| x[1].amax(&[0i64][..], false));
    for dim in [0, 1, -1] {
        c.add("softmax.int", vec![n(&shape)], vec![V(0), I(dim), A::None], move |x| x[0].softmax(dim, None));
        c.add("log_softmax.int", vec![n(&shape)], vec![V(0), I(dim), A::None], move |x| x[0].log_softmax(dim, None));
    }
    c.add("softmax.int", vec![n(&[2, 700])], vec![V(0), I(1), A::None], |x| x[0].softmax(1, None)).is_smooth = false;
    // Down columns, more of them than are processed at a time; of a transposed matrix, whose columns are contiguous.
    c.add("softmax.int", vec![n(&[2, 3, 70])], vec![V(0), I(1), A::None], |x| x[0].softmax(1, None));
    c.add("log_softmax.int", vec![n(&[5, 65])], vec![V(0), I(0), A::None], |x| x[0].log_softmax(0, None));
    c.add("_softmax", vec![n(&shape)], vec![V(0), I(1), B(false)], |x| x[0].softmax(1, None));
    c.add("_log_softmax", vec![n(&shape)], vec![V(0), I(1), B(false)], |x| x[0].log_softmax(1, None));
}

fn products(c: &mut Cases) {
    let equations: [(&'static str, &[&[i64]]); 16] = [
        ("ij,jk->ik", &[&[3, 4], &[4, 5]]),
        ("ij,kj", &[&[3, 4], &[5, 4]]),
        ("bij,bjk->bik", &[&[2, 3, 4], &[2, 4, 5]]),
        ("bhid, bhjd -> bhij", &[&[2, 3, 4, 5], &[2, 3, 6, 5]]),
        ("ij->ji", &[&[3, 4]]),
        ("ij->j", &[&[3, 4]]),
        ("ij->", &[&[3, 4]]),
        ("ii->i", &[&[4, 4]]),
        ("ii", &[&[4, 4]]),
        ("iji->j", &[&[3, 4, 3]]),
        ("i,j->ij", &[&[3], &[4]]),
        ("i,i->i", &[&[3], &[3]]),
        ("i,i", &[&[3], &[3]]),
        ("bi,oij,bj->bo", &[&[2, 3], &[5, 3, 4], &[2, 4]]),
        ("Ba,aB->Ba", &[&[3, 4], &[4, 3]]),
        ("ijk,l->kl", &[&[2, 3, 4], &[5]]),
    ];
    for (equation, shapes) in equations {
        let tensors = (0..).take(shapes.len()).collect();
        let inputs = shapes.iter().map(|shape| n(shape)).collect();
        c.add("einsum", inputs, vec![A::S(equation), VL(tensors), A::None], move |x| {
            Tensor::einsum(equation, x, None::<i64>)
        });
    }
    for (of_a, of_b) in [(vec![1], vec![0]), (vec![2, 0], vec![1, 2]), (vec![], vec![])] {
        let arguments = vec![V(0), V(1), L(of_a.clone()), L(of_b.clone())];
        c.add("tensordot", vec![n(&[2, 3, 4]), n(&[3, 4, 2])], arguments, move |x| {
            x[0].tensordot(&x[1], of_a.as_slice(), of_b.as_slice())
        });
    }
    for (a, b) in [
        (vec![3, 4], vec![4, 5]),
        (vec![4], vec![4]),
        (vec![4], vec![4, 5]),
        (vec![3, 4], vec![4]),
        (vec![2, 3, 4], vec![4, 5]),
        (vec![2, 3, 4], vec![4]),
        (vec![4], vec![2, 4, 5]),
        (vec![2, 3, 4], vec![2, 4, 5]),
        (vec![2, 1, 3, 4], vec![3, 4, 5]),
        (vec![1, 4], vec![4, 1]),
        (vec![3, 1], vec![1, 5]),
        (vec![0, 4], vec![4, 5]),
        (vec![3, 0], vec![0, 5]),
        (vec![33, 17], vec![17, 37]),
        (vec![90, 130], vec![130, 80]),
        (vec![2, 40], vec![40, 50]),
        (vec![50, 40], vec![40, 1]),
    ] {
        let case = c.add("matmul", vec![n(&a), n(&b)], vec![V(0), V(1)], |x| x[0].matmul(&x[1]));
        case.is_smooth = a.iter().product::<i64>() < 100;
    }
    c.add("mm", vec![n(&[3, 4]), n(&[4, 5])], vec![V(0), V(1)], |x| x[0].mm(&x[1]));
    c.add("bmm", vec![n(&[2, 3, 4]), n(&[2, 4, 5])], vec![V(0), V(1)], |x| x[0].bmm(&x[1]));
    c.add("mv", vec![n(&[3, 4]), n(&[4])], vec![V(0), V(1)], |x| x[0].mv(&x[1]));
    c.add("dot", vec![n(&[4]), n(&[4])], vec![V(0), V(1)], |x| x[0].dot(&x[1]));
    for bias in [vec![5], vec![3, 5], vec![3, 1], vec![]] {
        let inputs = vec![n(&bias), n(&[3, 4]), n(&[4, 5])];
        c.add("addmm", inputs, vec![V(0), V(1), V(2), I(1), I(1)], |x| x[0].addmm(&x[1], &x[2]));
    }
    let inputs = || vec![n(&[2, 3, 5]), n(&[2, 3, 4]), n(&[2, 4, 5])];
    c.add("baddbmm", inputs(), vec![V(0), V(1), V(2), F(0.5), I(2)], |x| x[0].baddbmm(&x[1], &x[2], 0.5, 2.0));
    c.add("baddbmm", inputs(), vec![V(0), V(1), V(2), I(0), I(1)], |x| x[0].baddbmm(&x[1], &x[2], 0.0, 1.0));
    for (x, outputs) in
        [(vec![6, 4], 5), (vec![4], 5), (vec![2, 3, 4], 1), (vec![1, 4], 50), (vec![7, 300], 20), (vec![7, 300], 5)]
    {
        let inputs = *x.last().expect("not empty");
        let all = vec![n(&x), n(&[outputs, inputs]), n(&[outputs])];
        c.add("linear", all, vec![V(0), V(1), V(2)], |x| x[0].linear(&x[1], Some(&x[2]))).is_smooth = inputs < 100;
    }
    let none: Option<Tensor> = None;
    let inputs = vec![n(&[6, 4]), n(&[5, 4])];
    c.add("linear", inputs, vec![V(0), V(1), A::None], move |x| x[0].linear(&x[1], none.as_ref()));
}

fn shapes(c: &mut Cases) {
    let shape = [2, 3, 4];
    let x = || vec![n(&[2, 3, 4])];
    c.add("transpose.int", x(), vec![V(0), I(0), I(-1)], |x| x[0].transpose(0, -1));
    c.add("t", vec![n(&[3, 4])], vec![V(0)], |x| x[0].tr());
    c.add("permute", x(), vec![V(0), L(vec![2, 0, -2])], |x| x[0].permute([2, 0, -2]));
    for sizes in [vec![6, 4], vec![-1], vec![2, 12], vec![4, 3, 2], vec![2, 1, 3, 4]] {
        let s = sizes.clone();
        c.add("reshape", x(), vec![V(0), L(sizes)], move |x| x[0].reshape(&s[..]));
    }
    c.add("view", x(), vec![V(0), L(vec![6, 4])], |x| x[0].contiguous().view([6, 4]));
    c.add("_unsafe_view", x(), vec![V(0), L(vec![6, 4])], |x| x[0].contiguous().view([6, 4]));
    c.add("flatten.using_ints", x(), vec![V(0), I(1), I(-1)], |x| x[0].flatten(1, -1));
    c.add("unflatten.int", x(), vec![V(0), I(2), L(vec![2, 2])], |x| x[0].unflatten(2, [2, 2]));
    c.add("squeeze.dim", vec![n(&[2, 1, 3])], vec![V(0), I(1)], |x| x[0].squeeze_dim(1));
    c.add("unsqueeze", x(), vec![V(0), I(-1)], |x| x[0].unsqueeze(-1));
    c.add("expand", vec![n(&[3, 1])], vec![V(0), L(vec![2, 3, 4]), B(false)], |x| x[0].expand([2, 3, 4], false));
    c.add("broadcast_to", vec![n(&[3, 1])], vec![V(0), L(vec![2, 3, 4])], |x| x[0].broadcast_to([2, 3, 4]));
    c.add("expand_as", vec![n(&[3, 1]), n(&shape)], vec![V(0), V(1)], |x| x[0].expand_as(&x[1]));
    let three = || vec![n(&[2, 3]), n(&[1, 3]), n(&[2, 1])];
    c.many("broadcast_tensors", three(), vec![VL(vec![0, 1, 2])], Tensor::broadcast_tensors);
    for (dim, start, end, step) in [(0, 1, 2, 1), (2, 0, i64::MAX, 2), (1, -2, -1, 1), (2, 1, 100, 3), (1, 2, 1, 1)] {
        let arguments = vec![V(0), I(dim), I(start), I(end), I(step)];
        c.add("slice.Tensor", x(), arguments, move |x| x[0].slice(dim, start, end, step));
    }
    c.add("narrow", x(), vec![V(0), I(2), I(1), I(2)], |x| x[0].narrow(2, 1, 2));
    c.add("select.int", x(), vec![V(0), I(1), I(-1)], |x| x[0].select(1, -1));
    c.many("split.Tensor", vec![n(&[5, 2])], vec![V(0), I(2), I(0)], |x| x[0].split(2, 0));
    c.many("split_with_sizes", vec![n(&[5, 2])], vec![V(0), L(vec![1, 4]), I(0)], |x| x[0].split_with_sizes([1, 4], 0));
    c.many("chunk", vec![n(&[2, 6])], vec![V(0), I(3), I(-1)], |x| x[0].chunk(3, -1));
    c.many("unbind.int", x(), vec![V(0), I(1)], |x| x[0].unbind(1));
    let three = || vec![n(&[2, 3]), n(&[2, 1]), n(&[2, 2])];
    c.add("cat", three(), vec![VL(vec![0, 1, 2]), I(-1)], |x| Tensor::cat(x, -1));
    c.add("cat", vec![n(&[40, 8]), n(&[40, 16])], vec![VL(vec![0, 1]), I(1)], |x| Tensor::cat(x, 1));
    c.add("cat", vec![n(&[2, 3]), n(&[0])], vec![VL(vec![0, 1]), I(0)], |x| Tensor::cat(x, 0));
    c.add("cat", vec![n(&[2, 3])], vec![VL(vec![0, 0]), I(0)], |x| Tensor::cat(&[&x[0], &x[0]], 0));
    for dim in [0, 1, -1] {
        c.add("stack", vec![n(&[2, 3]), n(&[2, 3])], vec![VL(vec![0, 1]), I(dim)], move |x| Tensor::stack(x, dim));
    }
    c.add("contiguous", x(), vec![V(0), I(0)], |x| x[0].contiguous());
    c.add("clone", x(), vec![V(0), A::None], |x| x[0].copy());
    c.add("alias", x(), vec![V(0)], |x| x[0].alias());
    c.add("to.dtype", x(), vec![V(0)], |x| x[0].to_kind(x[0].kind()));
    c.add("detach", x(), vec![V(0)], |x| x[0].detach()).is_smooth = false;
    c.add("zeros_like", x(), vec![V(0)], |x| x[0].zeros_like());
    c.add("ones_like", x(), vec![V(0)], |x| x[0].ones_like());
    c.add("full_like", x(), vec![V(0), F(1.5)], |x| x[0].full_like(1.5));
    c.add("swapaxes", vec![n(&[2, 3, 4])], vec![V(0), I(0), I(-1)], |x| x[0].swapaxes(0, -1));
    c.add("swapdims", vec![n(&[2, 3, 4])], vec![V(0), I(1), I(2)], |x| x[0].swapdims(1, 2));
    for (from, to) in [(vec![0], vec![2]), (vec![-1], vec![0]), (vec![0, 2], vec![1, 0]), (vec![1, 0], vec![0, 1])] {
        let arguments = vec![V(0), L(from.clone()), L(to.clone())];
        c.add("movedim.intlist", vec![n(&[2, 3, 4])], arguments, move |x| x[0].movedim(&from[..], &to[..]));
    }
    for (shifts, dims) in [(vec![1], vec![0]), (vec![-2], vec![1]), (vec![7, -1], vec![1, 0]), (vec![3], vec![])] {
        let arguments = vec![V(0), L(shifts.clone()), L(dims.clone())];
        c.add("roll", vec![n(&[4, 3])], arguments, move |x| x[0].roll(&shifts[..], &dims[..]));
    }
    for times in [vec![2, 3], vec![3, 1, 2], vec![1, 1]] {
        let wanted = times.clone();
        let arguments = || vec![V(0), L(times.clone())];
        c.add("repeat", vec![n(&[4, 3])], arguments(), move |x| x[0].repeat(&wanted[..]));
        let wanted = times.clone();
        c.add("tile", vec![n(&[4, 3])], arguments(), move |x| x[0].tile(&wanted[..]));
    }
    c.add("tile", vec![n(&[2, 4, 3])], vec![V(0), L(vec![2])], |x| x[0].tile([2]));
    for diagonal in [0, 1, -2, 9] {
        c.add("tril", vec![n(&[2, 4, 3])], vec![V(0), I(diagonal)], move |x| x[0].tril(diagonal));
        c.add("triu", vec![n(&[2, 4, 3])], vec![V(0), I(diagonal)], move |x| x[0].triu(diagonal));
    }
    c.add("view_as", vec![n(&[4, 3]), n(&[4, 1, 3])], vec![V(0), V(1)], |x| x[0].view_as(&x[1]));
    for (offset, a, b) in [(0, 0, 1), (1, 0, 2), (-1, 2, 0), (2, -1, 1)] {
        c.add("diagonal", vec![n(&[3, 4, 5])], vec![V(0), I(offset), I(a), I(b)], move |x| x[0].diagonal(offset, a, b));
    }
    c.add("repeat_interleave.self_int", vec![n(&[2, 3])], vec![V(0), I(3), A::None], |x| {
        x[0].repeat_interleave_self_int(3, None, None)
    });
    for dim in [0, 1, -1] {
        c.add("repeat_interleave.self_int", vec![n(&[2, 3])], vec![V(0), I(2), I(dim)], move |x| {
            x[0].repeat_interleave_self_int(2, dim, None)
        });
    }
    c.add("outer", vec![n(&[4]), n(&[3])], vec![V(0), V(1)], |x| x[0].outer(&x[1]));
    c.add("new_zeros", x(), vec![V(0), L(vec![2, 3])], |x| x[0].new_zeros([2, 3], (x[0].kind(), x[0].device())));
    c.add("new_ones", x(), vec![V(0), L(vec![2])], |x| x[0].new_ones([2], (x[0].kind(), x[0].device())));
    c.add("new_full", x(), vec![V(0), L(vec![2]), F(0.5)], |x| x[0].new_full([2], 0.5, (x[0].kind(), x[0].device())));
    let like = |x: &[Tensor]| (x[0].kind(), x[0].device());
    c.add("zeros", x(), vec![L(vec![2])], move |x| Tensor::zeros([2], like(x)));
    c.add("ones", x(), vec![L(vec![2])], move |x| Tensor::ones([2], like(x)));
    c.add("full", x(), vec![L(vec![2]), F(0.5)], move |x| Tensor::full([2], 0.5, like(x)));
}

fn indices(c: &mut Cases) {
    let embedding = |x: &[Tensor]| x[0].index_select(0, &x[1].flatten(0, -1)).reshape([2, 3, 4]);
    let arguments = vec![V(0), V(1), I(-1), B(false), B(false)];
    c.add("embedding", vec![n(&[5, 4]), ints(&[2, 3], 5)], arguments, embedding);
    for dim in [0, 1] {
        let inputs = vec![n(&[4, 5, 2]), ints(&[6], 4)];
        c.add("index_select", inputs, vec![V(0), I(dim), V(1)], move |x| x[0].index_select(dim, &x[1]));
    }
    c.add("gather", vec![n(&[3, 5]), ints(&[3, 2], 5)], vec![V(0), I(1), V(1), B(false)], |x| {
        x[0].gather(1, &x[1], false)
    });
    c.add("index.Tensor", vec![n(&[4, 3]), ints(&[2, 2], 4)], vec![V(0), VL(vec![1])], |x| x[0].index(&[Some(&x[1])]));
    let second = vec![V(0), VL(vec![-1, 1])];
    c.add("index.Tensor", vec![n(&[4, 3]), ints(&[5], 3)], second, |x| x[0].index(&[None, Some(&x[1])]));
}

fn layers(c: &mut Cases) {
    let inputs = || vec![n(&[3, 2, 5]), n(&[5]), n(&[5])];
    let arguments = || vec![V(0), L(vec![5]), V(1), V(2), F(1e-5), B(false)];
    c.add("layer_norm", inputs(), arguments(), |x| x[0].layer_norm([5], Some(&x[1]), Some(&x[2]), 1e-5, false));
    let none = || None::<Tensor>;
    let plain = vec![V(0), L(vec![2, 5]), A::None, A::None, F(1e-3), B(false)];
    c.add("layer_norm", vec![n(&[3, 2, 5])], plain, move |x| x[0].layer_norm([2, 5], none(), none(), 1e-3, false));
    for shape in [vec![6, 3], vec![4, 3, 5]] {
        let all = vec![V(0), V(1), V(2), A::None, A::None, B(true), F(0.1), F(1e-5), B(false)];
        c.add("batch_norm", vec![n(&shape), n(&[3]), n(&[3])], all, move |x| {
            x[0].batch_norm(Some(&x[1]), Some(&x[2]), None, None, true, 0.1, 1e-5, false)
        });
        let all = vec![V(0), V(1), V(2), V(3), V(4), B(false), F(0.1), F(1e-5), B(false)];
        // Written out: LibTorch gives running statistics no gradient.
        c.add("batch_norm", vec![n(&shape), n(&[3]), n(&[3]), n(&[3]), p(&[3])], all, |x| {
            let rank = x[0].dim();
            let channel = |x: &Tensor| if rank == 2 { x.shallow_clone() } else { x.unsqueeze(1) };
            let [w, b, mean, var] = [1, 2, 3, 4].map(|i| channel(&x[i]));
            (&x[0] - mean) / (var + 1e-5f64).sqrt() * w + b
        });
    }
    for (shape, groups) in [(vec![3, 4], 2), (vec![2, 6, 5], 3), (vec![2, 4, 3, 2], 1), (vec![2, 4, 5], 4)] {
        let arguments = vec![V(0), I(groups), V(1), V(2), F(1e-3), B(false)];
        c.add("group_norm", vec![n(&shape), n(&shape[1..2]), n(&shape[1..2])], arguments, move |x| {
            x[0].group_norm(groups, Some(&x[1]), Some(&x[2]), 1e-3, false)
        });
    }
    c.add("group_norm", vec![n(&[2, 4, 5])], vec![V(0), I(2), A::None, A::None, F(1e-3), B(false)], move |x| {
        x[0].group_norm(2, none(), none(), 1e-3, false)
    });
    let arguments = vec![V(0), V(1), V(2), A::None, A::None, B(true), F(0.1), F(1e-3), B(false)];
    c.add("instance_norm", vec![n(&[2, 4, 5]), n(&[4]), n(&[4])], arguments, move |x| {
        x[0].instance_norm(Some(&x[1]), Some(&x[2]), None, None, true, 0.1, 1e-3, false)
    });
    for shape in [vec![5], vec![2, 5]] {
        let arguments = vec![V(0), L(shape.clone()), V(1), F(1e-3)];
        c.add("rms_norm", vec![n(&[3, 2, 5]), n(&shape)], arguments, move |x| {
            x[0].rms_norm(&shape[..], Some(&x[1]), 1e-3)
        });
    }
    c.add("dropout", vec![n(&[3, 4])], vec![V(0), F(0.5), B(false)], |x| x[0].dropout(0.5, false));
    c.add("dropout", vec![n(&[3, 4])], vec![V(0), F(0.0), B(true)], |x| x[0].dropout(0.0, true));
    c.add("feature_dropout", vec![n(&[3, 4, 2])], vec![V(0), F(0.5), B(false)], |x| x[0].feature_dropout(0.5, false));
    c.add("feature_dropout", vec![n(&[3, 4, 2])], vec![V(0), F(0.0), B(true)], |x| x[0].feature_dropout(0.0, true));
    for (stride, padding, dilation, groups) in [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1), (1, 1, 1, 2)] {
        let inputs = || vec![n(&[3, 4, 9]), n(&[6, 4 / groups, 3]), n(&[6])];
        let run = move |x: &[Tensor]| x[0].conv1d(&x[1], Some(&x[2]), stride, padding, dilation, groups);
        let sizes = [L(vec![stride]), L(vec![padding]), L(vec![dilation])];
        let head = [V(0), V(1), V(2)].into_iter().chain(sizes);
        c.add("conv1d", inputs(), head.clone().chain([I(groups)]).collect(), run);
        let tail = [B(false), L(vec![0]), I(groups)];
        c.add("convolution", inputs(), head.clone().chain(tail.clone()).collect(), run);
        let flags = [B(false), B(false), B(false), B(true)];
        c.add("_convolution", inputs(), head.chain(tail).chain(flags).collect(), run);
    }
    for groups in [1, 2] {
        let inputs = || vec![n(&[3, 4, 5, 2]), n(&[6, 4 / groups, 1, 1]), n(&[6])];
        let run = move |x: &[Tensor]| x[0].conv2d(&x[1], Some(&x[2]), [1, 1], [0, 0], [1, 1], groups);
        let sizes = [L(vec![1, 1]), L(vec![0, 0]), L(vec![1, 1])];
        let head = [V(0), V(1), V(2)].into_iter().chain(sizes);
        c.add("conv2d", inputs(), head.clone().chain([I(groups)]).collect(), run);
        let tail = [B(false), L(vec![0, 0]), I(groups)];
        c.add("convolution", inputs(), head.chain(tail).collect(), run);
    }
    let single = vec![V(0), V(1), A::None, L(vec![1, 1]), L(vec![0, 0]), L(vec![1, 1]), I(1)];
    c.add("conv2d", vec![n(&[4, 5, 2]), n(&[6, 4, 1, 1])], single, move |x| {
        x[0].conv2d(&x[1], none(), [1, 1], [0, 0], [1, 1], 1)
    });
    let same = vec![V(0), V(1), A::None, L(vec![1]), S("same"), L(vec![1]), I(1)];
    c.add("conv1d.padding", vec![n(&[2, 3, 8]), n(&[4, 3, 3])], same, move |x| {
        x[0].conv1d_padding(&x[1], none(), 1, "same", 1, 1)
    });
    let single = vec![V(0), V(1), A::None, L(vec![1]), L(vec![0]), L(vec![1]), I(1)];
    c.add("conv1d", vec![n(&[3, 8]), n(&[4, 3, 3])], single, move |x| x[0].conv1d(&x[1], none(), 1, 0, 1, 1));
    for (size, stride, padding, dilation) in [(2, 2, 0, 1), (3, 1, 1, 1), (3, 2, 0, 2), (8, 8, 0, 1)] {
        for (length, ceil) in [(16, false), (16, true), (15, true)] {
            let sizes = vec![V(0), L(vec![size]), L(vec![stride]), L(vec![padding]), L(vec![dilation]), B(ceil)];
            c.add("max_pool1d", vec![n(&[2, 3, length])], sizes, move |x| {
                x[0].max_pool1d(size, stride, padding, dilation, ceil)
            });
        }
        let sizes = vec![V(0), L(vec![size]), L(vec![stride]), L(vec![padding]), B(false), B(true)];
        c.add("avg_pool1d", vec![n(&[2, 3, 16])], sizes, move |x| x[0].avg_pool1d(size, stride, padding, false, true));
    }
    attention(c);
}

fn attention(c: &mut Cases) {
    let qkv = || vec![n(&[2, 3, 5, 4]), n(&[2, 3, 6, 4]), n(&[2, 3, 6, 7])];
    let sdpa = |x: &[Tensor], mask: Option<&Tensor>, causal: bool| {
        Tensor::scaled_dot_product_attention(&x[0], &x[1], &x[2], mask, 0.0, causal, None, false)
    };
    let arguments = |mask: A, causal: bool| vec![V(0), V(1), V(2), mask, F(0.0), B(causal), A::None, B(false)];
    let name = "scaled_dot_product_attention";
    c.add(name, qkv(), arguments(A::None, false), move |x| sdpa(x, None, false));
    c.add(name, qkv(), arguments(A::None, true), move |x| sdpa(x, None, true));
    let masked = qkv().into_iter().chain([n(&[5, 6])]).collect();
    c.add(name, masked, arguments(V(3), false), move |x| sdpa(x, Some(&x[3]), false));
}

fn losses(c: &mut Cases) {
    for (a, b, dim) in [(vec![4, 3], vec![4, 3], 1), (vec![4, 3], vec![3], 1), (vec![4, 3, 2], vec![4, 3, 2], 0)] {
        c.add("cosine_similarity", vec![n(&a), n(&b)], vec![V(0), V(1), I(dim), F(1e-8)], move |x| {
            Tensor::cosine_similarity(&x[0], &x[1], dim, 1e-8)
        });
    }
    for (number, reduction) in [(0, Reduction::None), (1, Reduction::Mean), (2, Reduction::Sum)] {
        let pair = || vec![n(&[4, 3]), n(&[4, 3])];
        let by_element = number == 0;
        let mse = vec![V(0), V(1), I(number)];
        c.add("mse_loss", pair(), mse.clone(), move |x| x[0].mse_loss(&x[1], reduction)).is_elementwise = by_element;
        c.add("l1_loss", pair(), mse, move |x| x[0].l1_loss(&x[1], reduction)).is_elementwise = by_element;
        for width in [1.0, 0.3] {
            let arguments = || vec![V(0), V(1), I(number), F(width)];
            c.add("smooth_l1_loss", pair(), arguments(), move |x| x[0].smooth_l1_loss(&x[1], reduction, width))
                .is_elementwise = by_element;
            c.add("huber_loss", pair(), arguments(), move |x| x[0].huber_loss(&x[1], reduction, width))
                .is_elementwise = by_element;
        }
        let (density, none) = (vec![n(&[4, 3]), p(&[4, 3])], || None::<Tensor>);
        c.add("kl_div", density, vec![V(0), V(1), I(number), B(false)], move |x| {
            x[0].kl_div(&x[1], reduction, false)
        })
        .is_elementwise = by_element;
        c.add("kl_div", pair(), vec![V(0), V(1), I(number), B(true)], move |x| x[0].kl_div(&x[1], reduction, true))
            .is_elementwise = by_element;
        let logits = "binary_cross_entropy_with_logits";
        c.add(logits, pair(), vec![V(0), V(1), A::None, A::None, I(number)], move |x| {
            x[0].binary_cross_entropy_with_logits(&x[1], none(), none(), reduction)
        })
        .is_elementwise = by_element;
        let inputs = vec![n(&[4, 3]), p(&[4, 3]), p(&[3]), p(&[3])];
        // Written out: LibTorch gives weights no gradient.
        c.add(logits, inputs, vec![V(0), V(1), V(2), V(3), I(number)], move |x| {
            let factor: Tensor = (&x[3] - 1.0) * &x[1] + 1.0;
            let elements = ((1.0 - &x[1]) * &x[0] - factor * x[0].log_sigmoid()) * &x[2];
            match reduction {
                Reduction::None => elements,
                Reduction::Mean => elements.mean(None),
                _ => elements.sum(None),
            }
        });
        let arguments = |log: bool| vec![V(0), V(1), B(log), B(false), F(1e-8), I(number)];
        c.add("poisson_nll_loss", vec![n(&[4, 3]), p(&[4, 3])], arguments(true), move |x| {
            x[0].poisson_nll_loss(&x[1], true, false, 1e-8, reduction)
        })
        .is_elementwise = by_element;
        c.add("poisson_nll_loss", vec![p(&[4, 3]), p(&[4, 3])], arguments(false), move |x| {
            x[0].poisson_nll_loss(&x[1], false, false, 1e-8, reduction)
        })
        .is_elementwise = by_element;
        classes(c, number, reduction);
    }
}

fn classes(c: &mut Cases, number: i64, reduction: Reduction) {
    let none = || None::<Tensor>;
    for shape in [vec![5, 3], vec![4, 3, 2]] {
        let classes: Vec<i64> = std::iter::once(shape[0]).chain(shape[2..].iter().copied()).collect();
        let inputs = || vec![n(&shape), ints(&classes, 3)];
        for ignored in [-100, 1] {
            for name in ["nll_loss", "nll_loss_nd"] {
                let arguments = vec![V(0), V(1), A::None, I(number), I(ignored)];
                c.add(name, inputs(), arguments, move |x| x[0].nll_loss_nd(&x[1], none(), reduction, ignored));
            }
            for smoothing in [0.0, 0.2] {
                let arguments = vec![V(0), V(1), A::None, I(number), I(ignored), F(smoothing)];
                c.add("cross_entropy_loss", inputs(), arguments, move |x| {
                    x[0].cross_entropy_loss(&x[1], none(), reduction, ignored, smoothing)
                });
            }
        }
        let probabilities = vec![n(&shape), p(&shape)];
        let arguments = vec![V(0), V(1), A::None, I(number), I(-100), F(0.1)];
        c.add("cross_entropy_loss", probabilities, arguments, move |x| {
            x[0].cross_entropy_loss(&x[1], none(), reduction, -100, 0.1)
        });
    }
    let single = vec![V(0), V(1), A::None, I(number), I(-100), F(0.0)];
    c.add("cross_entropy_loss", vec![n(&[4]), ints(&[], 4)], single, move |x| {
        x[0].cross_entropy_loss(&x[1], none(), reduction, -100, 0.0)
    });
}
