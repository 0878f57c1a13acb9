//! Columns of a tree: the type of each, and how it can be read, or why not.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::tree::{Baskets, Branch, Description, Leaf};
use crate::columns::branch::{Element, Shape};

/// More leaves of one branch than this mean a malicious tree.
const MOST_LEAVES: usize = 1 << 12;

/// In `TIOFeatures`: baskets leave out the offsets of entries.
const NO_OFFSETS: u8 = 1;

/// A column: a leaf of a branch.
#[derive(Clone, Debug)]
pub struct Column {
    /// `branch`, or `branch.leaf` where the branch has several leaves.
    pub name: String,
    /// As in C++: `float`, `int[3]`, `vector<float>`.
    pub type_name: String,
    /// `zstd-5`, `none`, …
    pub codec: String,
    /// Bytes of the branch, uncompressed.
    pub raw_bytes: i64,
    /// Bytes of the branch in the file.
    pub stored_bytes: i64,
    /// How it is read, or the reason why not.
    pub layout: Result<Layout, String>,
    /// Whether ROOT, too, finds these numbers under this name, and no others.
    pub plain: bool,
}

/// The layout of a column's numbers.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Their type.
    pub element: Element,
    /// Layout within an entry.
    pub shape: Shape,
    /// Positions of their baskets.
    pub baskets: Arc<Baskets>,
}

/// All columns of a tree.
pub fn columns(tree: &Description, file_compression: i32) -> Vec<Column> {
    let with_data = tree.branches.iter().filter(|branch| branch.parts == 0);
    let columns = with_data.flat_map(|branch| of_branch(branch, tree.entries, file_compression));
    let mut columns: Vec<Column> = columns.collect();
    let plain = plain_names(tree);
    columns.iter_mut().for_each(|column| column.plain = plain.contains(column.name.as_str()));
    columns
}

/// Names of the branches that have one column each, whose name is valid in C++ and unique in the tree itself: ROOT
/// looks for a column in branches, their parts and leaves in turn. Empty for a tree with branches that were left
/// unread.
fn plain_names(tree: &Description) -> HashSet<&str> {
    let unread = |branch: &Branch| branch.leaves.is_empty() && branch.parts == 0;
    if tree.branches.iter().any(unread) {
        return HashSet::new();
    }
    let mut times: HashMap<&str, usize> = HashMap::new();
    tree.branches.iter().for_each(|branch| *times.entry(&branch.name).or_default() += 1);
    let plain = tree.branches.iter().filter(|branch| {
        let own_leaf = branch.leaves.len() == 1 && branch.leaves[0].name == branch.name;
        branch.depth == 0 && own_leaf && times[branch.name.as_str()] == 1 && is_plain(&branch.name)
    });
    plain.map(|branch| branch.name.as_str()).collect()
}

