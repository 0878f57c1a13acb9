//! Batch normalisation: statistics of channels.

use super::super::jit::emit;
use super::super::reverse::Begin;
use super::program::{Launch, Slot};
use super::put::Target;
use super::writer::{Draft, Work, Writer};
use crate::error::Result;
use crate::graph::program::Node;
use crate::kernels::strided::Channels;

impl Writer<'_> {
    /// Channels, elements of one in an event, and in all, of a batch whose channels lie densely.
    fn dense(&self, node: &Node, channels: &Channels) -> Result<[usize; 3]> {
        match channels.width == channels.channels {
            true => Ok([channels.channels, channels.side, channels.rows * channels.side]),
            false => Err(self.refuse(node, "packed matrices are the host's")),
        }
    }

    pub(super) fn moments(&mut self, node: &Node, channels: &Channels) -> Result<Vec<Launch>> {
        let [channels, side, count] = self.dense(node, channels)?;
        if channels == 0 {
            return Ok(Vec::new());
        }
        let work = Work::of_rows(channels, count);
        let mut draft = Draft::default();
        let x = self.operand(&mut draft, &node.operands[0]);
        let y = draft.write(self.slot(node.buffer));
        emit!(
            draft.body,
            "   ChannelMoments<{}>(Index({channels}), Index({side}), Index({count}), {x}, {y});",
            work.team()
        );
        Ok(vec![self.launch(draft, work)])
    }

    pub(super) fn standardise(&mut self, node: &Node, channels: &Channels, eps: f64) -> Result<Vec<Launch>> {
        let [channels, side, count] = self.dense(node, channels)?;
        let length = channels * count;
        if length == 0 {
            return Ok(Vec::new());
        }
        let mut draft = Draft::default();
        let [x, moments, w, b] = [0, 1, 2, 3].map(|at| self.operand(&mut draft, &node.operands[at]));
        let y = draft.write(self.slot(node.buffer));
        emit!(
            draft.body,
            "   Each(Index({length}), [=](Index i) {{\n      const Index k = i / {side} % {channels};\n      \
             const T factor = T(FactorOf({moments}[{channels} + k], T({eps:?})) * double({w}[k]));\n      \
             {y}[i] = ({x}[i] - {moments}[k]) * factor + {b}[k];\n   }});"
        );
        Ok(vec![self.launch(draft, Work::Alone(length))])
    }

    /// The contribution of the adjoint `seed` of a standardised batch to one of the operands.
    pub(super) fn standardise_pullback(
        &mut self,
        node: &Node,
        channels: &Channels,
        eps: f64,
        operand: usize,
        seed: Slot,
        target: Target,
    ) -> Result<Vec<Launch>> {
        let [channels, side, count] = self.dense(node, channels)?;
        if channels * count == 0 {
            return Ok(self.put_nothing(target));
        }
        // In double: two numbers of the program for each.
        let (scratch, work) = (self.scratch(4 * channels), Work::of_rows(channels, count));
        let mut draft = Draft::default();
        let [x, moments] = [0, 1].map(|at| self.operand(&mut draft, &node.operands[at]));
        let (d, sums) = (draft.read(seed), draft.other("double *", scratch));
        emit!(
            draft.body,
            "   StandardiseSums<{}>(Index({channels}), Index({side}), Index({count}), T({eps:?}), {x}, {moments}, {d}, {sums});",
            work.team()
        );
        let mut launches = vec![self.launch(draft, work)];
        launches.extend(self.begin(&target));
        let mut draft = Draft::default();
        let sums = draft.other("const double *", scratch);
        let (to, adds) = (draft.write(target.slot), target.begin == Begin::Add);
        if operand != 0 {
            let start = if operand == 2 { channels } else { 0 };
            emit!(
                draft.body,
                "   Each(Index({channels}), [=](Index k) {{ Put<{adds}>({to}[k], {sums}[{start} + k]); }});"
            );
            launches.push(self.launch(draft, Work::Alone(channels)));
            return Ok(launches);
        }
        let [x, moments, w] = [0, 1, 2].map(|at| self.operand(&mut draft, &node.operands[at]));
        let (d, length) = (draft.read(seed), channels * count);
        emit!(
            draft.body,
            "   Each(Index({length}), [=](Index i) {{\n      const Index k = i / {side} % {channels};\n      \
             Put<{adds}>({to}[i], StandardiseSlope(Index({channels}), Index({count}), T({eps:?}), k, {x}[i], {moments}, {w}, {d}[i], {sums}));\n   }});"
        );
        launches.push(self.launch(draft, Work::Alone(length)));
        Ok(launches)
    }
}
