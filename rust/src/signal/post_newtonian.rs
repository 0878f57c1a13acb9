//! Post-Newtonian phase and amplitude in the stationary-phase approximation, spins along the orbit's axis.
//!
//! Source: S. Khan et al., Phys. Rev. D 93 (2016) 044007 (arXiv:1508.07253), app. B, which collects them: phase to 3.5PN, with
//! spin-orbit terms to that order and spin-spin terms at 2PN. Here v = (πMf)^(1/3), G = c = 1.

use std::f64::consts::{PI, SQRT_2};

use super::binary::{Binary, Model};

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// Mass ratio and spins in the combinations that the coefficients use.
#[derive(Clone, Copy)]
pub(super) struct Ratios {
    /// Symmetric mass ratio η.
    pub eta: f64,
    /// (m1 - m2) / M, m1 the larger.
    pub delta: f64,
    /// Half the sum of the spins.
    pub sum: f64,
    /// Half the spin of the larger minus that of the smaller.
    pub difference: f64,
}

impl Ratios {
    pub fn new(binary: &Binary) -> Self {
        let ([a, b], [x, y]) = (binary.masses, binary.spins);
        let (large, small) = if a >= b { (x, y) } else { (y, x) };
        Self {
            eta: binary.ratio(),
            delta: (a - b).abs() / (a + b),
            sum: 0.5 * (large + small),
            difference: 0.5 * (large - small),
        }
    }
}

/// Coefficients of the phase, 3/(128 η v⁵) Σ v^i (a_i + b_i ln v³).
pub(super) struct Phase {
    prefactor: f64,
    plain: [f64; 8],
    logarithms: [f64; 8],
}

impl Phase {
    pub fn new(ratios: Ratios) -> Self {
        let Ratios { eta, delta, sum, difference } = ratios;
        let (eta2, eta3) = (eta * eta, eta * eta * eta);
        let (odd, even) = (delta * difference, sum);
        let fifth = 38645.0 * PI / 756.0 - 65.0 * PI * eta / 9.0
            + odd * (-732_985.0 / 2268.0 - 140.0 * eta / 9.0)
            + even * (-732_985.0 / 2268.0 + 24260.0 * eta / 81.0 + 340.0 * eta2 / 9.0);
        let fourth = 15_293_365.0 / 508_032.0
            + 27145.0 * eta / 504.0
            + 3085.0 * eta2 / 72.0
            + (-405.0 / 8.0 + 200.0 * eta) * difference * difference
            - 405.0 / 4.0 * odd * sum
            + (-405.0 / 8.0 + 5.0 * eta / 2.0) * sum * sum;
        // ln(64 πMf) = ln v³ + 6 ln 2.
        let sixth =
            11_583_231_236_531.0 / 4_694_215_680.0 - 6848.0 / 21.0 * (EULER + 2.0 * 2f64.ln()) - 640.0 * PI * PI / 3.0
                + (-15_737_765_635.0 / 3_048_192.0 + 2255.0 * PI * PI / 12.0) * eta
                + 76055.0 * eta2 / 1728.0
                - 127_825.0 * eta3 / 1296.0
                + 2270.0 * PI / 3.0 * odd
                + (2270.0 * PI / 3.0 - 520.0 * PI * eta) * even;
        let seventh = 77_096_675.0 * PI / 254_016.0 + 378_515.0 * PI * eta / 1512.0 - 74045.0 * PI * eta2 / 756.0
            + odd * (-25_150_083_775.0 / 3_048_192.0 + 26_804_935.0 * eta / 6048.0 - 1985.0 * eta2 / 48.0)
            + even
                * (-25_150_083_775.0 / 3_048_192.0 + 10_566_655_595.0 * eta / 762_048.0 - 1_042_165.0 * eta2 / 3024.0
                    + 5345.0 * eta3 / 36.0);
        Self {
            prefactor: 3.0 / (128.0 * eta),
            plain: [
                1.0,
                0.0,
                3715.0 / 756.0 + 55.0 * eta / 9.0,
                -16.0 * PI + 113.0 / 3.0 * odd + (113.0 / 3.0 - 76.0 * eta / 3.0) * even,
                fourth,
                fifth,
                sixth,
                seventh,
            ],
            logarithms: [0.0, 0.0, 0.0, 0.0, 0.0, fifth, -6848.0 / 63.0, 0.0],
        }
    }

