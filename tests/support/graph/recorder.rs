//! Builds observed graphs like the C++ front end, by running LibTorch's operators one after the other, and compares the
//! results of a compiled graph with LibTorch and its autograd.

use cladtorch::gradient::{BlockRows, CompileOptions, CompiledGraph, Wanted};
use cladtorch::graph::{DType, ObservedArgument, ObservedGraph, ObservedNode, ObservedValue, View};
use tch::{Kind, Tensor};

/// An argument of an operator; `V` counts the recorder's values.
#[derive(Clone, Debug)]
pub enum A {
    None,
    V(usize),
    I(i64),
    F(f64),
    B(bool),
    L(Vec<i64>),
    S(&'static str),
    VL(Vec<i64>),
}

impl A {
    fn observed(&self) -> ObservedArgument {
        match self {
            A::None => ObservedArgument::None,
            A::V(index) => ObservedArgument::Value(*index as u32),
            A::I(value) => ObservedArgument::Integer(*value),
            A::F(number) => ObservedArgument::Float(*number),
            A::B(flag) => ObservedArgument::Bool(*flag),
            A::L(list) => ObservedArgument::Integers(list.clone()),
            A::S(text) => ObservedArgument::Text((*text).to_owned()),
            A::VL(list) => ObservedArgument::Values(list.iter().map(|&index| u32::try_from(index).ok()).collect()),
        }
    }
}

pub struct Recorder {
    pub graph: ObservedGraph,
    /// LibTorch's values, with autograd's history behind them.
    pub tensors: Vec<Tensor>,
}

fn observed(tensor: &Tensor) -> ObservedValue {
    let dtype = match tensor.kind() {
        Kind::Float => DType::Float32,
        Kind::Double => DType::Float64,
        Kind::Int64 => DType::Int64,
        Kind::Bool => DType::Bool,
        other => panic!("a tensor of type {other:?}"),
    };
    ObservedValue { name: String::new(), dtype, shape: tensor.size(), strides: tensor.stride() }
}

impl Recorder {
    /// Starts with a function's inputs.
    pub fn new(inputs: &[Tensor]) -> Self {
        let is_float = |tensor: &Tensor| matches!(tensor.kind(), Kind::Float | Kind::Double);
        // Detached: a leaf with the requested strides.
        let leaves = inputs.iter().map(|tensor| tensor.detach().set_requires_grad(is_float(tensor)));
        let tensors: Vec<Tensor> = leaves.collect();
        Recorder {
            graph: ObservedGraph {
                values: tensors.iter().map(observed).collect(),
                nodes: Vec::new(),
                inputs: (0..tensors.len() as u32).collect(),
                outputs: Vec::new(),
                constants: Vec::new(),
            },
            tensors,
        }
    }

    /// Records that `op` of these arguments gave `results`; returns the number of the first.
    pub fn record(&mut self, op: &str, overload: &str, arguments: &[A], results: Vec<Tensor>) -> usize {
        let first = self.tensors.len();
        self.graph.values.extend(results.iter().map(observed));
        self.graph.nodes.push(ObservedNode {
            op: format!("aten::{op}"),
            overload: overload.to_owned(),
            arguments: arguments.iter().map(A::observed).collect(),
            outputs: (first..first + results.len()).map(|index| index as u32).collect(),
            place: String::new(),
        });
        self.tensors.extend(results);
        first
    }

    pub fn returns(&mut self, outputs: &[usize]) {
        self.graph.outputs = outputs.iter().map(|&output| output as u32).collect();
    }

    pub fn inputs(&self) -> &[Tensor] {
        &self.tensors[..self.graph.inputs.len()]
    }

    /// With the back end `aot`.
    pub fn compile(&self) -> Result<CompiledGraph, String> {
        self.compile_with(Wanted::Aot, 60.0)
    }

    /// With a back end, within this many seconds.
    pub fn compile_with(&self, back_end: Wanted, time_limit: f64) -> Result<CompiledGraph, String> {
        CompiledGraph::new(&self.graph, &self.options(back_end, time_limit)).map_err(|error| error.to_string())
    }

    /// The same in blocks of this many rows; `None` if the rows cannot be separated.
    pub fn compile_in_blocks(
        &self,
        rows: usize,
        back_end: Wanted,
        limit: f64,
    ) -> Result<Option<CompiledGraph>, String> {
        let compiled = CompiledGraph::in_blocks(&self.graph, &self.options(back_end, limit), BlockRows::Given(rows));
        let compiled = compiled.map_err(|error| error.to_string())?;
        Ok(compiled.describe().contains(" blocks of ").then_some(compiled))
    }

