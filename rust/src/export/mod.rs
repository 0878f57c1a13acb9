//! Models for other programs: an ONNX graph, [`Model::export_onnx`], and a C++ header without dependencies,
//! [`Model::export_cpp`]. Both are written from what [`Plan`] makes of a model.
//!
//! [`Model::export_onnx`]: crate::model::Model::export_onnx
//! [`Model::export_cpp`]: crate::model::Model::export_cpp

mod cpp;
mod onnx;
mod plan;

use plan::{Finish, Plan};
