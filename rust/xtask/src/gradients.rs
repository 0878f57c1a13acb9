//! `cargo xtask gradients`: Clad's derivatives of `cpp/kernels`, kept in `cpp/kernels/generated`.
//!
//! Only changes of an activation or a loss need Clad. The file records which Clad made it, from which inputs, and a
//! hash of its own text, so that `--check` finds changed inputs and manual edits without Clad, and with the same Clad
//! compares byte for byte.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use xtask::clad::Clad;

const KERNELS: &str = "cpp/kernels";
const GENERATED: &str = "cpp/kernels/generated/derivatives.hpp";
/// The files on which the derivatives depend, including the rules that they call; the last one is Clad's input.
const INPUTS: [&str; 6] =
    ["activations.hpp", "losses.hpp", "operators.hpp", "exponential.hpp", "pushforwards.hpp", "derive.cpp"];

const MADE_BY: &str = "// Made by Clad ";
const INPUTS_HASH: &str = "// sha256 of the inputs: ";
const TEXT_HASH: &str = "// sha256 of the text below: ";

/// Regenerates the derivatives under `root`, or with `check_only` fails if they are not up to date.
pub fn run(root: &Path, check_only: bool) -> Result<()> {
    if check_only { check(root) } else { write(root) }
}

fn write(root: &Path) -> Result<()> {
    let clad = Clad::find()?;
    let text = generate(&clad, root)?;
    replace_file(&root.join(GENERATED), &text)?;
    println!("{GENERATED} written by Clad {}", clad.name);
    Ok(())
}

fn check(root: &Path) -> Result<()> {
    let present = fs::read_to_string(root.join(GENERATED)).with_context(|| format!("reading {GENERATED}"))?;
    check_hashes(&present, &hash_inputs(root)?)?;
    let clad = match Clad::find() {
        Ok(clad) => clad,
        Err(problem) => {
            eprintln!("NOT COMPARED with Clad's output, only hashes were checked: {problem:#}");
            return Ok(());
        }
    };
    let maker = recorded(&present, MADE_BY)?;
    if maker != clad.name {
        eprintln!(
            "NOT COMPARED with Clad's output, only hashes were checked: made by Clad {maker}, found {}",
            clad.name
        );
        return Ok(());
    }
    ensure!(
        generate(&clad, root)? == present,
        "{GENERATED} is not what Clad {maker} makes: run `cargo xtask gradients`"
    );
    println!("{GENERATED} is what Clad {maker} makes of the present inputs");
    Ok(())
}

/// Fails if `present` was made from other inputs than those hashed to `inputs`, or edited afterwards.
fn check_hashes(present: &str, inputs: &str) -> Result<()> {
    let from = recorded(present, INPUTS_HASH)?;
    ensure!(
        from == inputs,
        "{GENERATED} was made from other inputs ({from}, now {inputs}): run `cargo xtask gradients` where Clad is \
         installed"
    );
    let text = present.split_once("\n\n").map_or("", |(_, text)| text);
    ensure!(
        recorded(present, TEXT_HASH)? == hash(text.as_bytes()),
        "{GENERATED} was edited by hand: change its inputs and run `cargo xtask gradients`"
    );
    Ok(())
}

/// The rest of the line of `text` that starts with `label`.
fn recorded<'a>(text: &'a str, label: &str) -> Result<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(label));
    line.with_context(|| format!("{GENERATED} has no line \"{label}...\""))
}

fn hash_inputs(root: &Path) -> Result<String> {
    let mut all = Vec::new();
    for name in INPUTS {
        let path = root.join(KERNELS).join(name);
        let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        // Name and length separate one file's end from the next one's start.
        all.extend_from_slice(format!("{name} {}\n", bytes.len()).as_bytes());
        all.extend_from_slice(&bytes);
    }
    Ok(hash(&all))
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a String takes any text");
        hex
    })
}

