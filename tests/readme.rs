//! README.md and the pages of `cpp/doc`: their snippets run, their links lead somewhere, the messages that they quote exist.

// Part of what it offers is for `root.rs` only.
#[path = "readme/messages.rs"]
mod messages;
#[path = "readme/pages.rs"]
mod pages;
#[allow(dead_code)]
#[path = "common/session.rs"]
mod session;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pages::{Page, Snippet};
use session::{Outcome, Session, plugin, source};

/// Declares the pages, and a test for each that runs its snippets. Behind a page stands what its sessions have to print.
macro_rules! pages {
    ($($name:ident: $path:literal => [$($said:literal),*];)*) => {
        const PAGES: &[&str] = &[$($path),*];
        $(#[test]
        fn $name() {
            runs($path, &[$($said),*]);
        })*
    };
}

pages! {
    readme: "README.md" => ["AUC 0.7", "mean score of the signal 0."];
    tutorial: "cpp/doc/tutorial.md" => ["AUC 0.7", "significance 2.", "signal events that pass: "];
    gravitational_waves: "cpp/doc/gravitational_waves.md" => ["AUC 0.99", "H1: SNR ", "network SNR ", "AUC at most 0.99"];
    data: "cpp/doc/data.md" => ["1275 events x 9 numbers", "entries have a score above 0.5"];
    training: "cpp/doc/training.md" => ["classifier with 1 output on 6000 events", "Asimov significance"];
    networks: "cpp/doc/networks.md" =>
        ["Model Sequential of events [1, 128]", "AUC 0.9", "matmul", "CPUFloatType{4,2}"];
    python: "cpp/doc/python.md" => ["AUC 0.7", "1505 events"];
    operators: "cpp/doc/operators.md" => ["aot: ", "split: ", "autograd: "];
    derivatives: "cpp/doc/derivatives.md" => ["CPUFloatType{8}"];
    design: "cpp/doc/design.md" => [];
    install: "cpp/doc/install.md" => [];
    performance: "cpp/doc/performance.md" => [];
    cookbook: "cpp/doc/cookbook.md" =>
        ["Error in <CladTorch::Mlp::Fit>", "5 epochs", "Error in <CladTorch::Dataset::Add>", "caught: ", "CPUFloatType{3}"];
    migration: "cpp/doc/migration.md" => ["AUC 0.93", "last batch (920, 2)"];
    errors: "cpp/doc/errors.md" => [];
}

/// Runs the snippets of each file in the names of one module.
const PYTHON: &str = "
import sys
import ROOT
ROOT.gROOT.SetBatch(True)
names = {'__name__': '__main__'}
for path in sys.argv[1:]:
    exec(compile(open(path).read(), path, 'exec'), names)
    print('DONE', path, flush=True)
";

fn page(path: &str) -> Page {
    Page::read(&source().join(path))
}

/// Runs the page's snippets of each language in one session, in their order.
fn runs(path: &str, said: &[&str]) {
    let page = page(path);
    let outcomes: Vec<Outcome> = [in_cpp(&page), in_python(&page)].into_iter().flatten().collect();
    let text: String = outcomes.iter().map(|outcome| outcome.text.as_str()).collect();
    for part in said {
        assert!(text.contains(part), "{path}: {part:?} is missing in:\n{text}");
    }
    let errors = |text: &str| text.matches("rror in <").count();
    let expected: usize = said.iter().map(|part| errors(part)).sum();
    assert_eq!(errors(&text), expected, "{path}: errors other than those that it shows:\n{text}");
}

/// Runs the snippets of C++ as a user would type them: a snippet that defines a function at the start of a line is a macro of that
/// name; of any other one the lines are those of an unnamed macro, whose variables stay, and its includes are typed before.
fn in_cpp(page: &Page) -> Option<Outcome> {
    let mut files = Vec::new();
    let mut arguments = vec!["-q".to_owned()];
    for Snippet { line, text, .. } in page.run_in("cpp") {
        let (name, text) = match macro_name(text) {
            Some(name) => (format!("{name}.C"), text.clone()),
            None => {
                let (includes, rest): (Vec<&str>, Vec<&str>) =
                    text.lines().partition(|line| line.starts_with("#include"));
                arguments.extend(includes.into_iter().flat_map(|line| ["-e", line]).map(str::to_owned));
                (format!("line_{line}.C"), format!("{{\n{}\n}}\n", rest.join("\n")))
            }
        };
        // A macro with a name: the value of a last one without becomes the exit code of root.exe.
        let sign = format!("void done_{line}() {{ std::cout << \"DONE {name}\" << std::endl; }}\n");
        arguments.extend([name.clone(), format!("done_{line}.C")]);
        files.extend([(name, text), (format!("done_{line}.C"), sign)]);
    }
    // As `cargo xtask root` has it.
    let headers = plugin().join("../include");
    run(page, Session::root(&borrowed(&arguments)).with("ROOT_INCLUDE_PATH", &headers), files)
}

