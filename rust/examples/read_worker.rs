//! The parties of `cargo xtask bench read` that need no ROOT; the lines are those of `read.cxx`.
//!
//!     read_worker cladtorch-alone|codec-alone|oxyroot THREADS
//!
//! `cladtorch-alone` reads a table as the command `cladtorch` does, on as many threads as RAYON_NUM_THREADS says.
//! `codec-alone` has the records of all baskets in memory and decompresses them, each into the same buffer: what no
//! reader with these libraries can outdo. Nothing is converted or kept. What it decompresses is decoded for `check` only.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, stdin};
use std::os::unix::fs::FileExt;
use std::panic;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cladtorch::columns::basket::Key;
use cladtorch::columns::branch::{BasketPiece, Branch, ColumnPart, Scratch};
use cladtorch::columns::codec::Codecs;
use cladtorch::device;
use cladtorch::rootfile::{Column, RootFile, Table, Wanted};
use oxyroot::RootFile as OxyrootFile;
use rayon::ThreadPool;
use rayon::prelude::*;

type Answer<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What a case asks for.
#[derive(Clone)]
struct Request {
    file: String,
    tree: String,
    /// Names and the letters of their leaves' types.
    columns: Vec<(String, String)>,
    /// Numbers wanted of an entry; 0: scalars.
    length: usize,
    /// Whether rows come in any order, in batches.
    batches: bool,
}

impl Request {
    fn parse(values: &HashMap<&str, &str>) -> Answer<Self> {
        let text = |key: &str| values.get(key).map(|value| (*value).to_owned()).ok_or(format!("a case needs {key}="));
        let column = |word: &str| word.split_once('/').map(|(name, letter)| (name.to_owned(), letter.to_owned()));
        let columns: Option<_> = text("columns")?.split(',').map(column).collect();
        Ok(Self {
            file: text("file")?,
            tree: text("tree")?,
            columns: columns.ok_or("a column is NAME/LETTER")?,
            length: text("length")?.parse()?,
            batches: values.contains_key("batch"),
        })
    }

    /// Numbers of a row.
    fn width(&self) -> usize {
        self.columns.len() * self.length.max(1)
    }
}

/// Who reads.
trait Reader {
    /// Gets ready for a case; nothing of it is timed.
    fn open(&mut self, request: &Request) -> Answer<()>;
    fn read(&mut self) -> Answer<()>;
    /// As in `checksum.h`, of what was read.
    fn check(&mut self) -> Answer<f64>;
}

/// Sum of `bits(x) * (2 i + 1)` modulo 2^53, by the places `i` of numbers in the matrix.
fn checksum(numbers: impl Iterator<Item = (usize, f32)>) -> u64 {
    numbers.fold(0, |sum, (i, x)| sum.wrapping_add(u64::from(x.to_bits()).wrapping_mul(2 * i as u64 + 1)))
}

fn folded(sum: u64) -> f64 {
    (sum & ((1 << 53) - 1)) as f64
}

// ---- CladTorch without ROOT ----

#[derive(Default)]
struct Alone {
    file: String,
    tree: String,
    wanted: Vec<Wanted>,
    table: Option<Table>,
}

impl Reader for Alone {
    fn open(&mut self, request: &Request) -> Answer<()> {
        let wanted = |(name, _): &(String, String)| Wanted { name: name.clone(), length: request.length };
        let wanted = request.columns.iter().map(wanted).collect();
        *self = Self { file: request.file.clone(), tree: request.tree.clone(), wanted, table: None };
        Ok(())
    }

    fn read(&mut self) -> Answer<()> {
        self.table = None;
        self.table = Some(RootFile::open(Path::new(&self.file))?.tree(&self.tree)?.read(&self.wanted, 0.0)?);
        Ok(())
    }

    fn check(&mut self) -> Answer<f64> {
        let table = self.table.as_ref().ok_or("nothing was read yet")?;
        Ok(folded(checksum(table.rows.as_slice().iter().copied().enumerate())))
    }
}

// ---- the codec alone ----

/// A basket with its column.
struct Basket {
    column: usize,
    place: BasketPiece,
    record: Vec<u8>,
}

struct CodecAlone {
    pool: Arc<ThreadPool>,
    branches: Vec<Branch>,
    baskets: Vec<Basket>,
    /// Of a row for the checksum: 0 where it does not tell rows apart.
    width: usize,
}

impl CodecAlone {
    fn new(threads: usize) -> Answer<Self> {
        Ok(Self { pool: device::shared_pool(threads)?, branches: Vec::new(), baskets: Vec::new(), width: 0 })
    }

    fn add(&mut self, file: &File, entries: u64, column: &Column, place: usize, length: usize) -> Answer<()> {
        let layout = column.layout.as_ref().map_err(String::as_str)?;
        self.branches.push(Branch {
            name: column.name.clone(),
            element: layout.element,
            shape: layout.shape,
            part: ColumnPart::Features,
            place,
            wanted: length.max(1),
            pad: 0.0,
            baskets: Vec::new(),
        });
        let ends = layout.baskets.firsts.iter().skip(1).copied().chain([entries as i64]);
        let places = layout.baskets.seeks.iter().zip(&layout.baskets.bytes).zip(layout.baskets.firsts.iter().zip(ends));
        for ((&seek, &bytes), (&first, end)) in places {
            let mut record = vec![0; bytes as usize];
            file.read_exact_at(&mut record, seek as u64)?;
            let place = BasketPiece::whole(seek as u64, bytes as usize, first as u64, end as u64);
            self.baskets.push(Basket { column: self.branches.len() - 1, place, record });
        }
        Ok(())
    }
}

