//! Whether the tensor cores of a GPU multiply as `tensor_cores.hpp` says, before a network trains by them.

use super::super::super::jit::emit;
use super::super::gpu::{Gpu, downloaded, uploaded};
use super::super::kernel::kernel;
use super::super::program::Waits;
use super::super::run::Device;
use super::laws::factors_name;
use super::perceptron::{INCLUDES, THREADS};
use crate::error::{Error, Result};
use crate::graph::Precision;

/// c[M,N] = a[M,K] b[K,N]
const M: usize = 16;
const N: usize = 8;
const K: usize = 8;

/// Multiplies integers that no precision rounds, no two rows or columns of which are alike.
pub fn check(precision: Precision, gpu: &Gpu) -> Result<()> {
    let Some(factors) = factors_name(precision) else { return Ok(()) };
    if !gpu.limits().has_tensor_cores {
        let why = format!(
            "fPrecision = {}, but the GPU has no tensor cores for it (compute capability 8.0 or newer has)",
            precision.enumerator()
        );
        return Err(Error::invalid(why, "leave fPrecision as it is"));
    }
    gpu.tried(factors, || multiply(precision, factors, gpu))
}

fn multiply(precision: Precision, factors: &str, gpu: &Gpu) -> Result<()> {
    let a: Vec<f32> = (0..M * K).map(|i| (i as f32 * 37.0) % 101.0 - 50.0).collect();
    let b: Vec<f32> = (0..K * N).map(|i| (i as f32 * 29.0) % 67.0 - 30.0).collect();
    let mut body = String::new();
    emit!(body, "   Trial<{factors}>(a, b, c);");
    let trial = kernel("trial", "", &["const float *a", "const float *b", "float *c"], body, Waits::ForBlock);
    let loaded = gpu.load(&[&trial], &gpu.compile(&INCLUDES, &[&trial])?)?;
    let (of_a, of_b, of_c) = (uploaded(gpu, &a)?, uploaded(gpu, &b)?, uploaded(gpu, &[f32::NAN; M * N])?);
    let stream = gpu.stream()?;
    let places = [of_a.address(), of_b.address(), of_c.address()];
    loaded.on_stream(stream.number()).launch(&trial, [1, THREADS as u32], &places)?;
    stream.synchronise()?;
    let sum = |m: usize, n: usize| (0..K).map(|k| a[m * K + k] * b[k * N + n]).sum::<f32>();
    let expected: Vec<f32> = (0..M * N).map(|i| sum(i / N, i % N)).collect();
    if downloaded::<f32>(&of_c, M * N)? == expected {
        return Ok(());
    }
    let why = format!("the products of tensor cores are wrong here (fPrecision = {})", precision.enumerator());
    Err(Error::invalid(why, "leave fPrecision as it is, and please report it"))
}
