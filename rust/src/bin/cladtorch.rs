//! `cladtorch`: shows what is in a ROOT file, converts the columns of a tree, and makes trees of detector strain,
//! without ROOT and LibTorch. It uses nothing of the crate `cladtorch`, which would load LibTorch at every start.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cladtorch_base::rootfile::{Column, Format, RootFile, Tree, Wanted};
use cladtorch_base::strain::{Strain, StrainTable, Windows};
use cladtorch_base::{Error, Result, text};
use clap::{Args, Parser, Subcommand};

/// Shows what is in a ROOT file, converts the columns of a tree, and makes trees of detector strain. Needs no ROOT and no
/// LibTorch.
///
/// What it is not certain to read right it refuses, and says why; the plugin reads that through ROOT.
#[derive(Parser)]
#[command(name = "cladtorch", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the trees of a file and their columns
    Show {
        /// ROOT file
        file: PathBuf,
        /// Only this tree, with its folders, as in run1/events
        tree: Option<String>,
    },
    /// Write columns of a tree as float32 to another file, or as CSV to the terminal
    Convert(Convert),
    /// Write strain of gravitational-wave detectors as a tree: `gps` and a column for each detector, of the seconds that are good
    /// in all of them
    Strain(StrainFiles),
}

#[derive(Args)]
struct Convert {
    /// ROOT file
    file: PathBuf,
    /// Tree, with its folders, as in run1/events
    tree: String,
    /// Columns, in this order; NAME:LENGTH cuts or pads entries of different lengths [default: all of fixed length]
    #[arg(short, long, value_name = "NAME[:LENGTH]", value_delimiter = ',', value_parser = wanted)]
    columns: Vec<Wanted>,
    /// Stands in where an entry is shorter than LENGTH
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0, allow_negative_numbers = true)]
    pad: f32,
    /// File to write: .safetensors (one tensor `features` and the names), .csv or .root (uncompressed)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Args)]
struct StrainFiles {
    /// HDF5 files of the Gravitational Wave Open Science Center, of one or several detectors
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// ROOT file to write, with a tree `strain`
    #[arg(short, long, visible_alias = "out", value_name = "FILE")]
    output: PathBuf,
    /// An entry for each window of so many seconds, instead of one for each sample
    #[arg(short, long, value_name = "SECONDS")]
    window: Option<f64>,
    /// From window to window [default: the length of the windows]
    #[arg(short, long, value_name = "SECONDS", requires = "window")]
    stride: Option<f64>,
    /// Quality bits that every second must have [default: data, vetoes of categories 1 and 2 for compact binaries, and no
    /// hardware injection other than of continuous waves]
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    require: Vec<String>,
    /// Take all seconds; the column `good` says which have the quality bits
    #[arg(short, long)]
    all: bool,
}

/// `jets:4`. A colon may be part of a name: what follows the last one has to be a number.
fn wanted(text: &str) -> Result<Wanted, String> {
    let (name, length) = match text.rsplit_once(':') {
        Some((name, length)) if length.bytes().all(|byte| byte.is_ascii_digit()) && !length.is_empty() => {
            (name, length.parse().ok().filter(|&length| length > 0).ok_or("a length is from 1 on")?)
        }
        _ => (text, 0),
    };
    match name.is_empty() {
        true => Err("a column has no name".to_owned()),
        false => Ok(Wanted { name: name.to_owned(), length }),
    }
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Show { file, tree } => show(&file, tree.as_deref()),
        Command::Convert(convert) => convert.run(),
        Command::Strain(files) => files.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Who reads our output has seen enough.
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cladtorch: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether both paths lead to one file.
fn same_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
    identity(a).is_some() && identity(a) == identity(b)
}

fn check_output(output: &Path, input: &Path) -> Result<()> {
    match same_file(output, input) {
        true => Err(Error::invalid(
            format!("{} is the file that is read", output.display()),
            "give another one to --output",
        )),
        false => Ok(()),
    }
}

fn terminal(error: io::Error) -> Error {
    Error::io(Path::new("standard output"), error)
}

