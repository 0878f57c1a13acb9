//! Observed losses of users.

use std::sync::Arc;

use super::observed::ObservedGraph;
use crate::device::{ReadPointer, ReadTensors};
use crate::error::{Result, guard};
use crate::gradient::ObservedLoss;
use crate::graph::{self, AnyBatch};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    unsafe extern "C++" {
        include!("cladtorch/src/bridge/observed.rs.h");

        type AnyBatch = crate::graph::AnyBatch;
        type ObservedGraph = crate::bridge::observed::ObservedGraph;
    }

    extern "Rust" {
        /// The loss that a fit minimises.
        #[derive(ExternType)]
        type FitLoss;
        /// The loss that the options of the fit name.
        fn fit_loss_of_options() -> Box<FitLoss>;
        /// A function of rows [events, outputs + labels], observed with many of them and, unless it does not take that
        /// (`why_not_one`), with a single one. `takes_classes`: labels must be class numbers. `constants` are the addresses of
        /// the tensors that it captured, which are copied.
        ///
        /// # Safety
        /// The tensors lie there, in host memory, with the types, shapes and strides of the observations.
        unsafe fn fit_loss_observed(
            batch: Box<AnyBatch>,
            one: &Vec<ObservedGraph>,
            why_not_one: &str,
            constants: &[usize],
            outputs: usize,
            labels: usize,
            takes_classes: bool,
        ) -> Result<Box<FitLoss>>;
    }
}

/// A loss that the C++ side gives to a fit; none: that of the options.
pub struct FitLoss(pub(super) Option<Arc<ObservedLoss>>);

fn fit_loss_of_options() -> Box<FitLoss> {
    Box::new(FitLoss(None))
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
unsafe fn fit_loss_observed(
    batch: Box<AnyBatch>,
    one: &Vec<ObservedGraph>,
    why_not_one: &str,
    constants: &[usize],
    outputs: usize,
    labels: usize,
    takes_classes: bool,
) -> Result<Box<FitLoss>> {
    guard(|| {
        let pointers: Vec<ReadPointer> = constants.iter().copied().map(ReadPointer::exposed).collect();
        // SAFETY: the caller's promise.
        let tensors = unsafe { ReadTensors::new(&pointers) };
        let one = one.first().map(graph::ObservedGraph::try_from).transpose()?.ok_or_else(|| why_not_one.to_owned());
        let loss = ObservedLoss::new(*batch, one, [outputs, labels], takes_classes, |index, bytes| {
            super::network::words(&tensors, index, bytes)
        })?;
        Ok(Box::new(FitLoss(Some(Arc::new(loss)))))
    })
}
