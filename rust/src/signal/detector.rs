//! Detectors on Earth: how they see a wave from a direction, when it arrives, and their noise.
//!
//! Sources: W. G. Anderson, P. R. Brady, J. D. E. Creighton and É. É. Flanagan, Phys. Rev. D 63 (2001) 042003, app. B, for the
//! antenna patterns; LIGO-T980044 and Virgo's survey for the places, which a test compares with lalsuite's; S. Aoki et al., Astron. Astrophys. 105
//! (1982) 359, for sidereal time.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use realfft::num_complex::Complex;

use super::{check, fourier, noise};
use crate::error::{Error, Result};

/// Speed of light, m/s.
const LIGHT: f64 = 299_792_458.0;

type Vector = [f64; 3];

/// A place and two arms, in Earth-fixed coordinates (WGS-84: x to Greenwich at the equator, z to the pole), m and unit
/// vectors.
#[derive(Debug)]
pub struct Detector {
    /// The name that functions take.
    pub name: &'static str,
    vertex: Vector,
    arms: [Vector; 2],
    /// Number of its stream of random numbers.
    stream: u64,
}

/// Those that are known.
pub static DETECTORS: [Detector; 3] = [
    Detector {
        name: "H1",
        vertex: [-2_161_414.926_36, -3_834_695.178_89, 4_600_350.226_64],
        arms: [
            [-0.223_892_661_54, 0.799_830_627_46, 0.556_904_878_31],
            [-0.913_978_185_74, 0.026_094_039_89, -0.404_923_421_25],
        ],
        stream: 1,
    },
    Detector {
        name: "L1",
        vertex: [-74_276.044_723_8, -5_496_283.719_71, 3_224_257.017_44],
        arms: [
            [-0.954_574_121_53, -0.141_580_773_40, -0.262_189_113_24],
            [0.297_741_568_94, -0.487_910_336_47, -0.820_544_612_86],
        ],
        stream: 2,
    },
    Detector {
        name: "V1",
        vertex: [4_546_374.099_00, 842_989.697_626, 4_378_576.962_41],
        arms: [
            [-0.700_458_214_79, 0.208_489_486_19, 0.682_561_662_77],
            [-0.053_792_553_68, -0.969_081_805_49, 0.240_804_517_08],
        ],
        stream: 3,
    },
];

/// Where a wave comes from, and when.
#[derive(Clone, Copy, Debug)]
pub struct Direction {
    /// Right ascension, rad.
    pub right_ascension: f64,
    /// Declination, rad.
    pub declination: f64,
    /// Angle ψ from the direction of the celestial pole to the wave's x axis, rad.
    pub polarisation: f64,
    /// GPS time at the centre of the Earth, s.
    pub gps: f64,
}

impl Direction {
    fn check(&self) -> Result<()> {
        check::finite("right ascension (rad)", &[self.right_ascension])?;
        check::within("declination (rad)", self.declination, -FRAC_PI_2, FRAC_PI_2)?;
        check::finite("polarisation angle (rad)", &[self.polarisation])?;
        check::within("GPS time (s)", self.gps, 0.0, 1e10)
    }

    /// West of Greenwich, rad.
    fn hour_angle(&self) -> f64 {
        sidereal_time(self.gps) - self.right_ascension
    }
}

