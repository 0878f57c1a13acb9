//! A function observed by LibTorch, compiled: what C++ calls. See `bridge/compiled.rs`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::blocks::{BlockRows, threads};
use super::buffer_assignment::BufferAssignment;
use super::executor::OutOfRange;
use super::form::Form;
use super::jit;
use super::tensor_lists::with_lists;
use crate::device::{Element, HostBuffer, ReadPointer, ReadTensors, WritePointer, WriteTensors};
use crate::error::{Error, Result};
use crate::graph::outputs::pass_on;
use crate::graph::program::{Node, Primitive, Tensor};
use crate::graph::{BackEnd, DType, ObservedGraph, Program, lower};
use crate::kernels::Scalar;

/// Which back end a compiled function shall have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Aot, which needs no compiler.
    Any,
    /// Aot.
    Aot,
    /// Jit; an error where it cannot be made.
    Jit,
    /// Jit where it can be made, else aot.
    Fastest,
}

/// How to compile a function.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// Of the user's function, for messages and generated code.
    pub name: String,
    /// Which back end.
    pub back_end: Wanted,
    /// Why that one, where the caller chose it for the user; else empty.
    pub reason: String,
    /// Whether a gradient is wanted, for each of inputs and constants.
    pub gradients: Vec<bool>,
    /// Seconds that compiling may take.
    pub time_limit: f64,
}

/// What a compiled graph takes and returns beyond the arguments that it was observed with.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// Of every number that is computed, gradients included.
    pub dtype: DType,
    /// Shapes of the user's results, then of one for each of `updates`; contiguous, made by the caller.
    pub outputs: Vec<Vec<usize>>,
    /// Arguments after inputs and constants.
    pub noise: Vec<Draw>,
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
    /// See [`pass_on`].
    passed_on: Vec<Option<usize>>,
    /// Operator and place of each observed node, for messages.
    operators: Vec<String>,
    runner: Runner,
    /// Which one runs, and why.
    back_end: BackEnd,
    reason: String,
    /// What kept the fastest from running, where it was asked for; else empty.
    obstacle: String,
    /// The emitted function, and what Clad made of it.
    text: String,
}

/// The graph in the type of its numbers.
enum Runner {
    Float32(Typed<f32>),
    Float64(Typed<f64>),
}

struct Typed<T> {
    form: Form<T>,
    /// Whether it is run at once and has operators that threads share.
    shares: bool,
    values: Arc<Pool<T>>,
    adjoints: Arc<Pool<T>>,
}

/// What one forward call keeps for its backward calls.
pub struct SavedForward(Saved);

enum Saved {
    Float32(Lease<f32>),
    Float64(Lease<f64>),
}

impl CompiledGraph {
    /// Lowers and lays out; fails where only LibTorch itself can run the function.
    pub fn new(graph: &ObservedGraph, options: &CompileOptions) -> Result<Self> {
        Self::in_blocks(graph, options, BlockRows::Suitable)
    }

    /// The same in blocks of so many rows.
    pub fn in_blocks(graph: &ObservedGraph, options: &CompileOptions, rows: BlockRows) -> Result<Self> {
        let mut program = lower::lower(graph, &options.gradients)?;
        let passed_on = pass_on(&mut program);
        let place = |place: &str| if place.is_empty() { String::new() } else { format!(" at {place}") };
        let operators = graph.nodes.iter().map(|node| format!("{}{}", node.op, place(&node.place))).collect();
        let mut compiled = CompiledGraph {
            name: options.name.clone(),
            runner: match program.dtype {
                DType::Float32 => Runner::Float32(Typed::new(&program, rows)?),
                _ => Runner::Float64(Typed::new(&program, rows)?),
            },
            program,
            passed_on,
            operators,
            back_end: BackEnd::Aot,
            reason: if options.reason.is_empty() { "as asked for".to_owned() } else { options.reason.clone() },
            obstacle: String::new(),
            text: String::new(),
        };
        let limit = time_limit(options.time_limit)?;
        match options.back_end {
            Wanted::Any if options.reason.is_empty() => {
                compiled.reason = "jit is used where it is asked for".to_owned();
            }
            Wanted::Any | Wanted::Aot => (),
            Wanted::Jit => compiled.make(limit)?,
            Wanted::Fastest => compiled.make_if_possible(limit),
        }
        Ok(compiled)
    }

