//! Sums over processes, as a tree over their ranks.
//!
//! Neighbouring ranks add their numbers, then neighbouring pairs theirs, and so on: `((0 + 1) + (2 + 3)) + ...`. If the
//! number of ranks is no power of two, the first ranks are added in pairs before. So the sums have the same bits on all
//! ranks, for any number of values and on any nodes, as long as the number of ranks stays the same; and a thousand
//! ranks need ten rounds of messages. Few numbers are sent whole in each round (recursive doubling), many in halves
//! that are returned in the end (recursive halving and doubling; Thakur, Rabenseifner and Gropp 2005): twice the
//! rounds, but each rank sends less than twice its numbers in all.

use crate::kernels::Scalar;

/// Numbers up to which the messages' number counts for more than their length.
pub const FEW_NUMBERS: usize = 1 << 14;

/// Carries messages between two processes.
pub trait Wire {
    /// This process, and how many there are.
    fn place(&self) -> [usize; 2];

    /// Sends `to` to rank `with` and receives `from` from it, which has as many numbers as that rank sends; none: no message. A
    /// wait in `round` may be for a process that waits in an earlier one.
    fn swap<T: Scalar>(&self, with: usize, to: &[T], from: &mut [T], round: u32);
}

/// Where this process stands in the tree.
struct Tree<'a, W> {
    wire: &'a W,
    /// Ranks that were added to their neighbours before: the odd ones below twice this number.
    joined: usize,
    /// Number among the others, which are a power of two.
    place: usize,
    /// How many those are.
    leaves: usize,
}

/// Makes `values` the sums of the processes' values. `scratch` has as many numbers.
pub fn sum<W: Wire, T: Scalar>(wire: &W, values: &mut [T], scratch: &mut [T]) {
    let [rank, size] = wire.place();
    let leaves = 1 << size.ilog2();
    let joined = size - leaves;
    let place = if rank < 2 * joined { rank / 2 } else { rank - joined };
    let tree = Tree { wire, joined, place, leaves };
    let scratch = &mut scratch[..values.len()];
    if rank >= 2 * joined {
        tree.sum(values, scratch);
    } else if rank.is_multiple_of(2) {
        wire.swap(rank + 1, &[], scratch, 0);
        T::add(scratch, values);
        tree.sum(values, scratch);
        wire.swap(rank + 1, values, &mut [], tree.last_round());
    } else {
        wire.swap(rank - 1, values, &mut [], 0);
        wire.swap(rank - 1, &[], values, tree.last_round());
    }
}

impl<W: Wire> Tree<'_, W> {
    /// The rank that is as far as `distance` from this one in the tree.
    fn partner(&self, distance: usize) -> usize {
        let place = self.place ^ distance;
        if place < self.joined { 2 * place } else { place + self.joined }
    }

    fn last_round(&self) -> u32 {
        2 * self.leaves.ilog2() + 1
    }

    fn sum<T: Scalar>(&self, values: &mut [T], scratch: &mut [T]) {
        if values.len() > FEW_NUMBERS {
            return self.halve(values, scratch, 1);
        }
        let distances = (0..self.leaves.ilog2()).map(|level| 1 << level);
        for (round, distance) in (1..).zip(distances) {
            self.wire.swap(self.partner(distance), values, scratch, round);
            T::add(scratch, values);
        }
    }

    /// Of neighbours one adds the first half and the other the second, with those further away; then each has the other's.
    fn halve<T: Scalar>(&self, values: &mut [T], scratch: &mut [T], distance: usize) {
        if distance == self.leaves {
            return;
        }
        let (partner, level) = (self.partner(distance), distance.ilog2());
        let (first, second) = values.split_at_mut(values.len() / 2);
        let (own, other) = if self.place & distance == 0 { (first, second) } else { (second, first) };
        let part = &mut scratch[..own.len()];
        self.wire.swap(partner, other, part, level + 1);
        T::add(part, own);
        self.halve(own, scratch, 2 * distance);
        self.wire.swap(partner, own, other, self.last_round() - 1 - level);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;

    use super::*;

    /// Threads in the place of processes; numbers travel as float64.
    struct Threads {
        place: [usize; 2],
        to: Vec<Sender<Vec<f64>>>,
        from: Vec<Receiver<Vec<f64>>>,
    }

    impl Threads {
        fn new(size: usize) -> Vec<Self> {
            let mut all: Vec<Threads> =
                (0..size).map(|rank| Threads { place: [rank, size], to: Vec::new(), from: Vec::new() }).collect();
            for (sender, receiver) in (0..size).flat_map(|a| (0..size).map(move |b| (a, b))) {
                let (to, from) = channel();
                all[sender].to.push(to);
                all[receiver].from.push(from);
            }
            all
        }
    }

    impl Wire for Threads {
        fn place(&self) -> [usize; 2] {
            self.place
        }

        fn swap<T: Scalar>(&self, with: usize, to: &[T], from: &mut [T], _: u32) {
            if !to.is_empty() {
                self.to[with].send(to.iter().map(|number| number.to_f64()).collect()).unwrap();
            }
            if !from.is_empty() {
                let came = self.from[with].recv().unwrap();
                assert_eq!(came.len(), from.len(), "rank {} from {with}", self.place[0]);
                from.iter_mut().zip(came).for_each(|(number, came)| *number = T::from_f64(came));
            }
        }
    }

    fn value(rank: usize, at: usize) -> f32 {
        ((rank * 7919 + at) as f32 * 0.731).sin() * 10f32.powi((rank % 5) as i32)
    }

    /// Everyone's sums.
    fn sums(size: usize, count: usize) -> Vec<Vec<f32>> {
        let work = move |wire: Threads| {
            let mut values: Vec<f32> = (0..count).map(|at| value(wire.place[0], at)).collect();
            sum(&wire, &mut values, &mut vec![0.0; count]);
            values
        };
        let threads: Vec<_> = Threads::new(size).into_iter().map(|wire| thread::spawn(move || work(wire))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }

    /// The sum of `values` by the rule: pairs first, until their number is a power of two, then neighbours.
    fn expected(mut values: Vec<f32>) -> f32 {
        let leaves = 1 << values.len().ilog2();
        for pair in 0..values.len() - leaves {
            let second = values.remove(pair + 1);
            values[pair] += second;
        }
        while values.len() > 1 {
            values = values.chunks(2).map(|pair| pair[0] + pair[1]).collect();
        }
        values[0]
    }

    #[test]
    fn all_ranks_have_the_sums_of_the_tree() {
        for size in 1..=17 {
            for count in [0, 1, 5, 100, FEW_NUMBERS + 3] {
                let wanted: Vec<f32> =
                    (0..count).map(|at| expected((0..size).map(|rank| value(rank, at)).collect())).collect();
                for (rank, found) in sums(size, count).into_iter().enumerate() {
                    assert!(found == wanted, "{count} numbers on rank {rank} of {size}");
                }
            }
        }
    }
}
