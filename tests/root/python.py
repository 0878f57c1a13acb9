"""PyROOT: every kind of frame, keyword options, zero-copy arrays, plots, copies, and errors as exceptions."""
import gc

import numpy as np
import ROOT
from refusals import refuses

ROOT.gROOT.SetBatch(True)
assert ROOT.gSystem.Load("libcladtorch") == 0
ct = ROOT.CladTorch


frame = ROOT.RDataFrame(200).Define("x", "float(rdfentry_)").Define("y", "int(rdfentry_ % 2)")
data = ct.Dataset(["x", "y"])
data.Add(frame, "y", "x < 100").Add(frame.Filter("x >= 100"), 0).Add(ROOT.RDF.AsRNode(frame.Range(10)), 1)
assert data.Rows() == 210 and data.Width() == 2 and list(data.Columns()) == ["x", "y"]

# functions: of C++ directly, of Python as a node of the frame
ROOT.gInterpreter.Declare("struct IsSmall { bool operator()(float x) const { return x < 10; } };")
assert ct.Dataset(["x"]).Add(frame, 1.0, ROOT.IsSmall(), ["x"]).Rows() == 10
weighted = ct.Dataset(["x"]).SetWeight(ROOT.IsSmall(), ["x"]).Add(frame, 1.0)
assert sum(weighted.Weights()) == 10
refuses(lambda: data.Add(frame, 1, lambda x: x > 3, ["x"]), "Python function", "frame.Filter")

# zero copy: the same memory, read only, alive after everything else is gone
x = np.asarray(data.Features())
assert x.shape == (210, 2) and x.dtype == np.float32 and not x.flags.writeable
assert x.__array_interface__["data"][0] == data.Features().Address()
assert np.array_equal(x[:, 0], np.r_[0:200, 0:10]) and np.array_equal(x[:, 1], x[:, 0] % 2)
labels = np.asarray(data.Labels())
assert labels.shape == (210,) and labels.sum() == 50 + 10
assert np.asarray(data.Weights()).sum() == 210
other = ct.Dataset(data)
data.Add(frame, 1)
assert data.Rows() == 410 and other.Rows() == 210 and x[-1, 0] == 9
del data, other
gc.collect()
assert np.array_equal(x[:, 0], np.r_[0:200, 0:10])

data = ct.Dataset(["x", "y"]).Add(frame, "y")
model = ct.Mlp([2, 16, 1], ct.kTanh, ct.kXavier, 3)
history = model.Fit(data, fEpochs=30, fBatchSize=64, fLearningRate=0.05, fOptimiser=ct.kSGD, fVerbose=0, fSeed=7)
assert history.Epochs() == 30 and history.TrainLoss()[29] < history.TrainLoss()[0]
options = ct.FitOptions()
options.fEpochs, options.fVerbose = 2, 0
assert model.Fit(data, options).Epochs() == 2
assert model.Fit(data, options, fEpochs=3).Epochs() == 3 and options.fEpochs == 2
refuses(lambda: model.Fit(data, fEpoch=3), "no field 'fEpoch'", "fEpochs")
refuses(lambda: model.Fit(data, fEpochs="many"), "fEpochs")

predicted = np.asarray(model.Predict(data))
scored = np.sort(model.Define(frame, "score").AsNumpy(["score"])["score"].astype(np.float32))
assert predicted.shape == (200,) and np.allclose(np.sort(predicted), scored, atol=1e-6)
assert abs(model.Functor()([5.0, 1.0]) - predicted[5]) < 1e-6
assert model.Auc(data) > 0.95
assert model.Roc(data).GetN() > 2 and history.Draw().GetListOfPrimitives().GetSize() >= 2
signal = model.Scores(data).first
assert abs(signal.Integral() - 1) < 1e-6

weights = np.array(model.Parameters())
model.SetParameters(ROOT.std.vector["float"](np.zeros_like(weights)))
assert np.all(np.asarray(model.Predict(data)) == 0.5) and weights.any()
model.Save("model.ct")
assert np.all(np.asarray(ct.Mlp.Load("model.ct").Predict(data)) == 0.5)

# a model filled by hand
scaler = model.Scaler()
assert len(scaler.fMean) == 2 and abs(scaler.fMean[0] - 99.5) < 15 and model.Options().fEpochs == 3
filled = ct.Mlp([2, 16, 1], ct.kTanh)
filled.SetParameters(weights)
filled.SetScaler(list(scaler.fMean), np.array(scaler.fDeviation))
filled.SetColumns(["x", "y"])
filled.SetOptions(model.Options())
scored = filled.Define(frame, "score").AsNumpy(["score"])["score"]
assert np.allclose(np.sort(scored.astype(np.float32)), np.sort(predicted), atol=1e-6)
scored = ct.Mlp([2, 1], ct.kReLU).Define(frame, "score", ["x", "y"])
assert scored.HasColumn("score")
lists = frame.Redefine("x", "ROOT::RVecF{x, 1}")
assert "RVec<float>" in str(model.Define(lists, "score").GetColumnType("score"))  # a score of each of the numbers
assert model.Define(lists, "score", ["Sum$(x)", "y"]).HasColumn("score")
filled.SetTargetScaler([], [])
assert filled.TargetScaler().fMean.empty()
refuses(lambda: filled.SetScaler([1, 2], [1, 0]), "deviation 0")
refuses(lambda: filled.SetColumns(["x"]), "2 inputs")
refuses(lambda: ct.Mlp([1, 1], ct.kReLU).Options(), "not trained")

refuses(lambda: ct.Dataset(["x"]).Add("events", "nowhere.root", 1), "nowhere.root")
refuses(lambda: ct.Dataset(["xx"]).Add(frame, 1), "no column 'xx'", "'x'")
refuses(lambda: ct.Mlp([2, 0, 1]), "layer width 0")
refuses(lambda: ct.Mlp.Load("nowhere.ct"), "nowhere.ct")
refuses(lambda: model.Fit(data, fLearningRate=-1, fVerbose=0), "fLearningRate")
ROOT.gInterpreter.Declare("#include <CladTorch/Testing.hxx>")
refuses(lambda: ct.Testing.ProvokePanic(), "internal error")
for call in (
    lambda: ct.Mlp([1]),
    lambda: model.Fit(data, fMomentum=7, fVerbose=0),
    lambda: ct.Dataset(["x"]).Add("events", "elsewhere.root", 1),
    lambda: ct.Dataset(["x"]).Add("events", "elsewhere.root", "y", "x > 0"),
    lambda: ct.Dataset(["x"]).Add(frame, 1.0, "x +"),
):
    try:
        call()
    except ct.Error as error:  # by its own type
        pass
    else:
        raise AssertionError("nothing was raised")
print("ALL CHECKS PASSED")