    /// Stays with aot, and says why, where jit cannot be made.
    fn make_if_possible(&mut self, limit: Duration) {
        match self.make(limit) {
            Ok(()) => self.reason = "the fastest".to_owned(),
            Err(error) => {
                self.obstacle = error.to_string();
                self.reason.clone_from(&self.obstacle);
            }
        }
    }

    /// Puts one compiled function in place of the steps.
    fn make(&mut self, limit: Duration) -> Result<()> {
        let CompiledGraph { name, program, operators, runner, .. } = self;
        let made = match runner {
            Runner::Float32(typed) => typed.make(program, name, operators, limit),
            Runner::Float64(typed) => typed.make(program, name, operators, limit),
        };
        self.text = made.map_err(|reason| Error::invalid(format!("{name}: back end jit: {reason}"), "use aot"))?;
        self.back_end = BackEnd::Jit;
        Ok(())
    }

    /// What kept the fastest back end from running, where it was asked for; else empty.
    pub fn obstacle(&self) -> &str {
        &self.obstacle
    }

    /// The emitted function and Clad's derivative of it; empty with other back ends than `jit`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the caller passes and gets.
    pub fn signature(&self) -> Signature {
        let Program { dtype, outputs, noise, arguments, updates, .. } = &self.program;
        Signature {
            dtype: *dtype,
            outputs: outputs.iter().map(|output: &Tensor| output.view.sizes.clone()).collect(),
            noise: noise
                .iter()
                .map(|noise| Draw { shape: arguments[noise.argument].view.sizes.clone(), keep: noise.keep })
                .collect(),
            updates: updates.clone(),
            passed_on: self.passed_on.clone(),
        }
    }

