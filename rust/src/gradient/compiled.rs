//! A function observed by LibTorch, compiled: what C++ calls. See `bridge/compiled.rs`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::blocks::BlockRows;
use super::executor::OutOfRange;
use super::form::Form;
use super::jit;
use super::layout::Layout;
use crate::bridge::{CompileSpec, CompiledSignature, NoiseSpec, ObservedGraph, ObservedValue};
use crate::device::{Addresses, Element, HostBuffer};
use crate::error::{Error, Result};
use crate::graph::program::Tensor;
use crate::graph::view::row_major;
use crate::graph::{BackEnd, DType, Program, lower};
use crate::kernels::Scalar;

/// Beside the numbers of back ends in [`CompileSpec`]: jit, else aot.
const FASTEST: u8 = 4;

/// A graph ready to run.
pub struct CompiledGraph {
    name: String,
    program: Program,
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
    pub fn new(graph: &ObservedGraph, spec: &CompileSpec) -> Result<Self> {
        Self::in_blocks(graph, spec, BlockRows::Suitable)
    }

    /// The same in blocks of so many rows.
    pub fn in_blocks(graph: &ObservedGraph, spec: &CompileSpec, rows: BlockRows) -> Result<Self> {
        let program = lower::lower(graph, &spec.gradients)?;
        let place = |place: &str| if place.is_empty() { String::new() } else { format!(" at {place}") };
        let operators = graph.nodes.iter().map(|node| format!("{}{}", node.op, place(&node.place))).collect();
        let mut compiled = CompiledGraph {
            name: spec.name.clone(),
            runner: match program.dtype {
                DType::Float32 => Runner::Float32(Typed::new(&program, rows)?),
                _ => Runner::Float64(Typed::new(&program, rows)?),
            },
            program,
            operators,
            back_end: BackEnd::Aot,
            reason: if spec.reason.is_empty() { "as asked for".to_owned() } else { spec.reason.clone() },
            obstacle: String::new(),
            text: String::new(),
        };
        let limit = time_limit(spec.time_limit)?;
        match spec.back_end.checked_sub(1).map(BackEnd::from_number) {
            None if spec.reason.is_empty() => compiled.reason = "jit is used where it is asked for".to_owned(),
            None => (),
            Some(_) if spec.back_end == FASTEST => compiled.make_if_possible(limit),
            Some(Some(BackEnd::Aot)) => (),
            Some(Some(BackEnd::Jit)) => compiled.make(limit)?,
            Some(None) => {
                let what = format!("back end number {} is unknown", spec.back_end);
                return Err(Error::invalid(what, "use a named constant"));
            }
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
    pub fn signature(&self) -> CompiledSignature {
        let dtype = self.program.dtype as u8;
        let outputs = self.program.outputs.iter().map(|output: &Tensor| ObservedValue {
            name: String::new(),
            dtype,
            shape: output.view.sizes.iter().map(|&size| size as i64).collect(),
            strides: row_major(&output.view.sizes).into_iter().map(|stride| stride as i64).collect(),
        });
        let noise = self.program.noise.iter().map(|noise| {
            let shape = &self.program.arguments[noise.argument].view.sizes;
            NoiseSpec { dtype, shape: shape.iter().map(|&size| size as i64).collect(), keep: noise.keep }
        });
        CompiledSignature {
            dtype,
            outputs: outputs.collect(),
            noise: noise.collect(),
            updates: self.program.updates.iter().map(|&argument| argument as u32).collect(),
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
        // SAFETY: the caller's promise.
        let (inputs, outputs) = unsafe { (Addresses::new(inputs), Addresses::new(outputs)) };
        match &self.runner {
            Runner::Float32(typed) => typed.forward(inputs, outputs).map(drop),
            Runner::Float64(typed) => typed.forward(inputs, outputs).map(drop),
        }
        .map_err(|failure| self.explain(failure))
    }

    /// Runs and keeps the values.
    ///
    /// # Safety
    /// See the bridge.
    pub unsafe fn forward(&self, inputs: &[usize], outputs: &[usize]) -> Result<SavedForward> {
        // SAFETY: the caller's promise.
        let (inputs, outputs) = unsafe { (Addresses::new(inputs), Addresses::new(outputs)) };
        let saved = match &self.runner {
            Runner::Float32(typed) => typed.forward(inputs, outputs).map(Saved::Float32),
            Runner::Float64(typed) => typed.forward(inputs, outputs).map(Saved::Float64),
        };
        saved.map(SavedForward).map_err(|failure| self.explain(failure))
    }

    /// Writes the gradients.
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
        let wanted = self.program.arguments.iter().enumerate().filter(|(_, argument)| argument.gradient);
        for (index, argument) in wanted {
            let is_missing = gradients.get(index).is_none_or(|&address| address == 0) && !argument.view.is_empty();
            if is_missing {
                return Err(Error::Internal(format!("no memory for the gradient of argument {index}")));
            }
        }
        // SAFETY: the caller's promise.
        let [inputs, adjoints, gradients] =
            unsafe { [Addresses::new(inputs), Addresses::new(adjoints), Addresses::new(gradients)] };
        match (&self.runner, &saved.0) {
            (Runner::Float32(typed), Saved::Float32(values)) => typed.backward(values, inputs, adjoints, gradients),
            (Runner::Float64(typed), Saved::Float64(values)) => typed.backward(values, inputs, adjoints, gradients),
            _ => Err(Error::Internal("the saved forward call is another graph's".into())),
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
        Ok(Typed { values, adjoints, form })
    }

    fn make(&mut self, program: &Program, name: &str, operators: &[String], limit: Duration) -> Result<String, String> {
        let (program, executor) = match &mut self.form {
            Form::Whole(executor) => (program, executor),
            Form::Blocks(blocks) => blocks.block(),
        };
        let layout = Layout::new(program);
        let jit::Made { function, zero, source, derivatives } = jit::make(program, &layout, name, operators, limit)?;
        executor.replace_by(function, program, &layout, &zero);
        self.adjoints = Arc::new(Pool::new(self.form.run().arenas()[1]));
        Ok(format!("{source}\n// What Clad made of it:\n{derivatives}"))
    }

    fn forward(&self, inputs: Addresses, outputs: Addresses) -> Result<Lease<T>, Failure> {
        let mut values = Pool::lease(&self.values, |fresh| self.form.run().prepare(fresh)).map_err(Failure::Other)?;
        let memory = values.as_mut_slice();
        self.form.run().forward(memory, inputs, outputs, 1).map_err(Failure::OutOfRange)?;
        Ok(values)
    }

    fn backward(&self, values: &Lease<T>, inputs: Addresses, seeds: Addresses, gradients: Addresses) -> Result<()> {
        if !Arc::ptr_eq(&values.pool, &self.values) {
            return Err(Error::Internal("the saved forward call is another graph's".into()));
        }
        let mut adjoints = Pool::lease(&self.adjoints, |_| ())?;
        let (values, adjoints) = (values.as_slice(), adjoints.as_mut_slice());
        self.form.run().backward(values, adjoints, inputs, seeds, false, gradients, 1);
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
fn time_limit(seconds: f64) -> Result<Duration> {
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
