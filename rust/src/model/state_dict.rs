//! The tensors of a module under all their names, as PyTorch's `state_dict` has them: beside those that a fit changes, which
//! lie in a model's vectors, the frozen ones, the buffers, and what the network does not use.

use crate::error::{Error, Result};
use crate::model::FlatOffset;
use crate::tensor_file::{Dtype, Packed};

/// The end of the name of a count of batches, which PyTorch keeps beside running statistics.
pub(super) const BATCHES: &str = "num_batches_tracked";

/// A tensor of a `state_dict`.
#[derive(Clone, Debug)]
pub struct StateTensor {
    /// "0.weight".
    pub name: String,
    /// Sizes of its dimensions.
    pub shape: Vec<usize>,
    /// Whether it is a buffer, which a module may leave out of its `state_dict`.
    pub is_buffer: bool,
    /// Its elements.
    pub content: Content,
}

/// The elements of a tensor.
#[derive(Clone, Debug)]
pub enum Content {
    /// A model's vectors hold them. Tied tensors have one place.
    Held(FlatOffset),
    /// No fit changes them.
    Kept {
        /// All of them, row-major.
        values: Packed,
        /// Whether the network computes with them, which then are part of its operators.
        is_used: bool,
    },
}

impl StateTensor {
    /// As many elements as the shape says.
    pub(super) fn elements(&self) -> Option<usize> {
        self.shape.iter().try_fold(1_usize, |count, &size| count.checked_mul(size))
    }

    /// Refuses elements that are not as many as the shape says.
    pub(super) fn check(&self) -> Result<()> {
        let Content::Kept { values, .. } = &self.content else { return Ok(()) };
        let bytes = self.elements().and_then(|count| count.checked_mul(values.dtype.bitsize() / 8));
        match bytes == Some(values.bytes) {
            true => Ok(()),
            false => Err(Error::Internal(format!("{} bytes for a tensor of shape {:?}", values.bytes, self.shape))),
        }
    }

    /// Element type.
    pub(super) fn dtype(&self) -> Dtype {
        match &self.content {
            Content::Held(_) => Dtype::F32,
            Content::Kept { values, .. } => values.dtype,
        }
    }

    /// Where a model's vectors hold it.
    pub(super) fn place(&self) -> Option<FlatOffset> {
        match self.content {
            Content::Held(place) => Some(place),
            Content::Kept { .. } => None,
        }
    }

    /// Whether a `state_dict` is whole without it: it may be a buffer that is not persistent.
    pub(super) fn may_be_missing(&self) -> bool {
        self.is_buffer && self.place().is_none()
    }

    /// Whether it counts the batches of fits.
    pub(super) fn counts_batches(&self) -> bool {
        match &self.content {
            Content::Kept { values, is_used } => {
                !is_used && values.dtype == Dtype::I64 && self.shape.is_empty() && self.name.ends_with(BATCHES)
            }
            Content::Held(_) => false,
        }
    }
}
