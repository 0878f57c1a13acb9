//! `read`: columns of a tree into one contiguous tensor.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, anyhow};
use xtask::process::step;

use super::Context;
use super::aims::{Aim, Wanted};
use super::case::{Agreement, Case, Defaults, Group, Volume};
use super::party::{BARE, OURS, Party};
use super::peers;

pub const GROUP: Group = Group {
    name: "read",
    title: "From a ROOT file to a tensor",
    notes: "A round opens the file and ends with all its columns as one contiguous float32 matrix [N, F] in the order of \
the entries; the file is in the page cache. `floats28` is a million rows of 28 floats, `mixed3` five million rows of a \
float, a double and an int, `rvec8` a million rows of an `RVec<float>` of 0 to 16 numbers, padded to 16. The numbers are \
exponentially distributed in full precision, so codecs gain little; the int is below 1000. `cladtorch` is an interpreted \
macro in root.exe that calls `Dataset::Add` (labels and weights, one number for all events, are not written out), \
`cladtorch-root` the same with `SetReader(kRootReader)`, which makes tensors of them too. ROOT's readers are compiled \
with -O3: `GetBulkEntries` basket by basket \
(`root-bulk-columns` stops at one array for each column), `TTree::GetEntry`, RDataFrame's `Take`, and `Take` with \
implicit multithreading, put back into the order of the entries. `uproot` stacks NumPy arrays. Who knows only one thread \
is asked only once. `cladtorch-alone` is the \
same decoder without ROOT, as the command `cladtorch` uses it. `codec-alone` has the baskets in memory and decompresses them with CladTorch's libraries into one \
buffer, and nothing else. Parties whose first repetition takes long take their turn in fewer of the rounds, so that a \
run ends within a quarter of an hour. In `batches` a round walks once over all rows of `zstd-5/floats28`, or of the \
uncompressed `none/floats28`, in shuffled batches of 1024: `CladTorch::Stream` and ROOT's RDataLoader, both as they come; \
the checksum does not depend on the order of rows.",
    check: "checksum",
    agreement: Agreement::Exact,
    means: false,
    patience: Some(4.0),
    defaults: Defaults::USUAL,
    short: |case| ["none/floats28", "zstd-5/floats28"].contains(&case),
    fresh: false,
    aims: &AIMS,
    cases,
    parties,
};

/// Names of the codecs and ROOT's numbers for them, 100 * algorithm + level.
const CODECS: [(&str, u32); 5] = [("none", 0), ("zlib-1", 101), ("lz4", 404), ("zstd-5", 505), ("lzma", 207)];

/// Into a contiguous tensor, by codec; then for lists, batches and all.
const AIMS: [Aim; 13] = [
    Aim { cases: |case| case == "none/floats28", wanted: Wanted::Rate(2000.0) },
    Aim { cases: |case| case == "lz4/floats28", wanted: Wanted::Rate(1400.0) },
    Aim { cases: |case| case == "zstd-5/floats28", wanted: Wanted::Rate(800.0) },
    Aim { cases: |case| case == "zlib-1/floats28", wanted: Wanted::Rate(350.0) },
    Aim { cases: |case| is_scalar(case, "none"), wanted: Wanted::Against("root-bulk", 1.8) },
    Aim { cases: |case| is_scalar(case, "lz4"), wanted: Wanted::Against("root-bulk", 1.8) },
    Aim { cases: |case| is_scalar(case, "zstd-5"), wanted: Wanted::Against("root-bulk", 1.9) },
    Aim { cases: |case| is_scalar(case, "zlib-1"), wanted: Wanted::Against("root-bulk", 2.0) },
    Aim { cases: |case| case.ends_with("/rvec8"), wanted: Wanted::Against("rdf-take", 10.0) },
    Aim { cases: |case| case.starts_with(BATCHES), wanted: Wanted::Against("rdataloader", 10.0) },
    Aim { cases: |case| case.starts_with(BATCHES), wanted: Wanted::FirstBatch(0.2) },
    Aim { cases: |case| !case.starts_with(BATCHES), wanted: Wanted::Threads(1.9) },
    Aim { cases: |case| !case.starts_with(BATCHES), wanted: Wanted::Memory(64.0) },
];

fn is_scalar(case: &str, codec: &str) -> bool {
    case.strip_prefix(codec).is_some_and(|kind| ["/floats28", "/mixed3"].contains(&kind))
}

/// A kind of file that `read_files.cxx` writes.
struct Kind {
    name: &'static str,
    columns: fn() -> String,
    /// Numbers of each column that become columns of the matrix; 0: scalars.
    length: u64,
    volume: Volume,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "floats28",
        columns: || (0..28).map(|i| format!("f{i}/F")).collect::<Vec<_>>().join(","),
        length: 0,
        volume: Volume { raw: 1_000_000 * 28 * 4, tensor: 1_000_000 * 28 * 4 },
    },
    Kind {
        name: "mixed3",
        columns: || "x/F,y/D,n/I".to_owned(),
        length: 0,
        volume: Volume { raw: 5_000_000 * 16, tensor: 5_000_000 * 3 * 4 },
    },
    Kind {
        name: "rvec8",
        columns: || "jets/V".to_owned(),
        length: 16,
        volume: Volume { raw: 1_000_000 * 8 * 4, tensor: 1_000_000 * 16 * 4 },
    },
];

