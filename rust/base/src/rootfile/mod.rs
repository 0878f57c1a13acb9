//! ROOT files without ROOT: the trees in a file, their columns, and the values of these.
//!
//! [`RootFile`] reads how a file and its trees describe themselves and passes the positions of the baskets to the fast
//! reader in [`columns`](crate::columns). The plugin asks it first for a local file, because ROOT takes 0.1 s to open
//! its first one, and lets ROOT describe what is not plain ([`Tree::plain`]). So the same decoder reads a file with
//! ROOT and without. What that decoder does not support is refused here, with the reason; the plugin turns to ROOT
//! instead.
//!
//! The crate `oxyroot` writes trees here. It is not used to read them: it does not expose the positions of baskets, so
//! its own decoder would have to be used, which supports no file of ROOT 6.37 or newer, no zstd and no "CS", puts
//! baskets stored inside the tree into the wrong place, and trusts the sizes that a file claims.

mod column;
mod directory;
mod export;
mod tree;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

pub use column::{Column, Layout};
pub use export::Format;
pub(crate) use export::{LARGEST_ROOT_FILE, write_tree};
pub use tree::Baskets;

use crate::columns::branch::{Branch, ColumnPart, Shape};
use crate::columns::bytes::Cursor;
use crate::columns::file::{Identity, TreeFile};
use crate::columns::{BadValue, EntrySelection, Plane, read};
use crate::error::{Error, Result, guard};
use crate::memory::HostBuffer;
use crate::text;
use crate::threads::shared_pool;
use directory::{Contents, Found, Refusal};

const REMEDY: &str = "read it with ROOT (the plugin's Dataset::Add does), or write it again";

/// More numbers per entry than this mean a mistake in a length.
const WIDEST: usize = 1 << 24;

/// A file with trees.
pub struct RootFile {
    path: PathBuf,
    file: File,
    size: u64,
    compression: i32,
    /// Its identity before anything was read.
    identity: Identity,
    contents: Contents,
}

/// A tree of a file.
pub struct Tree {
    path: PathBuf,
    identity: Identity,
    /// Its name, with its folders: `run1/events`.
    pub name: String,
    /// Number of entries.
    pub entries: u64,
    /// Columns in the order of the file.
    pub columns: Vec<Column>,
}

/// Values of a tree.
pub struct Table {
    /// [entries, names], row-major.
    pub rows: HostBuffer<f32>,
    /// Names of the numbers of an entry: `pt`, `jets[0]`, …
    pub names: Vec<String>,
    /// The first number that is not finite, and the name of its column.
    pub bad: Option<(String, BadValue)>,
}

/// A requested column, and how many numbers of an entry: 0 for as many as each entry has.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Name of the column.
    pub name: String,
    /// Truncated or padded to this length; 0: the column's own.
    pub length: usize,
}

impl RootFile {
    /// Opens the file at `path` and finds its trees.
    pub fn open(path: &Path) -> Result<Self> {
        // Opening a pipe would wait for its writer.
        let data = fs::metadata(path).map_err(|error| Error::io(path, error))?;
        if !data.is_file() {
            let what = format!("{} is not a regular file (a folder, a pipe or a device)", path.display());
            return Err(Error::invalid(what, "name a ROOT file"));
        }
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        let identity = Identity::of(&file, path)?;
        let size = identity.size();
        let found =
            directory::header(&file, size).and_then(|header| Ok((directory::contents(&file, size, &header)?, header)));
        let (contents, header) =
            found.map_err(|Refusal { what, remedy }| Error::invalid(about(path, &what), remedy))?;
        Ok(Self { path: path.to_path_buf(), file, size, compression: header.compression, identity, contents })
    }

    /// Names of the trees, with their folders.
    pub fn trees(&self) -> impl Iterator<Item = &str> {
        self.contents.trees.iter().map(|found| found.name.as_str())
    }

    /// Names of the RNTuples, with their folders. They are not read here.
    pub fn rntuples(&self) -> impl Iterator<Item = &str> {
        self.contents.rntuples.iter().map(String::as_str)
    }

    /// The description of the tree `name`.
    pub fn tree(&self, name: &str) -> Result<Tree> {
        if self.contents.rntuples.contains(name) {
            return Err(refused(&self.path, &format!("'{name}' is an RNTuple, whose columns only ROOT can read")));
        }
        let Some(Found { class, key, .. }) = self.contents.trees.iter().find(|found| found.name == name) else {
            let what = text::name(&format!("{} has no tree '{name}'", self.path.display()));
            let names = self.contents.trees.iter().map(|found| &found.name);
            return Err(Error::invalid(what, format!("it has: {}", text::list(names, ", "))));
        };
        let describe = || {
            let object = key.object(&self.file, self.size)?;
            let description = tree::parse(&mut Cursor::new(&object, key.length), class)?;
            let entries = u64::try_from(description.entries).map_err(|_| "its number of entries is negative")?;
            Ok((entries, column::columns(&description, self.compression)))
        };
        let (entries, columns) =
            describe().map_err(|what: String| refused(&self.path, &format!("tree '{name}': {what}")))?;
        Ok(Tree { path: self.path.clone(), identity: self.identity, name: name.to_owned(), entries, columns })
    }

    /// The same if `name` cannot mean anything else in the file.
    pub fn only_tree(&self, name: &str) -> Result<Tree> {
        if self.contents.others.contains(name) {
            return Err(refused(&self.path, &format!("'{name}' is the name of several objects")));
        }
        self.tree(name)
    }
}

