//! Files of PyTorch, read without Python and without running anything: the zip archives of `torch.save` ([`StateDict`], weights by
//! name) and of `torch.jit.save` ([`sound_script`], networks, which LibTorch then loads).
//!
//! Format: `torch/serialization.py` and `caffe2/serialize/inline_container.h` of PyTorch; zip: PKWARE's APPNOTE 6.3.10; pickles:
//! Python's `pickletools`.

mod archive;
mod pickle;
mod script;
mod state_dict;

pub use archive::{archive_of, is_archive, is_legacy};
pub use script::sound_script;
pub use state_dict::StateDict;
