//! Views as text: where element `i` of a view lies, and which elements lie at a place.

use crate::graph::View;
use crate::graph::view::row_major;

/// The place of the element whose number in row-major order is the variable `i`, as an expression.
pub(super) fn at(view: &View, i: &str) -> String {
    let dims = joined(view);
    let total: usize = dims.iter().map(|&(size, _)| size).product();
    let mut terms = Vec::new();
    let mut inner = total;
    for &(size, stride) in &dims {
        let (outer, step) = (inner, inner / size.max(1));
        inner = step;
        if stride == 0 {
            continue;
        }
        let quotient = if step == 1 { i.to_owned() } else { format!("{i} / {step}") };
        let index = if outer == total { quotient } else { format!("{quotient} % {size}") };
        terms.push(if stride == 1 { index } else { format!("({index}) * {stride}") });
    }
    if view.offset > 0 || terms.is_empty() {
        terms.push(view.offset.to_string());
    }
    terms.join(" + ")
}

/// Sizes and strides of the view, neighbouring dimensions that lie one in the other as one.
fn joined(view: &View) -> Vec<(usize, usize)> {
    if view.is_empty() {
        return Vec::new();
    }
    let mut dims: Vec<(usize, usize)> = Vec::new();
    for (&size, &stride) in view.sizes.iter().zip(&view.strides).filter(|(size, _)| **size != 1) {
        match dims.last_mut() {
            Some((length, step)) if *step == stride * size => (*length, *step) = (*length * size, stride),
            _ => dims.push((size, stride)),
        }
    }
    dims
}

/// A view whose elements may share places, taken apart: `kept` dimensions, which have places of their own, and `summed` ones.
/// Each is a view of the elements' numbers beside one of their places.
pub(super) struct Apart {
    pub kept: Half,
    pub summed: Half,
}

/// Some dimensions of a view.
pub(super) struct Half {
    /// Parts of an element's number in row-major order.
    pub numbers: View,
    /// Parts of its place, without the offset of the whole view.
    pub places: View,
}

impl Apart {
    /// With as few elements in `summed` as possible; none where the view is injective.
    pub fn new(view: &View) -> Self {
        let of_some: Vec<usize> = (0..view.rank()).filter(|&dim| view.sizes[dim] > 1).collect();
        let free: Vec<usize> = of_some.iter().copied().filter(|&dim| view.strides[dim] > 0).collect();
        let half = |dims: &[usize]| Half::new(view, dims);
        // Views have few dimensions.
        let choices = (0..1_usize << free.len()).map(|bits| {
            let (kept, rest): (Vec<usize>, Vec<usize>) = (0..free.len()).partition(|&at| bits >> at & 1 == 0);
            let dims = |places: Vec<usize>| places.into_iter().map(|at| free[at]).collect::<Vec<usize>>();
            (dims(kept), dims(rest))
        });
        let fits = choices.filter(|(kept, _)| half(kept).places.is_injective());
        let count = |dims: &[usize]| dims.iter().map(|&dim| view.sizes[dim]).product::<usize>();
        let (kept, mut summed) = fits.min_by_key(|(_, rest)| count(rest)).expect("no dimension is injective");
        summed.extend(of_some.iter().filter(|&&dim| view.strides[dim] == 0));
        summed.sort_unstable();
        Apart { kept: half(&kept), summed: half(&summed) }
    }
}

impl Half {
    fn new(view: &View, dims: &[usize]) -> Self {
        let strides = row_major(&view.sizes);
        let pick = |from: &[usize]| dims.iter().map(|&dim| from[dim]).collect::<Vec<_>>();
        let of = |strides: &[usize]| View { offset: 0, sizes: pick(&view.sizes), strides: pick(strides) };
        Half { numbers: of(&strides), places: of(&view.strides) }
    }

    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Statements that bring `rest`, a place less what other dimensions give it, to the number of the one element there, added to
    /// `i`; they `return 0` where there is none. For an injective half.
    pub fn inverse(&self) -> String {
        let mut dims: Vec<(usize, usize, usize)> = (0..self.places.rank())
            .map(|dim| (self.places.strides[dim], self.places.sizes[dim], self.numbers.strides[dim]))
            .collect();
        dims.sort_unstable_by(|a, b| b.cmp(a));
        let mut text = String::new();
        for (stride, size, number) in dims {
            text += &format!(
                "      {{ const Index q = rest / {stride}; if (q >= {size}) return 0; rest -= q * {stride}; i += q * {number}; }}\n"
            );
        }
        text + "      if (rest != 0) return 0;\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn views() -> Vec<View> {
        let x = View::contiguous(&[4, 6]);
        vec![
            x.clone(),
            x.transpose(0, 1),
            x.narrow(1, 1, 3, 2),
            x.expand(&[3, 4, 6]).unwrap(),
            x.windows(1, 3, 1, 1).unwrap(),
            x.windows(1, 2, 2, 2).unwrap().windows(0, 2, 1, 1).unwrap(),
            View::contiguous(&[6]).unsqueeze(1).expand(&[6, 4]).unwrap(),
            View::contiguous(&[]),
            View { offset: 3, ..View::contiguous(&[1, 1]) },
        ]
    }

    /// The value of an expression of `+`, `*`, `/`, `%` and brackets at `i`.
    fn value(text: &str, i: usize) -> usize {
        let text = text.replace(['(', ')'], "");
        let term = |term: &str| {
            let mut words = term.split(' ');
            let number = |word: &str| if word == "i" { i } else { word.parse().unwrap() };
            let mut value = number(words.next().unwrap());
            while let (Some(sign), Some(word)) = (words.next(), words.next()) {
                match sign {
                    "/" => value /= number(word),
                    "%" => value %= number(word),
                    _ => value *= number(word),
                }
            }
            value
        };
        text.split(" + ").map(term).sum()
    }

    #[test]
    fn expressions_are_the_places_of_elements() {
        for view in views() {
            let found: Vec<usize> = (0..view.len()).map(|i| value(&at(&view, "i"), i)).collect();
            assert_eq!(found, view.offsets().collect::<Vec<_>>(), "{view:?}: {}", at(&view, "i"));
        }
    }

    #[test]
    fn a_view_taken_apart_has_each_element_once() {
        for view in views() {
            let Apart { kept, summed } = Apart::new(&view);
            assert!(kept.places.is_injective() && kept.len() * summed.len() == view.len(), "{view:?}");
            let offsets: Vec<usize> = view.offsets().collect();
            let mut seen = vec![false; view.len()];
            for (i, place) in kept.numbers.offsets().zip(kept.places.offsets()) {
                for (j, more) in summed.numbers.offsets().zip(summed.places.offsets()) {
                    assert_eq!(offsets[i + j], view.offset + place + more, "{view:?}");
                    assert!(!std::mem::replace(&mut seen[i + j], true), "{view:?}");
                }
            }
        }
        let windows = View::contiguous(&[100]).windows(0, 3, 1, 1).unwrap();
        assert_eq!(Apart::new(&windows).summed.len(), 3, "the taps are summed, not the windows");
    }
}
