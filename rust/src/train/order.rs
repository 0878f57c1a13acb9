//! The order of the events in the epochs of a fit.

use std::thread::{Builder, JoinHandle};

use crate::dataset::shuffle;

/// Numbers of events to train on, in the order of an epoch.
pub(super) struct Order {
    rows: Vec<u32>,
    /// Of the shuffles; none: the order stays.
    seed: Option<u64>,
    /// Whether a thread shuffles for the next epoch during this one: for fits in which the host waits for a GPU, which trains on
    /// ten million events in the time that their shuffle takes.
    is_ahead: bool,
    next: Option<Next>,
}

/// The order of an epoch, in the making.
struct Next {
    epoch: u32,
    rows: JoinHandle<Vec<u32>>,
}

impl Order {
    pub fn new(rows: Vec<u32>, seed: Option<u64>, is_ahead: bool) -> Self {
        Order { rows, seed, is_ahead, next: None }
    }

    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Begins an epoch, numbered from 1 on; all before have begun. After the last one no other begins.
    pub fn begin(&mut self, epoch: u32, is_last: bool) {
        let Some(seed) = self.seed else { return };
        let next = self.next.take().filter(|next| next.epoch == epoch);
        match next.and_then(|next| next.rows.join().ok()) {
            Some(rows) => self.rows = rows,
            None => shuffle(&mut self.rows, seed, epoch.into()),
        }
        if self.is_ahead && !is_last {
            let (mut rows, epoch) = (self.rows.clone(), epoch + 1);
            let make = move || {
                shuffle(&mut rows, seed, epoch.into());
                rows
            };
            // Without a thread the next epoch shuffles itself.
            let made = Builder::new().name("cladtorch-order".to_owned()).spawn(make);
            self.next = made.ok().map(|rows| Next { epoch, rows });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_made_ahead_are_those_made_in_time() {
        let rows: Vec<u32> = (3..300).collect();
        for seed in [Some(1), Some(2), None] {
            let [mut ahead, mut in_time] = [true, false].map(|is_ahead| Order::new(rows.clone(), seed, is_ahead));
            for epoch in 1..6 {
                ahead.begin(epoch, epoch == 5);
                in_time.begin(epoch, epoch == 5);
                assert_eq!(ahead.rows(), in_time.rows(), "{seed:?}, epoch {epoch}");
                assert_eq!(ahead.rows() == rows, seed.is_none());
                assert_eq!(ahead.next.is_some(), seed.is_some() && epoch < 5);
            }
        }
    }

    #[test]
    fn an_order_for_another_epoch_is_not_taken() {
        let [mut ahead, mut in_time] = [true, false].map(|is_ahead| Order::new((0..50).collect(), Some(7), is_ahead));
        for epoch in [1, 2, 4] {
            ahead.begin(epoch, false);
            in_time.begin(epoch, false);
        }
        assert_eq!(ahead.rows(), in_time.rows());
    }
}
