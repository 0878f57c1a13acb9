//! Models for other programs: an ONNX graph, [`Model::export_onnx`]. It is written from what [`Plan`] makes of a model.
//!
//! [`Model::export_onnx`]: crate::model::Model::export_onnx

mod onnx;
mod plan;

use plan::{Finish, Plan};
