//! Functions of the whole process: interruption, cores, and a panic for tests.

use crate::error::{Result, guard};
use crate::interrupt;

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    extern "Rust" {
        /// Ends compilers and predictions that run, and those that start, for the whole process; `false` lets them run
        /// again. Safe in a signal handler.
        fn interrupt_request(on: bool);
        /// Threads that this process may run at once.
        fn cores() -> usize;
        /// For tests: panics inside the core, to show that it arrives as an exception.
        fn provoke_panic() -> Result<()>;
    }
}

fn interrupt_request(on: bool) {
    interrupt::request(on);
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn provoke_panic() -> Result<()> {
    guard(|| panic!("provoked for a test"))
}
