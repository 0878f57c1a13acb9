//! Dropout's random factors on a GPU: those of `dropout` for one tile of all rows that the program has.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::super::super::dropout::threshold;
use super::super::super::jit::emit;
use super::super::gpu::{Gpu, GpuMemory};
use super::super::kernel::kernel;
use super::super::program::{Kernel, Waits};
use super::super::writer::Work;
use crate::error::{Error, Result};
use crate::graph::Program;
use crate::graph::program::Dropout;

/// Factors of one argument of a program, and what draws them for a step.
pub struct Draw {
    pub kernel: Kernel,
    pub grid: [u32; 2],
    pub factors: GpuMemory,
}

/// The draws of all such arguments, in their order.
pub fn draws(program: &Program, seed: u64, gpu: &Gpu) -> Result<Vec<Draw>> {
    let key = ChaCha8Rng::seed_from_u64(seed).get_seed();
    let words: Vec<String> =
        key.as_chunks::<4>().0.iter().map(|word| format!("{}u", u32::from_le_bytes(*word))).collect();
    let mut first = 0;
    let draw = |dropout: &Dropout| {
        let count = program.arguments[dropout.argument].view.len();
        if count >= 1 << 31 {
            let what = format!("{count} random factors of a batch are too many for back end cuda");
            return Err(Error::invalid(what, "lower fBatchSize"));
        }
        let (threshold, kept) = (threshold(dropout.keep), dropout.keep.recip() as f32);
        let mut body = String::new();
        emit!(
            body,
            "   const uint32_t key[8] = {{{}}};\n   \
             DrawFactors(key, batches[*place], {first}ull, {count}u, {threshold}ull, {kept:?}f, factors);",
            words.join(", ")
        );
        first += count;
        let parameters = ["const Batch *batches", "const uint64_t *place", "float *factors"];
        Ok(Draw {
            kernel: kernel("draw", "", &parameters, body, Waits::Never),
            // A block of sixteen words may lie across each end.
            grid: Work::Alone(count / 16 + 2).grid(),
            factors: gpu.memory(count * size_of::<f32>())?,
        })
    };
    program.dropout.iter().map(draw).collect()
}
