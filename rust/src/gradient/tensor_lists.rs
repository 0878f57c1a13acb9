//! Lists of tensors for one call; their memory is reused from the second call on.

use std::cell::RefCell;

use crate::device::{ReadPointer, WritePointer};

/// The tensors of one call.
#[derive(Default)]
pub struct TensorLists {
    pub inputs: Vec<ReadPointer>,
    /// Adjoints of results.
    pub seeds: Vec<ReadPointer>,
    /// Results or gradients.
    pub written: Vec<WritePointer>,
}

thread_local! {
    /// One for each call within a call, last used last.
    static FREE: RefCell<Vec<TensorLists>> = const { RefCell::new(Vec::new()) };
}

/// Calls `run` with empty lists of this thread.
pub fn with_lists<R>(run: impl FnOnce(&mut TensorLists) -> R) -> R {
    let mut lists = FREE.with_borrow_mut(Vec::pop).unwrap_or_default();
    lists.inputs.clear();
    lists.seeds.clear();
    lists.written.clear();
    let result = run(&mut lists);
    FREE.with_borrow_mut(|free| free.push(lists));
    result
}
