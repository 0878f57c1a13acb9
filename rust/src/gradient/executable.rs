//! The program that a back end has compiled.

use std::sync::Arc;

use super::arenas::{Arenas, Lease};
use super::cuda::GpuMemory;
use crate::device::{HostBuffer, ReadPointer, WritePointer};
use crate::error::{Error, Result};
use crate::graph::Program;

/// A program that a back end has compiled for a device, with arenas that it keeps from call to call. Safe from several threads at
/// once. `stream` is that of the device on which it runs; 0 is the default one, and a host has no other.
pub trait Executable: Send + Sync {
    /// Bytes of the arenas of values and of adjoints.
    fn arenas(&self) -> [usize; 2];

    /// Lines for people about what else runs than kernels of its own.
    fn remarks(&self) -> String {
        String::new()
    }

    /// The programs that run of `whole`, which was compiled, each with when it does, if there is more than one.
    fn parts<'a>(&'a self, whole: &'a Program) -> Vec<(String, &'a Program)> {
        vec![(String::new(), whole)]
    }

    /// Computes the outputs of these inputs, and keeps nothing.
    ///
    /// # Safety
    /// The tensors are those of the program, in memory of the device; nothing writes to inputs until the call has run,
    /// nor uses outputs otherwise, which overlap nothing else.
    unsafe fn infer(&self, stream: usize, inputs: &[ReadPointer], outputs: &[WritePointer]) -> Result<(), Failure>;

    /// The same, and keeps the values.
    ///
    /// # Safety
    /// As for [`infer`](Self::infer).
    unsafe fn forward(
        &self,
        stream: usize,
        inputs: &[ReadPointer],
        outputs: &[WritePointer],
    ) -> Result<SavedForward, Failure>;

    /// Computes the gradients, those of no memory excepted, from the values and inputs of a forward call and the adjoints of
    /// the user's outputs; no memory is an adjoint of zero.
    ///
    /// # Safety
    /// As for [`infer`](Self::infer), of inputs, seeds and gradients.
    unsafe fn backward(
        &self,
        stream: usize,
        saved: &SavedForward,
        inputs: &[ReadPointer],
        seeds: &[ReadPointer],
        gradients: &[WritePointer],
    ) -> Result<()>;
}

/// Why a call gives no result.
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

/// The values that one forward call keeps for its backward calls: an arena.
pub struct SavedForward(Saved);

/// An arena of any kind.
pub enum Saved {
    Float32(Lease<HostBuffer<f32>>),
    Float64(Lease<HostBuffer<f64>>),
    Gpu(Lease<GpuMemory>),
}

impl SavedForward {
    /// With this one.
    pub fn new<M: Arena>(lease: Lease<M>) -> Self {
        SavedForward(M::into_saved(lease))
    }

    /// The stream of the forward call.
    pub fn stream(&self) -> usize {
        match &self.0 {
            Saved::Float32(lease) => lease.stream(),
            Saved::Float64(lease) => lease.stream(),
            Saved::Gpu(lease) => lease.stream(),
        }
    }

    /// The arena, if it is one of `arenas`.
    pub fn of<M: Arena>(&self, arenas: &Arc<Arenas<M>>) -> Result<&M> {
        let memory = M::saved(&self.0).and_then(|lease| lease.of(arenas));
        memory.ok_or_else(|| Error::Internal("the saved forward call is another graph's".into()))
    }
}

/// Memory of a device in which an arena lies.
pub trait Arena: Sized {
    fn into_saved(lease: Lease<Self>) -> Saved;
    fn saved(saved: &Saved) -> Option<&Lease<Self>>;
}

macro_rules! arenas {
    ($($memory:ty => $kind:ident,)*) => {
        $(
            impl Arena for $memory {
                fn into_saved(lease: Lease<Self>) -> Saved {
                    Saved::$kind(lease)
                }

                fn saved(saved: &Saved) -> Option<&Lease<Self>> {
                    if let Saved::$kind(lease) = saved { Some(lease) } else { None }
                }
            }
        )*
    };
}

arenas! {
    HostBuffer<f32> => Float32,
    HostBuffer<f64> => Float64,
    GpuMemory => Gpu,
}