fn show(path: &Path, only: Option<&str>) -> Result<()> {
    let file = RootFile::open(path)?;
    let names: Vec<_> = match only {
        Some(name) => vec![name],
        None => file.trees().collect(),
    };
    let mut shown = String::new();
    if only.is_none() {
        for name in file.rntuples() {
            let name = text::name(name);
            let _ = writeln!(shown, "{name}: an RNTuple, which needs ROOT (the plugin's Dataset::Add reads it)\n");
        }
    }
    if names.is_empty() && shown.is_empty() {
        shown += "no trees\n";
    }
    for name in names {
        // One tree that is refused does not hide the others.
        match file.tree(name) {
            Ok(tree) => shown += &description(&tree),
            Err(error) if only.is_some() => return Err(error),
            Err(error) => {
                let _ = writeln!(shown, "{}: {error}\n", text::name(name));
            }
        }
    }
    io::stdout().write_all(shown.as_bytes()).map_err(terminal)
}

/// A heading and a line for each column.
fn description(tree: &Tree) -> String {
    let name = text::name(&tree.name);
    let mut shown = format!("{name}: {} entries, {} columns\n", tree.entries, tree.columns.len());
    let heading = ["column", "type", "codec", "raw", "stored", ""].map(str::to_owned);
    let lines: Vec<_> = std::iter::once(heading).chain(tree.columns.iter().map(cells)).collect();
    let widths = [0, 1, 2, 3, 4].map(|i| lines.iter().map(|cells| cells[i].chars().count()).max().unwrap_or(0));
    for [name, type_name, codec, raw, stored, note] in &lines {
        let [a, b, c, d, e] = widths;
        let line = format!("  {name:a$}  {type_name:b$}  {codec:c$}  {raw:>d$}  {stored:>e$}  {note}");
        let _ = writeln!(shown, "{}", line.trim_end());
    }
    shown + "\n"
}

fn cells(column: &Column) -> [String; 6] {
    let note = column.layout.as_ref().err().map(|reason| format!("not readable here: {reason}"));
    let (raw, stored) = (bytes(column.raw_bytes), bytes(column.stored_bytes));
    let [name, type_name, codec] = [&column.name, &column.type_name, &column.codec].map(|of_file| text::name(of_file));
    [name, type_name, codec, raw, stored, text::name(&note.unwrap_or_default())]
}

/// `1.2 MB`
fn bytes(count: i64) -> String {
    match count as f64 {
        b if b < 1e3 => format!("{b} B"),
        b if b < 1e6 => format!("{:.1} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

impl Convert {
    fn run(self) -> Result<()> {
        // Before anything is read.
        let output = self.output.as_deref().map(|path| Ok::<_, Error>((path, Format::of(path)?))).transpose()?;
        if let Some((path, _)) = output {
            check_output(path, &self.file)?;
        }
        let tree = RootFile::open(&self.file)?.tree(&self.tree)?;
        let mut table = tree.read(&self.chosen(&tree), self.pad)?;
        if let Some((name, bad)) = &table.bad {
            let name = text::name(name);
            eprintln!("cladtorch: note: column '{name}' is {} in entry {}, which stays so", bad.value, bad.entry);
        }
        match output {
            Some((path, format)) => table.write(path, format, tree.name.rsplit('/').next().unwrap_or(&tree.name)),
            None => {
                let to = io::stdout().lock();
                if to.is_terminal() {
                    table.names.iter_mut().for_each(|name| *name = text::name(name));
                }
                table.write_csv(io::BufWriter::new(to)).map_err(terminal)
            }
        }
    }

    /// The columns that were named, or else those that need no more than their name.
    fn chosen(&self, tree: &Tree) -> Vec<Wanted> {
        if !self.columns.is_empty() {
            return self.columns.clone();
        }
        let chosen = tree.fixed();
        if chosen.len() < tree.columns.len() {
            eprintln!(
                "cladtorch: note: {} of {} columns; `cladtorch show` lists all",
                chosen.len(),
                tree.columns.len()
            );
        }
        chosen
    }
}

impl StrainFiles {
    fn run(self) -> Result<()> {
        self.files.iter().try_for_each(|file| check_output(&self.output, file))?;
        let strains = self.files.iter().map(|file| Strain::read(file)).collect::<Result<Vec<_>>>()?;
        let table = StrainTable::new(strains, &self.require, !self.all)?;
        let seconds = table.seconds();
        let windows = self.window.map(|length| Windows { length, stride: self.stride.unwrap_or(length) });
        let entries = table.write(&self.output, windows)?;
        eprintln!("cladtorch: {entries} entries of {seconds} s that all detectors have");
        Ok(())
    }
}
