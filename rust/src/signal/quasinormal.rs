//! The ringing of a Kerr black hole.
//!
//! The tables are printed by `data/gravitational_waves/quasinormal.py`, which solves Leaver's continued fractions
//! (E. W. Leaver, Proc. R. Soc. Lond. A 402 (1985) 285).

/// Largest dimensionless spin of the tables; no merger that PhenomD describes ends closer to 1.
const MAX_SPIN: f64 = 0.9984;

/// Frequency and damping frequency, Re and -Im of Mω/2π, of the fundamental mode with l = m = 2 at dimensionless `spin`,
/// against the orbit where it is negative. M is the mass of the final black hole.
pub(super) fn fundamental(spin: f64) -> (f64, f64) {
    const LOWEST: f64 = 0.04;
    const HIGHEST: f64 = std::f64::consts::SQRT_2;
    let u = (1.0 - spin.clamp(-1.0, MAX_SPIN)).sqrt();
    let x = (2.0 * u - HIGHEST - LOWEST) / (HIGHEST - LOWEST);
    (chebyshev(&FREQUENCY, x), chebyshev(&DAMPING, x))
}

/// Σ c_k T_k(x) by Clenshaw's recurrence.
fn chebyshev(coefficients: &[f64], x: f64) -> f64 {
    let (mut one, mut two) = (0.0, 0.0);
    for c in coefficients[1..].iter().rev() {
        (one, two) = (2.0 * x * one - two + c, one);
    }
    x * one - two + coefficients[0]
}

// Relative error at most 1.8e-08.
const FREQUENCY: [f64; 20] = [
    8.484316985986e-02,
    -4.873662305946e-02,
    1.281676228563e-02,
    -3.086930060647e-03,
    6.846393923951e-04,
    -1.438810660207e-04,
    3.205708191070e-05,
    -9.041058635748e-06,
    2.270216622119e-06,
    -9.284598785492e-08,
    -2.972263773521e-07,
    1.823204374571e-07,
    -3.110011387170e-08,
    -3.036438049053e-08,
    3.830512393110e-08,
    -2.884879130166e-08,
    1.797732291225e-08,
    -1.051161705734e-08,
    5.556840814575e-09,
    -2.389196596814e-09,
];
// Relative error at most 4.6e-06.
const DAMPING: [f64; 20] = [
    1.119784004295e-02,
    4.853456739947e-03,
    -2.809384764211e-03,
    1.028234654911e-03,
    -3.249328942506e-04,
    7.607612557939e-05,
    -1.374572245475e-05,
    3.100809716318e-06,
    -1.448602425624e-06,
    6.865981131746e-07,
    -6.966828920124e-08,
    -1.560425269489e-07,
    1.508875628292e-07,
    -8.839404049390e-08,
    3.696483206383e-08,
    -1.142521988331e-08,
    8.565160866691e-10,
    2.349131528699e-09,
    -2.491556340254e-09,
    1.486394029615e-09,
];
