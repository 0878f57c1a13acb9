//! The messages that a page quotes, and the sources that print them.

use std::fs;
use std::path::Path;

/// Where messages are written.
const FOLDERS: [&str; 5] = ["cpp/src", "cpp/include", "cpp/python", "rust/src", "rust/base/src"];

/// The messages between double backticks before the section on messages of others, with the parts between the ellipses.
pub fn quoted(page: &str) -> Vec<(&str, Vec<&str>)> {
    let (ours, _) = page.split_once("## From ROOT and the system").expect("the page has such a section");
    let messages = ours.split("``").skip(1).step_by(2);
    messages.map(|message| (message, message.split('…').filter(|part| part.len() > 3).collect())).collect()
}

/// The text of all sources, with literals that are split over several lines joined.
pub fn sources(checkout: &Path) -> String {
    let mut text = String::new();
    for folder in FOLDERS {
        collect(&checkout.join(folder), &mut text);
    }
    joined(&text).replace("\\\"", "\"")
}

fn collect(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.extension().and_then(|kind| kind.to_str());
        if path.is_dir() {
            collect(&path, text);
        } else if kind.is_some_and(|kind| ["cxx", "hxx", "py", "rs"].contains(&kind)) {
            *text += &fs::read_to_string(&path).unwrap();
        }
    }
}

/// Without the line breaks between `"a"` and `"b"`, and those after a backslash.
fn joined(text: &str) -> String {
    let mut whole = String::new();
    for line in text.lines() {
        let next = line.trim_start();
        if whole.ends_with('\\') {
            whole.pop();
            whole += next;
        } else if whole.ends_with('"') && next.starts_with('"') {
            whole.pop();
            whole += &next[1..];
        } else {
            whole += "\n";
            whole += line;
        }
    }
    whole
}

#[test]
fn literals_of_several_lines_are_put_together() {
    assert_eq!(joined("a \\\n   b\n\"c \"\n   \"d\"\nf"), "\na b\n\"c d\"\nf");
}
