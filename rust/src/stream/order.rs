//! The order of entries in an epoch.

use std::ops::Range;

use super::{Mixing, Settings, Source, mixed};
use crate::dataset::shuffle;

/// Entries of an epoch's first window.
const FIRST_WINDOW: u64 = 2048;

/// Neighbouring entries of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Number of the source.
    pub source: usize,
    /// Its first entry.
    pub first: u64,
    /// How many.
    pub entries: u64,
    /// The first entry, and the one after the last, of those that are best read together with it because they share
    /// baskets.
    pub together: (u64, u64),
    /// Whether its events are copied out of those: the others do not come soon.
    pub copied: bool,
}

impl Block {
    fn new(source: usize, range: Range<u64>, together: &Range<u64>, copied: bool) -> Self {
        let together = (together.start, together.end);
        Block { source, first: range.start, entries: range.end - range.start, together, copied }
    }
}

/// An epoch's way through all sources.
pub(super) struct Walk {
    /// For each source its blocks in the order in which they come.
    by_source: Vec<Vec<Block>>,
    /// For each source the entries that the epoch takes of it.
    pub(super) entries: Vec<u64>,
    /// Of all processes: the entries of an epoch and of a window.
    whole: u64,
    window: u64,
}

impl Walk {
    /// Through what process `rank` of `size` reads.
    pub(super) fn new(sources: &[Source], settings: &Settings, epoch: u64, [rank, size]: [usize; 2]) -> Self {
        let clusters: Vec<_> = sources.iter().map(|source| own_clusters(source, rank as u64, size as u64)).collect();
        let sizes = clusters.iter().map(|clusters| clusters.iter().map(|cluster| cluster.end - cluster.start).sum());
        let entries = mixed_entries(sizes.collect(), settings.mixing);
        let total = entries.iter().sum();
        let whole = mixed_entries(sources.iter().map(Source::entries).collect(), settings.mixing).iter().sum();
        let window = settings.window.max(1);
        let parts = size as u64;
        let settings = &Settings { window: window.div_ceil(parts), kept: settings.kept / parts, ..*settings };
        let blocks_of = |number| {
            let kept = kept(settings, sources.len(), entries[number], total);
            blocks_of(number, &clusters[number], entries[number], settings, kept, epoch)
        };
        let by_source = (0..sources.len()).map(blocks_of);
        Walk { by_source: by_source.collect(), entries, whole, window }
    }

    /// A way on which what comes first is spread over all of every source: for looking at a part of the events.
    pub(super) fn sample(sources: &[Source], settings: &Settings) -> Self {
        let sizes: Vec<u64> = sources.iter().map(Source::entries).collect();
        let smallest = sizes.iter().copied().min().unwrap_or(0);
        let total: u64 = sizes.iter().sum();
        let entries: Vec<u64> = match settings.mixing {
            Mixing::Proportional => sizes.clone(),
            Mixing::Balanced => vec![smallest; sizes.len()],
        };
        let by_source = (0..sources.len()).map(|number| {
            let window = share(settings.window, sizes[number], total);
            let kept = kept(settings, sources.len(), sizes[number], total);
            spread_lane(number, &sources[number], entries[number], settings.block, window, kept)
        });
        let whole = entries.iter().sum();
        Walk { by_source: by_source.collect(), entries, whole, window: settings.window.max(1) }
    }

    pub(super) fn total(&self) -> u64 {
        self.entries.iter().sum()
    }

    /// The entries done after each window; all processes have as many windows.
    pub(super) fn windows(&self) -> impl Iterator<Item = u64> + use<> {
        let (own, total, largest) = (self.total(), self.whole, self.window);
        let sizes = std::iter::successors(Some(FIRST_WINDOW.min(largest)), move |size| Some((size * 2).min(largest)));
        let mut done = 0u64;
        sizes.map_while(move |size| {
            let before = done;
            done = total.min(done.saturating_add(size));
            (done > before).then(|| share(own, done, total))
        })
    }

    /// The entries of source `number` that are due when `done` of all are.
    pub(super) fn due(&self, number: usize, done: u64) -> u64 {
        share(self.entries[number], done, self.total())
    }

