//! The back end `autograd`: LibTorch's operators and its autograd. It is the fallback where an operator has no kernel, the reference,
//! and the way to a GPU. A perceptron runs on any device, a module on the CPU by the C++ that made it.

mod module;
mod module_engine;
mod perceptron;

pub use module::{Call, EVALUATED_ROWS, LibTorchCalls, LibTorchModule};
pub use module_engine::LibTorchEngine;
pub use perceptron::{AutogradEngine, Failure, activate, first_not_finite, forward, row_losses};
