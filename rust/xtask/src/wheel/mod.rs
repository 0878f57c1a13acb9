//! `wheel`: packs the plugin for pip. `cmake --install --component wheel` lays out the files (cmake/Wheel.cmake); this
//! adds the files that the packaging standards require (PyPA's "binary distribution format" and "core metadata") and
//! checks what CMake cannot.

mod binary;
mod documents;
mod symbols;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use xtask::environment::Environment;
use xtask::process::step;
use xtask::requirements::{Group, select};
use xtask::{Given, plugin, project, setup};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Zips the files that standard input names; the same files give the same bytes.
const ZIP: &str = r#"
import os, sys, zipfile
stage, out = sys.argv[1:]
with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as wheel:
    for name in sys.stdin.read().splitlines():
        path = os.path.join(stage, name)
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.external_attr = (0o100755 if os.access(path, os.X_OK) else 0o100644) << 16
        with open(path, "rb") as file:
            wheel.writestr(info, file.read(), zipfile.ZIP_DEFLATED)
"#;

/// Builds the plugin, or takes the built one, and writes its wheel and its debug symbols into `out`.
pub fn run(given: &Given, out: &Path, build: bool) -> Result<()> {
    let environment = setup::run(given)?;
    if !setup::is_fetched(&environment.root.dir) || !setup::is_fetched(&environment.libtorch) {
        bail!(
            "a wheel belongs to the wheels of ROOT and torch that the set-up fetches: leave --root, --libtorch, ROOTSYS and \
             LIBTORCH out, and any other ROOT off PATH"
        );
    }
    if build {
        plugin::build(&environment)?;
    }
    let stage = project::build().join("wheel");
    if stage.exists() {
        fs::remove_dir_all(&stage).with_context(|| format!("cannot remove {}", stage.display()))?;
    }
    let mut install = environment.cmake();
    install.arg("--install").arg(project::build()).args(["--component", "wheel", "--prefix"]).arg(&stage);
    step("laying out the wheel", &mut install)?;
    let tag = complete(&stage)?;
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let name = format!("cladtorch-{VERSION}-{tag}");
    pack(&environment, &stage, &out.join(format!("{name}.whl")))?;
    let symbols = project::build().join("wheel-symbols");
    symbols::arrange(&symbols)?;
    pack(&environment, &symbols, &out.join(format!("{name}-symbols.zip")))
}

/// Adds the description of the wheel to the files in `stage`; returns its tag.
fn complete(stage: &Path) -> Result<String> {
    let scripts = stage.join(format!("cladtorch-{VERSION}.data/scripts"));
    fs::create_dir_all(&scripts)?;
    fs::rename(stage.join("scripts/cladtorch"), scripts.join("cladtorch"))?;
    fs::remove_dir(stage.join("scripts"))?;
    documents::arrange(&stage.join("cladtorch/doc"))?;
    let tag = format!("py3-none-{}", binary::finish(stage)?);
    let info = stage.join(format!("cladtorch-{VERSION}.dist-info"));
    fs::create_dir_all(info.join("licenses"))?;
    fs::copy(project::root().join("LICENSE"), info.join("licenses/LICENSE"))?;
    fs::write(info.join("METADATA"), metadata()?)?;
    fs::write(
        info.join("WHEEL"),
        format!("Wheel-Version: 1.0\nGenerator: cladtorch-xtask {VERSION}\nRoot-Is-Purelib: false\nTag: {tag}\n"),
    )?;
    fs::write(info.join("entry_points.txt"), "[console_scripts]\ncladtorch-demo = cladtorch.demo:main\n")?;
    fs::write(info.join("RECORD"), record(stage)?)?;
    Ok(tag)
}

