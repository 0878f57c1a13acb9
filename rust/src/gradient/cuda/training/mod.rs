//! Networks in training on a GPU: the dataset is copied there once, and the host says which rows are a batch and what the rates
//! are. A small perceptron's epoch is one kernel, [`Epoch`]; the steps of any other network are CUDA graphs, [`Stepwise`].

mod arenas;
mod dataset;
mod draws;
mod engine;
mod epoch;
mod form;
mod kept;
mod laws;
mod loss;
mod moves;
mod perceptron;
mod sharing;
mod start;
mod step_kernels;
mod stepwise;
mod sums;
mod tensor_cores;

pub use engine::CudaEngine;
pub use epoch::Epoch;
pub use form::Form;
pub use perceptron::{Perceptron, Tiling};
pub use sharing::{Sharing, bytes_of_fit};
pub use start::Start;
pub use stepwise::Stepwise;
