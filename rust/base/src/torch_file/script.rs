//! TorchScript networks; their archive is checked before LibTorch gets it.

use std::path::Path;

use super::archive::{Archive, Record, archive_of};
use super::pickle::Pickle;
use super::state_dict::read_pickle;
use crate::error::Result;
use crate::text;

/// Pickles that LibTorch reads.
const PICKLES: [&str; 2] = ["data.pkl", "constants.pkl"];
/// Limit on the nesting of tokens of an expression, on spaces before a statement, and on `elif` in a source text:
/// LibTorch reads all of these recursively, and overflows the stack at some ten times as many. LibTorch itself writes
/// far fewer.
const DEEPEST: usize = 1000;
/// Functions of a network: LibTorch compiles those that a function calls recursively.
const MOST_FUNCTIONS: usize = 20_000;
/// Methods that LibTorch would run while it reads an object.
const RUN_BY_READING: [&str; 2] = ["__setstate__", "__getstate__"];

/// The archive at `path`, rewritten for LibTorch to load: only with the records that are needed, nothing deflated,
/// every checksum right. Fails for a file whose sizes or checksums are wrong, which makes LibTorch run code while it is
/// read or make anything but networks, tensors and plain values, or which is nested deeper than networks are.
pub fn sound_script(path: &Path) -> Result<Vec<u8>> {
    let mut archive = Archive::open(path)?;
    if archive.record("constants.pkl").is_none() {
        let what =
            "no TorchScript network: save it with torch.jit.script(net).save(path); LoadWeights reads a state_dict";
        return Err(archive.bad(what));
    }
    for name in PICKLES {
        let bytes = read_pickle(&mut archive, name)?;
        Pickle::read(&bytes, known).map_err(|what| archive.bad(what))?;
    }
    let (mut records, mut functions) = (Vec::new(), 0);
    let wanted = |record: &&Record| !record.name.ends_with(".debug_pkl") && !record.name.starts_with("extra/");
    for record in archive.records().iter().filter(wanted).cloned().collect::<Vec<_>>() {
        let bytes = archive.read(&record)?;
        if record.name.starts_with("code/") {
            functions += bytes.windows(4).filter(|window| window == b"def ").count();
            check_source(&bytes).map_err(|what| archive.bad(format!("{}: {what}", text::name(&record.name))))?;
        }
        if functions > MOST_FUNCTIONS {
            return Err(archive.bad(format!("more than {MOST_FUNCTIONS} functions")));
        }
        records.push((format!("network/{}", record.name), bytes));
    }
    archive_of(&records).ok_or_else(|| archive.bad("more than 4 GB, or 65535 records"))
}

/// The names that a network consists of.
fn known(name: &str) -> bool {
    let (module, class) = name.split_once(' ').unwrap_or((name, ""));
    match module {
        "torch.jit._pickle" => true,
        "collections" => class == "OrderedDict",
        "torch._utils" => class == "_rebuild_tensor_v2",
        "torch" => class == "device" || class.ends_with("Storage"),
        // Classes of LibTorch's own, whose bytes native code reads.
        _ => module.starts_with("__torch__") && !module.starts_with("__torch__.torch.classes"),
    }
}

fn check_source(bytes: &[u8]) -> Result<(), String> {
    let source = std::str::from_utf8(bytes).map_err(|_| "its source is not UTF-8".to_owned())?;
    if let Some(name) = RUN_BY_READING.iter().find(|name| source.contains(**name)) {
        return Err(format!("a class has {name}, which would run while it is read (quantised networks have it)"));
    }
    check_nesting(source)
}

/// Counts how deeply a parser may have to recurse: in each bracket the tokens since its last comma, and those before
/// the bracket.
fn check_nesting(source: &str) -> Result<(), String> {
    let (mut levels, mut spaces, mut alternatives) = (vec![0_usize], 0, 0);
    let (mut is_start, mut rest) = (true, source.as_bytes());
    while let Some(&byte) = rest.split_off_first() {
        let in_brackets = levels.len() > 1;
        match byte {
            b' ' | b'\t' if is_start => spaces += 1,
            b' ' | b'\t' | b'\r' => {}
            b'\n' if !in_brackets => (levels[0], spaces, is_start) = (0, 0, true),
            b'\n' => {}
            b'\\' => return Err("a line that goes on behind a backslash, which LibTorch does not write".into()),
            b'#' => return Err("a comment, which LibTorch does not write".into()),
            b'\'' | b'"' => rest = behind_text(rest, byte)?,
            b',' => *levels.last_mut().unwrap_or(&mut 0) = 0,
            b'(' | b'[' | b'{' => {
                *levels.last_mut().unwrap_or(&mut 0) += 1;
                levels.push(0);
            }
            b')' | b']' | b'}' => _ = in_brackets.then(|| levels.pop()),
            _ => {
                let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
                let length = if is_word(byte) { rest.iter().take_while(|&&byte| is_word(byte)).count() } else { 0 };
                alternatives += usize::from(byte == b'e' && rest[..length] == *b"lif");
                rest = &rest[length..];
                *levels.last_mut().unwrap_or(&mut 0) += 1;
            }
        }
        is_start &= matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        if levels.iter().sum::<usize>() > DEEPEST || spaces > DEEPEST || alternatives > DEEPEST {
            return Err(format!("an expression or a block more than {DEEPEST} deep"));
        }
    }
    Ok(())
}

/// What is behind the text in quotes at the beginning of `rest`, whose first quote is left out.
fn behind_text(rest: &[u8], quote: u8) -> Result<&[u8], String> {
    let mut escaped = false;
    for (at, &byte) in rest.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'\n' => break,
            _ if byte == quote && rest.get(at + 1) == Some(&quote) && at == 0 => break, // three quotes
            _ if byte == quote => return Ok(&rest[at + 1..]),
            _ => {}
        }
    }
    Err("a text in quotes without an end on its line".into())
}