    /// Operators, shapes, arena, back end, for people.
    pub fn describe(&self) -> String {
        let [values, adjoints] = match &self.runner {
            Runner::Float32(typed) => typed.form.run().arenas().map(|length| length * size_of::<f32>()),
            Runner::Float64(typed) => typed.form.run().arenas().map(|length| length * size_of::<f64>()),
        };
        let parts = match &self.runner {
            Runner::Float32(typed) => typed.form.parts(&self.program),
            Runner::Float64(typed) => typed.form.parts(&self.program),
        };
        let steps: usize = parts.iter().map(|(_, part)| part.nodes.len()).sum();
        let mut text = format!(
            "{}: {} on back end {} ({}), {} operators in {steps} steps, arenas of {values} bytes for values and \
             {adjoints} for adjoints\n",
            self.name,
            self.program.dtype.name(),
            self.back_end.name(),
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
        text
    }

    /// Which one runs.
    pub fn back_end(&self) -> BackEnd {
        self.back_end
    }

    /// Runs and keeps nothing.
    ///
    /// # Safety
    /// See the bridge.
    pub unsafe fn infer(&self, inputs: &[usize], outputs: &[usize]) -> Result<()> {
        with_lists(|lists| {
            lists.inputs.extend(inputs.iter().copied().map(ReadPointer::exposed));
            lists.written.extend(outputs.iter().copied().map(WritePointer::exposed));
            // SAFETY: the caller's promise.
            let (inputs, outputs) = unsafe { (ReadTensors::new(&lists.inputs), WriteTensors::new(&lists.written)) };
            let ran = match &self.runner {
                Runner::Float32(typed) => typed.infer(inputs, outputs),
                Runner::Float64(typed) => typed.infer(inputs, outputs),
            };
            ran.map_err(|failure| self.explain(failure))
        })
    }

    /// Runs and keeps the values.
    ///
    /// # Safety
    /// See the bridge.
    pub unsafe fn forward(&self, inputs: &[usize], outputs: &[usize]) -> Result<SavedForward> {
        with_lists(|lists| {
            lists.inputs.extend(inputs.iter().copied().map(ReadPointer::exposed));
            lists.written.extend(outputs.iter().copied().map(WritePointer::exposed));
            // SAFETY: the caller's promise.
            let (inputs, outputs) = unsafe { (ReadTensors::new(&lists.inputs), WriteTensors::new(&lists.written)) };
            self.run_forward(inputs, outputs)
        })
    }

    /// [`forward`](Self::forward) of tensors.
    pub(super) fn run_forward(&self, inputs: ReadTensors, outputs: WriteTensors) -> Result<SavedForward> {
        let saved = match &self.runner {
            Runner::Float32(typed) => typed.forward(inputs, outputs).map(Saved::Float32),
            Runner::Float64(typed) => typed.forward(inputs, outputs).map(Saved::Float64),
        };
        saved.map(SavedForward).map_err(|failure| self.explain(failure))
    }

    /// Writes the gradients; those that are adjoints passed on only where there is memory for them.
    ///
    /// # Safety
    /// See the bridge.
    pub unsafe fn backward(
        &self,
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
            let (inputs, seeds, gradients) = unsafe {
                (ReadTensors::new(&lists.inputs), ReadTensors::new(&lists.seeds), WriteTensors::new(&lists.written))
            };
            self.run_backward(saved, inputs, seeds, gradients)
        })
    }

    /// [`backward`](Self::backward) of tensors.
    pub(super) fn run_backward(
        &self,
        saved: &SavedForward,
        inputs: ReadTensors,
        seeds: ReadTensors,
        mut gradients: WriteTensors,
    ) -> Result<()> {
        let wanted = self.program.arguments.iter().enumerate().filter(|(_, argument)| argument.gradient);
        for (index, argument) in wanted {
            let is_missing =
                gradients.as_slice().get(index).is_none_or(|pointer| pointer.is_null()) && !argument.view.is_empty();
            if is_missing {
                return Err(Error::Internal(format!("no memory for the gradient of argument {index}")));
            }
        }
        match &self.runner {
            Runner::Float32(_) => self.copy_passed_on::<f32>(seeds, &mut gradients),
            Runner::Float64(_) => self.copy_passed_on::<f64>(seeds, &mut gradients),
        }
        match (&self.runner, &saved.0) {
            (Runner::Float32(typed), Saved::Float32(values)) => typed.backward(values, inputs, seeds, gradients),
            (Runner::Float64(typed), Saved::Float64(values)) => typed.backward(values, inputs, seeds, gradients),
            _ => Err(Error::Internal("the saved forward call is another graph's".into())),
        }
    }

    fn copy_passed_on<T: Scalar + Element>(&self, seeds: ReadTensors, gradients: &mut WriteTensors) {
        for (argument, output) in self.passed_on.iter().enumerate() {
            let Some(output) = *output else { continue };
            if gradients.as_slice().get(argument).is_none_or(|pointer| pointer.is_null()) {
                continue;
            }
            let length = self.program.arguments[argument].view.len();
            let gradient = gradients.write::<T>(argument, length);
            match seeds.is_given(output) {
                true => gradient.copy_from_slice(seeds.read::<T>(output, length)),
                false => gradient.fill(T::default()),
            }
        }
    }

    fn explain(&self, failure: Failure) -> Error {
        match failure {
            Failure::Other(error) => error,
            Failure::OutOfRange(OutOfRange { observed }) => Error::invalid(
                format!("{}: an index of {} is out of range", self.name, self.operators[observed]),
                "indices count from 0 to one below the size of their dimension",
            ),
        }
    }
}

enum Failure {
    OutOfRange(OutOfRange),
    Other(Error),
}

impl<T: Scalar + Element> Typed<T> {
    fn new(program: &Program, rows: BlockRows) -> Result<Self> {
        let form = Form::new(program, rows)?;
        let [values, adjoints] = form.run().arenas().map(|length| Arc::new(Pool::new(length)));
        let is_shared = |node: &Node| matches!(node.primitive, Primitive::Moments(_) | Primitive::Standardise { .. });
        let shares = matches!(form, Form::Whole(_)) && program.nodes.iter().any(is_shared);
        Ok(Typed { values, adjoints, form, shares })
    }

