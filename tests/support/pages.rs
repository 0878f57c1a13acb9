//! The contents of a Markdown page: snippets in fences, links.

use std::fs;
use std::path::{Path, PathBuf};

/// A fenced block.
pub struct Snippet {
    /// The line of its fence in the page, from 1 on.
    pub line: usize,
    /// The first word after the fence.
    pub language: String,
    /// The text after that word.
    pub remark: String,
    pub text: String,
}

impl Snippet {
    /// Why it is not run; `None` if it is.
    pub fn reason(&self) -> Option<&str> {
        self.remark.strip_prefix("not run: ")
    }
}

/// A page of the documentation.
pub struct Page {
    pub path: PathBuf,
    pub text: String,
    pub snippets: Vec<Snippet>,
}

impl Page {
    pub fn read(path: &Path) -> Page {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let snippets = snippets(&text).unwrap_or_else(|line| panic!("{}:{line}: the fence has no end", path.display()));
        Page { path: path.to_owned(), text, snippets }
    }

    /// Those of a language that run.
    pub fn run_in(&self, language: &str) -> impl Iterator<Item = &Snippet> {
        self.snippets.iter().filter(move |snippet| snippet.language == language && snippet.reason().is_none())
    }

    /// The targets of links and images, without those in code.
    pub fn links(&self) -> Vec<String> {
        let targets = prose(&self.text).flat_map(|line| line.split('`').step_by(2));
        let targets = targets.flat_map(|part| part.split("](").skip(1).filter_map(|rest| rest.split_once(')')));
        targets.map(|(target, _)| target.to_owned()).collect()
    }

    /// Texts between single backticks.
    pub fn codes(&self) -> Vec<&str> {
        prose(&self.text).flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
    }
}

/// The fenced blocks of `text`, or the line of a fence without an end.
fn snippets(text: &str) -> Result<Vec<Snippet>, usize> {
    let mut found = Vec::new();
    let mut open: Option<Snippet> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                let (language, remark) = info.split_once(' ').unwrap_or((info, ""));
                let (language, remark) = (language.to_owned(), remark.to_owned());
                open = Some(Snippet { line: number, language, remark, text: String::new() });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(snippet), None) => snippet.text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    open.map_or(Ok(found), |snippet| Err(snippet.line))
}

/// The lines outside code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fenced && !fence && !line.starts_with("    ")
    })
}
