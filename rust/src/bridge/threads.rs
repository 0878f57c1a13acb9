//! LibTorch's threads, for kernels that run in place of its operators.

use cxx::SharedPtr;
use ffi::LibTorchThreads;

use crate::device::{Team, offer_team};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    #[namespace = "CladTorch::Internal"]
    unsafe extern "C++" {
        include!("LibTorchThreads.hxx");

        type LibTorchThreads;

        #[cxx_name = "Run"]
        fn run(self: &LibTorchThreads, members: usize, work: &Work, share: fn(&Work, usize));
    }

    extern "Rust" {
        /// The work of the members of a team.
        type Work<'a>;

        /// Compiled functions that are called outside of the core's own pools run on these threads from now on.
        fn offer_threads(threads: SharedPtr<LibTorchThreads>);
    }

    impl SharedPtr<LibTorchThreads> {}
}

// SAFETY: it has no state; LibTorch's parallel regions may be entered from any thread, and from several.
unsafe impl Send for LibTorchThreads {}

// SAFETY: the same.
unsafe impl Sync for LibTorchThreads {}

struct Work<'a>(&'a (dyn Fn(usize) + Sync));

struct Threads(SharedPtr<LibTorchThreads>);

impl Team for Threads {
    fn run(&self, members: usize, share: &(dyn Fn(usize) + Sync)) {
        self.0.run(members, &Work(share), |work, member| (work.0)(member));
    }
}

fn offer_threads(threads: SharedPtr<LibTorchThreads>) {
    offer_team(Box::new(Threads(threads)));
}
