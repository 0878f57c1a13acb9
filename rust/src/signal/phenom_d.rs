//! IMRPhenomD, inspiral, merger and ringdown of black holes with spins along the orbit's axis.
//!
//! Sources: S. Husa et al., Phys. Rev. D 93 (2016) 044006 (arXiv:1508.07250) for the final state; S. Khan et al., Phys. Rev. D
//! 93 (2016) 044007 (arXiv:1508.07253), whose equations are quoted, for the rest. Frequencies are Mf, G = c = 1.

use std::f64::consts::PI;

use super::binary::{Binary, Model};
use super::post_newtonian::{Phase, Ratios, amplitude};
use super::quasinormal;

/// Frequencies at which inspiral and intermediate range meet: of the amplitude and of the phase.
const AMPLITUDE_JOIN: f64 = 0.014;
const PHASE_JOIN: f64 = 0.018;
/// The model's end.
const END: f64 = 0.2;

/// Table V: fits of the phenomenological coefficients, for each λ00, λ10, λ01, λ11, λ21, λ02, λ12, λ22, λ03, λ13, λ23 of
/// eq. 31.
#[rustfmt::skip]
mod table {
    pub type Fit = [f64; 11];
    pub const RHO: [Fit; 3] = [
        [3931.8979897196696, -17395.758706812805, 3132.375545898835, 343965.86092361377, -1.2162565819981997e6,
         -70698.00600428853, 1.383907177859705e6, -3.9662761890979446e6, -60017.52423652596, 803515.1181825735,
         -2.091710365941658e6],
        [-40105.47653771657, 112253.0169706701, 23561.696065836168, -3.476180699403351e6, 1.137593670849482e7,
         754313.1127166454, -1.308476044625268e7, 3.6444584853928134e7, 596226.612472288, -7.4277901143564405e6,
         1.8928977514040343e7],
        [83208.35471266537, -191237.7264145924, -210916.2454782992, 8.71797508352568e6, -2.6914942420669552e7,
         -1.9889806527362722e6, 3.0888029960154563e7, -8.390870279256162e7, -1.4535031953446497e6, 1.7063528990822166e7,
         -4.2748659731120914e7],
    ];
    pub const MIDDLE: Fit =
        [0.8149838730507785, 2.5747553517454658, 1.1610198035496786, -2.3627771785551537, 6.771038707057573,
         0.7570782938606834, -2.7256896890432474, 7.1140380397149965, 0.1766934149293479, -0.7978690983168183,
         2.1162391502005153];
    pub const GAMMA: [Fit; 3] = [
        [0.006927402739328343, 0.03020474290328911, 0.006308024337706171, -0.12074130661131138, 0.26271598905781324,
         0.0034151773647198794, -0.10779338611188374, 0.27098966966891747, 0.0007374185938559283, -0.02749621038376281,
         0.0733150789135702],
        [1.010344404799477, 0.0008993122007234548, 0.283949116804459, -4.049752962958005, 13.207828172665366,
         0.10396278486805426, -7.025059158961947, 24.784892370130475, 0.03093202475605892, -2.6924023896851663,
         9.609374464684983],
        [1.3081615607036106, -0.005537729694807678, -0.06782917938621007, -0.6689834970767117, 3.403147966134083,
         -0.05296577374411866, -0.9923793203111362, 4.820681208409587, -0.006134139870393713, -0.38429253308696365,
         1.7561754421985984],
    ];
    pub const SIGMA: [Fit; 4] = [
        [2096.551999295543, 1463.7493168261553, 1312.5493286098522, 18307.330017082117, -43534.1440746107,
         -833.2889543511114, 32047.31997183187, -108609.45037520859, 452.25136398112204, 8353.439546391714,
         -44531.3250037322],
        [-10114.056472621156, -44631.01109458185, -6541.308761668722, -266959.23419307504, 686328.3229317984,
         3405.6372187679685, -437507.7208209015, 1.6318171307344697e6, -7462.648563007646, -114585.25177153319,
         674402.4689098676],
        [22933.658273436497, 230960.00814979506, 14961.083974183695, 1.1940181342318142e6, -3.1042239693052764e6,
         -3038.166617199259, 1.8720322849093592e6, -7.309145012085539e6, 42738.22871475411, 467502.018616601,
         -3.064853498512499e6],
        [-14621.71522218357, -377812.8579387104, -9608.682631509726, -1.7108925257214056e6, 4.332924601416521e6,
         -22366.683262266528, -2.5019716386377467e6, 1.0274495902259542e7, -85360.30079034246, -570025.3441737515,
         4.396844346849777e6],
    ];
    pub const BETA: [Fit; 3] = [
        [97.89747327985583, -42.659730877489224, 153.48421037904913, -1417.0620760768954, 2752.8614143665027,
         138.7406469558649, -1433.6585075135881, 2857.7418952430758, 41.025109467376126, -423.680737974639,
         850.3594335657173],
        [-3.282701958759534, -9.051384468245866, -12.415449742258042, 55.4716447709787, -106.05109938966335,
         -11.953044553690658, 76.80704618365418, -155.33172948098394, -3.4129261592393263, 25.572377569952536,
         -54.408036707740465],
        [-0.000025156429818799565, 0.000019750256942201327, -0.000018370671469295915, 0.000021886317041311973,
         0.00008250240316860033, 7.157371250566708e-6, -0.000055780000112270685, 0.00019142082884072178,
         5.447166261464217e-6, -0.00003220610095021982, 0.00007974016714984341],
    ];
    pub const ALPHA: [Fit; 5] = [
        [43.31514709695348, 638.6332679188081, -32.85768747216059, 2415.8938269370315, -5766.875169379177,
         -61.85459307173841, 2953.967762459948, -8986.29057591497, -21.571435779762044, 981.2158224673428,
         -3239.5664895930286],
        [-0.07020209449091723, -0.16269798450687084, -0.1872514685185499, 1.138313650449945, -2.8334196304430046,
         -0.17137955686840617, 1.7197549338119527, -4.539717148261272, -0.049983437357548705, 0.6062072055948309,
         -1.682769616644546],
        [9.5988072383479, -397.05438595557433, 16.202126189517813, -1574.8286986717037, 3600.3410843831093,
         27.092429659075467, -1786.482357315139, 5152.919378666511, 11.175710130033895, -577.7999423177481,
         1808.730762932043],
        [-0.02989487384493607, 1.4022106448583738, -0.07356049468633846, 0.8337006542278661, 0.2240008282397391,
         -0.055202870001177226, 0.5667186343606578, 0.7186931973380503, -0.015507437354325743, 0.15750322779277187,
         0.21076815715176228],
        [0.9974408278363099, -0.007884449714907203, -0.059046901195591035, 1.3958712396764088, -4.516631601676276,
         -0.05585343136869692, 1.7516580039343603, -5.990208965347804, -0.017945336522161195, 0.5965097794825992,
         -2.0608879367971804],
    ];
}

