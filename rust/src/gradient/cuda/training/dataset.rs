//! Rows of a dataset in a GPU's memory.

use super::super::super::Rows;
use super::super::gpu::{Gpu, GpuMemory, uploaded};
use crate::device::HostBuffer;
use crate::error::Result;

/// Standardised, in the order of the dataset.
pub struct DeviceDataset {
    pub features: GpuMemory,
    pub labels: GpuMemory,
    pub weights: GpuMemory,
}

impl DeviceDataset {
    /// Copies all rows there.
    pub fn new(gpu: &Gpu, data: Rows, targets: usize) -> Result<Self> {
        let count = data.weights.len();
        let rows: Vec<u32> = (0..u32::try_from(count).unwrap_or(u32::MAX)).collect();
        let mut features = HostBuffer::<f32>::zeros(count * data.scaler.mean.len())?;
        let mut labels = HostBuffer::<f32>::zeros(count * targets)?;
        let mut weights = HostBuffer::<f32>::zeros(count)?;
        data.gather_dense(&rows, features.as_mut_slice());
        data.gather_targets(&rows, labels.as_mut_slice(), weights.as_mut_slice());
        let [features, labels, weights] =
            [&features, &labels, &weights].map(|numbers| uploaded(gpu, numbers.as_slice()));
        Ok(DeviceDataset { features: features?, labels: labels?, weights: weights? })
    }
}
