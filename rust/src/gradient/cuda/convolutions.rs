//! Convolutions, as tiles of products where these are well filled.

use super::super::jit::emit;
use super::places::at;
use super::products::Elements;
use super::program::{Launch, Slot};
use super::put::Target;
use super::writer::{Draft, Writer};
use crate::graph::View;
use crate::graph::program::Node;
use crate::kernels::strided::Convolution;

/// Whether products of this many rows, columns and terms fill tiles well.
fn is_tiled([rows, columns, terms]: [usize; 3]) -> bool {
    const FEWEST: usize = 8;
    rows.min(columns) >= FEWEST && terms > 0
}

impl Writer<'_> {
    /// Signals [events, groups, inputs, length] and weights [groups, outputs, inputs, taps].
    pub(super) fn convolve(&mut self, node: &Node, c: &Convolution) -> Vec<Launch> {
        let &Convolution { groups, inputs, outputs, taps, dilation, length, .. } = c;
        let count: usize = node.shape.iter().product();
        if count == 0 {
            return Vec::new();
        }
        let (columns, channels) = (c.columns().unwrap_or(1), groups * outputs);
        if is_tiled([outputs, columns, inputs * taps]) {
            return self.tiled(node, c);
        }
        let mut draft = Draft::default();
        let [x, w] = [0, 1].map(|at| self.operand(&mut draft, &node.operands[at]));
        let bias = node.operands.get(2).map(|bias| {
            let from = self.operand(&mut draft, bias);
            format!(" + {from}[{}]", at(&bias.view, "o"))
        });
        let y = draft.write(self.slot(node.buffer));
        emit!(
            draft.body,
            "   const auto each = [=](Index o, Index d) -> T {{\n      \
             const Index n = o % {columns}, channel = o / {columns} % {channels}, event = o / {columns} / {channels};\n      \
             const Index i = d / {taps}, k = d % {taps}, group = channel / {outputs};\n      \
             return {x}[((event * {groups} + group) * {inputs} + i) * {length} + n + k * {dilation}] *\n             \
             {w}[(channel * {inputs} + i) * {taps} + k];\n   }};"
        );
        let writes = format!("{y}[o] = sum{};", bias.unwrap_or_default());
        vec![self.sums(draft, [count, inputs * taps], &writes)]
    }

    /// For each event and group: weights [outputs, inputs taps] by windows of the signals [inputs taps, columns].
    fn tiled(&mut self, node: &Node, c: &Convolution) -> Vec<Launch> {
        let &Convolution { events, groups, inputs, outputs, taps, dilation, length } = c;
        let columns = c.columns().unwrap_or(1);
        let [signals, weights] = [0, 1].map(|at| self.slot(node.operands[at].buffer));
        let weights = Elements::new(weights, format!("(batch % {groups} * {outputs} + i) * {} + j", inputs * taps));
        let windows =
            Elements::new(signals, format!("(batch * {inputs} + i / {taps}) * {length} + j + i % {taps} * {dilation}"));
        let view = View::contiguous(&[events * groups, outputs, columns]);
        let (mut launches, begin) = self.start(node);
        let target = Target { slot: self.slot(node.buffer), view: &view, length: view.len(), begin };
        let sizes = [events * groups, outputs, columns, inputs * taps];
        launches.extend(self.tiles(sizes, &weights, &windows, target));
        launches
    }

    /// The contribution of the adjoint `seed` of the convolution to the signals or the weights.
    pub(super) fn convolve_pullback(
        &mut self,
        node: &Node,
        c: &Convolution,
        operand: usize,
        seed: Slot,
        target: Target,
    ) -> Vec<Launch> {
        let &Convolution { events, groups, inputs, outputs, taps, dilation, length } = c;
        let (columns, channels) = (c.columns().unwrap_or(1), groups * outputs);
        let is_empty = events * groups == 0;
        match operand {
            0 if !is_empty && is_tiled([inputs, length, outputs * taps]) => {
                return self.tiled_by_signals(node, c, seed, target);
            }
            1 if !is_empty && is_tiled([outputs, inputs * taps, events * columns]) => {
                return self.tiled_by_weights(node, c, seed, target);
            }
            _ => {}
        }
        let mut draft = Draft::default();
        let other = self.operand(&mut draft, &node.operands[1 - operand]);
        let (d, to) = (draft.read(seed), draft.write(target.slot));
        let terms = match operand {
            0 => {
                emit!(
                    draft.body,
                    "   const auto each = [=](Index o, Index d) -> T {{\n      \
                     const Index l = o % {length}, i = o / {length} % {inputs}, row = o / {length} / {inputs};\n      \
                     const Index k = d % {taps}, channel = row % {groups} * {outputs} + d / {taps}, event = row / {groups};\n      \
                     if (l < k * {dilation} || l - k * {dilation} >= {columns}) return 0;\n      \
                     return {d}[(event * {channels} + channel) * {columns} + l - k * {dilation}] *\n             \
                     {other}[(channel * {inputs} + i) * {taps} + k];\n   }};"
                );
                outputs * taps
            }
            _ => {
                emit!(
                    draft.body,
                    "   const auto each = [=](Index o, Index d) -> T {{\n      \
                     const Index k = o % {taps}, i = o / {taps} % {inputs}, channel = o / {taps} / {inputs};\n      \
                     const Index n = d % {columns}, event = d / {columns}, group = channel / {outputs};\n      \
                     return {d}[(event * {channels} + channel) * {columns} + n] *\n             \
                     {other}[((event * {groups} + group) * {inputs} + i) * {length} + n + k * {dilation}];\n   }};"
                );
                events * columns
            }
        };
        let mut launches = self.begin(&target);
        let writes = format!("Put<{}>({to}[o], sum);", target.adds());
        launches.push(self.sums(draft, [target.view.len(), terms], &writes));
        launches
    }

    /// For each event and group: weights [inputs, outputs taps] by the adjoints [outputs taps, length] that each element meets.
    fn tiled_by_signals(&mut self, node: &Node, c: &Convolution, seed: Slot, target: Target) -> Vec<Launch> {
        let &Convolution { events, groups, inputs, outputs, taps, dilation, length } = c;
        let columns = c.columns().unwrap_or(1);
        let weights = Elements::new(
            self.slot(node.operands[1].buffer),
            format!("((batch % {groups} * {outputs} + j / {taps}) * {inputs} + i) * {taps} + j % {taps}"),
        );
        let d = Elements {
            before: format!("const Index k = i % {taps} * {dilation}; if (j < k || j - k >= {columns}) return 0; "),
            ..Elements::new(seed, format!("(batch * {outputs} + i / {taps}) * {columns} + j - k"))
        };
        let view = View::contiguous(&[events * groups, inputs, length]);
        self.tiles([events * groups, inputs, length, outputs * taps], &weights, &d, Target { view: &view, ..target })
    }

    /// For each group: adjoints [outputs, events columns] by windows of the signals [events columns, inputs taps].
    fn tiled_by_weights(&mut self, node: &Node, c: &Convolution, seed: Slot, target: Target) -> Vec<Launch> {
        let &Convolution { events, groups, inputs, outputs, taps, dilation, length } = c;
        let columns = c.columns().unwrap_or(1);
        let d = Elements::new(
            seed,
            format!("((j / {columns} * {groups} + batch) * {outputs} + i) * {columns} + j % {columns}"),
        );
        let place = format!(
            "((i / {columns} * {groups} + batch) * {inputs} + j / {taps}) * {length} + i % {columns} + j % {taps} * {dilation}"
        );
        let windows = Elements { is_along_rows: false, ..Elements::new(self.slot(node.operands[0].buffer), place) };
        let view = View::contiguous(&[groups, outputs, inputs * taps]);
        self.tiles([groups, outputs, inputs * taps, events * columns], &d, &windows, Target { view: &view, ..target })
    }
}
