//! README.md and the pages of `cpp/doc`: their snippets run, their links have targets, the messages that they quote
//! exist.

#[path = "readme/messages.rs"]
mod messages;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use support::checkout::source;
use support::pages::{Page, Snippet};
use support::session::{Outcome, Session, plugin};

/// Declares the pages, and a test for each that runs its snippets. A page is followed by the output that its sessions
/// must print.
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
    tutorial: "cpp/doc/tutorial.md" => ["AUC 0.7", "significance ", "signal events that pass: "];
    gravitational_waves: "cpp/doc/gravitational_waves.md" => ["AUC 0.99", "H1: SNR ", "network SNR ", "AUC at most 0.99"];
    data: "cpp/doc/data.md" => ["1275 events x 9 numbers", "entries have a score above 0.5"];
    training: "cpp/doc/training.md" => [
        "classifier with 1 output on 6000 events",
        "Asimov significance",
        "8 trials, 0 without a score",
        "width of the pulls 1.0"
    ];
    networks: "cpp/doc/networks.md" =>
        ["Model Sequential of events [1, 128]", "AUC 0.9", "matmul", "CPUFloatType{4,2}"];
    models: "cpp/doc/models.md" => ["the same predictions: 1", "x, y: inside with probability 0.", "AUC as it was read: 0."];
    python: "cpp/doc/python.md" => ["AUC 0.7", "1505 events"];
    clusters: "cpp/doc/clusters.md" => ["with 1 process(es)"];
    operators: "cpp/doc/operators.md" => ["aot: ", "split: ", "autograd: "];
    derivatives: "cpp/doc/derivatives.md" => ["CPUFloatType{8}"];
    design: "cpp/doc/design.md" => [];
    install: "cpp/doc/install.md" => [];
    performance: "cpp/doc/performance.md" => ["AUC 0.74"];
    cookbook: "cpp/doc/cookbook.md" =>
        ["Error in <CladTorch::Mlp::Fit>", "5 epochs", "Error in <CladTorch::Dataset::Add>", "caught: ", "CPUFloatType{3}", "6 trials, 0 without a score", "m_jjj of the first event: "];
    migration: "cpp/doc/migration.md" => ["AUC 0.9", "last batch (920, 2)"];
    errors: "cpp/doc/errors.md" => [];
}

/// Runs files in one module.
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

/// Types the C++ snippets at the prompt. A snippet that defines a function at the start of a line is a macro of that
/// name.
fn in_cpp(page: &Page) -> Option<Outcome> {
    let (mut names, mut typed) = (Vec::new(), String::new());
    // As in `cargo xtask root`.
    let session = Session::root(&[]).with("ROOT_INCLUDE_PATH", &plugin().join("../include"));
    for Snippet { line, text, .. } in page.run_in("cpp") {
        typed += &match macro_name(text) {
            Some(name) => {
                fs::write(session.folder().join(format!("{name}.C")), text).unwrap();
                format!(".x {name}.C\n")
            }
            None => text.clone(),
        };
        typed += &format!("std::cout << \"DONE line {line}\" << std::endl;\n");
        names.push(format!("line {line}"));
    }
    let outcome = ran(page, session.typing(&(typed + ".q\n")), &names)?;
    assert!(!outcome.text.contains("error:"), "{}: {}", page.path.display(), outcome.text);
    Some(outcome)
}

/// Runs the snippets of Python in one module.
fn in_python(page: &Page) -> Option<Outcome> {
    let name = |snippet: &Snippet| format!("line_{}.py", snippet.line);
    let names: Vec<String> = page.run_in("python").map(name).collect();
    let mut arguments = vec!["-c", PYTHON];
    arguments.extend(names.iter().map(String::as_str));
    let session = Session::python(&arguments);
    for snippet in page.run_in("python") {
        fs::write(session.folder().join(name(snippet)), &snippet.text).unwrap();
    }
    ran(page, session, &names)
}

/// The outcome of the session of the snippets `names`, each of which must report that it is done; `None` without any.
fn ran(page: &Page, session: Session, names: &[String]) -> Option<Outcome> {
    if names.is_empty() {
        return None;
    }
    let outcome = session.run();
    for name in names {
        let done = outcome.text.contains(&format!("DONE {name}\n"));
        assert!(done, "{}, {name} did not run to its end:\n{}", page.path.display(), outcome.text);
    }
    assert_eq!(outcome.code, Some(0), "{}: {}", page.path.display(), outcome.text);
    Some(outcome)
}

/// `f` of the first line `void f(...)`.
fn macro_name(text: &str) -> Option<&str> {
    let mut names = text.lines().filter_map(|line| line.strip_prefix("void ")?.split_once('('));
    names.next().map(|(name, _)| name)
}

/// README.md, and the files in `cpp/doc`.
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
        for snippet in &page(path).snippets {
            let Snippet { line, language, remark, text } = snippet;
            let known = ["cpp", "python", "sh", "text"].contains(&language.as_str());
            assert!(known, "{path}:{line}: a snippet is cpp, python, sh or text, not '{language}'");
            let why = remark.is_empty() || remark.strip_prefix("not run: ").is_some_and(|reason| reason.len() > 10);
            assert!(why, "{path}:{line}: behind the language may stand 'not run: ' and the reason, not '{remark}'");
            if let Some(file) = snippet.reason().and_then(|reason| reason.strip_prefix("quoted from ")) {
                let original =
                    fs::read_to_string(source().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
                assert!(original.contains(text), "{path}:{line}: {file} has other text");
            }
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
            // Doxygen 1.9.4 knows only its own names of headings.
            assert!(part.is_empty(), "{path}: {target}: link to the page, name the section in the text");
            let place: PathBuf = page.path.parent().unwrap_or(Path::new("")).join(file);
            assert!(place.exists(), "{path}: {target} leads nowhere");
        }
    }
}

/// Names of sources in the pages on derivatives and on the design: a path, or the name of a file in `cpp/kernels`.
#[test]
fn sources_that_are_named_exist() {
    for (path, least) in [("cpp/doc/derivatives.md", 10), ("cpp/doc/design.md", 2)] {
        let page = page(path);
        let is_source =
            |code: &&str| [".cpp", ".hpp", ".rs"].iter().any(|kind| code.ends_with(kind)) && !code.contains(' ');
        let named: Vec<_> = page.codes().into_iter().filter(is_source).collect();
        assert!(named.len() >= least, "{path} names {named:?}");
        for name in named {
            let places = ["", "cpp/kernels", "rust/src"].map(|folder| source().join(folder).join(name));
            assert!(places.iter().any(|place| place.exists()), "{path}: there is no {name}");
        }
    }
}

/// A reworded message is not found: reword it in the page, too.
#[test]
fn quoted_messages_are_those_of_the_sources() {
    let index = page("cpp/doc/errors.md");
    let (quoted, sources) = (messages::quoted(&index.text), messages::sources(&source()));
    assert!(quoted.len() > 20, "{} messages", quoted.len());
    let missing = |parts: &[&str]| parts.iter().find(|part| !sources.contains(**part)).map(|part| part.to_string());
    let missing: Vec<_> = quoted.iter().filter_map(|(message, parts)| Some((message, missing(parts)?))).collect();
    assert!(missing.is_empty(), "not in the sources: {missing:?}");
}