    /// How it is compiled for the CPU.
    pub fn options(&self, back_end: Wanted, time_limit: f64) -> CompileOptions {
        let gradients = self.inputs().iter().map(Tensor::requires_grad).collect();
        CompileOptions { name: "f".into(), back_end, reason: String::new(), gradients, time_limit, gpu: None }
    }

    /// With the back end `aot`, without gradients, with values that share memory, as a whole and in blocks of these
    /// numbers of rows.
    fn compiled_without_gradients(&self, rows: &[usize]) -> Result<Vec<CompiledGraph>, String> {
        let options = CompileOptions { gradients: vec![false; self.inputs().len()], ..self.options(Wanted::Aot, 60.0) };
        let whole = std::iter::once(CompiledGraph::new(&self.graph, &options));
        let blocks = rows.iter().map(|&rows| CompiledGraph::in_blocks(&self.graph, &options, BlockRows::Given(rows)));
        whole.chain(blocks).collect::<Result<_, _>>().map_err(|error| error.to_string())
    }

    /// Seeds of the outputs: numbers between 0.5 and 1.5, so that nothing cancels.
    pub fn seeds(&self) -> Vec<Tensor> {
        let seed = |&output: &u32| {
            let tensor = &self.tensors[output as usize];
            let count = tensor.numel() as i64;
            let angles = Tensor::arange(count, (tensor.kind(), tch::Device::Cpu)) * 0.7 + f64::from(output);
            (angles.sin() * 0.5 + 1.0).reshape(tensor.size())
        };
        self.graph.outputs.iter().map(seed).collect()
    }

    /// LibTorch's outputs, then the gradients of the floating-point inputs of the sum of seed times output.
    pub fn expected(&self) -> Vec<Tensor> {
        let outputs: Vec<&Tensor> = self.graph.outputs.iter().map(|&output| &self.tensors[output as usize]).collect();
        let mut expected: Vec<Tensor> = outputs.iter().map(|output| output.detach()).collect();
        let leaves: Vec<&Tensor> = self.inputs().iter().filter(|tensor| tensor.requires_grad()).collect();
        let terms = outputs.iter().zip(self.seeds()).filter(|(output, _)| output.requires_grad());
        let total = terms.fold(None, |sum: Option<Tensor>, (output, seed)| {
            let term = (*output * seed).sum(output.kind());
            Some(sum.map_or(term.shallow_clone(), |sum| sum + term))
        });
        if let Some(total) = total {
            total.backward();
        }
        expected.extend(leaves.iter().map(|leaf| {
            let gradient = leaf.grad();
            let zeros = leaf.zeros_like().contiguous();
            // Some derivatives that are 0 everywhere are tensors without memory: a sum has some.
            if gradient.defined() { zeros + gradient } else { zeros }
        }));
        expected
    }

    /// The compiled graph's outputs and gradients, in the same order.
    pub fn actual(&self, compiled: &CompiledGraph) -> Result<Vec<Tensor>, String> {
        run(compiled, self.inputs(), &self.seeds(), true)
    }

