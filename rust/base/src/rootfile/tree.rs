//! The description of a tree by itself: entries, branches, the positions of their baskets and their leaves.
//!
//! The layouts are those of the streamers of `TTree` (versions 16 to 20), `TBranch` (10 to 13), `TBranchElement` (8 to
//! 10) and `TLeaf`, that is of ROOT 5 and 6. A later version may place members differently, so it is refused.

use std::sync::Arc;

use crate::columns::bytes::{Cursor, Pointer, Result};

/// Deeper nesting of branches means a malicious tree.
const DEEPEST: usize = 64;

/// The description of a tree.
#[derive(Debug, Default)]
pub struct Description {
    /// Entries.
    pub entries: i64,
    /// Branches that carry data or are one column to ROOT, parents before their parts.
    pub branches: Vec<Branch>,
}

/// A branch that has leaves, as its streamer wrote it.
#[derive(Debug, Default)]
pub struct Branch {
    /// Preceded by the names of the branches that contain it, if ROOT put them there.
    pub name: String,
    /// ROOT's number, 100 * algorithm + level.
    pub compression: i32,
    /// Entries.
    pub entries: i64,
    /// Its first entry, usually 0.
    pub first_entry: i64,
    /// Whether its baskets record where each entry begins.
    pub offsets: bool,
    /// Bits of `TIOFeatures`.
    pub features: u8,
    /// Bytes of its baskets, uncompressed.
    pub raw_bytes: i64,
    /// Bytes of its baskets in the file.
    pub stored_bytes: i64,
    /// Baskets that are in the file, in order.
    pub baskets: Arc<Baskets>,
    /// Baskets that are in the tree itself.
    pub embedded: usize,
    /// The file that holds the baskets, if it is another one.
    pub file: String,
    /// Leaves in the order of their bytes in an entry.
    pub leaves: Vec<Leaf>,
    /// The additional members of a `TBranchElement`.
    pub object: Option<Object>,
    /// Branches that it is divided into.
    pub parts: usize,
    /// Branches that it is a part of.
    pub depth: usize,
}

/// The positions of baskets, a list for each quantity.
#[derive(Debug, Default)]
pub struct Baskets {
    /// Bytes of the record.
    pub bytes: Vec<i32>,
    /// First entry.
    pub firsts: Vec<i64>,
    /// Position of the record.
    pub seeks: Vec<i64>,
}

/// A leaf.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// `TLeafF`, …
    pub class: String,
    /// Its name.
    pub name: String,
    /// Length per entry, or per element that the count announces.
    pub length: usize,
    /// Whether its integers are unsigned.
    pub unsigned: bool,
    /// Whether another leaf contains its count.
    pub counted: bool,
}

/// Members of `TBranchElement`.
#[derive(Debug, Default)]
pub struct Object {
    /// Class of the object, or of the object whose member it is.
    pub class: String,
    /// Number of the member; negative: the object itself.
    pub id: i32,
    /// Kind of branch: 0 is a leaf.
    pub kind: i32,
}

/// Reads the tree (of class `class`) at the front.
pub fn parse(cursor: &mut Cursor, class: &str) -> Result<Description> {
    if class != "TTree" {
        cursor.header()?; // TNtuple and TNtupleD begin with the tree
    }
    let version = supported(cursor, "TTree", 16..=20)?;
    cursor.named()?;
    for _ in 0..3 {
        cursor.body()?; // TAttLine, TAttFill, TAttMarker
    }
    let entries = cursor.i64()?;
    cursor.take(3 * 8)?; // bytes: total, compressed, saved
    let words = usize::from(version >= 18) + 1; // flushed bytes, weight
    cursor.take(words * 8)?;
    cursor.take(3 * 4 + usize::from(version >= 17) * 4)?; // timer, scan, update, length of offsets
    let ranges = if version >= 19 { cursor.length()? } else { 0 };
    let words = usize::from(version >= 18) + 5; // most entries, of the loop, memory, save, flush, estimate
    cursor.take(words * 8)?;
    if version >= 19 {
        for _ in 0..2 {
            cursor.u8()?; // whether a list follows
            cursor.i64s(ranges)?; // ends and sizes of clusters
        }
    }
    if version >= 20 {
        cursor.body()?; // TIOFeatures
    }
    let mut description = Description { entries, branches: Vec::new() };
    cursor.objects(|cursor, class| branch(cursor, class, &mut description.branches, 0))?;
    Ok(description)
}

/// The version of the object of `class` that begins here, if it is one of `versions`.
fn supported(cursor: &mut Cursor, class: &str, versions: std::ops::RangeInclusive<u16>) -> Result<u16> {
    let version = cursor.header()?.version;
    if versions.contains(&version) {
        return Ok(version);
    }
    Err(format!("it has a {class} of version {version}, and {} to {} are known", versions.start(), versions.end()))
}