fn in_python(page: &Page) -> Option<Outcome> {
    let file = |snippet: &Snippet| (format!("line_{}.py", snippet.line), snippet.text.clone());
    let files: Vec<(String, String)> = page.run_in("python").map(file).collect();
    let mut arguments = vec!["-c".to_owned(), PYTHON.to_owned()];
    arguments.extend(files.iter().map(|(name, _)| name.clone()));
    run(page, Session::python(&borrowed(&arguments)), files)
}

fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// The session in a folder of these files, each of which says that it is done; `None` without files.
fn run(page: &Page, session: Session, files: Vec<(String, String)>) -> Option<Outcome> {
    if files.is_empty() {
        return None;
    }
    for (name, text) in &files {
        let path = session.folder().join(name);
        assert!(!path.exists(), "{}: two macros are called {name}", page.path.display());
        fs::write(path, text).unwrap();
    }
    let outcome = session.run();
    for (name, _) in files.iter().filter(|(name, _)| !name.starts_with("done_")) {
        let ran = outcome.text.contains(&format!("DONE {name}"));
        assert!(ran, "{}, {name} did not run to its end:\n{}", page.path.display(), outcome.text);
    }
    assert_eq!(outcome.code, Some(0), "{}: {}", page.path.display(), outcome.text);
    Some(outcome)
}

/// `f` of the first line `void f(...)`.
fn macro_name(text: &str) -> Option<&str> {
    let mut names = text.lines().filter_map(|line| line.strip_prefix("void ")?.split_once('('));
    names.next().map(|(name, _)| name)
}

/// README.md, and what lies in `cpp/doc`.
fn present() -> BTreeSet<String> {
    let folder = source().join("cpp/doc");
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages = names.filter(|name| name.ends_with(".md")).map(|name| format!("cpp/doc/{name}"));
    pages.chain(["README.md".to_owned()]).collect()
}

#[test]
fn no_page_is_forgotten() {
    assert_eq!(present(), PAGES.iter().map(|page| page.to_string()).collect::<BTreeSet<_>>());
    let map = page("README.md").links();
    let site = fs::read_to_string(source().join("cpp/doc/Doxyfile")).unwrap();
    for path in PAGES.iter().filter(|path| **path != "README.md") {
        assert!(map.contains(&path.to_string()), "README.md has no link to {path}");
        assert!(site.contains(path), "cpp/doc/Doxyfile does not name {path}");
    }
}

#[test]
fn every_snippet_is_run_or_says_why_not() {
    for path in PAGES {
        for Snippet { line, language, remark, .. } in &page(path).snippets {
            let known = ["cpp", "python", "sh", "text"].contains(&language.as_str());
            assert!(known, "{path}:{line}: a snippet is cpp, python, sh or text, not '{language}'");
            let why = remark.is_empty() || remark.strip_prefix("not run: ").is_some_and(|reason| reason.len() > 10);
            assert!(why, "{path}:{line}: behind the language may stand 'not run: ' and the reason, not '{remark}'");
        }
    }
}

#[test]
fn the_readme_is_short() {
    let lines = page("README.md").text.lines().count();
    assert!(lines <= 120, "{lines} lines: move what not every reader needs to a page of cpp/doc");
}

/// Doxygen ends the code at the quote.
#[test]
fn code_with_a_single_quote_has_two_backticks() {
    for path in PAGES {
        for code in page(path).codes() {
            assert!(!code.contains('\''), "{path}: put `{code}` between double backticks");
        }
    }
}

#[test]
fn links_lead_somewhere() {
    let others = ["CONTRIBUTING.md", "CHANGELOG.md", "data/README.md"];
    for path in PAGES.iter().chain(&others) {
        let page = page(path);
        for target in page.links().iter().filter(|target| !target.starts_with("https://")) {
            let (file, part) = target.split_once('#').unwrap_or((target, ""));
            // Doxygen 1.9.4 knows no other names of headings than its own.
            assert!(part.is_empty(), "{path}: {target}: link to the page, name the section in the text");
            let place: PathBuf = page.path.parent().unwrap_or(Path::new("")).join(file);
            assert!(place.exists(), "{path}: {target} leads nowhere");
        }
    }
}

/// A message that was reworded is looked for in vain: reword it in the page too.
#[test]
fn quoted_messages_are_those_of_the_sources() {
    let index = page("cpp/doc/errors.md");
    let (quoted, sources) = (messages::quoted(&index.text), messages::sources(&source()));
    assert!(quoted.len() > 20, "{} messages", quoted.len());
    let missing = |parts: &[&str]| parts.iter().find(|part| !sources.contains(**part)).map(|part| part.to_string());
    let missing: Vec<_> = quoted.iter().filter_map(|(message, parts)| Some((message, missing(parts)?))).collect();
    assert!(missing.is_empty(), "not in the sources: {missing:?}");
}
