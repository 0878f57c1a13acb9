//! Memory of a program's values and adjoints.

use super::super::gpu::{Gpu, GpuMemory};
use super::super::program::CudaProgram;
use crate::error::Result;

/// Both arenas of a program in float32; that of values holds the fixed numbers, and the flags behind the values.
pub fn arenas(program: &CudaProgram, gpu: &Gpu) -> Result<[GpuMemory; 2]> {
    let values = gpu.memory((program.values + program.flags.len()) * size_of::<f32>())?;
    for (start, literals) in &program.literals {
        let literals: Vec<f32> = literals.iter().map(|&number| number as f32).collect();
        values.upload_at(start * size_of::<f32>(), &literals)?;
    }
    Ok([values, gpu.memory(program.adjoints * size_of::<f32>())?])
}
