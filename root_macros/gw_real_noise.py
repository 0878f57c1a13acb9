"""GW150914 in the strain that LIGO published: the PyROOT twin of gw_real_noise.C, with the same numbers.

    python root_macros/gw_real_noise.py [output_folder [folder_of_the_data]]

The head of gw_real_noise.C tells how to get the data. Writes gw_real_noise.png and gw_real_noise.pdf into the folder.
"""

import os
import sys

import numpy as np
import ROOT

EVENT = 1126259462  # GPS s; times are counted from here
MERGER = 16  # of the tutorial's template, s
COLOURS = ("#D55E00", "#0072B2")


def found_file(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.exit(f"there is no file {path}: get the data of GW150914 from https://gwosc.org, as the head of gw_real_noise.C says")
    return path


class Detector:
    """A detector's strain around the event, and the matched filter's result in it."""

    def __init__(self, file, wave):
        self.strain = signal.ReadStrain(file)
        if not np.all(np.asarray(self.strain.fGood)):
            sys.exit(f"{file} has seconds of bad quality")
        self.rate, self.values = self.strain.fRate, np.asarray(self.strain.fValues)
        samples = len(self.values)
        fade = np.asarray(signal.Window(signal.kTukey, samples, 1 / 8))
        self.faded = self.values * fade  # in and out, so that the ends of the periodic series meet
        welch = signal.Welch(self.values, int(4 * self.rate), self.rate, signal.kMean, signal.kBlackman)
        self.psd = signal.InterpolatePsd(welch, samples)
        wave = wave * fade
        matched = self.filter(wave)
        self.found = found = self.search(matched)
        self.series = np.asarray(matched.Series(self.faded))
        unit = signal.ScaleToSnr(signal.PhaseShift(wave, found.fPhase), self.psd, self.rate, found.fSnr)
        self.template = np.roll(np.asarray(unit), round((found.fTime - MERGER) * self.rate))

    def filter(self, wave):
        return signal.MatchedFilter(wave, self.psd, self.rate, MERGER)

    def search(self, matched):
        """The highest SNR within 0.1 s of the event."""
        event = EVENT + 0.43 - self.strain.fStart
        return matched.Max(self.faded, event - 0.1, event + 0.1)

    def print(self, what, found):
        gps = self.strain.fStart + found.fTime
        print(f"{self.strain.fDetector}, {what}: SNR {found.fSnr:.2f} at GPS {gps:.4f}, chi-squared {found.fChiSquared:.2f}")

    def whitened(self, strain):
        return np.asarray(signal.BandPass(signal.Whiten(strain, self.psd, self.rate), self.rate, 43, 300))

    def curve(self, series, begin, end, colour):
        """Samples of a series from `begin` to `end` (s after EVENT)."""
        first, last = (round((time + EVENT - self.strain.fStart) * self.rate) for time in (begin, end))
        times = np.arange(first, last) / self.rate + self.strain.fStart - EVENT
        return line(times, series[first:last], colour)


def line(x, y, colour):
    graph = ROOT.TGraph(len(x), np.ascontiguousarray(x, float), np.ascontiguousarray(y, float))
    graph.SetLineColor(ROOT.TColor.GetColor(colour))
    graph.SetLineWidth(2)
    graph.Draw("L")
    return graph


def frame(x1, y1, x2, y2, titles):
    ROOT.gPad.SetMargin(0.15, 0.04, 0.14, 0.1)
    ROOT.gPad.SetGrid()
    drawn = ROOT.gPad.DrawFrame(x1, y1, x2, y2, titles)
    for axis in (drawn.GetXaxis(), drawn.GetYaxis()):
        axis.SetTitleSize(0.055)
        axis.SetLabelSize(0.05)
        axis.SetNdivisions(506)
    drawn.GetYaxis().SetTitleOffset(1.3)
    return drawn


def legend(place, entries):
    box = ROOT.TLegend(*place)
    box.SetTextSize(0.048)
    box.SetBorderSize(0)
    for graph, text in entries:
        box.AddEntry(graph, text, "l")
    box.Draw()
    return [box, entries]


def draw_whitened(detector, colour):
    name = detector.strain.fDetector
    frame(0.25, -3.2, 0.5, 3.9, f"{name};Time after GPS {EVENT} [s];Whitened strain")
    curves = [
        (detector.curve(detector.whitened(detector.faded), 0.25, 0.5, "#999999"), "Strain, 43 to 300 Hz"),
        (detector.curve(detector.whitened(detector.template), 0.25, 0.5, colour), "Template"),
    ]
    return legend((0.17, 0.76, 0.63, 0.88), curves)


def draw_q(detector):
    ROOT.gPad.SetMargin(0.15, 0.16, 0.14, 0.1)
    ROOT.gPad.SetLogy()
    white = np.asarray(signal.Whiten(detector.faded, detector.psd, detector.rate))
    first = round((EVENT - 1 - detector.strain.fStart) * detector.rate)  # 2.5 s around the event suffice
    energy = signal.QTransform(white[first : first + int(2.5 * detector.rate)], detector.rate, 8, 20, 400)
    name = detector.strain.fDetector
    energy.SetTitle(f"{name}, Q-transform;Time after GPS {EVENT} [s];Frequency [Hz];Normalised energy")
    energy.GetXaxis().SetLimits(-1, 1.5)
    energy.GetXaxis().SetRangeUser(0.2, 0.6)
    for axis in (energy.GetXaxis(), energy.GetYaxis(), energy.GetZaxis()):
        axis.SetTitleSize(0.05)
        axis.SetLabelSize(0.045)
    energy.GetYaxis().SetMoreLogLabels()
    energy.GetYaxis().SetNoExponent()
    energy.GetYaxis().SetTitleOffset(1.4)
    energy.Draw("COLZ")
    return energy


def draw_snrs(detectors):
    frame(0.25, 0, 0.6, 23, f"Matched filter;Time after GPS {EVENT} [s];SNR")
    named = zip(detectors, COLOURS)
    curves = [(d.curve(d.series, 0.25, 0.6, c), f"{d.strain.fDetector}, SNR {d.found.fSnr:.1f}") for d, c in named]
    return legend((0.5, 0.74, 0.94, 0.88), curves)


def draw_spectra(detectors):
    ROOT.gPad.SetLogx()
    ROOT.gPad.SetLogy()
    titles = "Detector noise;Frequency [Hz];Amplitude spectral density [Hz^{-1/2}]"
    axis = frame(20, 2e-24, 2000, 1e-19, titles).GetXaxis()
    axis.SetMoreLogLabels()
    axis.SetNoExponent()
    bins = np.arange(80, 8001)  # quarters of a Hz
    densities = [np.asarray(signal.Welch(d.values, int(4 * d.rate), d.rate)) for d in detectors]
    curves = [line(bins / 4, np.sqrt(density[bins]), colour) for density, colour in zip(densities, COLOURS)]
    return legend((0.7, 0.76, 0.94, 0.88), [(curve, str(d.strain.fDetector)) for curve, d in zip(curves, detectors)])


def phenom_d(samples, rate):
    """IMRPhenomD with the masses and spins of the tutorial's template."""
    source = signal.Binary()
    source.fMass1, source.fMass2, source.fSpin1, source.fSpin2 = 41.743, 29.237, 0.355, -0.769
    return np.asarray(signal.BinaryStrain(source, signal.kPhenomD, samples, rate, MERGER))


def main(folder="gw_real_noise_out", data="gw150914"):
    # Both polarisations, one after the other; the second is the first shifted by a quarter turn.
    wave = np.asarray(signal.ReadHdf5(found_file(data, "GW150914_4_template.hdf5"), "template"))
    wave = wave[: len(wave) // 2]
    files = [found_file(data, f"{name}_LOSC_4_V2-1126259446-32.hdf5") for name in ("H-H1", "L-L1")]
    detectors = [Detector(file, wave) for file in files]
    for detector in detectors:
        detector.print("template of the tutorial", detector.found)
        detector.print("IMRPhenomD", detector.search(detector.filter(phenom_d(len(wave), detector.rate))))
    network = signal.NetworkSnr([detector.found.fSnr for detector in detectors])
    delay = 1000 * (detectors[0].found.fTime - detectors[1].found.fTime)
    print(f"network SNR {network:.2f}, H1 {delay:.1f} ms after L1")

    os.makedirs(folder, exist_ok=True)
    ROOT.gStyle.SetOptStat(0)
    ROOT.gStyle.SetPalette(ROOT.kViridis)
    canvas = ROOT.TCanvas("gw_real_noise", "GW150914", 1800, 1000)
    canvas.Divide(3, 2)
    kept = []
    for i, detector in enumerate(detectors):
        canvas.cd(3 * i + 1)
        kept.append(draw_whitened(detector, COLOURS[i]))
        canvas.cd(3 * i + 2)
        kept.append(draw_q(detector))
    for pad, draw in ((3, draw_snrs), (6, draw_spectra)):
        canvas.cd(pad)
        kept.append(draw(detectors))
    canvas.SaveAs(f"{folder}/gw_real_noise.png")
    canvas.SaveAs(f"{folder}/gw_real_noise.pdf")


if __name__ == "__main__":
    ROOT.gROOT.SetBatch(True)
    if ROOT.gSystem.Load("libcladtorch") < 0:
        sys.exit("libcladtorch was not found: put its folder into LD_LIBRARY_PATH")
    signal = ROOT.CladTorch.Signal
    main(*sys.argv[1:3])
