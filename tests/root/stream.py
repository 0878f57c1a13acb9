"""PyROOT: batches of a stream, training on it, errors of the reading thread as exceptions."""
import numpy as np
import ROOT

ROOT.gROOT.SetBatch(True)
assert ROOT.gSystem.Load("libcladtorch") == 0
ct = ROOT.CladTorch

frame = ROOT.RDataFrame(20000).Define("x", "float(rdfentry_)").Define("y", "rdfentry_ % 2 ? 1.f : -1.f")
frame.Define("bad", "rdfentry_ == 15000 ? NAN : 1.f").Snapshot("t", "events.root")
events = ROOT.RDataFrame("t", "events.root")

stream = ct.Stream(["x", "y"])
stream.Add(events.Filter("x < 18000"), "y > 0").SetWindow(3000)
options = ct.FitOptions()
options.fBatchSize, options.fVerbose = 100, 0
seen = [], []
for part, batches in ((ct.kTraining, stream.Batches(options)), (ct.kValidation, stream.Batches(options, 1, ct.kValidation))):
    for x, y, w in batches:
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape[1] == 2 and len(x) <= 100 and np.array_equal(x[:, 1] > 0, y > 0.5)
        seen[part].append(x[:, 0])
training, validation = map(np.concatenate, seen)
assert np.array_equal(np.sort(np.r_[training, validation]), np.arange(18000))
assert not np.array_equal(training, np.sort(training))

model = ct.Mlp([2, 8, 1])
history = model.Fit(stream, fEpochs=6, fVerbose=0)
assert history.Epochs() == 6 and model.Auc(ct.Dataset(["x", "y"]).Add(events, "y > 0")) > 0.99
columns = ct.Dataset()
columns.Column("x", (1, 1))
assert sum(batch[0].Rows() for batch in columns.Stream().Add("t", "events.root", 1).Batches(options)) > 15000
try:
    for _ in ct.Stream(["bad"]).Add("t", "events.root", 1).Batches(options):
        pass
    raise AssertionError("NaN was not noticed")
except ct.Error as error:
    assert "'bad'" in str(error) and "entry 15000" in str(error), error
print("ALL CHECKS PASSED")
