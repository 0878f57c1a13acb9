"""A search for binary black holes: the PyROOT twin of gw_search.C, with the same windows and the same numbers.

    python root_macros/gw_search.py [output_folder [epochs [windows [noise ["quick"]]]]]

Writes gw_search.png, gw_search.pdf and gw_search.ct into the folder. Under mpirun all processes train one network, which the first one tests.
"""

import os
import sys
from pathlib import Path

import numpy as np
import ROOT

NAMES = ("Likelihood ratio", "Matched filter", "Convolutional", "Perceptron")
# Distinguishable with any colour vision.
COLOURS = ("#000000", "#D55E00", "#0072B2", "#009E73")
FALSE_ALARMS = (1e-1, 1e-2, 1e-3, 1e-4)
FEWEST = 10  # windows of noise above the threshold: fewer do not determine it
here = Path(__file__).resolve().parent


def make_frame(recipe, search, windows, first, count):
    """Windows from number `first` on, as the networks and the search get them."""
    frame = ROOT.RDataFrame(count).Define("window", f"ULong64_t({first} + rdfentry_)")
    frame = frame.Define("label", ROOT.LabelOf(windows), ["window"]).Define("snr", ROOT.SnrOf(windows), ["window"])
    frame = frame.Define("strain", windows, ["window"]).Define("white", ROOT.Whitening(recipe), ["strain"])
    frame = frame.Define("ranks", search, ["strain"]).Define("statistic", "ranks[0]")
    frame = frame.Define("filter", "*std::max_element(ranks.begin() + 1, ranks.end())")
    return frame.Define("features", ROOT.Features(recipe), ["ranks", "white"])


def read(frame, column, length=0):
    return ct.Dataset().Column(column, length).Add(frame, "label")


def train(model, windows, validation, epochs):
    """Learns from windows that are made anew for each epoch; `validation` stays the same."""
    options = ROOT.NetworkOptions(epochs)
    options.fParallel = ct.kMpi
    return model.Fit(windows, validation, options)


def train_perceptron(recipe, search, windows):
    """A perceptron on the features of `windows` windows."""
    size = ROOT.Features(recipe).Size()
    model = ct.Mlp([size, 32, 32, 1], ct.kGELU)
    frame = make_frame(recipe, search, ROOT.Windows(recipe, 1), 0, windows)
    model.Fit(read(frame, "features", size), fBatchSize=128, fOptimiser=ct.kAdamW, fWeightDecay=0.1, fVerbose=0)
    return model


def test(recipe, search, network, perceptron, noise):
    """Ranks of the four tests, labels and SNRs of test windows, one signal for nine of noise, in pieces that fit into memory."""
    total, piece = noise // 9 * 10, 8192
    pieces = []
    for first in range(0, total, piece):
        frame = make_frame(recipe, search, ROOT.Windows(recipe, 2, 10), first, min(piece, total - first))
        frame = frame.Cache(["statistic", "filter", "snr", "label", "white", "features"])
        # In the order of the windows, which Take() does not preserve on several threads.
        sets = {name: read(frame, name) for name in ("statistic", "filter", "snr")}
        arrays = {name: np.array(each.Features())[:, 0] for name, each in sets.items()}
        # Logits, not probabilities: those saturate at low false-alarm rates.
        arrays["network"] = np.asarray(network.Logits(read(frame, "white", network.Inputs())))
        arrays["perceptron"] = np.asarray(perceptron.Logits(read(frame, "features", perceptron.Inputs())))
        arrays["label"] = np.array(sets["snr"].Labels())
        pieces.append(arrays)
    joined = {name: np.concatenate([each[name] for each in pieces]) for name in pieces[0]}
    return [joined[name] for name in ("statistic", "filter", "network", "perceptron")], joined["label"], joined["snr"]