/// How the name of a case begins that makes batches rather than a tensor, and rows per batch.
const BATCHES: &str = "batches/";
const BATCH: u32 = 1024;

/// The codec of its file, and the suffix of the file's kind: for the codec that takes most of the time, and for no
/// codec.
const BATCHES_OF: [((&str, u32), &str); 2] = [(CODECS[3], ""), (CODECS[0], UNPACKED)];
const UNPACKED: &str = "-none";

fn cases(context: &Context) -> Result<Vec<Case>> {
    let pairs = KINDS.iter().flat_map(|kind| CODECS.iter().map(move |codec| (kind, codec)));
    let mut cases: Vec<_> = pairs.map(|(kind, &codec)| case(context, kind, codec)).collect::<Result<_>>()?;
    for (codec, suffix) in BATCHES_OF {
        let batches = case(context, &KINDS[0], codec)?;
        cases.push(Case {
            name: format!("{BATCHES}{}{suffix}", KINDS[0].name),
            prepare: Box::new(move |folder| Ok(format!("{} batch={BATCH}", (batches.prepare)(folder)?))),
            volume: Some(Volume { tensor: 0, ..KINDS[0].volume }),
            ..batches
        });
    }
    Ok(cases)
}

fn case(context: &Context, kind: &'static Kind, (codec, number): (&str, u32)) -> Result<Case> {
    let writer = peers::program(context, "read_files.cxx", &[peers::Library::Root])?;
    let file = peers::folder().join("read").join(format!("{}-{codec}.root", kind.name));
    Ok(Case {
        name: format!("{codec}/{}", kind.name),
        prepare: Box::new(move |_| {
            write_once(&writer, kind.name, number, &file)?;
            let columns = (kind.columns)();
            Ok(format!("file={} tree=events columns={columns} length={}", file.display(), kind.length))
        }),
        steps: 1,
        warm_up: 0,
        lead: 0,
        flops: None,
        volume: Some(kind.volume),
    })
}

/// The file, unless an earlier run has written it.
fn write_once(writer: &Command, kind: &str, compression: u32, file: &Path) -> Result<()> {
    if file.exists() {
        return Ok(());
    }
    let (partial, folder) = (file.with_extension("partial"), file.parent().context("a file in a folder")?);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut command = Command::new(writer.get_program());
    command.envs(writer.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.arg(kind).arg(compression.to_string()).arg(&partial);
    step(&format!("writing {}", file.display()), &mut command)?;
    fs::rename(&partial, file).context("cannot put the file into place")
}

fn parties(context: &Context, threads: usize) -> Vec<Party> {
    let root = |who: &'static str| {
        let program = peers::program(context, "read.cxx", &[peers::Library::Root]);
        let command = program.map(|mut command| {
            command.arg(who).arg(threads.to_string());
            command
        });
        Party::new(who, threads, command)
    };
    let python = |script: &str| -> Result<Command> {
        let mut command = context.peers.as_ref().map_err(|reason| anyhow!("{reason}"))?.script(script);
        command.arg(threads.to_string());
        Ok(command)
    };
    let ours = |who, by_root: bool| {
        Party::new(who, threads, peers::macro_with_plugin(context, "read.C", &format!("{threads}, {by_root}")))
    };
    let worker = peers::example(context, "read_worker");
    let without_root = |who: &'static str| {
        let program = worker.as_ref().map_err(|error| anyhow!("{error:#}"));
        let command = program.map(|path| {
            let mut command = Command::new(path);
            command.arg(who).arg(threads.to_string());
            command
        });
        Party::new(who, threads, command)
    };
    let mut parties = vec![
        ours(OURS, false).only(|case| !case.starts_with(BATCHES)),
        ours("cladtorch-root", true).only(|case| case.starts_with("zstd-5/")),
        without_root("cladtorch-alone").only(|case| !case.starts_with(BATCHES)),
        without_root(BARE).only(|case| !case.starts_with("none/") && !case.ends_with(UNPACKED)),
    ];
    let mut others = vec![Party::new("uproot", threads, python("read.py"))];
    match threads {
        1 => {
            others.extend(["root-bulk", "root-bulk-columns", "root-getentry", "rdf-take"].map(root));
            others.push(without_root("oxyroot"));
        }
        _ => others.push(root("rdf-imt")),
    }
    parties.extend(others.into_iter().map(|party| party.only(|case| !case.starts_with(BATCHES))));
    let rdataloader = python("batches.py").and_then(|command| peers::with_root(context, command));
    let stream = peers::macro_with_plugin(context, "batches.C", &threads.to_string());
    for (who, command) in [(OURS, stream), ("rdataloader", rdataloader)] {
        parties.push(Party::new(who, threads, command).only(|case| case.starts_with(BATCHES)));
    }
    parties
}
