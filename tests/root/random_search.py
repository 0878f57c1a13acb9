"""PyROOT: random search and predictions with an uncertainty."""
import copy
import pickle

import numpy as np
import ROOT
import refusals

ROOT.gROOT.SetBatch(True)
assert ROOT.gSystem.Load("libcladtorch") == 0
ct = ROOT.CladTorch
rng = np.random.default_rng(3)
x = rng.normal(size=(1500, 2)).astype("f4")
frame = {"x": x[:, 0], "y": x[:, 1], "label": np.float32(x[:, 0] + 0.5 * rng.normal(size=1500) > 0)}
events = ct.Dataset(["x", "y"]).Add(frame, "label")

tuning = ct.RandomSearch([ct.Mlp([2, 8, 1]), ct.Mlp([2, 16, 16, 1])])
tuning.LogUniform("fLearningRate", 1e-4, 3e-2).Choice("fBatchSize", [64, 256]).Choice("fOptimiser", [ct.kAdam, ct.kAdamW])
tuning.Run(events, 5, fEpochs=3, fVerbose=0)
table = tuning.Table().AsNumpy()
scores = table["score"]
best = tuning.BestTrial()
assert len(tuning.Trials()) == 5 and best.fScore == scores.max() and set(table["fOptimiser"]) <= {0, 1}
assert np.allclose(table["fLearningRate"], [trial.fOptions.fLearningRate for trial in tuning.Trials()], rtol=0)
model = tuning.BestModel()
assert model.Predict(events).shape == (1500,) and tuning.BestModel().Options().fLearningRate == best.fOptions.fLearningRate
tuning.Run(events, trials=2, options=ct.FitOptions(fEpochs=2, fVerbose=0))
assert len(tuning.Trials()) == 7
tuning.Print()
assert "fScore" in repr(best) and pickle.loads(pickle.dumps(best)).fOptions.fLearningRate == best.fOptions.fLearningRate
other = copy.copy(tuning)
other.Run(events, 1, fEpochs=1, fVerbose=0)
assert len(tuning.Trials()) == 7 and len(other.Trials()) == 8

single = ct.RandomSearch(ct.Mlp([2, 4, 1])).Uniform("fMomentum", 0.5, 0.95)
single.Run(events, 2, folds=2, fEpochs=2, fVerbose=0, fOptimiser=ct.kSGD, fMetrics=[ct.kAccuracy])
assert all(trial.fScoreError >= 0 for trial in single.Trials())
own = ct.RandomSearch(ct.Mlp([2, 4, 1])).Uniform("fLearningRate", 1e-3, 1e-2)
own.Run(events, 2, fEpochs=2, fVerbose=0, fMetrics=[ct.Metric("recall", lambda e: e.Recall(0.5))])
assert 0 <= own.BestTrial().fScore <= 1
# Strings are Python's.
failing = ct.RandomSearch(ct.Mlp([2, 4, 1])).Choice("fLearningRate", [1e-3, 1e30])
failing.Run(events, 2, fEpochs=2, fVerbose=0, fOptimiser=ct.kSGD)
errors = {trial.fOptions.fLearningRate: trial.fError for trial in failing.Trials()}
assert all(type(error) is str for error in errors.values()) and errors[1e-3] == "" and "fLearningRate" in errors[1e30]
refusals.refuses(lambda: single.Run(events, 1, fEpochz=3), "fEpochz", kind=TypeError)
refusals.refuses(lambda: ct.RandomSearch([]), "no models", kind=ct.Error)
refusals.refuses(lambda: ct.RandomSearch(ct.Mlp([2, 1])).Uniform("fEpoch", 1, 2), "fEpochs", kind=ct.Error)

# Means and standard deviations.
frame["value"] = np.float32(3 * x[:, 0] + (0.5 + (x[:, 1] > 0)) * rng.normal(size=1500))
data = ct.Dataset(["x", "y"]).Add(frame, "value")
model = ct.Mlp([2, 16, 2], ct.kSiLU)
model.Fit(data, fLoss=ct.kGaussian, fEpochs=100, fLearningRate=0.01, fVerbose=0, fMetrics=[ct.kLogLikelihood])
mean, sigma = model.Predict(data).T
evaluation = model.Evaluate(data)
pulls = (mean - frame["value"]) / sigma
assert np.allclose(np.asarray(evaluation.Sigmas()), sigma) and abs(np.std(pulls) - 1) < 0.1
given = ct.Evaluation.Regression(mean, frame["value"], sigmas=sigma)
assert given.PullWidth() == evaluation.PullWidth() and given.PullMean() == evaluation.PullMean()
rows = ct.Evaluation.Regression(np.c_[mean, mean], np.c_[frame["value"], frame["value"]], sigmas=np.c_[sigma, 2 * sigma])
assert abs(rows.PullWidth(1) - evaluation.PullWidth() / 2) < 1e-5
assert evaluation.LogLikelihood() == np.float64(evaluation.LogLikelihood()) > given.LogLikelihood() - 1e-9
assert pickle.loads(pickle.dumps(model)).Predict(data).shape == (1500, 2)
print("ALL CHECKS PASSED")