fn about(path: &Path, what: &str) -> String {
    text::name(&format!("{}: {what}", path.display()))
}

fn refused(path: &Path, what: &str) -> Error {
    Error::invalid(about(path, what), REMEDY)
}

impl Tree {
    /// The columns that can be read without a given length: scalars and arrays of a fixed length.
    pub fn fixed(&self) -> Vec<Wanted> {
        let fixed = self
            .columns
            .iter()
            .filter(|column| column.layout.as_ref().is_ok_and(|layout| matches!(layout.shape, Shape::Fixed { .. })));
        fixed.map(|column| Wanted { name: column.name.clone(), length: 0 }).collect()
    }

    /// Reads `wanted` as float32, side by side; shorter entries are padded with `pad`.
    pub fn read(&self, wanted: &[Wanted], pad: f32) -> Result<Table> {
        if !pad.is_finite() {
            return Err(Error::invalid(format!("the pad is {pad}"), "give a finite number"));
        }
        let columns = wanted.iter().map(|wanted| self.branch(wanted)).collect::<Result<Vec<_>>>()?;
        let width = columns.iter().try_fold(0usize, |width, (branch, _)| width.checked_add(branch.wanted));
        let width = width.filter(|width| (1..=WIDEST).contains(width)).ok_or_else(|| {
            let (name, path) = (&self.name, self.path.display());
            let what = format!("tree '{name}' of {path}: the wanted columns have no numbers, or too many");
            Error::invalid(what, format!("ask for 1 to {WIDEST} numbers an entry"))
        })?;
        let names = columns.iter().flat_map(|(branch, _)| element_names(branch)).collect();
        let mut file = self.file()?;
        let mut place = 0;
        for (branch, layout) in columns {
            let branch = Branch { pad, place, ..branch };
            place += branch.wanted;
            let Baskets { seeks, bytes, firsts } = layout.baskets.as_ref();
            file.add(branch, seeks, bytes, firsts)?;
        }
        let mut rows = self.rows(width)?;
        let pool = shared_pool(0)?;
        let plane = Plane::new(rows.as_mut_slice(), width, file.branches(), ColumnPart::Features)?;
        let bad = guard(|| read(&file, EntrySelection::Between(0, self.entries), &mut [plane], &pool, || Ok(())))?;
        Ok(Table { rows, names, bad: bad.map(|bad| (wanted[bad.branch].name.clone(), bad)) })
    }

    /// The file without columns, if it was not written to while it was described.
    pub fn file(&self) -> Result<TreeFile> {
        let path = self.path.to_str();
        let path = path.ok_or_else(|| Error::invalid(format!("{:?} is no UTF-8", self.path), "rename the file"))?;
        TreeFile::described(path, self.entries, self.identity)
    }

    /// The layout of the column `name` in the file, if ROOT, too, finds this column under that name and reads it
    /// correctly; otherwise nothing.
    pub fn plain(&self, name: &str) -> Option<&Layout> {
        let layout = self.columns.iter().find(|column| column.plain && column.name == name)?.layout.as_ref().ok()?;
        // ROOT repeats a number after a basket without entries.
        let firsts = &layout.baskets.firsts;
        firsts.windows(2).all(|pair| pair[0] < pair[1]).then_some(layout)
    }

    /// Room for the numbers of all entries, which takes memory only as it is written: the file alone claims their
    /// number.
    fn rows(&self, width: usize) -> Result<HostBuffer<f32>> {
        let count = usize::try_from(self.entries).ok().and_then(|entries| entries.checked_mul(width));
        HostBuffer::pages(count.unwrap_or(usize::MAX))
    }

    /// The branch of a requested column, without its baskets, and their positions.
    fn branch(&self, wanted: &Wanted) -> Result<(Branch, &Layout)> {
        let refuse = |what: &str, remedy: &str| {
            let place = format!("{}, tree '{}', column '{}'", self.path.display(), self.name, wanted.name);
            Error::invalid(text::name(&format!("{place}: {what}")), remedy)
        };
        let column = self.columns.iter().find(|column| column.name == wanted.name);
        let column = column.ok_or_else(|| refuse("there is none", "`cladtorch show` lists the columns"))?;
        let layout = column.layout.as_ref().map_err(|reason| refuse(reason, REMEDY))?;
        let length = match (layout.shape, wanted.length) {
            (Shape::Fixed { length, .. }, 0) => length,
            (Shape::Fixed { length, .. }, given) if given <= length => given,
            (Shape::Fixed { length, .. }, given) => {
                let what = format!("{given} numbers are wanted of {length}");
                return Err(refuse(&what, "ask for no more than there are"));
            }
            (_, 0) => {
                let remedy = "say how many are wanted, as in `jets:4`";
                return Err(refuse(&format!("its entries ({}) have different lengths", column.type_name), remedy));
            }
            (_, given) => given,
        };
        let (element, shape) = (layout.element, layout.shape);
        let (name, part, baskets) = (wanted.name.clone(), ColumnPart::Features, Vec::new());
        Ok((Branch { name, element, shape, part, place: 0, wanted: length, pad: 0.0, baskets }, layout))
    }
}

/// `pt` of a scalar, `jets[0]`, `jets[1]`, … of the others.
fn element_names(branch: &Branch) -> Vec<String> {
    match branch.shape {
        Shape::Fixed { length: 1, .. } => vec![branch.name.clone()],
        _ => (0..branch.wanted).map(|i| format!("{}[{i}]", branch.name)).collect(),
    }
}
