//! README and pages for the wheel: the targets of their links are elsewhere there, or not part of it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The folder of the pages, from `site-packages`.
const PAGES: &str = "cladtorch/doc";

/// Files outside of `cpp/doc` that cmake/Wheel.cmake puts beside the pages, with their names there.
const MOVED: [(&str, &str); 3] = [
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("data/gw_search.png", "gw_search.png"),
    ("rust/src/graph/lower/operators.md", "operator_table.md"),
];

/// The part of the README about the checkout, and its replacement in the description of the wheel.
const OF_CHECKOUT: [&str; 2] = ["## Two commands\n", "## In C++\n"];
const OF_WHEEL: &str = "## In the wheel

The wheel runs on x86_64 Linux with the headers of a C++17 compiler. pip installs its ROOT and its LibTorch, too:

    pip install cladtorch-*.whl
    cladtorch-demo        # trains the gravitational-wave and the Higgs classifier, writes plots and models

Macros, scripts and notebooks are in `site-packages/cladtorch/macros`, the pages of the documentation in
`site-packages/cladtorch/doc`; begin with `tutorial.md`.

";

/// The README as the long description: no link leads to a file of the checkout.
pub fn description(readme: &str) -> Result<String> {
    let [first, next] = OF_CHECKOUT.map(|head| readme.find(head));
    let (first, next) = (first.context("the README has no commands")?, next.context("the README has no C++")?);
    let text = format!("{}{OF_WHEEL}{}", &readme[..first], &readme[next..]);
    Ok(with_links(&text, |text, target| match name_of(target.trim_start_matches("cpp/doc/")) {
        _ if target.ends_with(".png") => String::new(),
        Some(name) => format!("{text} (`{PAGES}/{name}`)"),
        None => text.to_owned(),
    }))
}

/// Makes the pages in `folder` link to the files beside them.
pub fn arrange(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("no pages in {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "md") {
            let text = fs::read_to_string(&path)?;
            fs::write(&path, with_links(&text, of_page))?;
        }
    }
    Ok(())
}

fn of_page(text: &str, target: &str) -> String {
    match name_of(target.trim_start_matches("../../").trim_start_matches("cpp/doc/")) {
        Some(name) => format!("[{text}]({name})"),
        None => text.to_owned(),
    }
}

/// The name beside the pages of the file with this path in the checkout; none if the wheel lacks it.
fn name_of(path: &str) -> Option<&str> {
    let moved = MOVED.iter().find(|(from, _)| *from == path).map(|(_, name)| *name);
    moved.or_else(|| (!path.contains('/') && path != "CONTRIBUTING.md").then_some(path))
}

/// `page` with each link outside of code, `[text](target)`, replaced by the result of `change`; images keep their `!`
/// if something of them is left.
fn with_links(page: &str, change: impl Fn(&str, &str) -> String) -> String {
    let (mut made, mut in_code) = (String::new(), false);
    for line in page.split_inclusive('\n') {
        in_code ^= line.starts_with("```");
        made += &if in_code || line.starts_with("    ") { line.to_owned() } else { line_with_links(line, &change) };
    }
    made
}

fn line_with_links(line: &str, change: &impl Fn(&str, &str) -> String) -> String {
    let (mut made, mut rest) = (String::new(), line);
    while let Some((before, text, target, after)) = next_link(rest) {
        // A lambda in C++ has no text.
        if text.is_empty() || target.starts_with('#') || target.contains("://") {
            made += &rest[..rest.len() - after.len()];
        } else {
            let (file, place) = target.split_at(target.find('#').unwrap_or(target.len()));
            let changed = change(text, file).replace(&format!("({file})"), &format!("({file}{place})"));
            made += if changed.is_empty() { before.trim_end_matches('!') } else { before };
            made += &changed;
        }
        rest = after;
    }
    made + rest
}

/// The text before the first link of `line`, its text and target, and the rest.
fn next_link(line: &str) -> Option<(&str, &str, &str, &str)> {
    let middle = line.find("](")?;
    let open = line[..middle].rfind('[')?;
    let close = middle + line[middle..].find(')')?;
    Some((&line[..open], &line[open + 1..middle], &line[middle + 2..close], &line[close + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_pages_lead_beside_them_or_become_text() {
        let page = "[a](b.md#c), [t](../../rust/src/graph/lower/operators.md) and [d](../../CONTRIBUTING.md), \
                    ![p](../../data/gw_search.png) `[](int i)`\n```cpp\nf([](int i) { return v[i](../../x); });\n```\n\
                    [web](https://root.cern) [here](#c)\n";
        let made = with_links(page, of_page);
        let head = "[a](b.md#c), [t](operator_table.md) and d, ![p](gw_search.png) `[](int i)`\n```cpp\nf([](int i)";
        assert!(made.starts_with(head), "{made}");
        assert!(made.ends_with("```\n[web](https://root.cern) [here](#c)\n"), "{made}");
    }

    #[test]
    fn the_description_names_files_of_the_wheel() {
        let readme = "# A\n[by hand](cpp/doc/d.md), [C](CONTRIBUTING.md)\n![p](data/gw_classify.png)\n\
                      ## Two commands\ncargo\n## In C++\nx\n";
        let made = description(readme).unwrap();
        assert!(made.starts_with("# A\nby hand (`cladtorch/doc/d.md`), C\n\n## In the wheel\n"), "{made}");
        assert!(made.ends_with("\n## In C++\nx\n") && !made.contains("cargo"), "{made}");
    }
}
