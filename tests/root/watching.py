"""PyROOT: figures of each epoch, callbacks and their exceptions, fits that resume, cross-validation and ensembles."""
import gc
import os
import pickle

import numpy as np
import ROOT
from refusals import refuses

ROOT.gROOT.SetBatch(True)
assert ROOT.gSystem.Load("libcladtorch") == 0
ct = ROOT.CladTorch
generator = np.random.default_rng(1)


def events(count):
    x = generator.normal(size=(count, 2)).astype("f4")
    inside = ((x**2).sum(axis=1) < 1).astype("i4")
    frame = ROOT.RDF.FromNumpy({"x": x[:, 0].copy(), "y": x[:, 1].copy(), "in": inside})
    return ct.Dataset(["x", "y"]).Add(frame, "in")


def mlp(seed=1):
    return ct.Mlp([2, 12, 1], ct.kReLU, ct.kUniform, seed)


data = events(2000)
seen = []


def stop_at_three(epoch):
    gc.collect()
    seen.append((epoch.fNumber, epoch.fEpochs, list(epoch.fMetrics)))
    return epoch.fNumber == 3


efficiency = ct.Metric("efficiency", lambda evaluation: evaluation.Recall(0.5))
model = mlp()
history = model.Fit(data, fEpochs=8, fVerbose=0, fMetrics=[ct.kAuc, efficiency], fCallback=stop_at_three)
assert history.Epochs() == 3 and [each[:2] for each in seen] == [(1, 8), (2, 8), (3, 8)]
assert [str(name) for name in history.MetricNames()] == ["AUC", "efficiency"]
assert list(history.Metric("AUC")) == [each[2][0] for each in seen]
assert list(history.Metric("efficiency")) == [each[2][1] for each in seen]
assert [epoch["AUC"] for epoch in history] == list(history.Metric("AUC"))

# Objects that functions keep stay unchanged, when the fit and everything that they came from are gone.
kept = []


def keep(thing, values):
    """`values` of `thing`, as objects of C++ and as Python's numbers."""
    for call in values:
        kept.append((call(thing), [float(each) for each in call(thing)]))


def keep_epoch(epoch):
    keep(epoch, [lambda e: e.fMetrics, lambda e: [e.fNumber, e.fTrainLoss, e.fValidationLoss, e.fLearningRate]])
    kept_epochs.append((epoch, epoch.fNumber, list(epoch.fMetrics)))


def keep_evaluation(evaluation):
    keep(evaluation, [lambda e: e.Predictions(), lambda e: e.Labels(), lambda e: e.Weights()])
    kept_evaluations.append((evaluation, evaluation.Auc(), evaluation.Accuracy()))
    return len(kept_evaluations)


kept_epochs, kept_evaluations = [], []
metrics = [ct.kAuc, ct.Metric("kept", keep_evaluation)]
mlp().Fit(data, fEpochs=3, fVerbose=0, fMetrics=metrics, fCallback=keep_epoch)
keep(mlp().Fit(data, fEpochs=3, fVerbose=0), [lambda h: h.TrainLoss(), lambda h: h.ValidationLoss(), lambda h: h.Seconds()])
keep(model.Evaluate(data), [lambda e: e.Predictions(), lambda e: e.Labels(), lambda e: e.Weights()])
keep(mlp().CrossValidate(data, 2, fEpochs=1, fVerbose=0), [lambda c: c.Predictions(), lambda c: c.FoldOf(), lambda c: c.Histories()[1].TrainLoss()])
keep(ct.Ensemble([mlp(), mlp(2)]), [lambda e: e.Members()[1].Parameters()])
gc.collect()
rubbish = [np.full(4000, 1e30, "f4") for _ in range(300)]
assert [(epoch.fNumber, list(epoch.fMetrics)) for epoch, *_ in kept_epochs] == [(number, figures) for _, number, figures in kept_epochs]
assert [number for _, number, _ in kept_epochs] == [1, 2, 3]
for evaluation, area, share in kept_evaluations:
    assert (evaluation.Auc(), evaluation.Accuracy()) == (area, share)
for values, numbers in kept:
    assert [float(each) for each in values] == numbers

# A callback that returns nothing does not stop the fit.
assert mlp().Fit(data, fEpochs=4, fVerbose=0, fCallback=lambda epoch: None).Epochs() == 4
assert mlp().Fit(data, fEpochs=2, fVerbose=0, fCallback=None).Epochs() == 2


def raises(_):
    raise KeyError("no such histogram")


before = np.array(model.Parameters())
refuses(lambda: model.Fit(data, fEpochs=4, fVerbose=0, fCallback=raises), "no such histogram")
refuses(lambda: model.Fit(data, fEpochs=4, fVerbose=0, fMetrics=[ct.Metric("mine", raises)]), "no such histogram")
assert np.array_equal(before, np.array(model.Parameters()))


def interrupts(_):
    raise KeyboardInterrupt("enough")


