//! LibTorch, called from the core to run a module.

use cxx::SharedPtr;

pub use ffi::LibTorchCalls;

use crate::error::{Error, Result};
use crate::gradient::autograd::{self, Call};
use crate::graph::Mode;

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    #[namespace = "CladTorch::Internal"]
    unsafe extern "C++" {
        include!("LibTorchCalls.hxx");

        /// A module of LibTorch's, for the core to run.
        type LibTorchCalls;

        #[cxx_name = "Begin"]
        fn begin(self: &LibTorchCalls, threads: usize);
        #[cxx_name = "Forward"]
        #[allow(clippy::too_many_arguments)]
        fn forward(
            self: &LibTorchCalls,
            training: bool,
            seed: u64,
            step: u64,
            x: &[f32],
            parameters: &[f32],
            state: &mut [f32],
            outputs: &mut [f32],
        ) -> Result<()>;
        #[cxx_name = "Backward"]
        fn backward(self: &LibTorchCalls, adjoint: &[f32], gradient: &mut [f32]) -> Result<()>;
        #[cxx_name = "Gradient"]
        fn gradient(
            self: &LibTorchCalls,
            x: &[f32],
            parameters: &[f32],
            state: &mut [f32],
            gradient: &mut [f32],
        ) -> Result<()>;
        #[cxx_name = "End"]
        fn end(self: &LibTorchCalls);
    }

    impl SharedPtr<LibTorchCalls> {}
}

// SAFETY: a module's calls come one at a time (between `Begin` and `End`), from any thread; LibTorch's tensors allow that.
unsafe impl Send for LibTorchCalls {}

// SAFETY: the same.
unsafe impl Sync for LibTorchCalls {}

/// C++ that runs a module.
pub(super) struct Called(pub SharedPtr<LibTorchCalls>);

impl autograd::LibTorchCalls for Called {
    fn begin(&self, threads: usize) {
        self.0.begin(threads);
    }

    fn forward(&self, call: Call, x: &[f32], parameters: &[f32], state: &mut [f32], outputs: &mut [f32]) -> Result<()> {
        let Call { mode, seed, step } = call;
        let ran = self.0.forward(mode == Mode::Training, seed, step, x, parameters, state, outputs);
        ran.map_err(|error| Error::Torch(error.what().to_owned()))
    }

    fn backward(&self, adjoint: &[f32], gradient: &mut [f32]) -> Result<()> {
        self.0.backward(adjoint, gradient).map_err(|error| Error::Torch(error.what().to_owned()))
    }

    fn gradient(&self, x: &[f32], parameters: &[f32], state: &mut [f32], gradient: &mut [f32]) -> Result<()> {
        self.0.gradient(x, parameters, state, gradient).map_err(|error| Error::Torch(error.what().to_owned()))
    }

    fn end(&self) {
        self.0.end();
    }
}