/// Adds the branch that stands here, and its parts.
fn branch(cursor: &mut Cursor, class: &str, into: &mut Vec<Branch>, depth: usize) -> Result<()> {
    if depth > DEEPEST {
        return Err("its branches lie too deep in one another".to_owned());
    }
    match class {
        "TBranch" => {
            base(cursor, into, depth)?;
        }
        "TBranchElement" => {
            let version = supported(cursor, class, 8..=10)?;
            let at = base(cursor, into, depth)?;
            into[at].object = Some(object(cursor, version)?);
        }
        // Left unread: ROOT knows more kinds (TBranchObject, TBranchRef, …), which are recognised by name.
        _ => into.push(Branch { name: format!("({class})"), depth, ..Branch::default() }),
    }
    Ok(())
}

/// The members of `TBranch`; returns the branch's number in `into`.
fn base(cursor: &mut Cursor, into: &mut Vec<Branch>, depth: usize) -> Result<usize> {
    let header = cursor.header()?;
    if !(10..=13).contains(&header.version) {
        return Err(format!("it has a TBranch of version {}, and 10 to 13 are known", header.version));
    }
    let (name, _) = cursor.named()?;
    cursor.body()?; // TAttFill
    let compression = cursor.i32()?;
    cursor.i32()?; // size of a basket
    let offsets = cursor.i32()? != 0;
    let written = cursor.length()?;
    cursor.i64()?; // next entry
    // The last byte of TIOFeatures.
    let features = if header.version >= 13 { cursor.body()?.last().copied().unwrap_or(0) } else { 0 };
    cursor.i32()?; // offset
    let room = cursor.length()?;
    cursor.i32()?; // split level
    let entries = cursor.i64()?;
    let first_entry = if header.version >= 11 { cursor.i64()? } else { 0 };
    let (raw_bytes, stored_bytes) = (cursor.i64()?, cursor.i64()?);
    let at = into.len();
    let sizes = Branch { raw_bytes, stored_bytes, ..Branch::default() };
    into.push(Branch { name, compression, entries, first_entry, offsets, features, depth, ..sizes });
    cursor.objects(|cursor, class| {
        into[at].parts += 1;
        branch(cursor, class, into, depth + 1)
    })?;
    let this = &mut into[at];
    cursor.objects(|cursor, class| leaf(cursor, class).map(|leaf| this.leaves.push(leaf)))?;
    cursor.objects(|_, _| {
        this.embedded += 1;
        Ok(())
    })?;
    baskets(cursor, this, written, room)?;
    this.file = cursor.string()?;
    cursor.skip_to_end_of(&header)?;
    Ok(at)
}

/// The lists of `room` baskets, of which `written` are used.
fn baskets(cursor: &mut Cursor, branch: &mut Branch, written: usize, room: usize) -> Result<()> {
    if written > room {
        return Err(format!("branch '{}' has {written} baskets in lists of {room}", branch.name));
    }
    cursor.u8()?; // whether a list follows
    let mut bytes = cursor.i32s(room)?;
    cursor.u8()?;
    let mut firsts = cursor.i64s(room)?;
    cursor.u8()?;
    let mut seeks = cursor.i64s(room)?;
    bytes.truncate(written);
    firsts.truncate(written);
    seeks.truncate(written);
    branch.baskets = Arc::new(Baskets { bytes, firsts, seeks });
    Ok(())
}

/// The members of `TLeaf`, in a leaf of any class.
fn leaf(cursor: &mut Cursor, class: &str) -> Result<Leaf> {
    cursor.header()?; // of the class
    let header = cursor.header()?;
    let (name, _) = cursor.named()?;
    let length = cursor.length()?;
    cursor.take(2 * 4)?; // bytes of a number, offset in memory
    cursor.u8()?; // has a range
    let unsigned = cursor.u8()? != 0;
    let counted = match cursor.pointer()? {
        Pointer::Null => false,
        Pointer::Earlier => true,
        Pointer::New { end, .. } => {
            cursor.leave(end)?;
            true
        }
    };
    cursor.skip_to_end_of(&header)?;
    Ok(Leaf { class: class.to_owned(), name, length, unsigned, counted })
}

fn object(cursor: &mut Cursor, version: u16) -> Result<Object> {
    let class = cursor.string()?;
    cursor.string()?; // class of the parent
    cursor.string()?; // class in a TClonesArray
    cursor.u32()?; // checksum
    cursor.take(if version >= 10 { 2 } else { 4 })?; // version of the class
    let (id, kind) = (cursor.i32()?, cursor.i32()?);
    Ok(Object { class, id, kind })
}
