//! Arenas in parts.

/// Neighbouring parts of an arena, and the rest.
pub fn split<T, const N: usize>(mut arena: &mut [T], lengths: [usize; N]) -> ([&mut [T]; N], &mut [T]) {
    let parts = lengths.map(|length| {
        let (part, rest) = std::mem::take(&mut arena).split_at_mut(length);
        arena = rest;
        part
    });
    (parts, arena)
}
