"""Gravitational waves in coloured noise: the PyROOT twin of gw_classify.C, with the same windows and the same numbers.

    python root_macros/gw_classify.py [output_folder [chirp|sine-gaussian [windows]]]

Writes gw.root (windows, graphs), gw.png, gw.pdf and gw.ct (model) into the folder.
"""

import os
import sys

import numpy as np
import ROOT

RATE = 512.0  # Hz
WINDOW = 256  # samples of a strain window
FIRST, LENGTH = 64, 128  # the part the network sees; whitening spoils the ends
STRETCH = 512  # windows cut from one stretch of noise
SNRS = (2, 3, 4, 6)
FALSE_ALARMS = (0.1, 0.01)
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#AA4499")  # distinguishable with any colour vision


def make_template(name):
    """[2, WINDOW]: the waveform with SNR 1 at phase 0 and at a quarter turn."""
    if name == "chirp":
        wave = signal.Chirp(WINDOW, RATE, 15, 50, 0.36)  # solar masses, Hz, s
    elif name == "sine-gaussian":
        wave = signal.SineGaussian(WINDOW, RATE, 100, 9, 0.25)  # Hz, quality, s
    else:
        sys.exit(f"waveform '{name}': give chirp or sine-gaussian")
    unit = signal.ScaleToSnr(signal.PhaseShift(wave, 0), signal.DetectorPsd(WINDOW, RATE), RATE, 1)
    return np.array([unit, signal.PhaseShift(unit, np.pi / 2)])


def at_phase(template, snr, phase):
    return snr * np.cos(phase) * template[0] + snr * np.sin(phase) * template[1]


