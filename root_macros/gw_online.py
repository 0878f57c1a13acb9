"""A search in strain as it arrives: blocks of 1/16 s of H1 and L1, whitened by their last 8 s and scored by a network.

    python root_macros/gw_online.py network.ct [seconds [grpc://host:port]]

The network must be one for windows of two detectors at 2048 Hz, as written by gw_search.py and gw_continuous.py; "none"
uses an untrained one, to try the readers and the speed. Without an address the strain is simulated as fast as it is
read. With one it comes from an Arrakis server (package arrakis); `arrakis-server -u grpc://127.0.0.1:31206 mock`
(package arrakis-server) serves noise.

A reader is anything that yields pairs of a GPS time and two arrays of 128 samples: write one for your own data.
"""

import sys
import time
from pathlib import Path

import numpy as np
import ROOT

RATE = 2048  # Hz
BLOCK = RATE // 16
MEMORY = 8 * RATE
SEGMENT, FILTER, LOWEST = 1024, 512, 18  # samples, samples, Hz: as in gw_search.py
THRESHOLD = 6  # logit
CHANNELS = ["H1:GDS-CALIB_STRAIN", "L1:GDS-CALIB_STRAIN"]
here = Path(__file__).resolve().parent


def simulated(seconds):
    """Noise of two detectors, 64 s at a time."""
    signal = ROOT.CladTorch.Signal
    psd = signal.DetectorPsd(64 * RATE, RATE, signal.kZeroDetunedHighPower)
    for stretch in range(-(-seconds // 64)):
        strain = [np.asarray(signal.DetectorNoise(detector, psd, RATE, 1 + stretch)) for detector in ("H1", "L1")]
        for block in range(min(64, seconds - 64 * stretch) * RATE // BLOCK):
            yield 1e9 + 64 * stretch + block * BLOCK / RATE, [each[block * BLOCK : (block + 1) * BLOCK] for each in strain]


def from_arrakis(seconds, url):
    """Strain from an Arrakis server. Means of neighbouring samples reduce it to 2048 Hz."""
    import arrakis

    for block in arrakis.Client(url).stream(CHANNELS, duration=seconds):
        series = [block[channel] for channel in CHANNELS]
        # A gap is a masked array: it becomes NaN, at which the search restarts.
        strain: list[np.ndarray] = [np.ma.filled(np.ma.asarray(each.data, dtype="f8"), np.nan) for each in series]
        means = [each.reshape(-1, round(one.sample_rate) // RATE).mean(axis=1) for each, one in zip(strain, series)]
        for first in range(0, len(means[0]), BLOCK):
            yield block.t0 + first / RATE, [each[first : first + BLOCK] for each in means]


def main(network, seconds="60", url=""):
    ct = ROOT.CladTorch
    model = ROOT.ChallengeNetwork() if network == "none" else ct.Model.Load(network)
    search = ct.Signal.OnlineSearch(model, RATE, 2, BLOCK, MEMORY, SEGMENT, FILTER, LOWEST)
    latencies, loudest = [], -np.inf
    for gps, blocks in from_arrakis(int(seconds), url) if url else simulated(int(seconds)):
        begin = time.perf_counter()
        score = search.Add(gps, blocks)
        if len(score) == 0:
            continue
        latencies.append(time.perf_counter() - begin)
        loudest = max(loudest, score[0])
        if score[0] > THRESHOLD:
            print(f"candidate in the second before GPS {search.End():.3f}: {score[0]:.2f}")
    if not latencies:
        sys.exit(f"no scores: {search.Waits()}; they take {(MEMORY + RATE) // RATE} s without a gap")
    median, most = 1e3 * np.median(latencies), 1e3 * np.quantile(latencies, 0.99)
    print(f"{len(latencies)} scores, the largest {loudest:.2f}; from block to score {median:.2f} ms, 99 % below {most:.2f} ms")
    print(f"behind that, the whitening filter takes {1e3 * FILTER / 2 / RATE:.0f} ms")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    ROOT.gROOT.SetBatch(True)
    if ROOT.gSystem.Load("libcladtorch") < 0:
        sys.exit("libcladtorch was not found: put its folder into LD_LIBRARY_PATH")
    ROOT.gInterpreter.Declare(f'#include "{here}/gw_network.h"')
    main(*sys.argv[1:4])
