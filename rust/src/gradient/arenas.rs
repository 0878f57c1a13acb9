//! Reusable arenas of one length in the memory of a device.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;

/// Unused arenas, each with the stream whose kernels used it last: on that stream they run in order. A host has one
/// stream.
pub struct Arenas<M> {
    free: Mutex<Vec<(usize, M)>>,
}

impl<M> Default for Arenas<M> {
    fn default() -> Self {
        Arenas { free: Mutex::default() }
    }
}

impl<M> Arenas<M> {
    /// The last one that the stream used, or what `make` makes where there is none.
    pub fn lease(arenas: &Arc<Self>, stream: usize, make: impl FnOnce() -> Result<M>) -> Result<Lease<M>> {
        let mut free = arenas.free.lock().unwrap_or_else(PoisonError::into_inner);
        let known = free.iter().rposition(|(of, _)| *of == stream).map(|index| free.swap_remove(index).1);
        drop(free);
        let memory = match known {
            Some(memory) => memory,
            None => make()?,
        };
        Ok(Lease { memory: Some(memory), stream, arenas: Arc::clone(arenas) })
    }
}

/// An arena on loan; dropping it gives it back.
pub struct Lease<M> {
    /// There until it is dropped.
    memory: Option<M>,
    stream: usize,
    arenas: Arc<Arenas<M>>,
}

impl<M> Lease<M> {
    /// The arena, if it is one of `arenas`.
    pub fn of(&self, arenas: &Arc<Arenas<M>>) -> Option<&M> {
        self.memory.as_ref().filter(|_| Arc::ptr_eq(&self.arenas, arenas))
    }

    /// The stream whose kernels use it next.
    pub fn stream(&self) -> usize {
        self.stream
    }

    /// The arena.
    pub fn get(&mut self) -> &mut M {
        self.memory.as_mut().expect("there until it is dropped")
    }
}

impl<M> Drop for Lease<M> {
    fn drop(&mut self) {
        let mut free = self.arenas.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(self.memory.take().map(|memory| (self.stream, memory)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn an_arena_comes_back_to_its_stream() {
        let arenas = Arc::new(Arenas::default());
        let made = |stream| Arenas::lease(&arenas, stream, || Ok(vec![stream])).unwrap();
        let again = |stream| Arenas::lease(&arenas, stream, || Err(Error::Internal("made anew".into())));
        let (mut first, second) = (made(0), made(7));
        first.get().push(1);
        assert!(again(0).is_err());
        drop((first, second));
        assert_eq!(again(7).unwrap().get(), &[7]);
        assert_eq!(again(0).unwrap().get(), &[0, 1]);
        assert!(again(1).is_err());
    }

    #[test]
    fn an_arena_is_told_from_others() {
        let [own, other] = [0, 1].map(|_| Arc::new(Arenas::default()));
        let lease = Arenas::lease(&own, 0, || Ok(1)).unwrap();
        assert_eq!((lease.of(&own), lease.of(&other)), (Some(&1), None));
    }
}
