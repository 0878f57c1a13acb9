"""Values that other software gives for what rust/src/signal computes: golden.json, which tests/signal/ compares, and the
table of the zero-detuned high-power noise in rust/src/signal/zero_detuned.rs.

    pip install lalsuite==7.26.16
    python data/gravitational_waves/golden.py

lalsuite (GPL) is used to make numbers, here only; nothing of it is part of CladTorch.
"""

import json
import math
import pathlib

import lal
import lalsimulation as sim
import numpy as np

HERE = pathlib.Path(__file__).parent
DISTANCE = 100  # Mpc
BINARIES = [  # masses (solar masses), spins
    (1.4, 1.4, 0, 0),
    (10, 10, 0, 0),
    (36, 29, 0, 0),
    (29, 36, 0, 0),
    (50, 10, 0, 0),
    (50, 50, 0, 0),
    (30, 2, 0, 0),
    (30, 30, 0.8, 0.8),
    (40, 20, 0.7, -0.3),
    (20, 40, 0.7, -0.3),
    (60, 12, -0.6, 0.5),
    (25, 25, -0.9, -0.9),
]


def waveforms():
    rows = []
    for name, approximant, end in (("TaylorF2", sim.TaylorF2, None), ("PhenomD", sim.IMRPhenomD, 0.19)):
        for m1, m2, s1, s2 in BINARIES:
            if name == "TaylorF2" and (s1 or s2):
                continue  # lalsuite has spin-spin terms at 3PN that arXiv:1508.07253 leaves out
            total = (m1 + m2) * lal.MTSUN_SI
            top = min(2000, 0.999 * 6**-1.5 / math.pi / total if end is None else end / total)
            frequencies = np.geomspace(20, top, 64)
            sequence = lal.CreateREAL8Sequence(len(frequencies))
            sequence.data = frequencies
            options = lal.CreateDict()
            if name == "TaylorF2":
                sim.SimInspiralWaveformParamsInsertPNAmplitudeOrder(options, 0)
            large = DISTANCE * 1e6 * lal.PC_SI
            plus, _ = sim.SimInspiralChooseFDWaveformSequence(
                0, m1 * lal.MSUN_SI, m2 * lal.MSUN_SI, 0, 0, s1, 0, 0, s2, 0, large, 0, options, approximant, sequence
            )
            values = plus.data.data
            rows.append(
                {
                    "model": name,
                    "masses": [m1, m2],
                    "spins": [s1, s2],
                    "frequencies": [float(f"{f:.15g}") for f in frequencies],
                    "amplitude": [float(f"{abs(v):.10g}") for v in values],
                    "phase": [float(f"{p:.12g}") for p in np.angle(values)],
                }
            )
    return rows


def detectors():
    rows = []
    random = np.random.default_rng(1)
    for name, index in (("H1", lal.LHO_4K_DETECTOR), ("L1", lal.LLO_4K_DETECTOR), ("V1", lal.VIRGO_DETECTOR)):
        detector = lal.CachedDetectors[index]
        for gps in (630763213.0, 1126259462.4, 1187008882.4, 1400000000.0):
            ra, dec, psi = random.uniform(0, 2 * np.pi), np.arcsin(random.uniform(-1, 1)), random.uniform(0, np.pi)
            sidereal = lal.GreenwichMeanSiderealTime(gps)
            plus, cross = lal.ComputeDetAMResponse(detector.response, ra, dec, psi, sidereal)
            delay = lal.TimeDelayFromEarthCenter(detector.location, ra, dec, gps)
            rows.append({"detector": name, "direction": [ra, dec, psi, gps], "plus": plus, "cross": cross, "delay": delay})
    return rows


def design(frequency):
    return sim.SimNoisePSDaLIGOZeroDetHighPower(float(frequency))


def write_table():
    first, last, intervals = 9.0, 8192.0, 160
    step = math.log(last / first) / intervals
    values = [math.log(design(first * math.exp(step * i)) * 1e46) for i in range(intervals + 1)]
    lines = "".join(f"    {v:.9},\n" for v in values)
    (HERE / "../../rust/src/signal/zero_detuned.rs").resolve().write_text(
        "//! The zero-detuned high-power noise of Advanced LIGO (LIGO-T0900288), as lalsuite gives it. Written by\n"
        "//! `data/gravitational_waves/golden.py`.\n\n"
        "/// Hz, of the first node.\n"
        f"pub(super) const FIRST: f64 = {first!r};\n"
        "/// Distance of the nodes in ln f.\n"
        f"pub(super) const STEP: f64 = {step!r};\n"
        "/// 1/Hz.\n"
        "pub(super) const UNIT: f64 = 1e-46;\n"
        "/// ln(S / UNIT) at the nodes.\n"
        f"pub(super) const LN_DENSITIES: [f64; {len(values)}] = [\n{lines}];\n"
    )


def main():
    write_table()
    between = [float(f) for f in np.geomspace(9.5, 8000, 41)]
    golden = {
        "distance": DISTANCE,
        "waveforms": waveforms(),
        "detectors": detectors(),
        "zero_detuned": [[f, design(f)] for f in between],
    }
    (HERE / "golden.json").write_text(json.dumps(golden, separators=(",", ":")).replace("},{", "},\n{") + "\n")


if __name__ == "__main__":
    main()