# The exception of a function is the cause of the error, and one that ends a program is passed on unchanged.
for words in ({"fCallback": raises}, {"fMetrics": [ct.Metric("mine", raises)]}):
    try:
        model.Fit(data, fEpochs=4, fVerbose=0, **words)
        raise AssertionError("nothing was raised")
    except ct.Error as error:
        assert isinstance(error.__cause__, KeyError) and error.__cause__.__traceback__ is not None, error.__cause__
try:
    model.Fit(data, fEpochs=4, fVerbose=0, fCallback=interrupts)
    raise AssertionError("nothing was raised")
except KeyboardInterrupt as error:
    assert str(error) == "enough"
assert np.array_equal(before, np.array(model.Parameters()))


def raises_lines(_):
    raise ValueError("one line\r\nand \x1b[31manother")


try:
    model.Fit(data, fEpochs=4, fVerbose=0, fCallback=raises_lines)
    raise AssertionError("nothing was raised")
except ct.Error as error:
    assert isinstance(error.__cause__, ValueError), error.__cause__

refuses(lambda: model.Fit(data, fMetrics=["AUC"]), "fMetrics", "list of metrics")
refuses(lambda: model.Fit(data, fMetrics=ct.kAuc), "fMetrics", "list of metrics")
refuses(lambda: model.Fit(data, fCallback=3), "fCallback", "a function")
refuses(lambda: ct.Metric("mine", 3), "a function")
refuses(lambda: ct.Metric("AUC"), "(name, function) takes", "takes one (kAuc, kAccuracy", kind=TypeError)
assert str(ct.Metric(ct.kRmse).Name()) == "RMSE" and str(ct.Metric(ct.Metric(ct.kAuc)).Name()) == "AUC"
refuses(lambda: model.Fit(data, fMetrics=[ct.kAdam]), "list of metrics")

options = ct.FitOptions(fEpochs=6, fVerbose=0, fMetrics=[ct.kAccuracy, ct.kAuc])
again = pickle.loads(pickle.dumps(options))
assert [str(each.Name()) for each in again.fMetrics] == ["accuracy", "AUC"] and again.fEpochs == 6
options.fCallback = stop_at_three
refuses(lambda: pickle.dumps(options), "fCallback")
refuses(lambda: pickle.dumps(ct.FitOptions(fMetrics=[efficiency])), "efficiency")

# A fit that resumes, watched again.
path = "watching_py.ckpt"
whole = mlp()
expected = whole.Fit(data, fEpochs=6, fVerbose=0, fMetrics=[ct.kAuc])
mlp().Fit(data, fEpochs=6, fVerbose=0, fMetrics=[ct.kAuc], fCheckpoint=path, fCallback=stop_at_three)
seen.clear()
resumed = mlp()
history = resumed.Resume(data, path, fVerbose=0, fCallback=lambda epoch: seen.append(epoch.fNumber))
assert seen == [4, 5, 6] and list(history.Metric("AUC")) == list(expected.Metric("AUC"))
assert np.array_equal(np.array(resumed.Parameters()), np.array(whole.Parameters()))
refuses(lambda: mlp().Resume(data, path, fVerbose=0, fEpochs=9), "fEpochs = 9")
os.remove(path)

# A fit of 100,000 steps needs the memory of its first tenth.
resident = {}


def note_memory(epoch):
    with open("/proc/self/statm") as statm:
        resident[epoch.fNumber] = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


mlp().Fit(events(1250), fEpochs=1000, fBatchSize=10, fVerbose=0, fCallback=note_memory)
assert resident[1000] - resident[100] < 1 << 20, (resident[100], resident[1000])

# Several fits.
folds = mlp().CrossValidate(data, 4, fEpochs=8, fBatchSize=64, fLearningRate=0.02, fVerbose=0)
assert folds.Folds() == 4 and len(folds.Models()) == 4 and np.asarray(folds.Predictions()).shape == (2000,)
assert set(np.asarray(folds.FoldOf())) == {0, 1, 2, 3} and folds.Evaluate().Auc() > 0.6
assert mlp().CrossValidate(data, folds=3, options=ct.FitOptions(fEpochs=1, fVerbose=0)).Folds() == 3
own = ct.Metric("events", lambda evaluation: evaluation.Events())
counted = mlp().CrossValidate(data, 2, fEpochs=1, fVerbose=0, fMetrics=[own])
assert list(counted.Histories()[0].Metric("events")) == [200]
ensemble = ct.Ensemble([mlp(seed) for seed in (1, 2, 3)])
assert len(ensemble.Fit(data, fEpochs=2, fVerbose=0)) == 3
mean = np.mean([np.asarray(member.Predict(data)) for member in ensemble.Members()], axis=0)
assert np.allclose(np.asarray(ensemble.Predict(data)), mean, atol=1e-6)
refuses(lambda: ct.Ensemble(mlp()), "list of models")
refuses(lambda: ct.Ensemble([]), "no models")
print("ALL CHECKS PASSED")