/// Eq. 31, at mass ratio η and effective spin χ_PN.
fn fits<const N: usize>(rows: [table::Fit; N], eta: f64, spin: f64) -> [f64; N] {
    let xi = spin - 1.0;
    rows.map(|row| {
        let square = |i: usize| row[i] + eta * (row[i + 1] + eta * row[i + 2]);
        row[0] + row[1] * eta + xi * (square(2) + xi * (square(5) + xi * square(8)))
    })
}

/// Frequency and damping frequency (M f) of the final black hole's ringing, from its spin and the radiated energy.
fn ringing(ratios: Ratios) -> (f64, f64) {
    let Ratios { eta, delta, sum, difference } = ratios;
    let (large, small) = (0.5 * (1.0 + delta), 0.5 * (1.0 - delta));
    let spins = large * large * (sum + difference) + small * small * (sum - difference);
    let (eta2, eta3) = (eta * eta, eta * eta * eta);
    // arXiv:1508.07250, eqs. 3.6 and 3.8.
    let s = spins;
    let spin = eta
        * (3.4641016151377544 - 4.399247300629289 * eta + 9.397292189321194 * eta2 - 13.180949901606242 * eta3)
        + s * (1.0 - 0.0850917821418767 * eta - 5.837029316602263 * eta2)
        + eta * s * s * (0.1014665242971878 - 2.0967746996832157 * eta)
        + eta * s.powi(3) * (-1.3546806617824356 + 4.108962025369336 * eta)
        + eta * s.powi(4) * (-0.8676969352555539 + 2.064046835273906 * eta);
    let s = spins / (large * large + small * small);
    let energy = eta
        * (0.055974469826360077 + 0.5809510763115132 * eta - 0.9606726679372312 * eta2 + 3.352411249771192 * eta3)
        * (1.0 + (-0.0030302335878845507 - 2.0066110851351073 * eta + 7.7050567802399215 * eta2) * s)
        / (1.0 + (-0.6714403054720589 - 1.4756929437702908 * eta + 7.304676214885011 * eta2) * s);
    let (frequency, damping) = quasinormal::fundamental(spin);
    (frequency / (1.0 - energy), damping / (1.0 - energy))
}

