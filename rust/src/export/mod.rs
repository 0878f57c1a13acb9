//! Models for other programs: an ONNX graph, [`Model::export_onnx`], a C++ header without dependencies, [`Model::export_cpp`], and a
//! network of PyTorch, [`Model::script`], which C++ hands to LibTorch. All are written from a [`Plan`] of the model.
//!
//! [`Model::export_onnx`]: crate::model::Model::export_onnx
//! [`Model::export_cpp`]: crate::model::Model::export_cpp
//! [`Model::script`]: crate::model::Model::script

mod cpp;
mod onnx;
mod plan;
mod torchscript;

use plan::{Finish, Plan};