impl Detector {
    /// The detector called `name`: "H1" (LIGO Hanford), "L1" (LIGO Livingston) or "V1" (Virgo).
    pub fn named(name: &str) -> Result<&'static Detector> {
        DETECTORS.iter().find(|one| one.name == name).ok_or_else(|| {
            let known: Vec<&str> = DETECTORS.iter().map(|one| one.name).collect();
            Error::invalid(format!("detector '{name}' is unknown"), format!("give one of {}", known.join(", ")))
        })
    }

    /// F₊ and F×: the strain is F₊ h₊ + F× h×.
    pub fn antenna_pattern(&self, from: Direction) -> Result<[f64; 2]> {
        from.check()?;
        let ((sin_h, cos_h), (sin_d, cos_d)) = (from.hour_angle().sin_cos(), from.declination.sin_cos());
        let (sin_p, cos_p) = from.polarisation.sin_cos();
        let x = [-cos_p * sin_h - sin_p * cos_h * sin_d, -cos_p * cos_h + sin_p * sin_h * sin_d, sin_p * cos_d];
        let y = [sin_p * sin_h - cos_p * cos_h * sin_d, sin_p * cos_h + cos_p * sin_h * sin_d, cos_p * cos_d];
        // The response is (a a - b b) / 2 of the arms a and b.
        let [a, b] = self.arms;
        let response = |u: Vector, v: Vector| 0.5 * (dot(a, u) * dot(a, v) - dot(b, u) * dot(b, v));
        Ok([response(x, x) - response(y, y), 2.0 * response(x, y)])
    }

    /// Arrival time here minus that at the centre of the Earth, s.
    pub fn delay(&self, from: Direction) -> Result<f64> {
        from.check()?;
        let ((sin_h, cos_h), (sin_d, cos_d)) = (from.hour_angle().sin_cos(), from.declination.sin_cos());
        Ok(-dot(self.vertex, [cos_d * cos_h, -cos_d * sin_h, sin_d]) / LIGHT)
    }

    /// The strain [n] of this detector for a wave whose polarisations at the centre of the Earth are `plus` and `cross`
    /// ([n]), with its antenna pattern and delay. The series is taken as periodic, without its mean and its highest
    /// frequency.
    pub fn project(&self, plus: &[f64], cross: &[f64], rate: f64, from: Direction) -> Result<Vec<f64>> {
        check::samples("plus polarisation", plus.len())?;
        check::positive("sampling rate (Hz)", rate)?;
        check::finite("plus polarisation", plus)?;
        check::finite("cross polarisation", cross)?;
        if plus.len() != cross.len() {
            return Err(Error::invalid(
                format!("the plus polarisation has {} samples, the cross polarisation {}", plus.len(), cross.len()),
                "give two series of one length",
            ));
        }
        let ([f_plus, f_cross], delay) = (self.antenna_pattern(from)?, self.delay(from)?);
        let mut spectrum = fourier::forward(plus.iter().zip(cross).map(|(p, c)| f_plus * p + f_cross * c).collect())?;
        let step = TAU * rate / plus.len() as f64 * delay;
        spectrum.iter_mut().enumerate().for_each(|(k, bin)| *bin *= Complex::cis(-step * k as f64));
        fourier::drop_ends(&mut spectrum);
        let strain = fourier::inverse(spectrum)?;
        check::finite("projected strain", &strain)?;
        Ok(strain)
    }

    /// Gaussian noise of this detector, [n]: that of another detector with the same `seed` is independent.
    ///
    /// `psd` is [n/2 + 1], 1/Hz; see [`noise::noise`].
    pub fn noise(&self, psd: &[f64], rate: f64, seed: u64) -> Result<Vec<f64>> {
        noise::of_stream(psd, rate, seed, self.stream)
    }
}

/// SNR of several detectors together, the root of the sum of the squares.
pub fn network_snr(snrs: &[f64]) -> Result<f64> {
    check::count("number of detectors", snrs.len(), 1, 1000)?;
    for snr in snrs {
        check::within("signal-to-noise ratio", *snr, 0.0, f64::MAX)?;
    }
    let sum = snrs.iter().map(|snr| snr * snr).sum::<f64>().sqrt();
    check::finite("network signal-to-noise ratio", &[sum])?;
    Ok(sum)
}

fn dot(a: Vector, b: Vector) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// GPS times at which a leap second had been inserted since 1980 (IERS Bulletin C; none since 2017).
const LEAPS: [f64; 18] = [
    46_828_800.0,
    78_364_801.0,
    109_900_802.0,
    173_059_203.0,
    252_028_804.0,
    315_187_205.0,
    346_723_206.0,
    393_984_007.0,
    425_520_008.0,
    457_056_009.0,
    504_489_610.0,
    551_750_411.0,
    599_184_012.0,
    820_108_813.0,
    914_803_214.0,
    1_025_136_015.0,
    1_119_744_016.0,
    1_167_264_017.0,
];

/// Greenwich mean sidereal time at the GPS time `gps` (s), rad of [0, 2π). UT1 is taken as UTC: within 0.9 s.
pub fn sidereal_time(gps: f64) -> f64 {
    const GPS_TO_J2000: f64 = 630_763_200.0; // 1980-01-06 0 h to 2000-01-01 12 h
    const CENTURY: f64 = 36525.0 * 86400.0;
    let leaps = LEAPS.iter().filter(|leap| gps >= **leap).count() as f64;
    let t = (gps - leaps - GPS_TO_J2000) / CENTURY;
    let seconds = 67310.54841 + (876_600.0 * 3600.0 + 8_640_184.812_866) * t + 0.093_104 * t * t - 6.2e-6 * t * t * t;
    (seconds * PI / 43200.0).rem_euclid(TAU)
}
