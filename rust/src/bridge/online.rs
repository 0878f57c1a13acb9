//! Networks on strain that arrives in blocks.

use crate::error::{Result, guard};
use crate::model::OnlineSearch;
use crate::signal::{OnlineWhitener, OwnWhitening};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// How the strain of each detector is whitened; see `signal::OnlineWhitener`.
    struct OnlineSettings {
        detectors: usize,
        rate: f64,
        block: usize,
        memory: usize,
        segment: usize,
        filter: usize,
        lowest: f64,
    }

    unsafe extern "C++" {
        include!("cladtorch/src/bridge/model.rs.h");

        type Model = crate::model::Model;
    }

    extern "Rust" {
        type OnlineSearch;
        fn online_search(model: &Model, settings: &OnlineSettings) -> Result<Box<OnlineSearch>>;
        fn delay(self: &OnlineSearch) -> usize;
        fn reset(self: &mut OnlineSearch);
        /// `blocks` are [detectors, block].
        fn online_search_add(search: &mut OnlineSearch, blocks: &[f64]) -> Result<Vec<f32>>;
    }
}

fn online_search(model: &crate::model::Model, settings: &ffi::OnlineSettings) -> Result<Box<OnlineSearch>> {
    guard(|| {
        let &ffi::OnlineSettings { detectors, rate, block, memory, segment, filter, lowest } = settings;
        let how = OwnWhitening { segment, filter, lowest };
        let whiteners = (0..detectors).map(|_| OnlineWhitener::new(rate, block, memory, how)).collect::<Result<_>>()?;
        OnlineSearch::new(model.copy()?, whiteners).map(Box::new)
    })
}

fn online_search_add(search: &mut OnlineSearch, blocks: &[f64]) -> Result<Vec<f32>> {
    guard(|| search.add(blocks))
}
