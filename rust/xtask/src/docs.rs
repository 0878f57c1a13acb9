//! `docs`: the web site of the pages, the public headers and the macros, made by Doxygen.

use std::fs;
use std::path::{Path, absolute};
use std::process::Command;

use anyhow::{Context, Result};

use xtask::process::{output, step};
use xtask::project;

const SETTINGS: &str = "cpp/doc/Doxyfile";

/// Writes the site to `folder`; a warning of Doxygen is an error.
pub fn run(folder: &Path) -> Result<()> {
    output(Command::new("doxygen").arg("--version"))
        .context("Doxygen makes the site: install the package doxygen (Debian, Ubuntu, Fedora, conda-forge)")?;
    let folder = absolute(folder).with_context(|| format!("cannot use the folder {}", folder.display()))?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut doxygen = Command::new("doxygen");
    doxygen.arg(SETTINGS).current_dir(project::root()).env("CLADTORCH_DOCS", &folder);
    step("doxygen", &mut doxygen).context("Doxygen's warnings are errors: mend the places that it names above")?;
    println!("open {}", folder.join("index.html").display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Write;

    use super::*;

    /// Missing targets of references in the pages of `folder`, each with one of the pages.
    fn missing(folder: &Path) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let is_page = entry.extension().is_some_and(|kind| kind == "html");
            let text = if is_page { fs::read_to_string(&entry).unwrap() } else { String::new() };
            let targets = ["href=\"", "src=\""].map(|sign| text.split(sign).skip(1).collect::<Vec<_>>()).concat();
            for target in targets.iter().filter_map(|rest| rest.split(['"', '#', '?']).next()) {
                let elsewhere =
                    ["http:", "https:", "javascript:", "mailto:"].iter().any(|kind| target.starts_with(kind));
                if !elsewhere && !folder.join(target).exists() {
                    found.insert(format!("{target} of {}", entry.file_name().unwrap().display()));
                }
            }
        }
        found
    }

    #[test]
    fn the_site_is_whole() {
        if output(Command::new("doxygen").arg("--version")).is_err() {
            assert!(std::env::var_os("CLADTORCH_COMPLETE").is_none(), "there is no Doxygen");
            // Past the test runner, which withholds the output of passing tests.
            let _ = std::io::stderr().write_all(b"NOT TESTED: the site of the documentation, for want of Doxygen\n");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        run(folder.path()).unwrap();
        assert_eq!(missing(folder.path()), BTreeSet::new());
        let page = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(page("index.html").contains("gw_classify.png"), "the picture of the first page");
        for path in fs::read_dir(project::root().join("root_macros")).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_stem().unwrap().to_str().unwrap();
            if path.extension().is_some_and(|kind| kind == "C") {
                let text = page(&format!("{}_8C.html", name.replace('_', "__")));
                assert!(text.contains(&format!("> {name}(")), "the source of {name}.C");
                assert_eq!(text.contains("In Python:"), path.with_extension("py").exists(), "the twin of {name}.C");
            }
        }
        assert!(page("classCladTorch_1_1Dataset.html").contains("Balance"), "the reference of a class");
    }
}
