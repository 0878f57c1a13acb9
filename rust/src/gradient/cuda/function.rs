//! A program on a GPU, call by call.

use std::sync::Arc;

use super::super::arenas::{Arenas, Lease};
use super::super::executable::{Executable, Failure, SavedForward};
use super::gpu::{Gpu, GpuKernels, GpuMemory};
use super::multiply::Numbers;
use super::program::{CudaProgram, INCLUDES, text};
use super::run::Memory;
use crate::device::{ReadPointer, WritePointer};
use crate::error::Result;
use crate::graph::{DType, Program};

/// A program whose kernels are on a GPU. All memory that it is given is there, too; calls return before the kernels
/// have run, unless an index must be checked.
pub struct CudaFunction {
    gpu: Gpu,
    program: CudaProgram,
    kernels: GpuKernels,
    /// Bytes of a number.
    size: usize,
    /// A new arena of values.
    fresh: Vec<u8>,
    values: Arc<Arenas<GpuMemory>>,
    adjoints: Arc<Arenas<GpuMemory>>,
}

impl CudaFunction {
    /// With the machine code that the cache has, or NVRTC makes.
    pub fn new(program: &Program, gpu: &Gpu) -> Result<Self> {
        let kernels = CudaProgram::on(program, Numbers::Float, gpu)?;
        let code = gpu.compile(&INCLUDES, &kernels.kernels.iter().collect::<Vec<_>>())?;
        Self::of_code(program, kernels, gpu, &code)
    }

    /// With this machine code of its kernels.
    pub fn of_code(program: &Program, kernels: CudaProgram, gpu: &Gpu, code: &[u8]) -> Result<Self> {
        let size = program.dtype.bytes();
        let mut fresh = vec![0; kernels.values * size];
        for (start, numbers) in &kernels.literals {
            for (to, &number) in fresh[start * size..].chunks_exact_mut(size).zip(numbers) {
                match program.dtype {
                    DType::Float32 => to.copy_from_slice(&(number as f32).to_le_bytes()),
                    _ => to.copy_from_slice(&number.to_le_bytes()),
                }
            }
        }
        // Behind the values the flags.
        fresh.resize(fresh.len() + 4 * kernels.flags.len(), 0);
        Ok(CudaFunction {
            kernels: gpu.load(&kernels.kernels.iter().collect::<Vec<_>>(), code)?,
            gpu: gpu.clone(),
            program: kernels,
            size,
            fresh,
            values: Arc::default(),
            adjoints: Arc::default(),
        })
    }

    /// The kernels, as CUDA C++.
    pub fn text(&self) -> String {
        text([&self.program])
    }

    fn lease_values(&self, stream: usize) -> Result<Lease<GpuMemory>> {
        Arenas::lease(&self.values, stream, || {
            let memory = self.gpu.memory(self.fresh.len())?;
            memory.upload(&self.fresh)?;
            Ok(memory)
        })
    }

    fn lease_adjoints(&self, stream: usize) -> Result<Lease<GpuMemory>> {
        Arenas::lease(&self.adjoints, stream, || self.gpu.memory(self.adjoint_bytes()))
    }

    fn adjoint_bytes(&self) -> usize {
        self.program.adjoints * self.size
    }

    /// Refuses an index out of range: of the values of a forward call.
    fn check_flags(&self, stream: usize, values: &GpuMemory) -> Result<(), Failure> {
        if self.program.flags.is_empty() {
            return Ok(());
        }
        self.kernels.synchronise(stream)?;
        let mut found = vec![0_u32; self.program.flags.len()];
        values.download_from(self.program.values * self.size, &mut found)?;
        match found.iter().position(|&flag| flag != 0) {
            Some(first) => Err(Failure::OutOfRange(self.program.flags[first])),
            None => Ok(()),
        }
    }
}

impl Executable for CudaFunction {
    fn arenas(&self) -> [usize; 2] {
        [self.fresh.len(), self.adjoint_bytes()]
    }

    fn remarks(&self) -> String {
        let mut text: String =
            self.program.products().map(|product| format!("  product by cuBLASLt: {product}\n")).collect();
        if let Some(why) = &self.program.obstacle {
            text += &format!("  large products by kernels: {why}\n");
        }
        text
    }

    unsafe fn infer(&self, stream: usize, inputs: &[ReadPointer], outputs: &[WritePointer]) -> Result<(), Failure> {
        // SAFETY: the caller's promise.
        unsafe { self.forward(stream, inputs, outputs) }.map(|_| ())
    }

    unsafe fn forward(
        &self,
        stream: usize,
        inputs: &[ReadPointer],
        outputs: &[WritePointer],
    ) -> Result<SavedForward, Failure> {
        let mut lease = self.lease_values(stream)?;
        let values = lease.get();
        // Its memory for sums lies behind the adjoints.
        let mut adjoints = self.program.forward_has_scratch().then(|| self.lease_adjoints(stream)).transpose()?;
        let memory = Memory {
            size: self.size,
            values: values.address(),
            adjoints: adjoints.as_mut().map_or(0, |lease| lease.get().address()),
            flags: values.address() + self.program.values * self.size,
            inputs: &read_addresses(inputs),
            outputs: &written_addresses(outputs),
            seeds: &[],
            gradients: &[],
        };
        self.program.run_forward(&self.kernels.on_stream(stream), &memory)?;
        self.check_flags(stream, values)?;
        Ok(SavedForward::new(lease))
    }

    unsafe fn backward(
        &self,
        stream: usize,
        saved: &SavedForward,
        inputs: &[ReadPointer],
        seeds: &[ReadPointer],
        gradients: &[WritePointer],
    ) -> Result<()> {
        let values = saved.of(&self.values)?.address();
        let mut adjoints = self.lease_adjoints(stream)?;
        let memory = Memory {
            size: self.size,
            values,
            adjoints: adjoints.get().address(),
            flags: 0,
            inputs: &read_addresses(inputs),
            outputs: &[],
            seeds: &read_addresses(seeds),
            gradients: &written_addresses(gradients),
        };
        self.program.run_backward(&self.kernels.on_stream(stream), &memory)?;
        // The next forward call on the stream of this one may get the same arena, and does not wait for other streams.
        if saved.stream() == stream { Ok(()) } else { self.kernels.synchronise(stream) }
    }
}

fn read_addresses(tensors: &[ReadPointer]) -> Vec<usize> {
    tensors.iter().map(|tensor| tensor.address()).collect()
}

fn written_addresses(tensors: &[WritePointer]) -> Vec<usize> {
    tensors.iter().map(|tensor| tensor.to_read().address()).collect()
}
