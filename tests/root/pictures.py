"""Plots must show: both ends of a loss on its axis, whole epochs, names of classes, text that is not shrunk."""

import re

import cladtorch as ct
import numpy as np
import ROOT

ROOT.gROOT.SetBatch(True)
rng = np.random.default_rng(1)
x = rng.normal(size=(1000, 2))
columns = ["a_column_with_a_name_that_is_rather_long", "b"]


def events(labels):
    return ct.Dataset(columns).Add(dict(zip(columns, x.T)), labels)


def drawn(canvas, kind):
    return [each for each in canvas.GetListOfPrimitives() if each.InheritsFrom(kind)]


def pages(path):
    with open(path, "rb") as file:
        return len(re.findall(rb"/Type /Page\b", file.read()))


# A loss that falls by orders of magnitude has a logarithmic axis, any other a linear one.
steep = ct.Mlp([2, 16, 1]).Fit(events(100 * x[:, 0] + 500), fLoss=ct.kMeanSquaredError, fEpochs=60, fLearningRate=0.02, fVerbose=0)
assert max(steep.TrainLoss()) > 100 * min(steep.TrainLoss()), steep
assert steep.Draw().GetLogy() == 1
binary = events((x[:, 0] > 0).astype(float))
model = ct.Mlp([2, 8, 1])
flat = model.Fit(binary, fEpochs=1, fVerbose=0)
canvas = flat.Draw()
axis = drawn(canvas, "TMultiGraph")[0].GetXaxis()
assert canvas.GetLogy() == 0 and (axis.GetXmin(), axis.GetXmax()) == (0, 2), "one epoch is in the middle"

# With several classes none is the signal.
several = events((x[:, 0] > 0).astype(float) + (x[:, 1] > 1))
classes = ct.Mlp([2, 8, 3])
classes.Fit(several, fEpochs=2, fVerbose=0)
evaluation = classes.Evaluate(several)
legend = drawn(evaluation.DrawOvertraining(evaluation, 10, 1), "TLegend")[0]
assert [str(each.GetLabel()) for each in legend.GetListOfPrimitives()][::2] == ["This class, training", "Other classes, training"]
legend = drawn(model.Evaluate(binary).DrawScores(), "TLegend")[0]
assert [str(each.GetLabel()) for each in legend.GetListOfPrimitives()] == ["Signal", "Background"]

# A learning rate drawn on a logarithmic scale has a logarithmic axis; every trial has a marker, the best one a
# different one.
search = ct.RandomSearch(ct.Mlp([2, 4, 1])).LogUniform("fLearningRate", 1e-5, 1e-1).Uniform("fMomentum", 0.1, 0.9)
try:
    search.Draw("fLearningRate")
    raise AssertionError("there is no trial to draw")
except ct.Error as error:
    assert "call Run()" in str(error), error
search.Run(binary, 8, folds=2, fEpochs=2, fVerbose=0)
canvas = search.Draw("fLearningRate")
every, trials, best = drawn(canvas, "TGraphErrors")
assert canvas.GetLogx() == 1 and search.Draw("fMomentum").GetLogx() == 0
assert (every.GetN(), trials.GetN(), best.GetN()) == (8, 7, 1) and trials.GetMarkerStyle() != best.GetMarkerStyle() > 1
number = [trial.fNumber for trial in search.Trials()].index(search.BestTrial().fNumber)
trial = search.Trials()[number]
assert (best.GetPointX(0), best.GetPointY(0), best.GetErrorY(0)) == (trial.fOptions.fLearningRate, trial.fScore, trial.fScoreError)
try:
    search.Draw("fEpochs")
    raise AssertionError("fEpochs is not drawn")
except ct.Error as error:
    assert "fLearningRate, fMomentum" in str(error), error

# Text of many members takes pages instead of being shrunk.
counts = []
for members in (1, 8):
    ensemble = ct.Ensemble([ct.Mlp([2, 8, 1], seed=seed) for seed in range(members)])
    ensemble.Fit(binary, fEpochs=1, fVerbose=0)
    ensemble.Report(f"{members}.pdf", binary)
    counts.append(pages(f"{members}.pdf"))
assert counts[0] > 3 and counts[1] > counts[0], counts
print("ALL CHECKS PASSED")
