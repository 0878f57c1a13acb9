//! Operators that look at whole rows.

use super::super::jit::emit;
use super::places::{Apart, at};
use super::program::{Launch, Slot};
use super::put::Target;
use super::writer::{Draft, Work, Writer};
use crate::error::{Error, Result};
use crate::graph::View;
use crate::graph::program::{Node, Primitive, Ties};

/// Rows of a dense tensor, whose elements may have others between them.
struct RowLayout {
    rows: usize,
    columns: usize,
    /// Declares `number(r, c)`, that of an element in row-major order.
    number: String,
}

impl RowLayout {
    fn new(rows: usize, columns: usize) -> Self {
        let number = format!("   const auto number = [](Index r, Index c) -> Index {{ return r * {columns} + c; }};\n");
        RowLayout { rows, columns, number }
    }

    /// Along a dimension with `side` elements behind it.
    fn beside(rows: usize, columns: usize, side: usize) -> Self {
        let before = columns * side;
        let number = format!(
            "   const auto number = [](Index r, Index c) -> Index {{ return r / {side} * {before} + c * {side} + r % {side}; }};\n"
        );
        RowLayout { rows, columns, number }
    }

    fn work(&self) -> Work {
        Work::of_rows(self.rows, self.columns)
    }

    /// Declares `name(r, c)`, an element of this view of `from`.
    fn reader(&self, draft: &mut Draft, name: &str, from: &str, view: &View) {
        let place = at(view, "i");
        emit!(
            draft.body,
            "   const auto {name} = [=](Index r, Index c) -> T {{ const Index i = number(r, c); return {from}[{place}]; }};"
        );
    }
}