    /// All blocks in the order in which the windows need them.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut by_source: Vec<_> = self.by_source.iter().map(|blocks| (blocks.iter(), 0u64)).collect();
        for done in self.windows() {
            for (number, (rest, read)) in by_source.iter_mut().enumerate() {
                while *read < self.due(number, done) {
                    let Some(block) = rest.next() else { break };
                    *read += block.entries;
                    blocks.push(*block);
                }
            }
        }
        blocks
    }
}

/// `whole` times `part` / `total`.
fn share(whole: u64, part: u64, total: u64) -> u64 {
    (u128::from(whole) * u128::from(part) / u128::from(total.max(1))) as u64
}

/// Entries of a source that may be read together: its share of the available room, and at least what it has in a window
/// anyway.
fn kept(settings: &Settings, sources: usize, entries: u64, total: u64) -> u64 {
    (settings.kept / sources.max(1) as u64).max(share(settings.window, entries, total))
}

/// The entries that an epoch takes of sources of these sizes.
fn mixed_entries(sizes: Vec<u64>, mixing: Mixing) -> Vec<u64> {
    let largest = sizes.iter().copied().max().unwrap_or(0);
    match mixing {
        Mixing::Proportional => sizes,
        // What has none cannot come again.
        Mixing::Balanced => sizes.into_iter().map(|size| if size == 0 { 0 } else { largest }).collect(),
    }
}

/// Blocks of one source, `entries` in all: its clusters in a new order for each pass. A cluster longer than a window comes
/// in pieces of a window, in an order of their own, but one after the other: so it is read once if there is room for
/// `kept` entries of each source, else by pieces, or as much of a piece as there is room for.
fn blocks_of(
    number: usize,
    clusters: &[Range<u64>],
    entries: u64,
    settings: &Settings,
    kept: u64,
    epoch: u64,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut left = entries;
    for pass in 0.. {
        for index in order(clusters.len(), settings, &[1, epoch, number as u64, pass]) {
            let cluster = &clusters[index];
            let is_kept = cluster.end - cluster.start <= kept;
            let in_window = pieces(cluster, settings.window);
            for piece in order(in_window.len(), settings, &[3, epoch, number as u64, pass, index as u64]) {
                let Range { start, end } = in_window[piece];
                let piece = start..end.min(start + left);
                left -= piece.end - piece.start;
                for part in pieces(&piece, kept.max(settings.block)) {
                    let together = if is_kept { cluster } else { &part };
                    let block = |range| Block::new(number, range, together, false);
                    blocks.extend(pieces(&part, settings.block).into_iter().map(block));
                }
            }
        }
        if left == 0 {
            break;
        }
    }
    blocks
}

fn clusters(source: &Source) -> Vec<Range<u64>> {
    let starts = [0].into_iter().chain(source.cluster_ends.iter().copied());
    starts.zip(&source.cluster_ends).map(|(start, &end)| start..end).collect()
}

/// Those that process `rank` of `size` reads: neighbouring ones, and parts of the first and the last, so that all read as many
/// entries.
fn own_clusters(source: &Source, rank: u64, size: u64) -> Vec<Range<u64>> {
    let [first, end] = [rank, rank + 1].map(|part| share(source.entries(), part, size));
    let own = clusters(source).into_iter().map(|cluster| cluster.start.max(first)..cluster.end.min(end));
    own.filter(|cluster| !cluster.is_empty()).collect()
}

fn pieces(cluster: &Range<u64>, longest: u64) -> Vec<Range<u64>> {
    let longest = longest.max(1);
    let starts = (cluster.start..cluster.end).step_by(usize::try_from(longest).unwrap_or(usize::MAX));
    starts.map(|start| start..cluster.end.min(start.saturating_add(longest))).collect()
}

fn order(count: usize, settings: &Settings, mark: &[u64]) -> impl Iterator<Item = usize> + use<> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    if settings.shuffle && count > 1 {
        shuffle(&mut order, settings.seed, mixed(mark));
    }
    order.into_iter().map(|piece| piece as usize)
}

