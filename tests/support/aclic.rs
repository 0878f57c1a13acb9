//! A macro that is compiled once for many sessions: it starts in a second, where the interpreter takes three or more.

use std::fs;
use std::path::{Path, PathBuf};

use crate::checkout::source;
use crate::session::{Session, script};

/// A macro of `tests/root` as a library.
pub struct Library {
    /// What a session does before it can call the macro.
    loading: Vec<String>,
}

impl Library {
    /// Compiles `name`.C by ACLiC, without optimisation, in a folder of `target`, the one for tests: ACLiC writes beside
    /// the macro.
    pub fn new(name: &str, target: &str) -> Library {
        let folder = folder_of_macros(name, target);
        let call =
            format!("gSystem->SetFlagsDebug(\"-O0\"); exit(gSystem->CompileMacro(\"{name}.C\", \"kfg\") ? 0 : 1)");
        compile(&folder, &call);
        Library { loading: loading(&folder.join(format!("{name}_C.so"))) }
    }

    /// Compiles `name`.C without a dictionary, for which every session would parse all headers again, in a second and
    /// a half. Sessions can call what `declaration` declares.
    pub fn without_dictionary(name: &str, target: &str, declaration: &str) -> Library {
        let folder = folder_of_macros(name, target);
        compile(&folder, &format!(".x {}(\"{name}\")", script("plain_library.C")));
        let mut loading = loading(&folder.join(format!("{name}.so")));
        loading.push(format!("gInterpreter->Declare(R\"({declaration})\")"));
        Library { loading }
    }

    /// A session that loads it and runs `call`.
    pub fn session(&self, call: &str) -> Session {
        let lines = self.loading.iter().map(String::as_str).chain([call]);
        Session::root(&[&["-q"], &lines.flat_map(|line| ["-e", line]).collect::<Vec<_>>()[..]].concat())
    }
}

/// The macros in a folder of their own.
fn folder_of_macros(name: &str, target: &str) -> PathBuf {
    let folder = Path::new(target).join(name);
    fs::create_dir_all(&folder).unwrap();
    for entry in source().join("tests/root").read_dir().unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|end| end == "C" || end == "h") {
            fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
        }
    }
    folder
}

fn compile(folder: &Path, call: &str) {
    let session = Session::root(&["-q", "-e", "gSystem->Load(\"libcladtorch\")", "-e", call]);
    let outcome = session.within(folder).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
}

fn loading(library: &Path) -> Vec<String> {
    ["libcladtorch", &library.display().to_string()].map(|library| format!("gSystem->Load(\"{library}\")")).to_vec()
}
