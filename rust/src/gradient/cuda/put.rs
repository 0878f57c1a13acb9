//! Values written, or added, to a view of a buffer, whose elements may share places.

use super::super::jit::emit;
use super::super::reverse::Begin;
use super::places::{Apart, at};
use super::program::{Launch, Slot};
use super::writer::{Draft, Work, Writer};
use crate::graph::View;

/// The view that is written to.
pub(super) struct Target<'v> {
    pub slot: Slot,
    pub view: &'v View,
    /// Elements of the whole buffer.
    pub length: usize,
    pub begin: Begin,
}

impl Target<'_> {
    /// Whether what is there stays, after zeros if need be.
    pub fn adds(&self) -> bool {
        self.begin != Begin::Store
    }
}

impl Writer<'_> {
    /// Sets the whole buffer, of `length` elements, to `number`.
    pub fn fill(&mut self, slot: Slot, length: usize, number: &str) -> Vec<Launch> {
        if length == 0 {
            return Vec::new();
        }
        let mut draft = Draft::default();
        let to = draft.write(slot);
        emit!(draft.body, "   Each(Index({length}), [=](Index i) {{ {to}[i] = {number}; }});");
        vec![self.launch(draft, Work::Alone(length))]
    }

    /// Zeros where the target begins with them.
    pub fn begin(&mut self, target: &Target) -> Vec<Launch> {
        if target.begin == Begin::Zero { self.fill(target.slot, target.length, "0") } else { Vec::new() }
    }

    /// The target = a number for each element of its view. `draft` has declared the function `term(i)`, which gives it.
    pub fn put(&mut self, mut draft: Draft, target: Target) -> Vec<Launch> {
        let (view, count) = (target.view, target.view.len());
        self.counts_to(count);
        if count == 0 {
            return match target.begin {
                Begin::Add => Vec::new(),
                Begin::Zero | Begin::Store => self.fill(target.slot, target.length, "0"),
            };
        }
        let to = draft.write(target.slot);
        let Apart { kept, summed } = Apart::new(view);
        if summed.len() == 1 {
            let mut launches = self.begin(&target);
            let (adds, place) = (target.adds(), at(view, "i"));
            emit!(draft.body, "   Each(Index({count}), [=](Index i) {{ Put<{adds}>({to}[{place}], term(i)); }});");
            launches.push(self.launch(draft, Work::Alone(count)));
            return launches;
        }
        let terms = summed.len();
        if summed.places.strides.iter().any(|&stride| stride > 0) {
            // An element of the buffer asks which ones of the view lie there.
            let adds = target.begin == Begin::Add;
            let (numbers, places) = (at(&summed.numbers, "d"), at(&summed.places, "d"));
            emit!(
                draft.body,
                "   const auto each = [=](Index o, Index d) -> T {{\n      const Index before = {} + {places};\n      \
                 if (o < before) return 0;\n      Index rest = o - before, i = {numbers};\n{}      return term(i);\n   }};",
                view.offset,
                kept.inverse()
            );
            let writes = format!("Put<{adds}>({to}[o], sum);");
            return vec![self.sums(draft, [target.length, terms], &writes)];
        }
        let own = kept.len();
        // Every element of the buffer is the sum of some.
        let is_whole = own == target.length;
        let mut launches = if is_whole { Vec::new() } else { self.begin(&target) };
        let adds = target.begin == Begin::Add || (target.begin == Begin::Zero && !is_whole);
        let place = at(&View { offset: view.offset, ..kept.places }, "o");
        let (from, step) = (at(&kept.numbers, "o"), at(&summed.numbers, "d"));
        emit!(draft.body, "   const auto each = [=](Index o, Index d) -> T {{ return term({from} + {step}); }};");
        launches.push(self.sums(draft, [own, terms], &format!("Put<{adds}>({to}[{place}], sum);")));
        launches
    }

    /// The target = 0 everywhere: the sum of no terms.
    pub fn put_nothing(&mut self, target: Target) -> Vec<Launch> {
        let mut draft = Draft::default();
        emit!(draft.body, "   const auto term = [](Index) -> T {{ return 0; }};");
        self.put(draft, target)
    }

    /// `writes`, statements with the variables `o` and `sum`, for each of some sums of so many terms. `draft` has declared the
    /// function `each(o, d)`, which gives a term.
    pub fn sums(&mut self, mut draft: Draft, [count, terms]: [usize; 2], writes: &str) -> Launch {
        self.counts_to(count.max(terms));
        let work = Work::of_rows(count, terms);
        let team = work.team();
        emit!(
            draft.body,
            "   Sums<{team}, T>(Index({count}), Index({terms}), each, [=](Index o, T sum) {{ {writes} }});"
        );
        self.launch(draft, work)
    }

    /// The target = the elements of `from` in this view.
    pub fn copy(&mut self, from: Slot, view: &View, target: Target) -> Vec<Launch> {
        let mut draft = Draft::default();
        let from = draft.read(from);
        emit!(draft.body, "   const auto term = [=](Index i) -> T {{ return {from}[{}]; }};", at(view, "i"));
        self.put(draft, target)
    }
}