/// The model of one binary.
pub(super) struct PhenomD {
    eta: f64,
    ring: f64,
    damp: f64,
    expansion: [f64; 7],
    rho: [f64; 3],
    gamma: [f64; 3],
    /// Where the amplitude peaks.
    peak: f64,
    /// Polynomial of the amplitude between the join and the peak.
    delta: [f64; 5],
    post_newtonian: Phase,
    sigma: [f64; 4],
    beta: [f64; 3],
    alpha: [f64; 5],
    /// Constant and slope that join a range of the phase to the one before.
    intermediate: [f64; 2],
    merger: [f64; 2],
    /// Slope of the merger's phase at the peak, which puts the coalescence at time 0.
    time: f64,
}

impl PhenomD {
    pub fn new(binary: &Binary) -> Self {
        let ratios = Ratios::new(binary);
        let eta = ratios.eta;
        // Eq. 4.
        let spin = ratios.sum * (1.0 - 76.0 * eta / 113.0) + ratios.delta * ratios.difference;
        let (ring, damp) = ringing(ratios);
        let mut model = Self {
            eta,
            ring,
            damp,
            expansion: amplitude(ratios),
            rho: fits(table::RHO, eta, spin),
            gamma: fits(table::GAMMA, eta, spin),
            peak: 0.0,
            delta: [0.0; 5],
            post_newtonian: Phase::new(ratios),
            sigma: fits(table::SIGMA, eta, spin),
            beta: fits(table::BETA, eta, spin),
            alpha: fits(table::ALPHA, eta, spin),
            intermediate: [0.0; 2],
            merger: [0.0; 2],
            time: 0.0,
        };
        model.peak = model.peak();
        let [middle] = fits([table::MIDDLE], eta, spin);
        model.delta = model.join_amplitude(middle);
        model.join_phase();
        // As other software does, without the slope that joins: the strain peaks within about M of time 0.
        model.time = model.merger_slope(model.peak) - model.merger[1];
        model
    }

    /// Eq. 20.
    fn peak(&self) -> f64 {
        let [_, sharp, wide] = self.gamma;
        let turn = if sharp < 1.0 { (1.0 - sharp * sharp).sqrt() - 1.0 } else { -1.0 };
        (self.ring + self.damp * wide * turn / sharp).abs()
    }

    /// Eq. 30, over the leading order.
    fn inspiral_amplitude(&self, f: f64) -> f64 {
        let v = (PI * f).cbrt();
        let expansion = self.expansion.iter().rev().fold(0.0, |sum, a| sum * v + a);
        let x = f.cbrt();
        expansion + x.powi(7) * (self.rho[0] + x * (self.rho[1] + x * self.rho[2]))
    }

    fn inspiral_amplitude_slope(&self, f: f64) -> f64 {
        let v = (PI * f).cbrt();
        // d(v^i)/df = i v^i / 3f.
        let expansion = self.expansion.iter().enumerate().rev().fold(0.0, |sum, (i, a)| sum * v + i as f64 * a);
        let x = f.cbrt();
        let rest = x.powi(7) * (7.0 * self.rho[0] + x * (8.0 * self.rho[1] + x * 9.0 * self.rho[2]));
        (expansion + rest) / (3.0 * f)
    }

    /// Eq. 19, over the leading order.
    fn merger_amplitude(&self, f: f64) -> f64 {
        let [height, sharp, wide] = self.gamma;
        let (width, x) = (wide * self.damp, f - self.ring);
        height * width / (x * x + width * width) * (-sharp * x / width).exp()
    }

    fn merger_amplitude_slope(&self, f: f64) -> f64 {
        let [_, sharp, wide] = self.gamma;
        let (width, x) = (wide * self.damp, f - self.ring);
        -self.merger_amplitude(f) * (2.0 * x / (x * x + width * width) + sharp / width)
    }

