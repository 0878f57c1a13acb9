//! An input of the target `basket`: four bytes that choose the layout of a branch, then the record of a basket.

use cladtorch::columns::Request;
use cladtorch::columns::branch::{Branch, ColumnPart, Element, Shape};

/// Bytes before the record.
pub const HEADER: usize = 4;

/// Numbers wanted of an entry, at most.
const MOST_WANTED: usize = 8;

/// The header that [`branch`] makes `element` and `shape` of, with `wanted` numbers an entry.
pub fn header(element: Element, shape: Shape, wanted: usize) -> [u8; HEADER] {
    let number = |part: usize| part as u8;
    let kind = Element::ALL.iter().position(|each| *each == element).unwrap_or(0);
    match shape {
        Shape::Fixed { entry_length, offset, length } => {
            let before = offset / element.size();
            let after = (entry_length - offset) / element.size() - length;
            [number(kind), 0, number(length - 1), number(before | after << 4)]
        }
        Shape::Array => [number(kind), 1, number(wanted - 1), 0],
        Shape::Vector => [number(kind), 2, number(wanted - 1), 0],
    }
}

/// The branch that a header chooses: every header chooses one.
pub fn branch([element, shape, wanted, around]: [u8; HEADER]) -> Option<Branch> {
    let element = Element::ALL[usize::from(element) % Element::ALL.len()];
    let (size, wanted) = (element.size(), usize::from(wanted) % MOST_WANTED + 1);
    let (before, after) = (usize::from(around & 15), usize::from(around >> 4));
    let shape = match shape % 3 {
        0 => Shape::Fixed { entry_length: (before + wanted + after) * size, offset: before * size, length: wanted },
        1 => Shape::Array,
        _ => Shape::Vector,
    };
    let (name, part) = ("fuzzed".to_owned(), ColumnPart::Features);
    Request { name, part, place: 0, wanted, pad: -1.0, scalar: false }.branch(element, shape).ok()
}
