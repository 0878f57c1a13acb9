//! A macro that ACLiC compiles once for many sessions: it starts in a second, where the interpreter takes three or more.

use std::fs;
use std::path::Path;

use crate::checkout::source;
use crate::session::Session;

/// A macro of `tests/root` as a library.
pub struct Library {
    path: String,
}

impl Library {
    /// Compiles `name`.C, without optimisation, in a folder of `target`, the one for tests: ACLiC writes beside the macro.
    pub fn new(name: &str, target: &str) -> Library {
        let folder = Path::new(target).join(name);
        fs::create_dir_all(&folder).unwrap();
        for entry in source().join("tests/root").read_dir().unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_some_and(|end| end == "C" || end == "h") {
                fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
            }
        }
        let compile =
            format!("gSystem->SetFlagsDebug(\"-O0\"); exit(gSystem->CompileMacro(\"{name}.C\", \"kfg\") ? 0 : 1)");
        let session = Session::root(&["-q", "-e", "gSystem->Load(\"libcladtorch\")", "-e", &compile]);
        let outcome = session.within(&folder).run();
        assert_eq!(outcome.code, Some(0), "{}", outcome.text);
        Library { path: folder.join(format!("{name}_C.so")).display().to_string() }
    }

    /// A session that loads it and runs `call`.
    pub fn session(&self, call: &str) -> Session {
        let load = ["libcladtorch", &self.path].map(|library| format!("gSystem->Load(\"{library}\")"));
        Session::root(&["-q", "-e", &load[0], "-e", &load[1], "-e", call])
    }
}
