//! One operator after a linear layer, as modules: each has numbers [events, 3, 4] of both signs, or from 0 to 1, and
//! returns all that it computes.

use tch::Tensor;

use super::modules::Case;
use super::recorder::A::{self, B, F, I, L, S, V, VL};
use super::recorder::Recorder;

/// Numbers [events, 3, 4]; `unit`: between 0 and 1.
fn numbers(r: &mut Recorder, unit: bool) -> usize {
    let value = t(r, 0).linear(&t(r, 1), Some(&t(r, 2)));
    let h = r.record("linear", "", &[V(0), V(1), V(2)], vec![value]);
    let shape = [t(r, 0).size()[0], 3, 4];
    let value = t(r, h).view(shape);
    let h = r.record("view", "", &[V(h), L(shape.to_vec())], vec![value]);
    match unit {
        false => h,
        true => {
            let value = t(r, h).sigmoid();
            r.record("sigmoid", "", &[V(h)], vec![value])
        }
    }
}

fn t(r: &Recorder, index: usize) -> Tensor {
    r.tensors[index].shallow_clone()
}

/// The result of an operator, `op.overload`, for numbers and `more`.
fn of(r: &mut Recorder, unit: bool, op: &str, more: &[A], f: impl Fn(&Tensor) -> Tensor) -> usize {
    let h = numbers(r, unit);
    let value = f(&t(r, h));
    of_value(r, op, &[&[V(h)], more].concat(), value)
}

/// The same for two halves [events, 3, 2] of the numbers.
fn of_halves(r: &mut Recorder, unit: bool, op: &str, more: &[A], f: impl Fn(&Tensor, &Tensor) -> Tensor) -> usize {
    let h = numbers(r, unit);
    let [a, b] = [0, 2].map(|first| {
        let value = t(r, h).slice(2, first, first + 2, 1);
        r.record("slice", "Tensor", &[V(h), I(2), I(first), I(first + 2), I(1)], vec![value])
    });
    let value = f(&t(r, a), &t(r, b));
    let arguments = if matches!(op, "cat" | "stack") { vec![VL(vec![a as i64, b as i64])] } else { vec![V(a), V(b)] };
    of_value(r, op, &[&arguments, more].concat(), value)
}

/// The elements of another tensor at the places that an operator returns beside its values.
fn at_places(r: &mut Recorder, unit: bool, op: &str, more: &[A], f: impl Fn(&Tensor) -> (Tensor, Tensor)) -> usize {
    let h = numbers(r, unit);
    let value = t(r, h).sin();
    let other = r.record("sin", "", &[V(h)], vec![value]);
    let (values, places) = f(&t(r, h));
    let places = r.record(op, "", &[&[V(h)], more].concat(), vec![values, places]) + 1;
    let A::I(dim) = more[usize::from(op == "topk")] else { panic!("{op} without a dimension") };
    let value = t(r, other).gather(dim, &t(r, places), false);
    of_value(r, "gather", &[V(other), I(dim), V(places), B(false)], value)
}

/// Rows of a table at places that are numbers without their fractions, some of which count from the end.
fn rows_at(r: &mut Recorder, _: bool, op: &str, _: &[A], f: impl Fn(&Tensor, &Tensor) -> Tensor) -> usize {
    let h = numbers(r, false);
    let value = t(r, h).clamp(-1.9, 2.9);
    let h = r.record("clamp", "", &[V(h), F(-1.9), F(2.9)], vec![value]);
    let value = t(r, h).to_kind(tch::Kind::Int64);
    let places = r.record("to", "dtype", &[V(h), I(4), B(false), B(false), A::None], vec![value]);
    let value = f(&t(r, 1), &t(r, places));
    of_value(r, op, &[V(1), VL(vec![places as i64])], value)
}

fn of_value(r: &mut Recorder, op: &str, arguments: &[A], value: Tensor) -> usize {
    let (op, overload) = op.split_once('.').unwrap_or((op, ""));
    let y = r.record(op, overload, arguments, vec![value]);
    let value = t(r, y).flatten(1, -1);
    r.record("flatten", "using_ints", &[V(y), I(1), I(-1)], vec![value])
}

/// Cases of one operand, or two: name, whether the numbers are between 0 and 1, further arguments, LibTorch's function.
macro_rules! cases {
    ($($way:ident $op:literal $unit:literal [$($more:expr),*] $f:expr;)*) => {
        pub const OPERATORS: &[Case] = &[$(Case {
            name: $op,
            event: &[4],
            parameters: &[&[12, 4], &[12]],
            state: &[],
            draws: false,
            build: &|r, _| $way(r, $unit, $op, &[$($more),*], $f),
        },)*];
    };
}