/// The whole generated file.
fn generate(clad: &Clad, root: &Path) -> Result<String> {
    let body = wrap(&derive(clad, root)?);
    Ok(format!(
        "/// \\file derivatives.hpp\n\
         /// Clad's derivatives of activations, losses and operators, for float and double. Not to be edited.\n\
         {MADE_BY}{}\n// from {}\n{INPUTS_HASH}{}\n{TEXT_HASH}{}\n// To make it again: cargo xtask gradients\n\n{body}",
        clad.name,
        INPUTS.join(", "),
        hash_inputs(root)?,
        hash(body.as_bytes()),
    ))
}

/// Clad's output for the requests in `derive.cpp`.
fn derive(clad: &Clad, root: &Path) -> Result<String> {
    let source = root.join(KERNELS).join(INPUTS[INPUTS.len() - 1]).canonicalize()?;
    let folder = Scratch::new(root)?; // Clad writes Derivatives.cpp into the working directory.
    let output = clad
        .command()
        .args(["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"])
        .arg("-DCLAD_NO_NUM_DIFF") // An unknown function is an error, not a difference quotient.
        .args(["-Xclang", "-plugin-arg-clad", "-Xclang", "-fgenerate-source-file"])
        .arg(&source)
        .current_dir(&folder.0)
        .output()
        .with_context(|| format!("running {}", clad.found.compiler.display()))?;
    ensure!(output.status.success(), "Clad failed:\n{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(folder.0.join("Derivatives.cpp")).context("Clad wrote no derivatives")?;
    let requests = fs::read_to_string(&source)?;
    let requests = ["clad::differentiate(", "clad::gradient("].map(|call| requests.matches(call).count());
    let derived = ["_darg0(", "_darg1(", "EveryOperator_grad("].map(|name| text.matches(name).count());
    let derived = [derived[0] + derived[1], derived[2]];
    ensure!(derived == requests, "{requests:?} derivatives were asked of Clad, it wrote {derived:?}");
    Ok(text)
}

/// Adds what Clad leaves out: the namespace, and the suppression of warnings about arguments and values that a
/// derivative does not need.
fn wrap(text: &str) -> String {
    let text = text.trim_end();
    format!(
        "#pragma once\n#include \"../operators.hpp\"\n#include \"../pushforwards.hpp\"\n\n\
         #pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n\
         #pragma GCC diagnostic ignored \"-Wunused-but-set-variable\"\n\
         #pragma GCC diagnostic ignored \"-Wunused-variable\"\n\
         namespace CladTorch::Kernels {{\n\n{text}\n\n}} // namespace CladTorch::Kernels\n\
         #pragma GCC diagnostic pop\n"
    )
}

/// A folder of this process under `target/`, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(root: &Path) -> Result<Self> {
        let folder = root.join("target").join(format!("gradients-{}", process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // Best effort: it lies in target/.
    }
}

/// Writes the file whole: even during a crash a reader sees the old or the new one.
fn replace_file(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a file has a folder")?;
    let temporary = path.with_extension(format!("{}.tmp", process::id()));
    let result = (|| {
        fs::create_dir_all(folder)?;
        let mut file = File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        File::open(folder)?.sync_all()
    })();
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    result.with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generated file around `text`, as `generate` lays it out.
    fn sample(inputs: &str, text: &str) -> String {
        format!("{MADE_BY}1\n{INPUTS_HASH}{inputs}\n{TEXT_HASH}{}\n\n{text}", hash(text.as_bytes()))
    }

    #[test]
    fn hashes_that_agree_pass() {
        check_hashes(&sample("abc", "text\n\nmore\n"), "abc").unwrap();
    }

    #[test]
    fn changed_inputs_are_noticed() {
        let error = check_hashes(&sample("abc", "text\n"), "abd").unwrap_err();
        assert!(error.to_string().contains("other inputs"), "{error}");
    }

    #[test]
    fn an_edit_by_hand_is_noticed() {
        let error = check_hashes(&sample("abc", "text\n").replace("text\n", "test\n"), "abc").unwrap_err();
        assert!(error.to_string().contains("by hand"), "{error}");
    }

    #[test]
    fn a_missing_header_is_named() {
        let error = check_hashes("", "abc").unwrap_err();
        assert!(error.to_string().contains(INPUTS_HASH), "{error}");
    }

    #[test]
    fn sha256_is_the_standard_one() {
        assert_eq!(hash(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
