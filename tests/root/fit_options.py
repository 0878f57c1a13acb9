"""PyROOT: options of fits as keywords, a dataset for validation, checkpoints."""
import numpy as np
import ROOT
from refusals import refuses

ROOT.gROOT.SetBatch(True)
assert ROOT.gSystem.Load("libcladtorch") == 0
ct = ROOT.CladTorch
generator = np.random.default_rng(1)


def events(count):
    x = generator.normal(size=(count, 2)).astype("f4")
    frame = ROOT.RDF.FromNumpy({"x": x[:, 0].copy(), "y": x[:, 1].copy(), "in": (x[:, 0] * x[:, 1] > 0).astype("i4")})
    return ct.Dataset(["x", "y"]).Add(frame, "in")


train, judges = events(300), events(400)
model = ct.Mlp([2, 32, 32, 1])
options = dict(fEpochs=200, fBatchSize=16, fLearningRate=0.03, fSchedule=ct.kConstant, fVerbose=0)
history = model.Fit(train, judges, fPatience=4, **options)
assert history.Epochs() == history.BestEpoch() + 4 and history.RestoredEpoch() == history.BestEpoch()
for fit in (
    lambda m: m.Fit(train, validation=judges, fPatience=4, **options),
    lambda m: m.Fit(train, judges, ct.FitOptions(fPatience=4, **options)),
    lambda m: m.Fit(train, judges, ct.FitOptions(**options), fPatience=4),
):
    same = ct.Mlp([2, 32, 32, 1])
    assert fit(same).Epochs() == history.Epochs()
    assert np.array_equal(np.asarray(same.Parameters()), np.asarray(model.Parameters()))
weighted = ct.Mlp([2, 8, 1])
weighted.Fit(train, fEpochs=1, fClassWeights=[1, 3.5], fLabelSmoothing=0.1, fVerbose=0)
assert list(weighted.Options().fClassWeights) == [1, 3.5]
refuses(lambda: weighted.Fit(train, fClassWeights="ab"), "fClassWeights", "list of numbers")
refuses(lambda: weighted.Fit(train, patience=3), "fPatience")

# A fit that is stopped after two epochs of five resumes to the same weights.
five = dict(fEpochs=5, fVerbose=0, fCheckpoint="run.ckpt", fCheckpointEpochs=2)
whole = ct.Mlp([2, 8, 1])
expected = whole.Fit(train, **five)
ended = ct.Mlp([2, 8, 1])  # a finished fit returns its model
assert list(ended.Resume(train, "run.ckpt").TrainLoss()) == list(expected.TrainLoss())
assert list(ended.Parameters()) == list(whole.Parameters())
refuses(lambda: ct.Mlp([2, 8, 1]).Resume(train, path="none.ckpt"), "none.ckpt")
print("ALL CHECKS PASSED")