impl Reader for CodecAlone {
    fn open(&mut self, request: &Request) -> Answer<()> {
        let width = if request.batches { 0 } else { request.width() };
        (self.branches, self.baskets, self.width) = (Vec::new(), Vec::new(), width);
        let tree = RootFile::open(Path::new(&request.file))?.tree(&request.tree)?;
        let file = File::open(&request.file)?;
        for (number, (name, _)) in request.columns.iter().enumerate() {
            let column = tree.columns.iter().find(|column| column.name == *name).ok_or("no such column")?;
            self.add(&file, tree.entries, column, number * request.length.max(1), request.length)?;
        }
        Ok(())
    }

    fn read(&mut self) -> Answer<()> {
        let baskets = &self.baskets;
        let one = |(codecs, into): &mut (Codecs, Vec<u8>), basket: &Basket| -> Result<(), String> {
            let key = Key::parse(&basket.record, basket.place.seek)?;
            std::hint::black_box(key.object(&basket.record, codecs, into)?);
            Ok(())
        };
        let done = self.pool.install(|| baskets.par_iter().try_for_each_init(Default::default, one));
        done.map_err(Into::into)
    }

    fn check(&mut self) -> Answer<f64> {
        let (mut sum, mut scratch, mut values) = (0u64, Scratch::default(), Vec::new());
        for Basket { column, place, record } in &self.baskets {
            let branch = &self.branches[*column];
            values.resize((place.end - place.first) as usize * branch.wanted, 0.0);
            branch.decode(place, record, &mut scratch, &mut values, |_| true)?;
            let first = place.first as usize * self.width + branch.place;
            let at = |i: usize| first + i / branch.wanted * self.width + i % branch.wanted;
            sum = sum.wrapping_add(checksum(values.iter().enumerate().map(|(i, &x)| (at(i), x))));
        }
        Ok(folded(sum))
    }
}

// ---- oxyroot ----

/// A column after the other, then laid out as rows. It knows one thread and panics where it knows no better.
#[derive(Default)]
struct Oxyroot {
    request: Option<Request>,
    rows: Vec<f32>,
}

impl Oxyroot {
    fn columns(request: &Request) -> Answer<Vec<Vec<f32>>> {
        let failed = |error: &dyn std::fmt::Debug| format!("oxyroot: {error:?}");
        let mut file = OxyrootFile::open(&request.file).map_err(|error| failed(&error))?;
        let tree = file.get_tree(&request.tree).map_err(|error| failed(&error))?;
        let column = |(name, letter): &(String, String)| -> Answer<Vec<f32>> {
            let branch = tree.branch(name).ok_or("oxyroot: no such branch")?;
            Ok(match letter.as_str() {
                "F" => branch.as_iter::<f32>().map_err(|error| failed(&error))?.collect(),
                "D" => branch.as_iter::<f64>().map_err(|error| failed(&error))?.map(|x| x as f32).collect(),
                "I" => branch.as_iter::<i32>().map_err(|error| failed(&error))?.map(|x| x as f32).collect(),
                _ => return Err("oxyroot reads no RVec".into()),
            })
        };
        request.columns.iter().map(column).collect()
    }
}

impl Reader for Oxyroot {
    fn open(&mut self, request: &Request) -> Answer<()> {
        self.request = Some(request.clone());
        Ok(())
    }

    fn read(&mut self) -> Answer<()> {
        let request = self.request.as_ref().ok_or("no case was given yet")?;
        let columns = panic::catch_unwind(|| Self::columns(request)).map_err(|_| "oxyroot: a panic")??;
        let rows = columns.iter().map(Vec::len).min().unwrap_or(0);
        self.rows = (0..rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect();
        Ok(())
    }

    fn check(&mut self) -> Answer<f64> {
        Ok(folded(checksum(self.rows.iter().copied().enumerate())))
    }
}

// ---- the lines ----

/// Of all threads of this process, s.
fn cpu_seconds() -> Answer<f64> {
    let mut nanoseconds = 0.0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        nanoseconds += text.split(' ').next().ok_or("the kernel does not say the time of a thread")?.parse::<f64>()?;
    }
    Ok(nanoseconds * 1e-9)
}

fn answer(line: &str, reader: &mut dyn Reader) -> Answer<String> {
    let mut words = line.split_whitespace();
    match words.next().unwrap_or_default() {
        "case" => {
            reader.open(&Request::parse(&words.filter_map(|word| word.split_once('=')).collect())?)?;
            Ok("ready".to_owned())
        }
        "round" => {
            let (cpu, start) = (cpu_seconds()?, Instant::now());
            reader.read()?;
            let seconds = start.elapsed().as_secs_f64();
            Ok(format!("time {seconds:e} cpu={:e}", cpu_seconds()? - cpu))
        }
        "check" => Ok(format!("check {:e}", reader.check()?)),
        other => Err(format!("no request '{other}'").into()),
    }
}

fn main() -> Answer<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let mut reader: Box<dyn Reader> = match &arguments[1..] {
        [who, _] if who == "cladtorch-alone" => Box::<Alone>::default(),
        [who, threads] if who == "codec-alone" => Box::new(CodecAlone::new(threads.parse()?)?),
        [who, _] if who == "oxyroot" => Box::<Oxyroot>::default(),
        _ => return Err("usage: read_worker cladtorch-alone|codec-alone|oxyroot THREADS".into()),
    };
    for line in stdin().lock().lines() {
        match answer(&line?, reader.as_mut()) {
            Ok(text) => println!("bench {text}"),
            Err(error) => println!("bench error {error}"),
        }
    }
    Ok(())
}
