//! A file with what it refers to: its messages, and tensors whose elements lie in files beside it.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File as Handle;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use super::known::{Known, MOST};
use crate::error::{Error, Result};
use crate::onnx::read::{Graph, Model, Node, Tensor};
use crate::text;

/// Versions of ONNX's own operators whose meaning is known.
const OPSETS: std::ops::RangeInclusive<i64> = 7..=28;
/// Those of `ai.onnx.ml`.
const CLASSIC_OPSETS: std::ops::RangeInclusive<i64> = 1..=5;
/// Bytes of the longest file: no longer message can be written.
const LONGEST: u64 = i32::MAX as u64;
/// Graphs inside graphs.
const DEEPEST: usize = 8;

/// The domain of operators on tables, texts and trees.
pub const CLASSIC: &str = "ai.onnx.ml";

/// See the module's documentation.
pub struct File<'a> {
    pub(super) graph: Graph<'a>,
    /// Version of ONNX's own operators.
    pub(super) opset: i64,
    /// Version of those of [`CLASSIC`].
    pub(super) classic_opset: i64,
    /// The initialisers, by name.
    pub(super) known: HashMap<&'a str, Known>,
    /// How often operators take each tensor, or the graph returns it, by name.
    pub(super) uses: HashMap<&'a str, usize>,
}

/// The bytes of a file that may be one of ONNX.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let io = |error| Error::io(path, error);
    // Before it is opened: a pipe would wait for who writes to it.
    let about = std::fs::metadata(path).map_err(io)?;
    if !about.is_file() || about.len() > LONGEST {
        return Err(Error::invalid(
            if about.is_file() { format!("a file of {} bytes", about.len()) } else { "not a regular file".to_owned() },
            format!("give an ONNX file of at most {LONGEST} bytes"),
        ));
    }
    let mut bytes = Vec::new();
    Handle::open(path).map_err(io)?.take(LONGEST).read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}

impl<'a> File<'a> {
    /// Reads the bytes of a file; `folder` is its own, which may hold tensors in other files. `None`: it has none.
    pub fn of(bytes: &'a [u8], folder: Option<&Path>) -> Result<Self> {
        let Model { opsets, graph, functions } = Model::of(bytes)?;
        let version = |domains: [&str; 2]| {
            opsets.iter().find(|(domain, _)| domains.contains(domain)).map(|(_, version)| *version)
        };
        let opset = version(["", "ai.onnx"]).unwrap_or(*OPSETS.start());
        let classic_opset = version([CLASSIC, CLASSIC]).unwrap_or(*CLASSIC_OPSETS.start());
        for (domain, version, known) in [("", opset, OPSETS), (" of ai.onnx.ml", classic_opset, CLASSIC_OPSETS)] {
            if !known.contains(&version) {
                let [first, last] = [known.start(), known.end()];
                return Err(Error::invalid(
                    format!("version {version} of the operators{domain} (opset)"),
                    format!(
                        "export it with an opset from {first} to {last}, or convert it with onnx.version_converter"
                    ),
                ));
            }
        }
        if functions > 0 {
            return Err(Error::invalid(
                "operators that the file defines itself",
                "put their bodies in their places: onnx.inliner.inline_local_functions",
            ));
        }
        if graph.sparse > 0 {
            return Err(Error::invalid("sparse initialisers", "export the network with dense ones"));
        }
        let mut uses = HashMap::new();
        count(&graph, &mut uses, 0)?;
        let mut file = File { graph, opset, classic_opset, known: HashMap::new(), uses };
        file.decode(folder)?;
        Ok(file)
    }

    /// Reads the initialisers that operators take or the graph returns.
    fn decode(&mut self, folder: Option<&Path>) -> Result<()> {
        let left = Cell::new(MOST * size_of::<f32>());
        for tensor in &self.graph.initializers {
            if !self.uses.contains_key(tensor.name) {
                continue;
            }
            let known = Known::of(tensor, |tensor, bytes| external(tensor, bytes, folder, &left))?;
            if self.known.insert(tensor.name, known).is_some() {
                return Err(Error::invalid(
                    format!("tensor {} is there twice", text::name(tensor.name)),
                    "export it again",
                ));
            }
        }
        Ok(())
    }
}

