//! Files of PyTorch, read without Python and without running anything: the zip archives of `torch.save` ([`StateDict`],
//! weights by name), of `torch.jit.save` ([`sound_script`], networks, which LibTorch then loads) and of
//! `torch.export.save` ([`exported`]).
//!
//! Format: `torch/serialization.py` and `caffe2/serialize/inline_container.h` of PyTorch; zip: PKWARE's APPNOTE 6.3.10; pickles:
//! Python's `pickletools`.

mod archive;
mod exported;
mod notation;
mod pickle;
mod script;
mod state_dict;

pub use archive::{archive_of, is_archive, is_legacy};
pub use exported::{exported, is_exported};
pub use notation::{Notation, Script, ScriptTensor};
pub use script::sound_script;
pub use state_dict::StateDict;