    /// Ψ without time and phase of coalescence.
    pub fn at(&self, mf: f64) -> f64 {
        let v = (PI * mf).cbrt();
        self.prefactor * self.sum(v, |_, plain, log| plain + log * v.ln() * 3.0) / v.powi(5)
    }

    /// dΨ/d(Mf).
    pub fn slope(&self, mf: f64) -> f64 {
        let v = (PI * mf).cbrt();
        let term = |i: f64, plain: f64, log: f64| (i - 5.0) * (plain + log * v.ln() * 3.0) + 3.0 * log;
        // dv/d(Mf) = v / 3Mf.
        self.prefactor * self.sum(v, term) / v.powi(5) / (3.0 * mf)
    }

    /// Σ v^i term(i, a_i, b_i).
    fn sum(&self, v: f64, term: impl Fn(f64, f64, f64) -> f64) -> f64 {
        let (mut sum, mut power) = (0.0, 1.0);
        for (i, (plain, log)) in self.plain.iter().zip(&self.logarithms).enumerate() {
            sum += power * term(i as f64, *plain, *log);
            power *= v;
        }
        sum
    }
}

/// Coefficients of the amplitude over that of leading order, Σ A_i v^i, to 3PN.
pub(super) fn amplitude(ratios: Ratios) -> [f64; 7] {
    let Ratios { eta, delta, sum, difference } = ratios;
    let (eta2, eta3) = (eta * eta, eta * eta * eta);
    let odd = delta * difference;
    let fourth = -27_312_085.0 / 8_128_512.0 - 1_975_055.0 * eta / 338_688.0
        + 105_271.0 * eta2 / 24192.0
        + (-81.0 / 32.0 + 8.0 * eta) * difference * difference
        - 81.0 / 16.0 * odd * sum
        + (-81.0 / 32.0 + 17.0 * eta / 8.0) * sum * sum;
    let fifth = -85.0 * PI / 64.0
        + 85.0 * PI * eta / 16.0
        + odd * (285_197.0 / 16128.0 - 1579.0 * eta / 4032.0)
        + sum * (285_197.0 / 16128.0 - 15317.0 * eta / 672.0 - 2227.0 * eta2 / 1008.0);
    let sixth = -177_520_268_561.0 / 8_583_708_672.0
        + (545_384_828_789.0 / 5_007_163_392.0 - 205.0 * PI * PI / 48.0) * eta
        - 3_248_849_057.0 * eta2 / 178_827_264.0
        + 34_473_079.0 * eta3 / 6_386_688.0
        + (1_614_569.0 / 64512.0 - 1_873_643.0 * eta / 16128.0 + 2167.0 * eta2 / 42.0) * difference * difference
        + (31.0 * PI / 12.0 - 7.0 * PI * eta / 3.0) * sum
        + (1_614_569.0 / 64512.0 - 61391.0 * eta / 1344.0 + 57451.0 * eta2 / 4032.0) * sum * sum
        + odd * (31.0 * PI / 12.0 + (1_614_569.0 / 32256.0 - 165_961.0 * eta / 2688.0) * sum);
    [
        1.0,
        0.0,
        -323.0 / 224.0 + 451.0 * eta / 168.0,
        27.0 / 8.0 * odd + (27.0 / 8.0 - 11.0 * eta / 6.0) * sum,
        fourth,
        fifth,
        sixth,
    ]
}

/// The inspiral alone.
pub(super) struct TaylorF2(Phase);

impl TaylorF2 {
    pub fn new(binary: &Binary) -> Self {
        Self(Phase::new(Ratios::new(binary)))
    }
}

impl Model for TaylorF2 {
    fn amplitude(&self, _mf: f64) -> f64 {
        1.0
    }

    /// The stationary-phase approximation of a cosine has -π/4.
    fn phase(&self, mf: f64) -> f64 {
        self.0.at(mf) - 0.25 * PI
    }

    /// The innermost stable circular orbit of a test particle, v = 1/√6.
    fn end(&self) -> f64 {
        1.0 / (6.0 * 3f64.sqrt() * SQRT_2 * PI)
    }
}
