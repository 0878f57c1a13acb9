//! Networks and functions as LibTorch is observed to run them, written operator by operator.

pub mod awkward;
pub mod cases;
pub mod losses;
pub mod modules;
pub mod network;
pub mod recorder;
pub mod single_operators;
