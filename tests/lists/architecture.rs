//! The architecture map in `rust/src/lib.rs` names every module, and for each the modules that it uses; dependencies
//! point down only.

use std::collections::BTreeSet;
use std::path::Path;

use support::checkout::source;

const MAP: &str = include_str!("../../rust/src/lib.rs");
/// Modules that a whole crate uses, which the map does not list.
const EVERYWHERE: [&str; 5] = ["Error", "Result", "error", "interrupt", "text"];

/// Names in a row of the map.
struct Row<'a> {
    modules: Vec<&'a str>,
    uses: &'a str,
}

impl Row<'_> {
    fn used(&self) -> BTreeSet<String> {
        quoted(self.uses).map(|name| name.split("::").next().unwrap_or(name).to_owned()).collect()
    }
}

fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The rows of the crates `cladtorch` and `cladtorch_base`.
fn rows() -> [Vec<Row<'static>>; 2] {
    let (all, base) = MAP.split_once("**`rust/base/`**").expect("the base has a row");
    [all, base].map(|part| {
        let lines = part.lines().filter_map(|line| line.strip_prefix("//! | ")?.strip_suffix(" |"));
        let cells = lines.map(|line| line.split(" | ").collect::<Vec<_>>());
        let row = |cells: Vec<&'static str>| {
            let [room, _, uses] = cells[..] else { return None };
            let modules = quoted(room).filter(|name| !name.contains('/')).collect();
            Some(Row { modules, uses })
        };
        cells.filter_map(row).filter(|row| !row.modules.is_empty()).collect()
    })
}

/// The modules of a crate beneath `folder`.
fn modules(folder: &Path) -> BTreeSet<String> {
    let names = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let names = names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    names.filter(|name| !["lib", "bin"].contains(&name.as_str())).collect()
}

/// The modules of its own crate that the code in `path`, a file or folder, names.
fn used(path: &Path, found: &mut BTreeSet<String>) {
    if path.is_dir() {
        return path.read_dir().unwrap().for_each(|entry| used(&entry.unwrap().path(), found));
    }
    if path.extension().is_none_or(|extension| extension != "rs") {
        return;
    }
    let text = std::fs::read_to_string(path).unwrap();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let code = line.split(" // ").next().unwrap_or(line);
        for (at, _) in code.match_indices("crate::") {
            let name: String =
                code[at + "crate::".len()..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            assert!(!name.is_empty(), "{}: `{line}` names several modules", path.display());
            found.insert(name);
        }
    }
}

#[test]
fn the_map_is_true() {
    let mut edges = 0;
    for (rows, folder) in rows().iter().zip(["rust/src", "rust/base/src"]) {
        let folder = source().join(folder);
        let mut below = modules(&folder);
        let mapped: BTreeSet<String> = rows.iter().flat_map(|row| &row.modules).map(|&name| name.to_owned()).collect();
        assert_eq!(mapped, below, "modules of {} in the map and on disk", folder.display());
        for row in rows {
            below.retain(|name| !row.modules.contains(&name.as_str()));
            for &module in &row.modules {
                let mut found = BTreeSet::new();
                for path in [folder.join(module), folder.join(module).with_extension("rs")] {
                    if path.exists() {
                        used(&path, &mut found);
                    }
                }
                found.retain(|name| name != module && !EVERYWHERE.contains(&name.as_str()));
                edges += found.len();
                if row.uses != "every module" {
                    assert_eq!(row.used(), found, "what `{module}` uses, in the map and in its code");
                }
                let own: Vec<_> =
                    found.iter().filter(|name| mapped.contains(*name) && !below.contains(*name)).collect();
                assert!(own.is_empty(), "`{module}` uses what stands above it in the map: {own:?}");
            }
        }
    }
    assert!(edges > 50, "{edges} uses were found");
}