    fn make(&mut self, program: &Program, name: &str, operators: &[String], limit: Duration) -> Result<String, String> {
        let (program, executor) = match &mut self.form {
            Form::Whole(executor) => (program, executor),
            Form::Blocks(blocks) => blocks.block(),
        };
        let assignment = BufferAssignment::new(program);
        let jit::Made { function, zero, source, derivatives } =
            jit::make(program, &assignment, name, operators, limit)?;
        executor.replace_by(function, program, &assignment, &zero);
        self.adjoints = Arc::new(Pool::new(self.form.run().arenas()[1]));
        Ok(format!("{source}\n// What Clad made of it:\n{derivatives}"))
    }

    /// For its operators.
    fn threads(&self) -> usize {
        if self.shares { threads() } else { 1 }
    }

    fn lease(&self) -> Result<Lease<T>, Failure> {
        Pool::lease(&self.values, |fresh| self.form.run().prepare(fresh)).map_err(Failure::Other)
    }

    fn infer(&self, inputs: ReadTensors, outputs: WriteTensors) -> Result<(), Failure> {
        self.form
            .run()
            .infer(self.lease()?.as_mut_slice(), inputs, outputs, self.threads())
            .map_err(Failure::OutOfRange)
    }

    fn forward(&self, inputs: ReadTensors, outputs: WriteTensors) -> Result<Lease<T>, Failure> {
        let mut values = self.lease()?;
        let memory = values.as_mut_slice();
        self.form.run().forward(memory, inputs, outputs, self.threads()).map_err(Failure::OutOfRange)?;
        Ok(values)
    }

    fn backward(
        &self,
        values: &Lease<T>,
        inputs: ReadTensors,
        seeds: ReadTensors,
        gradients: WriteTensors,
    ) -> Result<()> {
        if !Arc::ptr_eq(&values.pool, &self.values) {
            return Err(Error::Internal("the saved forward call is another graph's".into()));
        }
        let mut adjoints = Pool::lease(&self.adjoints, |_| ())?;
        let (values, adjoints) = (values.as_slice(), adjoints.as_mut_slice());
        self.form.run().backward(values, adjoints, inputs, seeds, false, gradients, self.threads());
        Ok(())
    }
}

/// Arenas of one length, used again and again.
struct Pool<T> {
    length: usize,
    free: Mutex<Vec<HostBuffer<T>>>,
}

impl<T: Scalar> Pool<T> {
    fn new(length: usize) -> Self {
        Pool { length, free: Mutex::new(Vec::new()) }
    }

    fn lease(pool: &Arc<Self>, prepare: impl FnOnce(&mut [T])) -> Result<Lease<T>> {
        let free = pool.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let buffer = match free {
            Some(buffer) => buffer,
            None => {
                let mut buffer = HostBuffer::zeros(pool.length)?;
                prepare(buffer.as_mut_slice());
                buffer
            }
        };
        Ok(Lease { buffer: Some(buffer), pool: Arc::clone(pool) })
    }
}

/// What fTimeLimit says: infinity is no limit.
pub fn time_limit(seconds: f64) -> Result<Duration> {
    if seconds.is_nan() || seconds <= 0.0 {
        return Err(Error::invalid(format!("fTimeLimit = {seconds}"), "give seconds, more than 0"));
    }
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// An arena on loan; dropping it gives it back.
struct Lease<T: Scalar> {
    /// There until it is dropped.
    buffer: Option<HostBuffer<T>>,
    pool: Arc<Pool<T>>,
}

impl<T: Scalar> Lease<T> {
    fn as_slice(&self) -> &[T] {
        self.buffer.as_ref().map_or(&[], HostBuffer::as_slice)
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        self.buffer.as_mut().map_or(&mut [], HostBuffer::as_mut_slice)
    }
}

impl<T: Scalar> Drop for Lease<T> {
    fn drop(&mut self) {
        let mut free = self.pool.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(self.buffer.take());
    }
}
