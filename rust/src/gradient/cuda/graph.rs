//! A program on a GPU, call by call.

use std::sync::{Arc, Mutex, PoisonError};

use super::gpu::{Gpu, GpuKernels, GpuMemory};
use super::program::{CudaProgram, text};
use super::run::Memory;
use crate::error::{Error, Result};
use crate::graph::{DType, Program};

/// A program whose kernels are on a GPU. All memory that it is given is there, too; calls return before the kernels have run,
/// unless an index has to be checked.
pub struct CudaGraph {
    gpu: Gpu,
    program: CudaProgram,
    kernels: GpuKernels,
    /// Bytes of a number.
    size: usize,
    /// A new arena of values.
    fresh: Vec<u8>,
    values: Arc<Pool>,
    adjoints: Arc<Pool>,
}

/// What one forward call keeps for its backward calls.
pub struct CudaSaved {
    values: Lease,
}

/// What a call of a graph gives no result for.
#[derive(Debug)]
pub enum Failure {
    /// An index of this observed operator is out of range.
    OutOfRange(usize),
    /// Something else.
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Other(error)
    }
}

impl CudaGraph {
    /// With the machine code that the cache has, or NVRTC makes.
    pub fn new(program: &Program, gpu: &Gpu) -> Result<Self> {
        let kernels = CudaProgram::new(program)?;
        let code = gpu.compile(&kernels)?;
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
        let pool = |bytes: usize| Arc::new(Pool { bytes, free: Mutex::new(Vec::new()) });
        // Behind the values the flags.
        let (values, adjoints) = (pool(fresh.len() + 4 * kernels.flags.len()), pool(kernels.adjoints * size));
        fresh.resize(values.bytes, 0);
        Ok(CudaGraph {
            kernels: gpu.load(&kernels, code)?,
            gpu: gpu.clone(),
            program: kernels,
            size,
            fresh,
            values,
            adjoints,
        })
    }

    /// The kernels, as CUDA C++.
    pub fn text(&self) -> String {
        text([&self.program])
    }

    /// Bytes of the arenas of values and adjoints.
    pub fn arenas(&self) -> [usize; 2] {
        [self.values.bytes, self.adjoints.bytes]
    }

    /// Computes the outputs on a stream; `inputs` and `outputs` are addresses on the GPU.
    pub fn forward(&self, stream: usize, inputs: &[usize], outputs: &[usize]) -> Result<CudaSaved, Failure> {
        let values = Pool::lease(&self.values, &self.gpu, stream, Some(&self.fresh))?;
        let flags = values.address() + self.program.values * self.size;
        let memory = Memory {
            size: self.size,
            values: values.address(),
            adjoints: 0,
            flags,
            inputs,
            outputs,
            seeds: &[],
            gradients: &[],
        };
        self.program.run_forward(&self.kernels.on_stream(stream), &memory)?;
        if !self.program.flags.is_empty() {
            self.kernels.synchronise(stream)?;
            let mut found = vec![0; 4 * self.program.flags.len()];
            values.memory().download_from(self.program.values * self.size, &mut found)?;
            if let Some(first) = found.chunks_exact(4).position(|flag| flag != [0; 4]) {
                return Err(Failure::OutOfRange(self.program.flags[first]));
            }
        }
        Ok(CudaSaved { values })
    }

    /// Computes the gradients on a stream; `adjoints` has 0 for an output whose adjoint is zero.
    pub fn backward(
        &self,
        saved: &CudaSaved,
        stream: usize,
        inputs: &[usize],
        adjoints: &[usize],
        gradients: &[usize],
    ) -> Result<()> {
        if !Arc::ptr_eq(&saved.values.pool, &self.values) {
            return Err(Error::Internal("the saved forward call is another graph's".into()));
        }
        let arena = Pool::lease(&self.adjoints, &self.gpu, stream, None)?;
        let memory = Memory {
            size: self.size,
            values: saved.values.address(),
            adjoints: arena.address(),
            flags: 0,
            inputs,
            outputs: &[],
            seeds: adjoints,
            gradients,
        };
        self.program.run_backward(&self.kernels.on_stream(stream), &memory)
    }
}

/// Arenas of one length, used again and again, each on the stream whose kernels used it before: they run in order.
struct Pool {
    bytes: usize,
    free: Mutex<Vec<(usize, GpuMemory)>>,
}

impl Pool {
    fn lease(pool: &Arc<Self>, gpu: &Gpu, stream: usize, fresh: Option<&[u8]>) -> Result<Lease> {
        let mut free = pool.free.lock().unwrap_or_else(PoisonError::into_inner);
        let known = free.iter().position(|(of, _)| *of == stream).map(|index| free.swap_remove(index).1);
        drop(free);
        let memory = match known {
            Some(memory) => memory,
            None => {
                let memory = gpu.memory(pool.bytes)?;
                if let Some(bytes) = fresh {
                    memory.upload(bytes)?;
                }
                memory
            }
        };
        Ok(Lease { memory: Some(memory), stream, pool: Arc::clone(pool) })
    }
}

/// An arena on loan; dropping it gives it back.
struct Lease {
    /// There until it is dropped.
    memory: Option<GpuMemory>,
    stream: usize,
    pool: Arc<Pool>,
}

impl Lease {
    fn memory(&self) -> &GpuMemory {
        self.memory.as_ref().expect("there until it is dropped")
    }

    fn address(&self) -> usize {
        self.memory().address()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut free = self.pool.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(self.memory.take().map(|memory| (self.stream, memory)));
    }
}