    /// The sum of seed times output of the compiled graph at other inputs.
    pub fn total(&self, compiled: &CompiledGraph, inputs: &[Tensor]) -> f64 {
        let seeds = self.seeds();
        let outputs = run(compiled, inputs, &seeds, false).expect("it ran before");
        outputs.iter().zip(&seeds).map(|(output, seed)| (output * seed).sum(Kind::Double).double_value(&[])).sum()
    }
}

/// Memory full of NaN for a result: unwritten elements show.
fn dense(output: &View, kind: Kind) -> Tensor {
    let list = |list: &[usize]| list.iter().map(|&one| one as i64).collect::<Vec<_>>();
    let mut memory = Tensor::empty_strided(list(&output.sizes), list(&output.strides), (kind, tch::Device::Cpu));
    memory.fill_(f64::NAN)
}

fn addresses(tensors: &[Tensor]) -> Vec<usize> {
    tensors.iter().map(|tensor| tensor.data_ptr() as usize).collect()
}

/// Outputs of the compiled graph and, with `backward`, the gradients of the inputs that require them.
fn run(compiled: &CompiledGraph, inputs: &[Tensor], seeds: &[Tensor], backward: bool) -> Result<Vec<Tensor>, String> {
    // Memory full of NaN: unwritten elements show.
    let fresh = |like: &Tensor| Tensor::full(like.size(), f64::NAN, (like.kind(), tch::Device::Cpu));
    let outputs = compiled.signature().outputs;
    let mut results: Vec<Tensor> =
        seeds.iter().zip(&outputs).map(|(seed, output)| dense(output, seed.kind())).collect();
    let (input_addresses, output_addresses) = (addresses(inputs), addresses(&results));
    let text = |error: cladtorch::Error| error.to_string();
    if !backward {
        // SAFETY: the tensors have the shapes, strides and types of the observation and outlive the call.
        unsafe { compiled.infer(0, &input_addresses, &output_addresses) }.map_err(text)?;
        return Ok(results);
    }
    // SAFETY: as above.
    let saved = unsafe { compiled.forward(0, &input_addresses, &output_addresses) }.map_err(text)?;
    let gradients: Vec<Option<Tensor>> =
        inputs.iter().map(|input| input.requires_grad().then(|| fresh(input))).collect();
    let gradient_addresses: Vec<usize> =
        gradients.iter().map(|gradient| gradient.as_ref().map_or(0, |g| g.data_ptr() as usize)).collect();
    for _ in 0..2 {
        // Twice: a backward call leaves everything unchanged.
        // SAFETY: as above; gradients are dense and of their inputs' shapes.
        unsafe { compiled.backward(0, &saved, &input_addresses, &addresses(seeds), &gradient_addresses) }
            .map_err(text)?;
    }
    results.extend(gradients.into_iter().flatten());
    Ok(results)
}

/// The numbers of a tensor in row-major order.
pub fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.detach().to_kind(Kind::Double).contiguous().flatten(0, -1)).unwrap()
}

/// Whether two lists of numbers agree: within `rtol` of the number and `atol` of the largest one, and infinities and NaN in
/// the same places.
pub fn agree(got: &[f64], want: &[f64], rtol: f64, atol: f64) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{} elements instead of {}", got.len(), want.len()));
    }
    let largest = want.iter().filter(|x| x.is_finite()).fold(0.0f64, |top, x| top.max(x.abs()));
    for (index, (&got, &want)) in got.iter().zip(want).enumerate() {
        let close = (got - want).abs() <= rtol * want.abs() + atol * largest.max(1e-30);
        if !(close || got == want || got.is_nan() && want.is_nan()) {
            return Err(format!("element {index} is {got:e} instead of {want:e}"));
        }
    }
    Ok(())
}

/// Compares outputs and gradients with LibTorch's, of the graph as a whole and in blocks of one and of two rows; outputs without
/// gradients with those beside gradients.
pub fn check(recorder: &Recorder, rtol: f64, atol: f64) -> Result<CompiledGraph, String> {
    let compiled = recorder.compile()?;
    let expected = recorder.expected();
    let compare = |compiled: &CompiledGraph| same(recorder, &recorder.actual(compiled)?, &expected, rtol, atol);
    compare(&compiled)?;
    for rows in [1, 2] {
        if let Some(compiled) = recorder.compile_in_blocks(rows, Wanted::Aot, 60.0)? {
            compare(&compiled).map_err(|e| format!("in blocks of {rows}: {e}\n{}", compiled.describe()))?;
        }
    }
    for without in recorder.compiled_without_gradients(&[1, 2])? {
        for call in ["first", "second"] {
            let outputs = run(&without, recorder.inputs(), &recorder.seeds(), false)?;
            same(recorder, &outputs, &expected[..outputs.len()], rtol, atol)
                .map_err(|e| format!("without gradients, {call} call: {e}\n{}", without.describe()))?;
        }
    }
    Ok(compiled)
}

/// Compares outputs and gradients, however they were made, with LibTorch's.
pub fn compare(recorder: &Recorder, got: Vec<Tensor>, rtol: f64, atol: f64) -> Result<(), String> {
    same(recorder, &got, &recorder.expected(), rtol, atol)
}

fn same(recorder: &Recorder, got: &[Tensor], want: &[Tensor], rtol: f64, atol: f64) -> Result<(), String> {
    let outputs = recorder.graph.outputs.len();
    for (index, (got, want)) in got.iter().zip(want).enumerate() {
        let what = if index < outputs { format!("output {index}") } else { format!("gradient {}", index - outputs) };
        agree(&numbers(got), &numbers(want), rtol, atol).map_err(|e| format!("{what}: {e}"))?;
    }
    Ok(())
}