def write_windows(name, template, windows, seed):
    """A tree of the current file: three of five windows are noise, the others contain a signal."""
    psd = signal.DetectorPsd(STRETCH * WINDOW, RATE)
    strain = ROOT.RVecF(WINDOW)
    samples = np.asarray(strain)
    snr, phase, weight = (np.zeros(1, np.float32) for _ in range(3))
    label = np.zeros(1, np.int32)
    tree = ROOT.TTree(name, "Strain windows")
    tree.Branch("strain", strain)
    for branch, value in (("snr/F", snr), ("phase/F", phase), ("label/I", label), ("weight/F", weight)):
        tree.Branch(branch.split("/")[0], value, branch)
    random = ROOT.TRandom3(seed)
    signals = 0
    for i in range(windows):
        if i % STRETCH == 0:
            noise = np.asarray(signal.Noise(psd, RATE, 1000 * seed + i // STRETCH)).reshape(STRETCH, WINDOW)
        label[0] = i % 5 >= 3
        snr[0] = SNRS[signals % len(SNRS)] if label[0] else 0
        phase[0] = random.Uniform(2 * np.pi) if label[0] else 0
        weight[0] = 5 / 4 if label[0] else 5 / 6  # the same sum for signal and noise
        signals += label[0]
        samples[:] = noise[i % STRETCH] + at_phase(template, float(snr[0]), float(phase[0]))
        tree.Fill()
    tree.Write()


def read(tree, path, whiten, cut=""):
    """The whitened windows of a tree that pass the cut."""
    data = ct.Dataset()
    data.Column("whitened", LENGTH).SetWeight("weight")
    data.Add(ROOT.RDataFrame(tree, path).Define("whitened", whiten, ["strain"]), "label", cut)
    return data


def train(model, data):
    options = {"fEpochs": 8, "fBatchSize": 128, "fValidation": 0.1}
    # Weight decay, because most of the 128 inputs are noise.
    return model.Fit(data, fOptimiser=ct.kAdamW, fWeightDecay=1, **options)


def evaluate(model, data, snr):
    """Noise and the signals of one SNR, as ranked by the network."""
    # Logits, not probabilities: those saturate at low false-alarm rates.
    logits, labels = np.asarray(model.Logits(data)), np.asarray(data.Labels())
    noise, found = np.sort(logits[labels < 0.5])[::-1], logits[labels > 0.5]
    thresholds = [noise[int(alarm * len(noise))] for alarm in FALSE_ALARMS]
    return {
        "snr": snr,
        "auc": model.Auc(data),
        "error": model.AucError(data),
        "bound": signal.AucBound(snr, signal.kUnknownPhase),
        "roc": model.Roc(data),
        "logits": found,
        "noise": noise,
        "efficiencies": [np.mean(found > threshold) for threshold in thresholds],
    }


def print_table(results):
    print("\nNetwork against the Neyman-Pearson bound (known shape and arrival time, unknown phase)")
    print("  SNR   AUC                  bound      efficiency at FAP 0.1, bound   at FAP 0.01, bound")
    for r in results:
        pairs = zip(r["efficiencies"], efficiency_bounds([r["snr"]] * 2, FALSE_ALARMS))
        print(
            f"  {r['snr']:3g}   {r['auc']:.5f} +- {r['error']:.5f}   {r['bound']:.5f}    "
            + "".join(f"{value:.3f}, {bound:.3f}                   " for value, bound in pairs)
        )


def efficiency_bounds(snrs, alarms):
    return [signal.EfficiencyBound(snr, alarm, signal.kUnknownPhase) for snr, alarm in zip(snrs, alarms)]


def frame(x1, y1, x2, y2, titles):
    ROOT.gPad.SetMargin(0.16, 0.04, 0.14, 0.1)
    ROOT.gPad.SetGrid()
    axes = ROOT.gPad.DrawFrame(x1, y1, x2, y2, titles)
    for axis in (axes.GetXaxis(), axes.GetYaxis()):
        axis.SetTitleSize(0.055)
        axis.SetLabelSize(0.05)
        axis.SetNdivisions(506)
    axes.GetYaxis().SetTitleOffset(1.35)
    return axes


def draw(thing, option):
    """Draws and leaves the object to the pad."""
    thing.Draw(option)
    ROOT.SetOwnership(thing, False)
    return thing


def curve(x, y, colour, style=1):
    graph = ROOT.TGraph(len(x), np.array(x, float), np.array(y, float))
    graph.SetLineColor(ROOT.TColor.GetColor(colour))
    graph.SetLineStyle(style)
    graph.SetLineWidth(2 if style == 1 else 3)
    return draw(graph, "L")


def legend(x1, y1, x2, y2):
    box = ROOT.TLegend(x1, y1, x2, y2)
    box.SetTextSize(0.048)
    box.SetFillStyle(1001)
    box.SetBorderSize(0)
    return draw(box, "")


def draw_spectrum(welch):
    """Amplitude spectral densities: Welch's estimate, and the density from which the noise was made."""
    frequency = np.arange(len(welch))[1:-1] * RATE / WINDOW
    found, made = (np.sqrt(np.asarray(psd))[1:-1] for psd in (welch, signal.DetectorPsd(WINDOW, RATE)))
    ROOT.gPad.SetLogx()
    ROOT.gPad.SetLogy()
    titles = "Detector noise;Frequency [Hz];Amplitude spectral density [Hz^{-1/2}]"
    axis = frame(10, 1.2e-24, RATE / 2, 9e-23, titles).GetXaxis()
    axis.SetMoreLogLabels()
    axis.SetNoExponent()
    box = legend(0.4, 0.72, 0.94, 0.88)
    box.AddEntry(curve(frequency, found, COLOURS[0]), "Welch's estimate", "l")
    box.AddEntry(curve(frequency, made, COLOURS[1], 2), "Advanced LIGO design", "l")


def draw_example(path, template, whiten):
    """The first window of the highest SNR, whitened, with the waveform in it."""
    best = SNRS[-1]
    one = ROOT.RDataFrame("test", path).Filter(f"snr == {best}").Range(1)
    strain, phase = one.Take["ROOT::RVecF"]("strain"), one.Take["float"]("phase")
    clean = ROOT.RVecF(at_phase(template, best, phase.at(0)).astype(np.float32))
    time = (FIRST + np.arange(LENGTH)) / RATE
    titles = f"A window with SNR {best};Time [s];Whitened strain [#sigma of noise]"
    frame(time[0], -5, time[-1], 8.5, titles)
    box = legend(0.4, 0.75, 0.95, 0.88)
    box.AddEntry(curve(time, whiten(strain.at(0)), "#999999"), "Signal and noise", "l")
    box.AddEntry(curve(time, whiten(clean), COLOURS[1]), "Signal alone", "l")


def draw_losses(history):
    train, validation = np.array(history.TrainLoss()), np.array(history.ValidationLoss())
    epochs = np.arange(1, len(train) + 1)
    low, high = min(*train, *validation), max(train[0], validation[0])
    margin = 0.1 * (high - low)
    frame(0.8, low - margin, epochs[-1] + 0.2, high + 4 * margin, "Training;Epoch;Binary cross-entropy")
    box = legend(0.5, 0.72, 0.95, 0.88)
    box.AddEntry(curve(epochs, train, COLOURS[0]), "Training part", "l")
    box.AddEntry(curve(epochs, validation, COLOURS[1], 2), "Validation part", "l")


def histogram(values, colour):
    h = ROOT.TH1F(f"logits{colour}", "", 60, -9, 15)
    h.SetDirectory(ROOT.nullptr)
    h.FillN(len(values), values.astype(float), np.full(len(values), 1 / len(values)))
    h.SetLineColor(ROOT.TColor.GetColor(colour))
    h.SetLineWidth(3)
    return h


def draw_scores(results):
    noise = histogram(results[0]["noise"], "#000000")
    signals = [histogram(r["logits"], colour) for r, colour in zip(results, COLOURS)]
    top = max(h.GetMaximum() for h in [noise, *signals])
    frame(-9, 0, 15, 1.15 * top, "Scores;Network output (logit);Share of windows per bin")
    box = legend(0.68, 0.53, 0.95, 0.88)
    for h, name in zip([noise, *signals], ["Noise"] + [f"SNR {r['snr']}" for r in results]):
        box.AddEntry(draw(h, "hist same"), name, "l")


def draw_rocs(results):
    ROOT.gPad.SetLogx()
    frame(1e-3, 0, 1, 1.05, "ROC (dashed: bound);False-alarm probability;Detection probability")
    box = legend(0.68, 0.17, 0.95, 0.47)
    alarms = np.logspace(-3, 0, 31)
    for r, colour in zip(results, COLOURS):
        r["roc"].SetLineColor(ROOT.TColor.GetColor(colour))
        box.AddEntry(draw(r["roc"], "L"), f"SNR {r['snr']}", "l")
        curve(alarms, efficiency_bounds([r["snr"]] * len(alarms), alarms), colour, 2)


def draw_efficiencies(results):
    frame(0, 0, 8, 1.05, "Efficiency (dashed: bound);Optimal SNR;Detection probability")
    box = legend(0.52, 0.17, 0.94, 0.35)
    snrs = np.linspace(0, 8, 33)
    for i, (alarm, colour) in enumerate(zip(FALSE_ALARMS, COLOURS)):
        curve(snrs, efficiency_bounds(snrs, [alarm] * len(snrs)), colour, 2)
        points = ROOT.TGraphErrors()
        for r in results:
            p = r["efficiencies"][i]
            points.AddPointError(r["snr"], p, 0, np.sqrt(p * (1 - p) / len(r["logits"])))
        points.SetMarkerStyle(20 + i)
        points.SetMarkerSize(1.4)
        points.SetMarkerColor(ROOT.TColor.GetColor(colour))
        points.SetLineColor(ROOT.TColor.GetColor(colour))
        box.AddEntry(draw(points, "P"), f"False alarms {100 * alarm:g} %", "p")


def write_graphs(path, results):
    """Areas and their bounds against the SNR, for further analysis."""
    area, bound = ROOT.TGraphErrors(), ROOT.TGraphErrors()
    for r in results:
        area.AddPointError(r["snr"], r["auc"], 0, r["error"])
        bound.AddPointError(r["snr"], r["bound"], 0, 0)
    area.SetTitle("Network;Optimal SNR;Area under the ROC curve")
    bound.SetTitle("Neyman-Pearson bound;Optimal SNR;Area under the ROC curve")
    with ROOT.TFile(path, "UPDATE"):
        area.Write("auc")
        bound.Write("auc_bound")


def main(folder="gw_classify_out", waveform="chirp", windows=60000):
    template = make_template(waveform)
    os.makedirs(folder, exist_ok=True)
    path = f"{folder}/gw.root"
    with ROOT.TFile(path, "RECREATE", "", 0):  # noise does not compress
        write_windows("train", template, windows, 1)
        write_windows("test", template, 2 * windows // 3, 2)

    noise = signal.Noise(signal.DetectorPsd(STRETCH * WINDOW, RATE), RATE, 3)
    psd = signal.Welch(noise, WINDOW, RATE)
    whiten = signal.Whitener(psd, RATE, FIRST, LENGTH)
    model = ct.Mlp([LENGTH, 32, 32, 1], ct.kGELU)
    history = train(model, read("train", path, whiten))
    model.Save(f"{folder}/gw.ct")

    results = [evaluate(model, read("test", path, whiten, f"label == 0 || snr == {snr}"), snr) for snr in SNRS]
    print_table(results)
    write_graphs(path, results)

    ROOT.gStyle.SetTitleFontSize(0.065)
    ROOT.gStyle.SetTitleX(0.56)  # the middle of the frame
    canvas = ROOT.TCanvas("gw", "Gravitational waves in noise", 1800, 1000)
    canvas.Divide(3, 2)
    pads = [
        lambda: draw_spectrum(psd),
        lambda: draw_example(path, template, whiten),
        lambda: draw_losses(history),
        lambda: draw_scores(results),
        lambda: draw_rocs(results),
        lambda: draw_efficiencies(results),
    ]
    for number, pad in enumerate(pads, 1):
        canvas.cd(number)
        pad()
    canvas.SaveAs(f"{folder}/gw.png")
    canvas.SaveAs(f"{folder}/gw.pdf")


if __name__ == "__main__":
    ROOT.gROOT.SetBatch(True)
    if ROOT.gSystem.Load("libcladtorch") < 0:
        sys.exit("libcladtorch was not found: put its folder into LD_LIBRARY_PATH")
    ct = ROOT.CladTorch
    signal = ct.Signal
    main(*sys.argv[1:3], *map(int, sys.argv[3:4]))
