//! Events that are shuffled together.

use std::sync::Arc;

use crate::dataset::PerRow;
use crate::error::Result;
use crate::kernels;
use crate::stream::feed::Events;

/// Events that are trained on together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// [rows, width]
    pub features: Vec<f32>,
    /// [rows, targets]
    pub labels: Vec<f32>,
    /// [rows]
    pub weights: Vec<f32>,
}

/// Where an event lies.
#[derive(Clone, Copy, Debug)]
pub struct EventLocation {
    /// 0: among those that wait; else the number of the window's events, from 1 on.
    pub(super) events: u32,
    pub(super) row: u32,
}

/// Rows of events, wherever they lie.
struct EventRows<'a> {
    /// [rows, width]
    features: &'a [f32],
    labels: PerRow<'a>,
    weights: PerRow<'a>,
}

/// Events that are shuffled together, and who of them is due.
#[derive(Default)]
pub struct Window {
    /// Numbers of features and of labels of an event.
    pub(super) width: usize,
    pub(super) targets: usize,
    /// Those that waited for their batch to fill up. Copies: each of them might hold a whole cluster.
    pub(super) waiting: Batch,
    pub(super) events: Vec<Arc<Events>>,
    /// Order of the events of the epoch's part.
    pub(super) order: Vec<EventLocation>,
    /// New ones of the other part.
    pub(super) others: Vec<EventLocation>,
    /// One for each of `others`.
    pub(super) hashes: Vec<u64>,
}

impl Window {
    /// Events of the epoch's part in their order: whole batches, but for the last window.
    pub fn order(&self) -> &[EventLocation] {
        &self.order
    }

    /// New events of the other part, and for each a hash, the same in every epoch.
    pub fn others(&self) -> (&[EventLocation], &[u64]) {
        (&self.others, &self.hashes)
    }

    /// Makes `batch` the events at `places`.
    pub fn gather(&self, places: &[EventLocation], batch: &mut Batch) -> Result<()> {
        const AT_ONCE: usize = 1 << 12; // rows whose addresses are noted
        let Batch { features, labels, weights } = &self.waiting;
        let (labels, weights) = (PerRow::Each(labels, self.targets), PerRow::Each(weights, 1));
        let mut tables = vec![EventRows { features, labels, weights }];
        for events in &self.events {
            let [labels, weights] = events.data().labels_and_weights()?;
            tables.push(EventRows { features: events.data().features(), labels, weights });
        }
        let table = |place: &EventLocation| &tables[place.events as usize];
        let row_of = |place: &EventLocation| &table(place).features[place.row as usize * self.width..][..self.width];
        batch.features.resize(places.len() * self.width, 0.0);
        for (places, into) in places.chunks(AT_ONCE).zip(batch.features.chunks_mut(AT_ONCE * self.width)) {
            let rows: Vec<&[f32]> = places.iter().map(row_of).collect();
            kernels::gather_rows(&rows, self.width, into);
        }
        batch.weights.clear();
        batch.weights.extend(places.iter().map(|place| table(place).weights.at(place.row as usize)));
        batch.labels.clear();
        match self.targets {
            1 => batch.labels.extend(places.iter().map(|place| table(place).labels.at(place.row as usize))),
            _ => places.iter().for_each(|p| batch.labels.extend_from_slice(table(p).labels.row(p.row as usize))),
        }
        Ok(())
    }

    /// Where the event at `place` is from, for messages.
    pub fn describe(&self, place: &EventLocation) -> String {
        match place.events.checked_sub(1).and_then(|number| self.events.get(number as usize)) {
            Some(events) => events.describe(place.row as usize),
            None => "an event of the stream".to_owned(),
        }
    }

    /// Restarts with the events at `rest`. Returns its previous contents.
    pub(super) fn begin(&mut self, rest: &[EventLocation]) -> Result<Vec<Arc<Events>>> {
        let mut waiting = Batch::default();
        self.gather(rest, &mut waiting)?;
        self.waiting = waiting;
        self.order.clear();
        self.order.extend((0..rest.len() as u32).map(|row| EventLocation { events: 0, row }));
        self.others.clear();
        self.hashes.clear();
        Ok(std::mem::take(&mut self.events))
    }

    /// The number that `events` has in the places of this window. Neighbouring blocks often share theirs.
    pub(super) fn number_of(&mut self, events: &Arc<Events>) -> u32 {
        if self.events.last().is_none_or(|last| !Arc::ptr_eq(last, events)) {
            self.events.push(Arc::clone(events));
        }
        self.events.len() as u32
    }
}
