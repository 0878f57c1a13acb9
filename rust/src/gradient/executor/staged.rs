//! Calls in parts, between the places at which the rows of a batch that is run in blocks meet: the moments of batch
//! normalisation, and the sums of its pullback.

use super::step::{Backward, BatchSums, Kernel};
use super::{Executor, OutOfRange};
use crate::device::{Element, ReadTensors, WriteTensors};
use crate::kernels::Scalar;
use crate::kernels::strided::Channels;

/// A step at which rows meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meeting {
    step: usize,
    /// The channels of which it has statistics.
    channels: Channels,
}

impl Meeting {
    /// Elements of a channel.
    pub fn count(&self) -> usize {
        self.channels.rows * self.channels.side
    }

    /// Numbers of its statistics, [2, channels].
    pub fn statistics(&self) -> usize {
        2 * self.channels.channels
    }

    /// Whether another number of rows meets so, too.
    pub fn is_as(&self, other: &Meeting) -> bool {
        *self == Meeting { channels: Channels { rows: self.channels.rows, ..other.channels }, ..*other }
    }
}

/// The steps at which rows meet, in the order in which a call comes to them.
#[derive(Clone, Debug, Default)]
pub struct Meetings {
    /// Moments, forward.
    pub forward: Vec<Meeting>,
    /// Normalisations, backward.
    pub backward: Vec<Meeting>,
}

impl<T: Scalar + Element> Executor<T> {
    /// Where the rows of its program meet.
    pub fn meetings(&self) -> Meetings {
        let mut meetings = Meetings::default();
        for (step, found) in self.steps.iter().enumerate() {
            match found.kernel {
                Kernel::Moments(channels) => meetings.forward.push(Meeting { step, channels }),
                Kernel::Standardise { channels, .. } if found.adjoint.is_some() => {
                    meetings.backward.push(Meeting { step, channels });
                }
                _ => (),
            }
        }
        meetings.backward.reverse();
        meetings
    }

    /// Runs the steps from behind meeting `from` to before meeting `to`, or to the end. There, `spread` [2, channels] gets the means
    /// and the sums of squared deviations of the rows of this call; at the end the outputs are written. The moments of all
    /// rows are `moments` [2, channels], where there is a meeting before.
    pub fn forward_between(
        &self,
        [from, to]: [Option<&Meeting>; 2],
        moments: &[T],
        values: &mut [T],
        inputs: ReadTensors,
        mut outputs: WriteTensors,
        spread: &mut [f64],
    ) -> Result<(), OutOfRange> {
        if let Some(meeting) = from {
            let value = self.steps[meeting.step].value_range();
            values[value].copy_from_slice(moments);
        }
        let first = from.map_or(0, |meeting| meeting.step + 1);
        let end = to.map_or(self.steps.len(), |meeting| meeting.step);
        self.run_steps(first..end, values, inputs, &mut outputs, 1)?;
        match to {
            Some(meeting) => {
                let spread = &mut spread[..meeting.statistics()];
                self.steps[meeting.step].spread(meeting.channels, values, inputs, spread);
            }
            None => self.write_outputs(values, inputs, &mut outputs),
        }
        Ok(())
    }

    /// The pullbacks from that of meeting `from`, or from the end, to before that of meeting `to`, or to the first one. `own` has
    /// the sums [2, channels] of `from` over the rows of this call, and gets those of `to`; `all` has those of `from` over all
    /// rows, of `count` elements a channel.
    #[allow(clippy::too_many_arguments)] // What a reverse pass reads and writes.
    pub fn backward_between(
        &self,
        [from, to]: [Option<&Meeting>; 2],
        (own, all, count): (&mut [f64], &[f64], usize),
        values: &[T],
        adjoints: &mut [T],
        inputs: ReadTensors,
        seeds: ReadTensors,
        sum: bool,
        mut gradients: WriteTensors,
    ) {
        let end = from.map_or(self.steps.len(), |meeting| meeting.step);
        if let Some(meeting) = from {
            let mut pass = Backward::new(values, &mut *adjoints, inputs, seeds, sum, &mut gradients, 1);
            let [own, all] = [&*own, all].map(|sums| &sums[..meeting.statistics()]);
            pass.batch = Some(BatchSums { own, all, count });
            self.pull_back_steps(end..end + 1, &mut pass);
        }
        let mut pass = Backward::new(values, adjoints, inputs, seeds, sum, &mut gradients, 1);
        if from.is_none() {
            self.begin_backward(&mut pass);
        }
        self.pull_back_steps(to.map_or(0, |meeting| meeting.step + 1)..end, &mut pass);
        if let Some(meeting) = to
            && let Some(adjoint) = self.steps[meeting.step].adjoint
        {
            self.steps[meeting.step].sum_into(&pass, adjoint, &mut own[..meeting.statistics()]);
        }
    }
}