    /// The polynomial of eqs. 21 to 26, counted from the join: values at both ends and in the middle, slopes at both ends.
    fn join_amplitude(&self, middle: f64) -> [f64; 5] {
        let length = self.peak - AMPLITUDE_JOIN;
        let half = 0.5 * length;
        let (v, dv) = (self.inspiral_amplitude(AMPLITUDE_JOIN), self.inspiral_amplitude_slope(AMPLITUDE_JOIN));
        let (w, dw) = (self.merger_amplitude(self.peak), self.merger_amplitude_slope(self.peak));
        // Hermite's cubic takes both ends, x² (x - l)² the middle.
        let (c2, c3) =
            ((3.0 * (w - v) / length - 2.0 * dv - dw) / length, (dv + dw - 2.0 * (w - v) / length) / length.powi(2));
        let cubic = v + half * (dv + half * (c2 + half * c3));
        let c4 = (middle - cubic) / half.powi(4);
        [v, dv, c2 + c4 * length * length, c3 - 2.0 * c4 * length, c4]
    }

    /// Eq. 28.
    fn inspiral_phase(&self, f: f64) -> f64 {
        let [s1, s2, s3, s4] = self.sigma;
        let x = f.cbrt();
        self.post_newtonian.at(f) - 0.25 * PI + f * (s1 + x * (0.75 * s2 + x * (0.6 * s3 + x * 0.5 * s4))) / self.eta
    }

    fn inspiral_slope(&self, f: f64) -> f64 {
        let [s1, s2, s3, s4] = self.sigma;
        let x = f.cbrt();
        self.post_newtonian.slope(f) + (s1 + x * (s2 + x * (s3 + x * s4))) / self.eta
    }

    /// Eq. 16, with what joins it to the inspiral.
    fn intermediate_phase(&self, f: f64) -> f64 {
        let [b1, b2, b3] = self.beta;
        (b1 * f + b2 * f.ln() - b3 / (3.0 * f.powi(3))) / self.eta + self.intermediate[0] + self.intermediate[1] * f
    }

    fn intermediate_slope(&self, f: f64) -> f64 {
        let [b1, b2, b3] = self.beta;
        (b1 + b2 / f + b3 / f.powi(4)) / self.eta + self.intermediate[1]
    }

    /// Eq. 14, with what joins it to the intermediate range.
    fn merger_phase(&self, f: f64) -> f64 {
        let [a1, a2, a3, a4, a5] = self.alpha;
        let angle = ((f - a5 * self.ring) / self.damp).atan();
        (a1 * f - a2 / f + 4.0 / 3.0 * a3 * f.powf(0.75) + a4 * angle) / self.eta + self.merger[0] + self.merger[1] * f
    }

    fn merger_slope(&self, f: f64) -> f64 {
        let [a1, a2, a3, a4, a5] = self.alpha;
        let x = f - a5 * self.ring;
        let lorentzian = self.damp / (x * x + self.damp * self.damp);
        (a1 + a2 / (f * f) + a3 * f.powf(-0.25) + a4 * lorentzian) / self.eta + self.merger[1]
    }

    /// Values and slopes agree where the ranges meet.
    fn join_phase(&mut self) {
        let f = PHASE_JOIN;
        self.intermediate[1] = self.inspiral_slope(f) - self.intermediate_slope(f);
        self.intermediate[0] = self.inspiral_phase(f) - self.intermediate_phase(f);
        let f = 0.5 * self.ring;
        self.merger[1] = self.intermediate_slope(f) - self.merger_slope(f);
        self.merger[0] = self.intermediate_phase(f) - self.merger_phase(f);
    }
}

impl Model for PhenomD {
    fn amplitude(&self, mf: f64) -> f64 {
        if mf < AMPLITUDE_JOIN {
            self.inspiral_amplitude(mf)
        } else if mf < self.peak {
            let x = mf - AMPLITUDE_JOIN;
            self.delta.iter().rev().fold(0.0, |sum, d| sum * x + d)
        } else {
            self.merger_amplitude(mf)
        }
    }

    fn phase(&self, mf: f64) -> f64 {
        let phase = if mf < PHASE_JOIN {
            self.inspiral_phase(mf)
        } else if mf < 0.5 * self.ring {
            self.intermediate_phase(mf)
        } else {
            self.merger_phase(mf)
        };
        phase - self.time * mf
    }

    fn end(&self) -> f64 {
        END
    }
}