impl Writer<'_> {
    pub(super) fn rows(&mut self, node: &Node) -> Result<Vec<Launch>> {
        let length: usize = node.shape.iter().product();
        if length == 0 {
            return Ok(Vec::new());
        }
        let mut draft = Draft::default();
        let operand = &node.operands[0];
        let x = self.operand(&mut draft, operand);
        let y = draft.write(self.slot(node.buffer));
        let work = match &node.primitive {
            &Primitive::Max { columns, .. } | &Primitive::Length(columns) => {
                let rows = RowLayout::new(length, columns);
                let (work, function) = (rows.work(), node.primitive.name());
                draft.body += &rows.number;
                rows.reader(&mut draft, "x", &x, &operand.view);
                emit!(draft.body, "   {function}<{}, T>(Index({length}), Index({columns}), x, {y});", work.team());
                work
            }
            &Primitive::Softmax { columns, side, logarithm } => {
                let rows = RowLayout::beside(length / columns, columns, side);
                let work = rows.work();
                draft.body += &rows.number;
                rows.reader(&mut draft, "x", &x, &operand.view);
                emit!(
                    draft.body,
                    "   Softmax<{}, {logarithm}, T>(Index({}), Index({columns}), x,\n      \
                     [=](Index r, Index c, T value) {{ {y}[number(r, c)] = value; }});",
                    work.team(),
                    rows.rows
                );
                work
            }
            &Primitive::Normalise { columns, eps } => {
                let work = Work::of_rows(length / columns, columns);
                let [w, b] = [1, 2].map(|at| self.operand(&mut draft, &node.operands[at]));
                emit!(
                    draft.body,
                    "   Normalise<{}>(Index({}), Index({columns}), T({eps:?}), {x}, {w}, {b}, {y});",
                    work.team(),
                    length / columns
                );
                work
            }
            other => return Err(Error::Internal(format!("{} has no rows", other.name()))),
        };
        Ok(vec![self.launch(draft, work)])
    }

    /// The contribution of the adjoint `seed` of a node's value to one of its operands.
    pub(super) fn rows_pullback(
        &mut self,
        node: &Node,
        operand: usize,
        seed: Slot,
        target: Target,
    ) -> Result<Vec<Launch>> {
        let length: usize = node.shape.iter().product();
        if length == 0 {
            return Ok(self.put_nothing(target));
        }
        match &node.primitive {
            &Primitive::Length(columns) => Ok(self.length_pullback(node, columns, seed, target)),
            &Primitive::Max { columns, ties } => {
                let even = matches!(ties, Ties::Even | Ties::EvenNan);
                let (last, lost) = (ties == Ties::First, ties == Ties::Even);
                let rows = RowLayout::new(length, columns);
                let mut draft = Draft::default();
                draft.body += &rows.number;
                let x = self.operand(&mut draft, &node.operands[0]);
                rows.reader(&mut draft, "x", &x, &node.operands[0].view);
                let [y, d] = [self.slot(node.buffer), seed].map(|slot| draft.read(slot));
                let head = format!("MaxPullback<{{team}}, {even}, {last}, {lost}, T>");
                Ok(self.row_adjoints(draft, &rows, &head, &format!("x, {y}, {d}"), target))
            }
            &Primitive::Softmax { columns, side, logarithm } => {
                let rows = RowLayout::beside(length / columns, columns, side);
                let mut draft = Draft::default();
                draft.body += &rows.number;
                let dense = View::contiguous(&node.shape);
                for (name, slot) in [("y", self.slot(node.buffer)), ("dy", seed)] {
                    let from = draft.read(slot);
                    rows.reader(&mut draft, name, &from, &dense);
                }
                let head = format!("SoftmaxPullback<{{team}}, {logarithm}, T>");
                Ok(self.row_adjoints(draft, &rows, &head, "y, dy", target))
            }
            &Primitive::Normalise { columns, eps } => {
                let sizes = [length / columns, columns];
                Ok(self.normalise_pullback(node, operand, sizes, eps, seed, target))
            }
            other => Err(Error::Internal(format!("{} has no pullback", other.name()))),
        }
    }

    /// A function of whole rows, `head(rows, columns, arguments, put)`, that gives each element of the operand its adjoint once.
    fn row_adjoints(
        &mut self,
        mut draft: Draft,
        rows: &RowLayout,
        head: &str,
        arguments: &str,
        target: Target,
    ) -> Vec<Launch> {
        let work = rows.work();
        let head = head.replace("{team}", work.team());
        let own = View::contiguous(&target.view.sizes);
        let is_direct = Apart::new(target.view).summed.len() == 1;
        let mut launches = if is_direct { self.begin(&target) } else { Vec::new() };
        let (slot, view, adds) = match is_direct {
            true => (target.slot, target.view, target.adds()),
            false => (self.scratch(own.len()), &own, false),
        };
        let (to, place) = (draft.write(slot), at(view, "i"));
        emit!(
            draft.body,
            "   {head}(Index({}), Index({}), {arguments},\n      \
             [=](Index r, Index c, T value) {{ const Index i = number(r, c); Put<{adds}>({to}[{place}], value); }});",
            rows.rows,
            rows.columns
        );
        launches.push(self.launch(draft, work));
        if !is_direct {
            launches.extend(self.copy(slot, &own, target));
        }
        launches
    }

    fn length_pullback(&mut self, node: &Node, columns: usize, seed: Slot, target: Target) -> Vec<Launch> {
        let mut draft = Draft::default();
        let x = self.operand(&mut draft, &node.operands[0]);
        let [y, d] = [self.slot(node.buffer), seed].map(|slot| draft.read(slot));
        let place = at(&node.operands[0].view, "i");
        // In this order: dy / y may be too large where x / y is not.
        emit!(
            draft.body,
            "   const auto term = [=](Index i) -> T {{\n      const Index r = i / {};\n      \
             return {y}[r] == 0 ? T(0) : {x}[{place}] / {y}[r] * {d}[r];\n   }};",
            columns.max(1)
        );
        self.put(draft, target)
    }

    fn normalise_pullback(
        &mut self,
        node: &Node,
        operand: usize,
        [rows, columns]: [usize; 2],
        eps: f64,
        seed: Slot,
        target: Target,
    ) -> Vec<Launch> {
        let work = Work::of_rows(rows, columns);
        let team = work.team();
        let mut draft = Draft::default();
        let x = self.operand(&mut draft, &node.operands[0]);
        if operand == 0 {
            let mut launches = self.begin(&target);
            let (w, d, dx) = (self.operand(&mut draft, &node.operands[1]), draft.read(seed), draft.write(target.slot));
            let adds = target.adds();
            emit!(
                draft.body,
                "   NormalisePullback<{team}, {adds}>(Index({rows}), Index({columns}), T({eps:?}), {x}, {w}, {d}, {dx});"
            );
            launches.push(self.launch(draft, work));
            return launches;
        }
        let scratch = self.scratch(2 * rows);
        let moments = draft.write(scratch);
        emit!(draft.body, "   RowMoments<{team}>(Index({rows}), Index({columns}), T({eps:?}), {x}, {moments});");
        let mut launches = vec![self.launch(draft, work)];
        let mut draft = Draft::default();
        let x = self.operand(&mut draft, &node.operands[0]);
        let [d, moments] = [seed, scratch].map(|slot| draft.read(slot));
        emit!(
            draft.body,
            "   const auto term = [=](Index i) -> T {{\n      const Index r = i / {columns};\n      \
             return {d}[i] * (({x}[i] - {moments}[2 * r]) * {moments}[2 * r + 1]);\n   }};"
        );
        let view = View { offset: 0, sizes: vec![rows, columns], strides: vec![0, 1] };
        launches.extend(self.put(draft, Target { view: &view, ..target }));
        launches
    }
}
