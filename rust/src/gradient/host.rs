//! Programs on the CPU: [`aot`](super::BackEnd::Aot) runs them by kernels that are part of the library, [`jit`](super::BackEnd::Jit)
//! by a function that is compiled for them.

use std::sync::Arc;
use std::time::Duration;

use super::arenas::{Arenas, Lease};
use super::blocks::BlockRows;
use super::buffer_assignment::BufferAssignment;
use super::chunks::threads;
use super::executable::{Arena, Executable, Failure, SavedForward};
use super::executor::{Executor, OutOfRange};
use super::form::Form;
use super::jit;
use crate::device::{Element, HostBuffer, ReadPointer, ReadTensors, WritePointer, WriteTensors};
use crate::error::{Error, Result};
use crate::graph::Program;
use crate::graph::program::{Node, Primitive};
use crate::kernels::Scalar;

/// A program on the CPU, for numbers of type T.
pub struct HostProgram<T> {
    form: Form<T>,
    /// Whether it is run at once and has operators that threads share.
    shares: bool,
    values: Arc<Arenas<HostBuffer<T>>>,
    adjoints: Arc<Arenas<HostBuffer<T>>>,
}

impl<T: Scalar + Element> HostProgram<T> {
    /// By the library's kernels, in blocks of rows where it can be cut.
    pub fn aot(program: &Program, rows: BlockRows) -> Result<Self> {
        Ok(Self::of(program, Form::new(program, rows)?))
    }

    /// By a function that is compiled now, of all of the program or of a block, and the text of it; or why there is none.
    pub fn jit(
        program: &Program,
        rows: BlockRows,
        name: &str,
        operators: &[String],
        limit: Duration,
    ) -> Result<(Self, String), String> {
        let said = |error: Error| error.to_string();
        let mut form = Form::new(program, rows).map_err(said)?;
        let (part, executor) = match &mut form {
            Form::Whole(executor) => (program, executor),
            Form::Blocks(blocks) => blocks.block(),
            Form::Stages(_) => return Err("the rows of a function do not meet".to_owned()),
        };
        // A fused body reads what the bodies in it read, later than they would.
        let assignment = BufferAssignment::apart(part);
        let jit::Made { function, zero, source, derivatives } = jit::make(part, &assignment, name, operators, limit)?;
        *executor = Executor::compiled(function, part, &assignment, &zero).map_err(said)?;
        Ok((Self::of(program, form), format!("{source}\n// What Clad made of it:\n{derivatives}")))
    }

    fn of(program: &Program, form: Form<T>) -> Self {
        let is_shared = |node: &Node| matches!(node.primitive, Primitive::Moments(_) | Primitive::Standardise { .. });
        let shares = matches!(form, Form::Whole(_)) && program.nodes.iter().any(is_shared);
        HostProgram { form, shares, values: Arc::default(), adjoints: Arc::default() }
    }

    /// For its operators.
    fn threads(&self) -> usize {
        if self.shares { threads() } else { 1 }
    }

    fn lease_values(&self) -> Result<Lease<HostBuffer<T>>> {
        Arenas::lease(&self.values, 0, || {
            let mut values = HostBuffer::zeros(self.form.run().arenas()[0])?;
            self.form.run().prepare(values.as_mut_slice());
            Ok(values)
        })
    }
}

impl<T: Scalar + Element> Executable for HostProgram<T>
where
    HostBuffer<T>: Arena,
{
    fn arenas(&self) -> [usize; 2] {
        self.form.run().arenas().map(|length| length * size_of::<T>())
    }

    fn parts<'a>(&'a self, whole: &'a Program) -> Vec<(String, &'a Program)> {
        self.form.parts(whole)
    }

    unsafe fn infer(&self, _: usize, inputs: &[ReadPointer], outputs: &[WritePointer]) -> Result<(), Failure> {
        // SAFETY: the caller's promise.
        let (inputs, outputs) = unsafe { (ReadTensors::new(inputs), WriteTensors::new(outputs)) };
        let mut values = self.lease_values()?;
        Ok(self.form.run().infer(values.get().as_mut_slice(), inputs, outputs, self.threads())?)
    }

    unsafe fn forward(
        &self,
        _: usize,
        inputs: &[ReadPointer],
        outputs: &[WritePointer],
    ) -> Result<SavedForward, Failure> {
        // SAFETY: the caller's promise.
        let (inputs, outputs) = unsafe { (ReadTensors::new(inputs), WriteTensors::new(outputs)) };
        let mut values = self.lease_values()?;
        self.form.run().forward(values.get().as_mut_slice(), inputs, outputs, self.threads())?;
        Ok(SavedForward::new(values))
    }

    unsafe fn backward(
        &self,
        _: usize,
        saved: &SavedForward,
        inputs: &[ReadPointer],
        seeds: &[ReadPointer],
        gradients: &[WritePointer],
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        let (inputs, seeds, gradients) =
            unsafe { (ReadTensors::new(inputs), ReadTensors::new(seeds), WriteTensors::new(gradients)) };
        let values = saved.of(&self.values)?.as_slice();
        let mut adjoints = Arenas::lease(&self.adjoints, 0, || HostBuffer::zeros(self.form.run().arenas()[1]))?;
        self.form.run().backward(
            values,
            adjoints.get().as_mut_slice(),
            inputs,
            seeds,
            false,
            gradients,
            self.threads(),
        );
        Ok(())
    }
}

impl From<OutOfRange> for Failure {
    fn from(OutOfRange { observed }: OutOfRange) -> Self {
        Failure::OutOfRange(observed)
    }
}
