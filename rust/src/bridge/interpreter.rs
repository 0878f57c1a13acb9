//! C++ modules of headers, made at first use for ROOT's interpreter.

use std::path::Path;

use crate::error::{Result, guard};
use crate::interpreter::{self, HeaderFolders};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    extern "Rust" {
        /// Whether this process is a rootcling that makes a module.
        fn modules_are_being_made() -> bool;
        /// The folder of this user's modules for these headers. `maps` is the folder of the module maps, `headers` and
        /// `libtorch` those of ROOT's and LibTorch's headers, and `marks` are files that change with either.
        fn modules_folder(maps: &str, headers: &str, libtorch: &str, marks: &[String]) -> Result<String>;
        /// Makes the module `name` of `header` in `folder` unless it exists; it takes headers from the modules `uses`.
        fn modules_make(
            folder: &str,
            name: &str,
            header: &str,
            uses: &[String],
            versions: &str,
            rootcling: &str,
        ) -> Result<()>;
    }
}

fn modules_are_being_made() -> bool {
    interpreter::is_making()
}

fn modules_folder(maps: &str, headers: &str, libtorch: &str, marks: &[String]) -> Result<String> {
    let [maps, headers, libtorch] = [maps, headers, libtorch].map(Path::new);
    let marks = marks.iter().map(Path::new).collect();
    guard(|| Ok(interpreter::folder(&HeaderFolders { maps, headers, libtorch, marks })?.display().to_string()))
}

fn modules_make(
    folder: &str,
    name: &str,
    header: &str,
    uses: &[String],
    versions: &str,
    rootcling: &str,
) -> Result<()> {
    guard(|| interpreter::make(Path::new(folder), name, header, uses, versions, Path::new(rootcling)))
}
