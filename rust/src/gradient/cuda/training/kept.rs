//! Copies of events on a GPU.

use super::super::super::RowsOf;
use crate::error::Result;

/// One of each kind, once it was needed.
pub struct Kept<T> {
    copies: [Option<T>; 2],
    now: usize,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept { copies: [None, None], now: RowsOf::Training as usize }
    }
}

impl<T: Clone> Kept<T> {
    /// Says which events the next calls bring.
    pub fn turn_to(&mut self, of: RowsOf) {
        self.now = of as usize;
    }

    /// Says that those have changed.
    pub fn forget(&mut self) {
        self.copies[self.now] = None;
    }

    /// Their copy, which `make` makes now if there is none.
    pub fn copy(&mut self, make: impl FnOnce() -> Result<T>) -> Result<T> {
        let copy = &mut self.copies[self.now];
        let made = match copy.take() {
            Some(made) => made,
            None => make()?,
        };
        Ok(copy.insert(made).clone())
    }

    /// Drops the copy of the others; returns whether there was one.
    pub fn make_room(&mut self) -> bool {
        self.copies[1 - self.now].take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn copies_are_made_once_unless_they_were_forgotten_or_made_room() {
        let mut made = 0;
        let mut copy = |kept: &mut Kept<u32>| {
            let copy = kept.copy(|| {
                made += 1;
                Ok(made)
            });
            copy.unwrap()
        };
        let mut kept = Kept::default();
        assert_eq!([copy(&mut kept), copy(&mut kept)], [1, 1]);
        kept.turn_to(RowsOf::Validation);
        assert_eq!([copy(&mut kept), copy(&mut kept)], [2, 2]);
        kept.turn_to(RowsOf::Training);
        assert_eq!(copy(&mut kept), 1);
        kept.forget();
        assert_eq!(copy(&mut kept), 3);
        assert_eq!([kept.make_room(), kept.make_room()], [true, false]);
        kept.turn_to(RowsOf::Validation);
        assert!(kept.copy(|| Err(Error::Internal("no room".into()))).is_err());
        assert_eq!(copy(&mut kept), 4);
    }
}
