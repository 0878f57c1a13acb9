"""Parameters of gravitational waves: the PyROOT twin of gw_parameters.C, with the same windows and the same numbers.

    python root_macros/gw_parameters.py [output_folder [windows]]

Writes gw_parameters.png and gw_parameters.pdf into the folder.
"""

import os
import sys

import numpy as np
import ROOT

NAMES = ("amplitude", "arrival [s]", "phase [rad]", "frequency [Hz]", "width [s]")


def check_fisher(likelihood, truth):
    """The Fisher matrix by derivatives against the closed form, relative to the diagonal; the errors of the parameters."""
    size = range(len(truth))
    matrix = likelihood.Fisher()
    fisher, exact = (np.array([[m(i, j) for j in size] for i in size]) for m in (matrix, ROOT.ClosedForm(truth)))
    scale = np.sqrt(np.diag(exact))
    print(f"Fisher matrix: within {np.max(np.abs(fisher - exact) / np.outer(scale, scale)):.1e} of the closed form")
    for name, value, error in zip(NAMES, truth, np.sqrt(np.diag(np.linalg.inv(fisher)))):
        print(f"   {name:<14} {value:6g} +- {error:.2g}")


def quantile(level, train, test):
    """The predictions of a network that learned a quantile of the chirp mass."""
    model = ct.Mlp([train.Width(), 64, 64, 1], ct.kGELU)
    model.Fit(train, fLoss=ct.kQuantile, fQuantile=level, fEpochs=30, fVerbose=0)
    return np.asarray(model.Predict(test))


def chirp_mass_pulls(windows):
    """Pulls of the chirp mass: distance from the median over half the width of the central 68.3 %."""
    binaries = ROOT.Binaries()
    data = ct.Dataset()
    data.Column("snrs", binaries.Filters()).Add(binaries.Frame(windows), "mass")
    test, train = data.Split(0.3)
    low, median, high = (quantile(level, train, test) for level in (0.1587, 0.5, 0.8413))
    masses = np.asarray(test.Labels())
    inside, n = np.mean((low < masses) & (masses < high)), len(masses)
    rmse = np.sqrt(np.mean((masses - median) ** 2))
    error = np.sqrt(inside * (1 - inside) / n)
    print(
        f"chirp mass: RMSE {rmse:.2f} solar masses, {100 * inside:.1f} +- {100 * error:.1f} % of {n} windows"
        " within the central 68.3 %"
    )
    return (masses - median) / (0.5 * (high - low))


def draw(title, pulls):
    histogram = ROOT.TH1D(title, f"{title};Pull;Windows", 40, -5, 5)
    histogram.FillN(len(pulls), np.ascontiguousarray(pulls, float), ROOT.nullptr)
    print(f"pulls, {title}: mean {histogram.GetMean():.3f}, width {histogram.GetStdDev():.3f}")
    ROOT.gPad.SetMargin(0.14, 0.03, 0.14, 0.1)
    for axis in (histogram.GetXaxis(), histogram.GetYaxis()):
        axis.SetTitleSize(0.055)
        axis.SetLabelSize(0.05)
    histogram.SetLineWidth(2)
    histogram.SetMaximum(1.4 * histogram.GetMaximum())  # room for the box
    histogram.Fit("gaus", "Q")
    return histogram


def main(folder="gw_parameters_out", windows=20000):
    os.makedirs(folder, exist_ok=True)
    truth = [4.5, 0.5, 0.3, 150, 0.015]
    likelihood = ROOT.Likelihood(truth)
    check_fisher(likelihood, truth)
    print(f"{likelihood.Speed(2000):.0f} likelihoods and gradients a second by '{likelihood.BackEnd()}'")
    fits = np.array([list(pulls) for pulls in likelihood.Pulls(400)])
    ROOT.EnableImplicitMT()
    network = chirp_mass_pulls(windows)

    style = ROOT.gStyle
    style.SetOptStat(1100)  # mean and width
    style.SetStatFormat(".2f")
    style.SetStatX(0.97)
    style.SetStatY(0.9)
    style.SetStatFontSize(0.05)
    canvas = ROOT.TCanvas("gw_parameters", "Parameters of gravitational waves", 1500, 900)
    canvas.Divide(3, 2)
    titles = [f"Likelihood: {name}" for name in NAMES] + ["Network: chirp mass"]
    kept = []
    for number, (title, pulls) in enumerate(zip(titles, [*fits.T, network]), 1):
        canvas.cd(number)
        kept.append(draw(title, pulls))
    canvas.SaveAs(f"{folder}/gw_parameters.png")
    canvas.SaveAs(f"{folder}/gw_parameters.pdf")


if __name__ == "__main__":
    ROOT.gROOT.SetBatch(True)
    if ROOT.gSystem.Load("libcladtorch") < 0:
        sys.exit("libcladtorch was not found: put its folder into LD_LIBRARY_PATH")
    here = os.path.dirname(os.path.abspath(__file__))
    if not ROOT.gInterpreter.Declare(f'#include "{here}/gw_likelihood.h"'):
        sys.exit("gw_likelihood.h was not compiled")
    ct = ROOT.CladTorch
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
