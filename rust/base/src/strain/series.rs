//! One file: a series, and a mask for each second that describes its quality.

use std::path::{Path, PathBuf};

use super::hdf5::File;
use crate::error::{Error, Result};
use crate::text;

const STRAIN: &str = "strain/Strain";

/// Highest sampling rate, Hz.
const FASTEST: f64 = 65536.0;

/// Largest number of samples in a file.
const MOST: usize = 1 << 26;

/// Bits that are set in good seconds: data exist, pass the vetoes for searches of compact binaries, and the mirrors
/// were not moved to imitate a signal. Simulated continuous waves are faint lines, which many good files contain.
pub const GOOD: [&str; 7] =
    ["DATA", "CBC_CAT1", "CBC_CAT2", "NO_CBC_HW_INJ", "NO_BURST_HW_INJ", "NO_DETCHAR_HW_INJ", "NO_STOCH_HW_INJ"];

/// Strain of one detector.
#[derive(Clone, Debug)]
pub struct Strain {
    /// Path of its file.
    pub path: PathBuf,
    /// `H1`, `L1`, `V1`, …
    pub detector: String,
    /// Samples per second, a whole number.
    pub rate: f64,
    /// GPS time of the first sample, s.
    pub start: f64,
    /// [seconds · rate], without unit; NaN where data are missing.
    pub values: Vec<f64>,
    /// [seconds], data quality: bit i is set if the second passes the check that `bits[0][i]` names.
    pub quality: Vec<u32>,
    /// [seconds], hardware injections: bit i is set if there is none of the kind that `bits[1][i]` names.
    pub injections: Vec<u32>,
    /// Names of the bits of both masks.
    pub bits: [Vec<String>; 2],
}

/// The masks and the names of their bits.
const MASKS: [[&str; 2]; 2] = [
    ["quality/simple/DQmask", "quality/simple/DQShortnames"],
    ["quality/injections/Injmask", "quality/injections/InjShortnames"],
];

impl Strain {
    /// Reads the file at `path`.
    pub fn read(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        let (rate, start) = (rate(&file)?, file.attribute(STRAIN, "Xstart")?);
        if !(start.is_finite() && start.abs() < 1e11) {
            return Err(file.refusal(STRAIN, &format!("it begins at GPS {start}"), "copy the file again"));
        }
        let samples = file.count(STRAIN, MOST)?;
        let seconds = samples / rate as usize;
        if samples == 0 || samples != seconds * rate as usize {
            let what = format!("{samples} samples at {rate} Hz are no whole number of seconds");
            return Err(file.refusal(STRAIN, &what, "copy the file again"));
        }
        let [quality, injections] = MASKS.map(|[mask, _]| {
            let (first, step) = (file.attribute(mask, "Xstart")?, file.attribute(mask, "Xspacing")?);
            match (first, step) == (start, 1.0) {
                true => file.bits(mask, seconds),
                false => Err(file.refusal(
                    mask,
                    &format!("it begins at GPS {first} with a number every {step} s, the strain at {start}"),
                    "give a file with a number a second",
                )),
            }
        });
        let [first, second] = MASKS.map(|[_, names]| file.texts(names));
        let (quality, injections, bits) = (quality?, injections?, [first?, second?]);
        let detector = detector(&file)?;
        let values = file.numbers(STRAIN)?;
        Ok(Self { path: path.to_path_buf(), detector, rate, start, values, quality, injections, bits })
    }

    /// Samples per second.
    pub fn samples_a_second(&self) -> usize {
        self.rate as usize
    }

    /// [seconds], whether the bits of all `required` names are set and all samples are finite; without names: those of
    /// [`GOOD`].
    pub fn good(&self, required: &[String]) -> Result<Vec<bool>> {
        let default = GOOD.map(str::to_owned);
        let required = if required.is_empty() { &default[..] } else { required };
        let mut wanted = [0u32; 2];
        for name in required {
            let (mask, bit) = self.bit(name)?;
            wanted[mask] |= 1 << bit;
        }
        let masks = self.quality.iter().zip(&self.injections);
        let seconds = masks.zip(self.values.chunks_exact(self.samples_a_second()));
        let passes = |(masks, samples): ((&u32, &u32), &[f64])| {
            let set = masks.0 & wanted[0] == wanted[0] && masks.1 & wanted[1] == wanted[1];
            set && samples.iter().all(|sample| sample.is_finite())
        };
        Ok(seconds.map(passes).collect())
    }

    /// Mask and bit with this name.
    fn bit(&self, name: &str) -> Result<(usize, usize)> {
        let place = |(mask, names): (usize, &Vec<String>)| Some((mask, names.iter().position(|each| each == name)?));
        self.bits.iter().enumerate().find_map(place).ok_or_else(|| {
            let all: Vec<_> = self.bits.iter().flatten().collect();
            let what = text::name(&format!("{} has no quality bit '{name}'", self.path.display()));
            Error::invalid(what, format!("require some of: {}", text::list(all.iter(), ", ")))
        })
    }
}

/// Samples per second of the strain.
fn rate(file: &File) -> Result<f64> {
    let spacing = file.attribute(STRAIN, "Xspacing")?;
    let rate = (1.0 / spacing).round();
    if !((1.0..=FASTEST).contains(&rate) && (rate * spacing - 1.0).abs() < 1e-9) {
        let what = format!("its samples are {spacing} s apart");
        return Err(file.refusal(STRAIN, &what, "give a file with a whole number of samples a second"));
    }
    Ok(rate)
}

/// The detector's name, which becomes the name of a column.
fn detector(file: &File) -> Result<String> {
    let name = file.text("meta/Detector")?;
    match (1..=16).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        true => Ok(name),
        false => {
            Err(file.refusal("meta/Detector", &format!("'{name}' is no name of a detector"), "copy the file again"))
        }
    }
}
