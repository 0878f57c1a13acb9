//! A compiled function, observed by LibTorch, as C++ calls it. See `bridge/compiled.rs`.

use std::time::Duration;

use tch::Device;

use super::back_end::{BackEnd, Choice, Wanted};
use super::blocks::BlockRows;
use super::cuda::{CudaFunction, Gpu};
use super::executable::{Executable, Failure, SavedForward};
use super::host::HostProgram;
use super::out_of_range;
use super::tensor_lists::with_lists;
use crate::device::{Element, ReadPointer, ReadTensors, WritePointer, WriteTensors};
use crate::error::{Error, Result};
use crate::graph::outputs::pass_on;
use crate::graph::{DType, ObservedGraph, Program, View, lower};
use crate::kernels::Scalar;

/// The stream of the CPU, and the default one of a GPU.
pub(super) const HOST: usize = 0;

/// How to compile a function.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// Name of the user's function, for messages and generated code.
    pub name: String,
    /// Which back end.
    pub back_end: Wanted,
    /// Why this back end, if the caller chose it for the user; otherwise empty.
    pub reason: String,
    /// Whether a gradient is wanted, for each of inputs and constants.
    pub gradients: Vec<bool>,
    /// Seconds that compiling may take; NVRTC takes what it needs.
    pub time_limit: f64,
    /// Where all tensors lie; none: in memory of the host.
    pub gpu: Option<Gpu>,
}

/// Inputs and results of a compiled graph, beyond the arguments that it was observed with.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// Type of every number that is computed, gradients included.
    pub dtype: DType,
    /// The user's results, then one for each of `updates`, dense, made by the caller.
    pub outputs: Vec<View>,
    /// Arguments after inputs and constants.
    pub dropout: Vec<Draw>,
    /// Arguments (of inputs, then constants) that LibTorch changes in place (running statistics): the caller copies the
    /// last outputs into them after each forward call.
    pub updates: Vec<usize>,
    /// For each argument the output whose adjoint is its gradient as it is: the caller can take that instead.
    pub passed_on: Vec<Option<usize>>,
}

/// Random factors that the caller draws for each forward call.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// Contiguous.
    pub shape: Vec<usize>,
    /// Probability that an element is not 0; the others are its inverse.
    pub keep: f64,
}

/// A graph ready to run.
pub struct CompiledGraph {
    name: String,
    program: Program,
    /// How its outputs lie in memory, dense.
    outputs: Vec<View>,
    /// See [`pass_on`].
    passed_on: Vec<Option<usize>>,
    /// Operator and place of each observed node, for messages.
    operators: Vec<String>,
    executable: Box<dyn Executable>,
    /// Which back end runs, and why.
    choice: Choice,
    reason: String,
    /// The compiled text, and Clad's derivatives of it.
    text: String,
}

impl CompiledGraph {
    /// Lowers and lays out; fails where only LibTorch itself can run the function.
    pub fn new(graph: &ObservedGraph, options: &CompileOptions) -> Result<Self> {
        Self::in_blocks(graph, options, BlockRows::Suitable)
    }

    /// The same in blocks of this many rows.
    pub fn in_blocks(graph: &ObservedGraph, options: &CompileOptions, rows: BlockRows) -> Result<Self> {
        let (program, outputs) = lowered(graph, &options.gradients)?;
        Self::made(program, outputs, operators(graph), options, rows)
    }

    /// The same of a program that was made from what `graph` comes down to; its outputs are dense.
    pub(super) fn of(program: Program, graph: &ObservedGraph, options: &CompileOptions) -> Result<Self> {
        let outputs = dense(&program);
        Self::made(program, outputs, operators(graph), options, BlockRows::Suitable)
    }

    fn made(
        mut program: Program,
        outputs: Vec<View>,
        operators: Vec<String>,
        options: &CompileOptions,
        rows: BlockRows,
    ) -> Result<Self> {
        let CompileOptions { name, back_end: wanted, reason, gradients, time_limit: limit, gpu } = options;
        let (device, passed_on) = match gpu {
            None => (Device::Cpu, pass_on(&mut program)),
            // What is passed on is copied by the host where the caller wants it in memory of its own.
            Some(gpu) => (Device::Cuda(gpu.index()), vec![None; gradients.len()]),
        };
        let limit = time_limit(*limit)?;
        let ((executable, text), choice) = wanted.choose(device, |back_end| {
            let making = Making { back_end, name, operators: &operators, rows, limit, gpu: gpu.as_ref() };
            match program.dtype {
                DType::Float32 => making.compile::<f32>(&program),
                _ => making.compile::<f64>(&program),
            }
        })?;
        let reason = if reason.is_empty() { why(*wanted, device, &choice) } else { reason };
        Ok(CompiledGraph {
            name: name.clone(),
            reason: reason.to_owned(),
            program,
            outputs,
            passed_on,
            operators,
            executable,
            choice,
            text,
        })
    }

    /// Why the first requested back end does not run it; otherwise empty.
    pub fn obstacle(&self) -> &str {
        self.choice.instead.as_deref().unwrap_or_default()
    }

