"""A continuous search: the PyROOT twin of gw_continuous.C, with the same strain and the same numbers.

    python root_macros/gw_continuous.py [output_folder [stretches [slides [network.ct [epochs [windows]]]]]]

Writes gw_continuous.png, .pdf, .ct (the network) and .root (the injections), foreground.hdf and background.hdf into the folder.
"""

import os
import sys
import time
from pathlib import Path

import ROOT

STRIDE = 192  # samples: a multiple of the pools' strides, 4 * 3 * 4
THRESHOLD = 0  # logit of a candidate
MERGER = 0.6  # s from the beginning of a window: mean place of the signals in training
MONTH = 30 * 86400
here = Path(__file__).resolve().parent


def trained_network(folder, epochs, windows):
    network = ROOT.ChallengeNetwork()
    windows = ROOT.FreshWindows(ROOT.LongStrain(), windows, f"{folder}/gw_continuous_windows.root")
    network.Fit(windows, ROOT.NetworkOptions(epochs))
    network.Save(f"{folder}/gw_continuous.ct")
    return network


def candidates(scores, start):
    first = start + ROOT.Observation.Cut() + MERGER
    return list(signal.FindCandidates(scores, first, STRIDE / ROOT.Observation.kRate, THRESHOLD))


def search(network, observation, slides):
    """Candidates of foreground and background, and the duration of the background in s."""
    foreground, background, duration = [], [], 0
    for stretch in range(observation.Stretches()):
        start = observation.Start(stretch)
        noise = observation.Noise(stretch)
        foreground += candidates(network.Scores(observation.White(observation.Inject(stretch, noise))), start)
        white = observation.White(noise)
        for slide in range(slides + 1):
            background += candidates(network.Scores(observation.Shifted(white, 10 * slide)), start)
            duration += observation.Length()
    return foreground, background, duration


def rates(background, duration):
    """From 3 alarms in the background to 1000, or as many as there are, four per decade."""
    alarms, found = 3, []
    while alarms < min(1000, len(background)):
        found.append(alarms / duration)
        alarms *= 10**0.25
    return found


def draw(reach):
    graph = ROOT.TGraphErrors()
    graph.SetTitle("Continuous search, H1 and L1;False alarms per month;Sensitive distance [Mpc]")
    for point, each in enumerate(reach):
        graph.AddPoint(each.fRate * MONTH, each.fDistance)
        graph.SetPointError(point, 0, each.fDistanceError)
    graph.SetMarkerStyle(20)
    graph.SetMarkerColor(ROOT.TColor.GetColor("#0072B2"))
    graph.SetLineColor(ROOT.TColor.GetColor("#0072B2"))
    graph.SetLineWidth(2)
    graph.Draw("APL")
    ROOT.SetOwnership(graph, False)  # drawn, and therefore owned by the pad


def main(folder="gw_continuous_out", stretches=84, slides=0, network="", epochs=8, windows=16000):
    os.makedirs(folder, exist_ok=True)
    model = ct.Model.Load(network) if network else trained_network(folder, epochs, windows)
    slid = signal.NetworkFilter(model, STRIDE, 2)
    if slid.Obstacle():
        print(f"computed window by window: {slid.Obstacle()}")

    observation = ROOT.Observation(stretches, 1)
    injections = observation.Injections()
    begin = time.monotonic()
    foreground, background, duration = search(slid, observation, slides)
    print(
        f"{stretches * observation.Length():.0f} s with {len(injections)} signals and {duration:.0f} s of noise searched in "
        f"{time.monotonic() - begin:.0f} s, at {slid.Arithmetic():.3f} of the arithmetic of single windows"
    )

    reach = signal.SensitiveDistance(foreground, background, injections, duration, rates(background, duration))
    print(f"{'false alarms/month':20} {'threshold':12} {'share found':18} sensitive distance [Mpc]")
    for each in reach:
        print(
            f"{each.fRate * MONTH:<20.0f} {each.fThreshold:<12.2f} {each.fFraction:.3f} +- {each.fFractionError:.3f}     "
            f"{each.fDistance:.0f} +- {each.fDistanceError:.0f}"
        )
    signal.WriteCandidates(f"{folder}/foreground.hdf", foreground)
    signal.WriteCandidates(f"{folder}/background.hdf", background)
    observation.Write(f"{folder}/gw_continuous.root")

    canvas = ROOT.TCanvas("gw_continuous", "Continuous search", 900, 700)
    canvas.SetLogx()
    canvas.SetGrid()
    canvas.SetLeftMargin(0.13)
    draw(reach)
    canvas.SaveAs(f"{folder}/gw_continuous.png")
    canvas.SaveAs(f"{folder}/gw_continuous.pdf")


if __name__ == "__main__":
    ROOT.gROOT.SetBatch(True)
    if ROOT.gSystem.Load("libcladtorch") < 0:
        sys.exit("libcladtorch was not found: put its folder into LD_LIBRARY_PATH")
    ROOT.gInterpreter.Declare(f'#include "{here}/gw_continuous.h"\n#include "{here}/gw_network.h"')
    ct, signal = ROOT.CladTorch, ROOT.CladTorch.Signal
    main(*sys.argv[1:2], *map(int, sys.argv[2:4]), *sys.argv[4:5], *map(int, sys.argv[5:7]))
