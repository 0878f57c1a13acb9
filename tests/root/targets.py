"""PyROOT: several targets as lists, their arrays, fits, files, frames, streams and errors."""
import numpy as np
import ROOT
import refusals

ROOT.gROOT.SetBatch(True)
assert ROOT.gSystem.Load("libcladtorch") == 0
ct = ROOT.CladTorch
frame = ROOT.RDataFrame(3000).Define("x", "float(rdfentry_ % 100) / 50 - 1").Define("y", "float(rdfentry_ % 37) / 18 - 1")
frame.Define("a", "x - y * y").Define("b", "double(x * y)").Snapshot("t", "events.root", ["x", "y", "a", "b"])


def refuses(call, *parts):
    """`call` raises CladTorch.Error with all `parts` in its text."""
    refusals.refuses(call, *parts, kind=ct.Error)


events = ROOT.RDataFrame("t", "events.root")
data = ct.Dataset(["x", "y"]).Add("t", "events.root", ["a", "b"])
x, labels = np.asarray(data.Features()), np.asarray(data.Labels())
assert labels.shape == (3000, 2) and labels.dtype == np.float32 and list(data.Targets()) == ["a", "b"]
assert np.allclose(labels, np.c_[x[:, 0] - x[:, 1] ** 2, x[:, 0] * x[:, 1]], atol=1e-6)
for other in (
    ct.Dataset(["x", "y"]).Add(events, ("a", "b")),
    ct.Dataset(["x", "y"]).Add(events.Filter("x > -9"), ["a", "b"], "y > -9"),
    ct.Dataset(["x", "y"]).Add(ct.Source("t", "events.root"), ct.Label(["a", "b"])),
    ct.Dataset(["x", "y"]).Add("t", "events.root", ["a", "b"], cut="y > -9"),
):
    assert np.array_equal(np.asarray(other.Labels()), labels)
assert np.asarray(ct.Dataset(["x"]).Add(events, ["a"]).Labels()).shape == (3000,)
expression = ct.Dataset(["x"]).Add(events, ["a", "2 * x", "y"], "x > 0")
assert np.asarray(expression.Labels()).shape[1] == 3 and np.all(np.asarray(expression.Labels())[:, 1] > 0)
assert np.from_dlpack(data.Labels()).shape == (3000, 2)
for label in (1, 1.5, True, np.float32(0.5), "a"):
    assert np.asarray(ct.Dataset(["x"]).Add(events, label).Labels()).shape == (3000,)

model = ct.Mlp([2, 24, 24, 2], ct.kSiLU)
history = model.Fit(data, fEpochs=8, fBatchSize=64, fLearningRate=3e-3, fVerbose=0)
predicted = np.asarray(model.Predict(data))
assert predicted.shape == labels.shape
assert np.all(np.sqrt(np.mean((predicted - labels) ** 2, axis=0)) < 0.1), history.ValidationLoss()[7]
model.Save("model.ct")
loaded = ct.Mlp.Load("model.ct")
assert list(loaded.Targets()) == ["a", "b"] and np.array_equal(loaded.Predict(data), predicted)
column = np.stack(model.Define(events, "values").AsNumpy(["values"])["values"])
assert column.shape == labels.shape and np.allclose(column, predicted, atol=1e-5)

options = ct.FitOptions()
options.fBatchSize, options.fVerbose, options.fEpochs = 100, 0, 2
stream = ct.Stream(["x", "y"]).Add("t", "events.root", ["a", "b"])
for x, y, w in stream.Batches(options):
    x, y = np.asarray(x), np.asarray(y)
    assert y.shape == (len(x), 2) and np.allclose(y[:, 1], x[:, 0] * x[:, 1], atol=1e-6)
assert ct.Mlp([2, 8, 2]).Fit(stream, options).Epochs() == 2 and list(stream.Targets()) == ["a", "b"]

refuses(lambda: ct.Mlp([2, 3]).Fit(data, options), "3 output(s)", "2 targets (a, b)")
refuses(lambda: model.Auc(data), "one label", "2 targets")
refuses(lambda: ct.Dataset(["x"]).Add(events, []), "list of label columns is empty")
refuses(lambda: ct.Dataset(["x"]).Add(events, ["a", "a"]), "listed twice")
refuses(lambda: data.Add(events, 1), "one label", "2 targets (a, b)")
refuses(lambda: stream.Add("t", "events.root", ["b", "a"]), "2 targets (b, a)")
print("ALL CHECKS PASSED")