    /// The emitted function and Clad's derivative of it with the back end `jit`, the kernels with `cuda`; else empty.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The arguments that the caller passes, and the results.
    pub fn signature(&self) -> Signature {
        let Program { dtype, dropout, arguments, updates, .. } = &self.program;
        Signature {
            dtype: *dtype,
            outputs: self.outputs.clone(),
            dropout: dropout
                .iter()
                .map(|factors| Draw { shape: arguments[factors.argument].view.sizes.clone(), keep: factors.keep })
                .collect(),
            updates: updates.clone(),
            passed_on: self.passed_on.clone(),
        }
    }

    /// Operators, shapes, arena, back end, for people.
    pub fn describe(&self) -> String {
        let [values, adjoints] = self.executable.arenas();
        let parts = self.executable.parts(&self.program);
        let steps: usize = parts.iter().map(|(_, part)| part.nodes.len()).sum();
        let mut text = format!(
            "{}: {} on back end {} ({}), {} operators in {steps} steps, arenas of {values} bytes for values and \
             {adjoints} for adjoints\n",
            self.name,
            self.program.dtype.name(),
            self.back_end().name(),
            self.reason,
            self.operators.len(),
        );
        for (what, part) in &parts {
            if !what.is_empty() {
                text.push_str(&format!("  {what}:\n"));
            }
            for node in &part.nodes {
                let operator = self.operators.get(node.observed).map_or("", String::as_str);
                text.push_str(&format!("  {:<10} {:?}  {operator}\n", node.primitive.name(), node.shape));
            }
        }
        text + &self.executable.remarks()
    }

    /// Which one runs.
    pub fn back_end(&self) -> BackEnd {
        self.choice.back_end
    }

    /// Runs and keeps nothing.
    ///
    /// # Safety
    /// See the bridge.
    pub unsafe fn infer(&self, stream: usize, inputs: &[usize], outputs: &[usize]) -> Result<()> {
        // SAFETY: the caller's promise.
        let run = |inputs: &[ReadPointer], outputs: &[WritePointer]| unsafe {
            self.executable.infer(stream, inputs, outputs).map_err(|failure| self.explain(failure, inputs))
        };
        with_forward_lists(inputs, outputs, run)
    }

    /// Runs and keeps the values.
    ///
    /// # Safety
    /// See the bridge.
    pub unsafe fn forward(&self, stream: usize, inputs: &[usize], outputs: &[usize]) -> Result<SavedForward> {
        // SAFETY: the caller's promise.
        with_forward_lists(inputs, outputs, |inputs, outputs| unsafe { self.run_forward(stream, inputs, outputs) })
    }

    /// [`forward`](Self::forward) of tensors.
    ///
    /// # Safety
    /// See the bridge.
    pub(super) unsafe fn run_forward(
        &self,
        stream: usize,
        inputs: &[ReadPointer],
        outputs: &[WritePointer],
    ) -> Result<SavedForward> {
        // SAFETY: the caller's promise.
        unsafe { self.executable.forward(stream, inputs, outputs).map_err(|failure| self.explain(failure, inputs)) }
    }

    /// Writes the gradients; those that are adjoints passed on only where there is memory for them.
    ///
    /// # Safety
    /// See the bridge.
    pub unsafe fn backward(
        &self,
        stream: usize,
        saved: &SavedForward,
        inputs: &[usize],
        adjoints: &[usize],
        gradients: &[usize],
    ) -> Result<()> {
        with_lists(|lists| {
            lists.inputs.extend(inputs.iter().copied().map(ReadPointer::exposed));
            lists.seeds.extend(adjoints.iter().copied().map(ReadPointer::exposed));
            lists.written.extend(gradients.iter().copied().map(WritePointer::exposed));
            // SAFETY: the caller's promise.
            unsafe { self.run_backward(stream, saved, &lists.inputs, &lists.seeds, &lists.written) }
        })
    }

    /// [`backward`](Self::backward) of tensors.
    ///
    /// # Safety
    /// See the bridge.
    pub(super) unsafe fn run_backward(
        &self,
        stream: usize,
        saved: &SavedForward,
        inputs: &[ReadPointer],
        seeds: &[ReadPointer],
        gradients: &[WritePointer],
    ) -> Result<()> {
        let wanted = self.program.arguments.iter().enumerate().filter(|(_, argument)| argument.gradient);
        for (index, argument) in wanted {
            let is_missing = gradients.get(index).is_none_or(|pointer| pointer.is_null()) && !argument.view.is_empty();
            if is_missing {
                return Err(Error::Internal(format!("no memory for the gradient of argument {index}")));
            }
        }
        if self.passed_on.iter().any(Option::is_some) {
            // SAFETY: the caller's promise; only a program on the host passes any on.
            let (read, mut written) = unsafe { (ReadTensors::new(seeds), WriteTensors::new(gradients)) };
            self.copy_passed_on(read, &mut written);
        }
        // SAFETY: the caller's promise.
        unsafe { self.executable.backward(stream, saved, inputs, seeds, gradients) }
    }