/// Blocks of a source, `entries` in all, from the beginnings of equal parts, then from what follows in each, twice as much
/// every round. The first round is about `window` entries. Neighbouring parts often lie in one cluster, which is read for
/// them together if it is not longer than `kept`.
fn spread_lane(number: usize, source: &Source, entries: u64, block: u64, window: u64, kept: u64) -> Vec<Block> {
    const PARTS: u64 = 64;
    let (size, clusters) = (source.entries(), clusters(source));
    let mut parts: Vec<Range<u64>> =
        (0..PARTS).map(|part| share(size, part, PARTS)..share(size, part + 1, PARTS)).collect();
    let mut blocks = Vec::new();
    let (mut left, mut step) = (entries, window.div_ceil(PARTS).max(1));
    while left > 0 {
        for part in &mut parts {
            let end = part.end.min(part.start.saturating_add(step)).min(part.start + left);
            for piece in pieces(&(part.start..end), block) {
                let cluster = &clusters[clusters.partition_point(|cluster| cluster.end <= piece.start)];
                let is_read = piece.end <= cluster.end && cluster.end - cluster.start <= kept;
                let together = if is_read { cluster.clone() } else { piece.clone() };
                blocks.push(Block::new(number, piece, &together, is_read));
            }
            left -= end - part.start;
            part.start = end;
        }
        step = step.saturating_mul(2);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Targets;

    fn source(ends: &[u64]) -> Source {
        Source { name: "s".into(), targets: Targets::default(), cluster_ends: ends.to_vec() }
    }

    fn settings(mixing: Mixing) -> Settings {
        Settings {
            window: 5000,
            block: 8192,
            kept: 20_000,
            mixing,
            seed: 7,
            split_seed: 7,
            shuffle: true,
            validation: 0.0,
            batch: 10,
        }
    }

    fn entries_of(blocks: &[Block], source: usize) -> Vec<u64> {
        let blocks = blocks.iter().filter(|block| block.source == source);
        blocks.flat_map(|block| block.first..block.first + block.entries).collect()
    }

    #[test]
    fn every_entry_comes_once_and_epochs_differ() {
        let sources = [source(&[10_000, 30_000, 30_001]), source(&[1000, 2000])];
        let blocks = |epoch| Walk::new(&sources, &settings(Mixing::Proportional), epoch, [0, 1]).blocks();
        for (number, size) in [(0, 30_001), (1, 2000)] {
            let mut entries = entries_of(&blocks(1), number);
            entries.sort_unstable();
            assert!(entries.into_iter().eq(0..size));
        }
        assert_eq!(blocks(1), blocks(1));
        assert!((1..10).any(|epoch| blocks(epoch) != blocks(0)));
    }

    #[test]
    fn smaller_sources_come_again_where_balanced() {
        let sources = [source(&[9000]), source(&[400, 1000])];
        let blocks = Walk::new(&sources, &settings(Mixing::Balanced), 1, [0, 1]).blocks();
        let mut counts = vec![0; 1000];
        entries_of(&blocks, 1).into_iter().for_each(|entry| counts[entry as usize] += 1);
        assert_eq!(counts.iter().sum::<i32>(), 9000);
        assert!(counts.iter().all(|&count| count == 9));
    }

    #[test]
    fn long_clusters_are_shuffled_too() {
        let sources = [source(&[50_000])];
        let firsts: Vec<u64> =
            Walk::new(&sources, &settings(Mixing::Proportional), 1, [0, 1]).blocks().iter().map(|b| b.first).collect();
        assert!(firsts.len() == 10 && !firsts.is_sorted());
    }

    #[test]
    fn the_pieces_of_a_cluster_come_together() {
        let sources = [source(&[20_000, 40_000, 60_000])];
        let blocks = Walk::new(&sources, &settings(Mixing::Proportional), 1, [0, 1]).blocks();
        let mut clusters: Vec<u64> = blocks.iter().map(|block| block.first / 20_000).collect();
        clusters.dedup();
        assert_eq!((blocks.len(), clusters.len()), (12, 3));
    }

    #[test]
    fn what_shares_baskets_is_read_together_where_there_is_room() {
        let sources = [source(&[100, 20_100, 60_100])];
        let together = |kept: u64| {
            let settings = Settings { kept, block: 1000, ..settings(Mixing::Proportional) };
            let blocks = Walk::new(&sources, &settings, 1, [0, 1]).blocks();
            assert_eq!(blocks.iter().map(|block| block.entries).sum::<u64>(), 60_100);
            for Block { first, entries, together: (begin, end), .. } in &blocks {
                assert!(begin <= first && first + entries <= *end, "{blocks:?}");
            }
            let mut together: Vec<_> = blocks.into_iter().map(|block| block.together).collect();
            together.dedup();
            together.sort_unstable();
            together
        };
        assert_eq!(together(40_000), [(0, 100), (100, 20_100), (20_100, 60_100)]);
        let large: Vec<_> = (0..8).map(|piece| (20_100 + piece * 5000, 25_100 + piece * 5000)).collect();
        assert_eq!(together(39_999), [&[(0, 100), (100, 20_100)], &large[..]].concat());
        // As much as the window holds anyway, however little room there is.
        assert_eq!(together(0).len(), 1 + 4 + 8);
        let two = [source(&[20_000]), source(&[20_000])];
        let settings = Settings { kept: 0, block: 0, ..settings(Mixing::Proportional) };
        let blocks = Walk::new(&two, &settings, 1, [0, 1]).blocks();
        assert!(blocks.iter().all(|block| block.entries == 1 && block.together.1 - block.together.0 == 2500));
    }

    #[test]
    fn a_sample_reads_a_cluster_once_a_round_and_copies_what_it_takes() {
        let sources = [source(&[20_000, 80_000])];
        let together = |kept: u64| {
            let settings = Settings { kept, ..settings(Mixing::Proportional) };
            let mut blocks = Walk::sample(&sources, &settings).blocks();
            blocks.truncate(64);
            for Block { first, entries, together: (begin, end), copied, .. } in &blocks {
                assert!(begin <= first && first + entries <= *end, "{blocks:?}");
                assert_eq!(*copied, end - begin > *entries);
            }
            let mut together: Vec<_> = blocks.into_iter().map(|block| block.together).collect();
            together.dedup();
            together
        };
        assert_eq!(together(60_000), [(0, 20_000), (20_000, 80_000)]);
        assert_eq!(together(20_000).len(), 1 + 48);
        assert_eq!(together(0).len(), 64);
    }

    #[test]
    fn a_sample_is_spread_over_its_sources_and_gives_every_entry_in_the_end() {
        let sources = [source(&[100_000]), source(&[700, 1000])];
        let blocks = Walk::sample(&sources, &settings(Mixing::Proportional)).blocks();
        let mut all = entries_of(&blocks, 0);
        let first: Vec<u64> = all[..5000].to_vec();
        for tenth in 0..10u64 {
            let range = tenth * 10_000..(tenth + 1) * 10_000;
            let count = first.iter().filter(|entry| range.contains(entry)).count();
            assert!((300..700).contains(&count), "{count} of {range:?}");
        }
        all.sort_unstable();
        assert!(all.into_iter().eq(0..100_000));
        let balanced = Walk::sample(&sources, &settings(Mixing::Balanced)).blocks();
        assert_eq!((entries_of(&balanced, 0).len(), entries_of(&balanced, 1).len()), (1000, 1000));
    }

    #[test]
    fn windows_double_and_end_with_the_entries() {
        let walk = Walk::new(&[source(&[9000]), source(&[3000])], &settings(Mixing::Proportional), 1, [0, 1]);
        assert_eq!(walk.windows().collect::<Vec<_>>(), [2048, 6144, 11_144, 12_000]);
        assert_eq!((walk.due(0, 2048), walk.due(1, 2048)), (1536, 512));
        assert_eq!((walk.due(0, 12_000), walk.due(1, 12_000)), (9000, 3000));
    }
}