def print_table(evaluations, snrs, false_alarms):
    """Areas, and the share of all signals that pass."""
    print(f"\n{'':18} {'AUC':19} efficiency at" + "".join(f"  {alarm:<15g}" for alarm in false_alarms), end="")
    for name, evaluation in zip(NAMES, evaluations):
        print(f"\n{name:18} {evaluation.Auc():.4f} +- {evaluation.AucError():.4f}                 ", end="")
        for alarm in false_alarms:
            every = evaluation.Efficiency(snrs, [0.1, 100], alarm)
            error = 0.5 * (every.GetErrorYhigh(0) + every.GetErrorYlow(0))
            print(f"  {every.GetPointY(0):.3f} +- {error:.3f} ", end="")
    print()


def draw(evaluations, snrs, alarm):
    pad = ROOT.gPad
    pad.SetMargin(0.13, 0.03, 0.14, 0.1)
    pad.SetGrid()
    frame = pad.DrawFrame(5, 0, 15, 1.05, f"False-alarm probability {alarm:g};Network SNR;Efficiency")
    for axis in (frame.GetXaxis(), frame.GetYaxis()):
        axis.SetTitleSize(0.055)
        axis.SetLabelSize(0.05)
    legend = ROOT.TLegend(0.56, 0.18, 0.95, 0.46)
    legend.SetTextSize(0.045)
    for i, (evaluation, name) in enumerate(zip(evaluations, NAMES)):
        graph = evaluation.Efficiency(snrs, list(range(5, 16)), alarm)
        colour = ROOT.TColor.GetColor(COLOURS[i])
        graph.SetLineColor(colour)
        graph.SetMarkerColor(colour)
        graph.SetMarkerStyle(20 + i)
        graph.SetLineWidth(2)
        graph.Draw("PL")
        legend.AddEntry(graph, name, "pl")
        ROOT.SetOwnership(graph, False)  # drawn, and therefore owned by the pad
    legend.Draw()
    ROOT.SetOwnership(legend, False)


def main(folder="gw_search_out", epochs=8, windows=16000, noise=30000, quick=False):
    os.makedirs(folder, exist_ok=True)
    recipe = ROOT.KnownMasses() if quick else ROOT.Challenge()
    search = ROOT.MakeSearch(recipe)

    rank = ct.Rank()
    network = ROOT.SmallNetwork() if quick else ROOT.ChallengeNetwork(ct.Ranks() > 1)
    fresh = ROOT.FreshWindows(recipe, windows, f"{folder}/gw_search{f'_{rank}' if rank else ''}.root")
    validation = read(make_frame(recipe, search, ROOT.Windows(recipe, 3), 0, 4000), "white", network.Inputs())
    train(network, fresh, validation, epochs)
    if rank:
        return
    network.Save(f"{folder}/gw_search.ct")

    ROOT.EnableImplicitMT()
    perceptron = train_perceptron(recipe, search, windows)
    ranks, labels, snrs = test(recipe, search, network, perceptron, noise)
    evaluations = [ct.Evaluation.Classifier(each, labels) for each in ranks]
    false_alarms = [alarm for alarm in FALSE_ALARMS if noise * alarm >= FEWEST]  # that this many windows can show
    print_table(evaluations, snrs, false_alarms)
    if quick:
        return  # all signals have one SNR

    ROOT.gStyle.SetTitleFontSize(0.065)
    canvas = ROOT.TCanvas("gw_search", "Searches for binary black holes", 1500, 1100)
    canvas.Divide(2, 2)
    for pad, alarm in enumerate(false_alarms, 1):
        canvas.cd(pad)
        draw(evaluations, snrs, alarm)
    canvas.SaveAs(f"{folder}/gw_search.png")
    canvas.SaveAs(f"{folder}/gw_search.pdf")


if __name__ == "__main__":
    ROOT.gROOT.SetBatch(True)
    if ROOT.gSystem.Load("libcladtorch") < 0:
        sys.exit("libcladtorch was not found: put its folder into LD_LIBRARY_PATH")
    ROOT.gInterpreter.Declare(f'#include "{here}/gw_injections.h"\n#include "{here}/gw_network.h"')
    ct = ROOT.CladTorch
    main(*sys.argv[1:2], *map(int, sys.argv[2:5]), **({"quick": True} if sys.argv[5:6] == ["quick"] else {}))