    fn copy_passed_on(&self, seeds: ReadTensors, gradients: &mut WriteTensors) {
        for (argument, output) in self.passed_on.iter().enumerate() {
            let Some(output) = *output else { continue };
            if gradients.as_slice().get(argument).is_none_or(|pointer| pointer.is_null()) {
                continue;
            }
            let bytes = self.program.arguments[argument].view.len() * self.program.dtype.bytes();
            let gradient = gradients.write::<u8>(argument, bytes);
            match seeds.is_given(output) {
                true => gradient.copy_from_slice(seeds.read(output, bytes)),
                false => gradient.fill(0),
            }
        }
    }

    /// # Safety
    /// As for [`infer`](Self::infer), of inputs.
    unsafe fn explain(&self, failure: Failure, inputs: &[ReadPointer]) -> Error {
        let observed = match failure {
            Failure::Other(error) => return error,
            Failure::OutOfRange(observed) => observed,
        };
        // SAFETY: the caller's promise, for a program on the host.
        let find = || out_of_range::find(&self.program, observed, unsafe { ReadTensors::new(inputs) });
        let found = if self.back_end() == BackEnd::Cuda { None } else { find() };
        let (name, operator) = (&self.name, &self.operators[observed]);
        match found {
            Some(wrong) => Error::invalid(format!("{name}: {}", wrong.what(operator)), wrong.remedy()),
            None => Error::invalid(
                format!("{name}: an index of {operator} is out of range"),
                "give indices below the size of their dimension",
            ),
        }
    }
}

/// The program of an observed function, and how its outputs lie in memory.
fn lowered(graph: &ObservedGraph, gradients: &[bool]) -> Result<(Program, Vec<View>)> {
    if !gradients.contains(&true)
        && let Some(in_memory_order) = lower::in_memory_order(graph)
    {
        return Ok(in_memory_order);
    }
    let program = lower::lower(graph, gradients)?;
    let outputs = dense(&program);
    Ok((program, outputs))
}

fn dense(program: &Program) -> Vec<View> {
    program.outputs.iter().map(|output| View::contiguous(&output.view.sizes)).collect()
}

/// Operator and place of each observed node.
fn operators(graph: &ObservedGraph) -> Vec<String> {
    let place = |place: &str| if place.is_empty() { String::new() } else { format!(" at {place}") };
    graph.nodes.iter().map(|node| format!("{}{}", node.op, place(&node.place))).collect()
}

/// A request to a back end.
struct Making<'a> {
    back_end: BackEnd,
    name: &'a str,
    operators: &'a [String],
    rows: BlockRows,
    limit: Duration,
    gpu: Option<&'a Gpu>,
}

impl Making<'_> {
    /// The program, and the text that was compiled for it.
    fn compile<T: Scalar + Element>(&self, program: &Program) -> Result<(Box<dyn Executable>, String)>
    where
        HostProgram<T>: Executable,
    {
        let &Making { back_end, name, operators, rows, limit, gpu } = self;
        match (back_end, gpu) {
            (BackEnd::Cuda, Some(gpu)) => {
                let made = CudaFunction::new(program, gpu)?;
                let text = made.text();
                Ok((Box::new(made), text))
            }
            (BackEnd::Aot, None) => Ok((Box::new(HostProgram::<T>::aot(program, rows)?), String::new())),
            (BackEnd::Jit, None) => {
                let made = HostProgram::<T>::jit(program, rows, name, operators, limit);
                let failed = |reason| Error::invalid(format!("{name}: back end jit: {reason}"), "use aot");
                made.map(|(made, text)| (Box::new(made) as Box<dyn Executable>, text)).map_err(failed)
            }
            _ => Err(Error::Internal(format!("{name} is not for back end {} to run", back_end.name()))),
        }
    }
}

/// Why that back end runs.
fn why(wanted: Wanted, device: Device, choice: &Choice) -> &str {
    match (&choice.instead, wanted) {
        (Some(obstacle), _) => obstacle,
        (None, Wanted::Any) if device != Device::Cpu => "the tensors are on a GPU",
        (None, Wanted::Any) => "jit is used where it is asked for",
        (None, Wanted::Fastest) => "the fastest",
        (None, _) => "as asked for",
    }
}

/// Calls `run` with the tensors at these addresses.
fn with_forward_lists<R>(
    inputs: &[usize],
    outputs: &[usize],
    run: impl FnOnce(&[ReadPointer], &[WritePointer]) -> R,
) -> R {
    with_lists(|lists| {
        lists.inputs.extend(inputs.iter().copied().map(ReadPointer::exposed));
        lists.written.extend(outputs.iter().copied().map(WritePointer::exposed));
        run(&lists.inputs, &lists.written)
    })
}

/// The duration of fTimeLimit; infinity is no limit.
pub fn time_limit(seconds: f64) -> Result<Duration> {
    if seconds.is_nan() || seconds <= 0.0 {
        return Err(Error::invalid(format!("fTimeLimit = {seconds}"), "give seconds, more than 0"));
    }
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}
