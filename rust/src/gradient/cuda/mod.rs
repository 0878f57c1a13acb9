//! The back end `cuda`: a [`Program`](crate::graph::Program) as CUDA C++ text, one kernel for each step forward and for each
//! adjoint backward, with the scalar functions of `cpp/kernels` and Clad's derivatives of them as they are. The text needs no
//! header of CUDA: NVRTC compiles it without a GPU, and any C++ compiler after a stand-in for CUDA's few keywords, so
//! that all of it is tested on the host.
//!
//! - Neighbouring element-wise operators are one kernel, forward and backward, as in `jit`.
//! - No two threads write one element. If several elements of an operand's view contribute to one element of its
//!   adjoint, the thread, or the block, that owns that element sums them; there are no atomics, and the bits are the
//!   same from run to run.
//! - Memory is laid out as for `aot`: one arena for values, one for adjoints, which pullbacks hand on as they finish.
//! - Large products of matrices are cuBLASLt's, where it is installed and its sums are right on the GPU.
//! - Networks in training are in `training`: a small perceptron's epoch is one kernel, the steps of any other network are CUDA graphs.
//!
//! Operators without CUDA text are refused by name; LibTorch then runs them.

mod channels;
mod choose;
mod convolutions;
#[allow(unsafe_code)] // Opens cuBLASLt and calls it.
mod cublas;
#[allow(unsafe_code)] // Opens the driver and calls it.
mod driver;
mod folders;
#[allow(unsafe_code)] // Tensors in a GPU's memory, as their owners promise.
mod function;
mod functions;
#[allow(unsafe_code)] // Handles of the driver in several threads.
mod gpu;
mod kernel;
mod library;
mod maps;
mod multiply;
#[allow(unsafe_code)] // Opens NVRTC and calls it.
mod nvrtc;
mod own;
mod places;
mod products;
mod program;
mod put;
mod rows;
mod run;
mod steps;
mod training;
mod writer;

pub use function::CudaFunction;
pub use gpu::{Gpu, GpuKernels, GpuMemory, GpuStream, Limits, OnStream, Recording};
pub use multiply::{Matrix, MatrixProduct, Numbers};
pub use nvrtc::{Cubin, Nvrtc};
pub use program::{CudaProgram, Kernel, Launch, Run, Slot, Step, Waits, headers, kernels_text, text};
pub use run::{Device, Memory};
pub use training::{CudaEngine, Epoch, Form, Perceptron, Sharing, Start, Stepwise, Tiling, bytes_of_fit};