/// Counts what the operators of a graph, and of those inside it, take, and what it returns.
fn count<'a>(graph: &Graph<'a>, uses: &mut HashMap<&'a str, usize>, depth: usize) -> Result<()> {
    for node in &graph.nodes {
        for input in &node.inputs {
            *uses.entry(input).or_default() += 1;
        }
        for inner in inner(node, depth)? {
            count(&inner, uses, depth + 1)?;
        }
    }
    for output in &graph.outputs {
        *uses.entry(output.name).or_default() += 1;
    }
    Ok(())
}

/// The graphs that an operator has inside.
pub fn inner<'a>(node: &Node<'a>, depth: usize) -> Result<Vec<Graph<'a>>> {
    use crate::onnx::read::Attribute;
    let bytes = |(_, attribute): &(&str, Attribute<'a>)| {
        if let Attribute::Graph(bytes) = attribute { Some(*bytes) } else { None }
    };
    let graphs: Vec<&'a [u8]> = node.attributes.iter().filter_map(bytes).collect();
    if !graphs.is_empty() && depth >= DEEPEST {
        return Err(Error::invalid(format!("graphs inside {DEEPEST} others"), "make the network simpler"));
    }
    graphs.into_iter().map(Graph::of).collect()
}

/// The bytes of a tensor that lie in another file, which must be in `folder` or below it; `left` are those that may be read.
fn external(tensor: &Tensor, bytes: usize, folder: Option<&Path>, left: &Cell<usize>) -> Result<Vec<u8>> {
    let name = text::name(tensor.name);
    let refuse =
        |what: String| Error::invalid(format!("tensor {name}: {what}"), "keep the files that were exported together");
    let folder = folder.ok_or_else(|| refuse("its elements lie in another file".to_owned()))?;
    let entry = |key: &str| tensor.external.iter().find(|(known, _)| *known == key).map(|(_, value)| *value);
    let number = |key: &str| match entry(key) {
        None => Ok(None),
        Some(value) => value.parse::<u64>().map(Some).map_err(|_| refuse(format!("{key} {}", text::name(value)))),
    };
    let location = entry("location").ok_or_else(|| refuse("no location".to_owned()))?;
    if number("length")?.is_some_and(|length| length != bytes as u64) {
        return Err(refuse(format!("its part of the file has another length than {bytes} bytes")));
    }
    let path = inside(folder, location).ok_or_else(|| {
        refuse(format!("its elements lie in \"{}\", not in the folder of the file", text::name(location)))
    })?;
    left.set(left.get().checked_sub(bytes).ok_or_else(|| refuse("the tensors are too large together".to_owned()))?);
    let offset = number("offset")?.unwrap_or(0);
    let about = std::fs::metadata(&path).map_err(|error| Error::io(&path, error))?;
    let end = offset.checked_add(bytes as u64);
    if !about.is_file() || end.is_none_or(|end| end > about.len()) {
        return Err(refuse(format!("\"{}\" ends before its elements do", text::name(location))));
    }
    let mut file = Handle::open(&path).map_err(|error| Error::io(&path, error))?;
    let mut elements = vec![0; bytes];
    file.seek(SeekFrom::Start(offset)).map_err(|error| Error::io(&path, error))?;
    file.read_exact(&mut elements).map_err(|error| Error::io(&path, error))?;
    Ok(elements)
}

/// The file at `location`, seen from `folder`, if it really lies there or below: no link leads elsewhere.
fn inside(folder: &Path, location: &str) -> Option<PathBuf> {
    let is_plain = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
    if location.is_empty() || !Path::new(location).components().all(is_plain) {
        return None;
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let (own, path) = (folder.canonicalize().ok()?, folder.join(location));
    match path.canonicalize() {
        Ok(found) => found.starts_with(&own).then_some(found),
        Err(_) => Some(path), // It is not there: opening it says so.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_the_folder_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own");
        std::fs::create_dir_all(own.join("below")).unwrap();
        for name in ["secret", "own/near", "own/below/deep"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink("../secret", own.join("link")).unwrap();
        std::os::unix::fs::symlink("near", own.join("fine")).unwrap();
        for (location, is_inside) in [
            ("near", true),
            ("./below/deep", true),
            ("fine", true),
            ("", false),
            ("../secret", false),
            ("below/../near", false),
            ("/etc/passwd", false),
            ("link", false),
        ] {
            assert_eq!(inside(&own, location).is_some(), is_inside, "{location}");
        }
    }
}