cases! {
    of "abs" false [] |x| x.abs();
    of "acos" true [] |x| x.acos();
    of "amax" false [L(vec![1]), B(false)] |x| x.amax(&[1i64][..], false);
    of "asin" true [] |x| x.asin();
    of "asinh" false [] |x| x.asinh();
    of "atan" false [] |x| x.atan();
    of "atanh" true [] |x| x.atanh();
    of "ceil" false [] |x| x.ceil();
    of "clamp" false [F(-0.3), F(0.4)] |x| x.clamp(-0.3, 0.4);
    of "constant_pad_nd" false [L(vec![1, 2, 0, 1]), F(0.0)] |x| x.constant_pad_nd([1, 2, 0, 1]);
    of "cos" false [] |x| x.cos();
    of "cosh" false [] |x| x.cosh();
    of "elu" false [I(1), I(1), I(1)] |x| x.elu();
    of "erf" false [] |x| x.erf();
    of "erfc" false [] |x| x.erfc();
    of "exp" false [] |x| x.exp();
    of "exp2" false [] |x| x.exp2();
    of "expm1" false [] |x| x.expm1();
    of "flip" false [L(vec![1, 2])] |x| x.flip([1, 2]);
    of "floor" false [] |x| x.floor();
    of "gelu" false [S("none")] |x| x.gelu("none");
    of "gelu" false [S("tanh")] |x| x.gelu("tanh");
    of "hardtanh" false [I(-1), I(1)] |x| x.hardtanh();
    of "leaky_relu" false [F(0.01)] |x| x.leaky_relu();
    of "log" true [] |x| x.log();
    of "log10" true [] |x| x.log10();
    of "log1p" true [] |x| x.log1p();
    of "log2" true [] |x| x.log2();
    of "log_sigmoid" false [] |x| x.log_sigmoid();
    of "log_softmax.int" false [I(1), A::None] |x| x.log_softmax(1, x.kind());
    of "mean.dim" false [L(vec![2]), B(true), A::None] |x| x.mean_dim(&[2i64][..], true, x.kind());
    of "neg" false [] |x| x.neg();
    of "norm.ScalarOpt_dim" false [F(2.0), L(vec![2]), B(false)] |x| x.norm_scalaropt_dim(2.0, [2i64], false);
    of "permute" false [L(vec![0, 2, 1])] |x| x.permute([0, 2, 1]);
    of "reciprocal" true [] |x| x.reciprocal();
    of "relu" false [] |x| x.relu();
    of "roll" false [L(vec![0, 1]), L(vec![1, 2])] |x| x.roll([0i64, 1], [1i64, 2]);
    of "round" false [] |x| x.round();
    of "rsqrt" true [] |x| x.rsqrt();
    of "sigmoid" false [] |x| x.sigmoid();
    of "sign" false [] |x| x.sign();
    of "silu" false [] |x| x.silu();
    of "sin" false [] |x| x.sin();
    of "sinh" false [] |x| x.sinh();
    of "softmax.int" false [I(2), A::None] |x| x.softmax(2, x.kind());
    of "softplus" false [I(1), I(20)] |x| x.softplus();
    of "sqrt" true [] |x| x.sqrt();
    of "square" false [] |x| x.square();
    of "sum.dim_IntList" false [L(vec![1, 2]), B(true), A::None] |x| x.sum_dim_intlist(&[1i64, 2][..], true, x.kind());
    of "tan" true [] |x| x.tan();
    of "tanh" false [] |x| x.tanh();
    of "trunc" false [] |x| x.trunc();
    at_places "topk" false [I(2), I(2), B(false), B(true)] |x| x.topk(2, 2, false, true);
    at_places "topk" false [I(2), I(1), B(true), B(false)] |x| x.topk(2, 1, true, false);
    at_places "sort" false [I(1), B(true)] |x| x.sort(1, true);
    rows_at "index.Tensor" false [] |table, places| table.index(&[Some(places)]);
    of_halves "add.Tensor" false [I(1)] |a, b| a + b;
    of_halves "cat" false [I(1)] |a, b| Tensor::cat(&[a, b], 1);
    of_halves "div.Tensor" true [] |a, b| a / b;
    of_halves "fmod.Tensor" true [] |a, b| a.fmod_tensor(b);
    of_halves "hypot" false [] |a, b| a.hypot(b);
    of_halves "logaddexp" false [] |a, b| a.logaddexp(b);
    of_halves "maximum" false [] |a, b| a.maximum(b);
    of_halves "minimum" false [] |a, b| a.minimum(b);
    of_halves "mul.Tensor" false [] |a, b| a * b;
    of_halves "pow.Tensor_Tensor" true [] |a, b| a.pow(b);
    of_halves "remainder.Tensor" true [] |a, b| a.remainder_tensor(b);
    of_halves "stack" false [I(2)] |a, b| Tensor::stack(&[a, b], 2);
    of_halves "sub.Tensor" false [I(1)] |a, b| a - b;
}
