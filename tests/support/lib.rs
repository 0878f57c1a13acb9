//! Code that several tests share.

pub mod aclic;
pub mod checkout;
pub mod cuda_host;
pub mod damage;
pub mod data;
pub mod events;
pub mod forged;
pub mod graph;
pub mod launchers;
pub mod models;
pub mod numeric;
pub mod onnx_file;
pub mod pages;
pub mod places;
pub mod say;
pub mod session;
pub mod typos;
pub mod variants;
pub mod zip;