/// The metadata for pip. The plugin works with one ROOT and one LibTorch.
fn metadata() -> Result<String> {
    let mut text = format!(
        "Metadata-Version: 2.4\nName: cladtorch\nVersion: {VERSION}\nSummary: Neural networks trained in ROOT, with gradients \
         made by Clad\nLicense-Expression: LGPL-2.1-or-later\nLicense-File: LICENSE\nRequires-Python: >=3.10,<3.15\n"
    );
    let wanted = select(&[Group::Root, Group::Libtorch], 10)?; // The same for every Python.
    for package in wanted.iter().filter(|package| ["ROOT", "torch"].contains(&package.name.as_str())) {
        text += &format!("Requires-Dist: {}=={}\n", package.name, package.version);
    }
    let readme = fs::read_to_string(project::root().join("README.md"))?;
    Ok(text + "Description-Content-Type: text/markdown\n\n" + &documents::description(&readme)?)
}

/// RECORD: each file with its hash and size; its own line has neither.
fn record(stage: &Path) -> Result<String> {
    let mut text = String::new();
    for name in files(stage)? {
        let bytes = fs::read(stage.join(&name))?;
        text += &format!("{name},sha256={},{}\n", base64(&Sha256::digest(&bytes)), bytes.len());
    }
    Ok(text + &format!("cladtorch-{VERSION}.dist-info/RECORD,,\n"))
}

/// The files in `folder` by their relative paths, in order.
fn files(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inner))? {
            let entry = entry?;
            let path = inner.join(entry.file_name());
            let name = path.to_str().with_context(|| format!("{} is no UTF-8", path.display()))?.to_owned();
            match entry.file_type()? {
                kind if kind.is_dir() => folders.push(path),
                kind if kind.is_file() && !name.contains([',', '"', '\n']) => found.push(name),
                _ => bail!("{name} cannot be part of a wheel"),
            }
        }
    }
    found.sort();
    Ok(found)
}

/// URL-safe base64 without padding (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, i| bits << 8 | u32::from(chunk.get(i).copied().unwrap_or(0)));
        let digits = (0..=chunk.len()).map(|i| DIGITS[(bits >> (18 - 6 * i) & 63) as usize] as char);
        text.extend(digits);
    }
    text
}

/// Zips `stage`; `file` appears whole or not at all.
fn pack(environment: &Environment, stage: &Path, file: &Path) -> Result<()> {
    let draft = file.with_extension("draft");
    let mut python = environment.python();
    python.args(["-c", ZIP]).arg(stage).arg(&draft).stdin(Stdio::piped());
    let mut child = python.spawn().context("cannot start Python")?;
    let names = files(stage)?.join("\n");
    child.stdin.take().context("Python has no standard input")?.write_all(names.as_bytes())?;
    if !child.wait()?.success() {
        bail!("{} could not be zipped", stage.display());
    }
    fs::rename(&draft, file).with_context(|| format!("cannot write {}", file.display()))?;
    println!("{}: {:.1} MB", file.display(), fs::metadata(file)?.len() as f64 / 1e6);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let cases = [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")];
        cases.iter().for_each(|(bytes, text)| assert_eq!(base64(bytes.as_bytes()), *text));
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "-__-");
    }

    #[test]
    fn each_wheel_is_pinned_to_one_root_and_one_torch() {
        let text = metadata().unwrap();
        let pins: Vec<_> = text.lines().filter(|line| line.starts_with("Requires-Dist: ")).collect();
        assert_eq!(pins.len(), 2, "{pins:?}");
        assert!(pins[0].starts_with("Requires-Dist: ROOT==") && pins[1].starts_with("Requires-Dist: torch=="));
    }

    #[test]
    fn every_file_is_recorded() {
        let stage = std::env::temp_dir().join(format!("cladtorch-record-{}", std::process::id()));
        fs::create_dir_all(stage.join("a/b")).unwrap();
        fs::write(stage.join("a/b/one.h"), "abc").unwrap();
        let text = record(&stage);
        fs::remove_dir_all(&stage).unwrap();
        let lines = "a/b/one.h,sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0,3\ncladtorch-";
        assert!(text.unwrap().starts_with(lines));
    }
}