/// Whether `name` is valid in C++ and is not one that a data frame uses for its own columns.
fn is_plain(name: &str) -> bool {
    let letters = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    let own = name.starts_with("rdf") || name.starts_with("tdf");
    !own && name.bytes().all(letters) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

fn of_branch(branch: &Branch, entries: i64, file_compression: i32) -> Vec<Column> {
    let column = |name: String, type_name: String, found: Result<(Element, Shape), String>| {
        let layout = found.and_then(|(element, shape)| {
            check_baskets(branch, entries)?;
            Ok(Layout { element, shape, baskets: Arc::clone(&branch.baskets) })
        });
        let (raw_bytes, stored_bytes) = (branch.raw_bytes, branch.stored_bytes);
        let number = if branch.compression < 0 { file_compression } else { branch.compression };
        let codec = codec(number, stored_bytes < raw_bytes);
        Column { name, type_name, codec, raw_bytes, stored_bytes, layout, plain: false }
    };
    if let Some(object) = &branch.object {
        return vec![column(branch.name.clone(), object.class.clone(), vector(branch))];
    }
    let single = branch.leaves.len() == 1;
    let leaves = branch.leaves.iter().enumerate().map(|(i, leaf)| {
        let name = if single { branch.name.clone() } else { format!("{}.{}", branch.name, leaf.name) };
        column(name, type_name(leaf), array(branch, i))
    });
    if branch.leaves.is_empty() {
        return vec![column(branch.name.clone(), "?".to_owned(), Err("its kind of branch is unknown".to_owned()))];
    }
    leaves.collect()
}

/// Type of the numbers of a leaf and its name in C++.
fn element(leaf: &Leaf) -> Result<(Element, &'static str), String> {
    let by = |plain, unsigned| Ok(if leaf.unsigned { unsigned } else { plain });
    match leaf.class.as_str() {
        "TLeafF" => Ok((Element::F32, "float")),
        "TLeafD" => Ok((Element::F64, "double")),
        "TLeafO" => Ok((Element::Bool, "bool")),
        "TLeafB" => by((Element::I8, "char"), (Element::U8, "unsigned char")),
        "TLeafS" => by((Element::I16, "short"), (Element::U16, "unsigned short")),
        "TLeafI" => by((Element::I32, "int"), (Element::U32, "unsigned int")),
        "TLeafL" => by((Element::I64, "Long64_t"), (Element::U64, "ULong64_t")),
        "TLeafG" => by((Element::I64, "long"), (Element::U64, "unsigned long")),
        "TLeafC" => Err("it is a string".to_owned()),
        class => Err(format!("leaves of class {class} need ROOT")),
    }
}

fn type_name(leaf: &Leaf) -> String {
    let name = match (element(leaf), leaf.class.as_str()) {
        (Ok((_, name)), _) => name,
        (_, "TLeafC") => return "string".to_owned(),
        (_, "TLeafF16") => "Float16_t",
        (_, "TLeafD32") => "Double32_t",
        (_, class) => class,
    };
    match leaf.length {
        _ if leaf.counted => format!("{name}[]"),
        1 => name.to_owned(),
        length => format!("{name}[{length}]"),
    }
}

/// Leaf `index` of a branch of plain leaves.
fn array(branch: &Branch, index: usize) -> Result<(Element, Shape), String> {
    let leaf = &branch.leaves[index];
    let (kind, _) = element(leaf)?;
    if leaf.counted {
        let plain = branch.leaves.len() == 1 && leaf.length == 1 && branch.offsets;
        return plain.then_some((kind, Shape::Array)).ok_or_else(|| "an array of an unusual layout".to_owned());
    }
    if branch.leaves.len() > MOST_LEAVES {
        return Err(format!("its branch has {} leaves", branch.leaves.len()));
    }
    let mut offset = 0;
    let mut entry_length = 0usize;
    for (i, each) in branch.leaves.iter().enumerate() {
        let (kind, _) = element(each).map_err(|_| "a leaf of its branch has no fixed length".to_owned())?;
        if each.counted || each.length == 0 {
            return Err("a leaf of its branch has no fixed length".to_owned());
        }
        if i == index {
            offset = entry_length;
        }
        let bytes = kind.size().checked_mul(each.length).and_then(|bytes| entry_length.checked_add(bytes));
        entry_length = bytes.ok_or("its entries are too long to count")?;
    }
    if branch.offsets {
        return Err("its entries have one length and yet a list of offsets".to_owned());
    }
    Ok((kind, Shape::Fixed { entry_length, offset, length: leaf.length }))
}

/// A branch that holds a `std::vector` or `RVec` of numbers in one piece.
fn vector(branch: &Branch) -> Result<(Element, Shape), String> {
    const UNSPLIT: i32 = 0;
    let known = branch.object.as_ref().and_then(|object| {
        let inside = ["vector<", "ROOT::VecOps::RVec<"].iter().find_map(|prefix| object.class.strip_prefix(prefix))?;
        let element = element_of_vector(inside.strip_suffix('>')?)?;
        let plain = object.kind == UNSPLIT && object.id < 0 && branch.leaves.len() == 1 && branch.offsets;
        plain.then_some((element, Shape::Vector))
    });
    known.ok_or_else(|| "members and objects need ROOT".to_owned())
}

fn element_of_vector(name: &str) -> Option<Element> {
    Some(match name {
        "bool" => Element::Bool,
        "char" => Element::I8,
        "unsigned char" => Element::U8,
        "short" => Element::I16,
        "unsigned short" => Element::U16,
        "int" => Element::I32,
        "unsigned int" => Element::U32,
        "long" | "Long64_t" => Element::I64,
        "unsigned long" | "ULong64_t" => Element::U64,
        "float" => Element::F32,
        "double" => Element::F64,
        _ => return None,
    })
}

/// Whether all entries are in baskets of the file.
fn check_baskets(branch: &Branch, entries: i64) -> Result<(), String> {
    if !branch.file.is_empty() {
        return Err(format!("its baskets lie in another file, {}", branch.file));
    }
    if branch.features & NO_OFFSETS != 0 {
        return Err("its baskets omit the offsets of their entries".to_owned());
    }
    if branch.embedded > 0 {
        return Err("a basket lies inside the tree, where older ROOTs left the last one".to_owned());
    }
    if branch.entries != entries || branch.first_entry != 0 {
        return Err(format!(
            "it has {} entries from {} on, the tree has {entries}",
            branch.entries, branch.first_entry
        ));
    }
    let gone =
        branch.baskets.seeks.iter().zip(&branch.baskets.bytes).position(|(&seek, &bytes)| seek <= 0 || bytes <= 0);
    match gone {
        Some(basket) => Err(format!("its basket {basket} does not lie in the file")),
        None => Ok(()),
    }
}

/// ROOT's number for a compression as text.
fn codec(number: i32, is_smaller: bool) -> String {
    let (algorithm, level) = (number / 100, number % 100);
    let name = match algorithm {
        _ if level == 0 && is_smaller => return "not recorded".to_owned(), // as by uproot
        _ if level == 0 => return "none".to_owned(),
        0 | 1 => "zlib",
        2 => "lzma",
        3 => "CS",
        4 => "lz4",
        5 => "zstd",
        _ => return format!("compression {number}"),
    };
    format!("{name}-{level}")
}
