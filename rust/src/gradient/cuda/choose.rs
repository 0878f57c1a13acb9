//! Elements that an index chooses, and the places of the first in an order.
//!
//! Several elements of an index may choose the same element. So that no two threads add to one, the dimension that an
//! index chooses along becomes one more dimension of the view, in which all elements but the chosen one are 0: a view
//! like any other, see [`Writer::put`].

use super::super::jit::emit;
use super::places::at;
use super::program::{Launch, Slot};
use super::put::Target;
use super::writer::{Draft, Work, Writer};
use crate::graph::View;
use crate::graph::program::{Gather, Node, Scatter};
use crate::kernels::strided::{Order, Ranking};

/// The view of all elements that might be chosen: for each of those in `bases` a row.
fn candidates(bases: &View, gather: &Gather) -> View {
    let mut view = bases.clone();
    view.sizes.push(gather.size);
    view.strides.push(gather.stride);
    view
}

impl Writer<'_> {
    /// Declares `place(i)`: what element `i` of the index chooses, -1 where it chooses nothing, -2 where it is out of range.
    fn place(&self, draft: &mut Draft, node: &Node, gather: &Gather) {
        let index = &node.operands[1];
        let from = self.operand(draft, index);
        let skip = match gather.skip {
            Some(skip) => format!("index == {skip} ? -1 : "),
            None => String::new(),
        };
        emit!(
            draft.body,
            "   const auto place = [=](Index i) -> int64_t {{\n      const int64_t index = Integer({from}[{}]);\n      \
             return {skip}PlaceOf(index, {}, {});\n   }};",
            at(&index.view, "i"),
            gather.size,
            gather.from_end
        );
    }

    /// The flag of a node.
    fn flag(&mut self, draft: &mut Draft, node: &Node) -> String {
        self.flags.push(node.observed);
        draft.other("int32_t *", Slot::Flag(self.flags.len() - 1))
    }

    pub(super) fn gather(&mut self, node: &Node, gather: &Gather) -> Vec<Launch> {
        let count: usize = node.shape.iter().product();
        if count == 0 {
            return Vec::new();
        }
        let mut draft = Draft::default();
        self.place(&mut draft, node, gather);
        let flag = self.flag(&mut draft, node);
        let x = self.operand(&mut draft, &node.operands[0]);
        let y = draft.write(self.slot(node.buffer));
        emit!(
            draft.body,
            "   Each(Index({count}), [=](Index i) {{\n      const int64_t chosen = place(i);\n      \
             if (chosen == -2)\n         Raise({flag});\n      \
             {y}[i] = chosen < 0 ? T(0) : {x}[{} + Index(chosen) * {}];\n   }});",
            at(&node.operands[0].view, "i"),
            gather.stride
        );
        vec![self.launch(draft, Work::Alone(count))]
    }

    pub(super) fn gather_pullback(&mut self, node: &Node, gather: &Gather, seed: Slot, target: Target) -> Vec<Launch> {
        let mut draft = Draft::default();
        let view = candidates(target.view, gather);
        self.chosen(&mut draft, node, gather, seed);
        self.put(draft, Target { view: &view, ..target })
    }

    /// Declares `term(i)` for the candidates: element `i` of `from` where it is the chosen one.
    fn chosen(&mut self, draft: &mut Draft, node: &Node, gather: &Gather, from: Slot) {
        self.place(draft, node, gather);
        let (from, size) = (draft.read(from), gather.size.max(1));
        emit!(
            draft.body,
            "   const auto term = [=](Index i) -> T {{\n      \
             return place(i / {size}) == int64_t(i % {size}) ? {from}[i / {size}] : T(0);\n   }};"
        );
    }

    pub(super) fn scatter(&mut self, node: &Node, scatter: &Scatter) -> Vec<Launch> {
        let (whole, slot) = (View::contiguous(&node.shape), self.slot(node.buffer));
        let source = &node.operands[0];
        let (mut launches, begin) = self.start(node);
        let count = source.view.len();
        if count == 0 {
            return launches;
        }
        let mut draft = Draft::default();
        self.place(&mut draft, node, &scatter.gather);
        let flag = self.flag(&mut draft, node);
        emit!(
            draft.body,
            "   Each(Index({count}), [=](Index i) {{\n      if (place(i) == -2)\n         Raise({flag});\n   }});"
        );
        launches.push(self.launch(draft, Work::Alone(count)));
        let mut draft = Draft::default();
        self.chosen(&mut draft, node, &scatter.gather, self.slot(source.buffer));
        let view = candidates(&scatter.places, &scatter.gather);
        launches.extend(self.put(draft, Target { slot, view: &view, length: whole.len(), begin }));
        launches
    }

    /// To the source, whose elements take the adjoints of their places.
    pub(super) fn scatter_pullback(
        &mut self,
        node: &Node,
        scatter: &Scatter,
        seed: Slot,
        target: Target,
    ) -> Vec<Launch> {
        let mut draft = Draft::default();
        self.place(&mut draft, node, &scatter.gather);
        let d = draft.read(seed);
        emit!(
            draft.body,
            "   const auto term = [=](Index i) -> T {{\n      const int64_t chosen = place(i);\n      \
             return chosen < 0 ? T(0) : {d}[{} + Index(chosen) * {}];\n   }};",
            at(&scatter.places, "i"),
            scatter.gather.stride
        );
        self.put(draft, target)
    }

    /// Every element counts those of its row before it.
    pub(super) fn argsort(&mut self, node: &Node, ranking: &Ranking) -> Vec<Launch> {
        let &Ranking { order, descending, columns, count } = ranking;
        let operand = &node.operands[0];
        let elements = operand.view.len();
        if elements == 0 || count == 0 {
            return Vec::new();
        }
        let mut draft = Draft::default();
        let x = self.operand(&mut draft, operand);
        let y = draft.write(self.slot(node.buffer));
        let place = at(&operand.view, "i");
        emit!(
            draft.body,
            "   const auto element = [=](Index i) -> T {{ return {x}[{place}]; }};\n   \
             Each(Index({elements}), [=](Index i) {{\n      \
             const Index c = i % {columns}, first = i - c;\n      const T own = element(i);\n      Index before = 0;\n      \
             for (Index j = 0; j < {columns}; ++j)\n         \
             before += Precedes<{descending}>(element(first + j), j, own, c);\n      \
             if (before < {count})\n         {y}[i / {columns} * {count} + before] = T(c);\n   }});"
        );
        let mut launches = vec![self.launch(draft, Work::Alone(elements))];
        if order == Order::TopUnsorted {
            let mut draft = Draft::default();
            let x = self.operand(&mut draft, operand);
            let y = draft.write(self.slot(node.buffer));
            emit!(
                draft.body,
                "   const auto element = [=](Index i) -> T {{ return {x}[{place}]; }};\n   \
                 Each(Index({}), [=](Index r) {{\n      \
                 Unsort(Index({count}), [=](T c) {{ return element(r * {columns} + Index(c)); }}, {y} + r * {count});\n   }});",
                elements / columns
            );
            launches.push(self.launch(draft, Work::Alone(elements / columns)));
        }
        launches
    }
}
