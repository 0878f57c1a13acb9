"""Python's usual behaviour of objects: repr, len, help, dir, records, pickles, and errors reported once."""

import copy
import inspect
import math
import pickle

import cladtorch as ct
import numpy as np
import ROOT

assert ct.__version__ == ROOT.CladTorch.__version__ and ct.__version__[0].isdigit()
assert ct.Mlp is ROOT.CladTorch.Mlp and ct.kReLU == 1
from cladtorch import *

for space in (ct, ROOT.CladTorch):
    names = dir(space)
    for name in ("Dataset", "Mlp", "View", "Jagged", "kReLU", "kSGD", "kFocal", "EActivation", "ToFrame", "Signal", "__version__"):
        assert name in names, (space, name)
    for name in names:
        assert hasattr(space, name), name
for name, remedy in [("Nothing", "dir(cladtorch) lists"), ("MLP", "write Mlp"), ("kRelu", "write kReLU"), ("DataSet", "write Dataset")]:
    try:
        getattr(ct, name)
    except AttributeError as error:
        assert f"no attribute '{name}': {remedy}" in str(error) and "\n" not in str(error), error
    else:
        raise AssertionError(name)

random = np.random.default_rng(1)
table = {"x": random.normal(size=300), "y": random.normal(size=300)}
data = ct.Dataset(["x", "y"]).Add(table, table["x"] > 0)
model = ct.Mlp([2, 3, 1])
history = model.Fit(data, fEpochs=3, fVerbose=0)

assert len(data) == 300 and len(history) == 3 and len(model.Evaluate(data)) == 300 and not ct.Dataset(["x"])
for thing, *parts in [
    (data, "300 events x 2 numbers", "x, y"), (model, "Mlp", "2 inputs", "1 output", "13 parameters", "x, y"), (history, "3 epochs", "validation"),
    (ct.Model(model), "Model", "13 parameters"), (ct.Mlp([2, 1]).LastFit(), "no epochs"), (model.Functor(), "2 numbers"), (model.Evaluate(data), "300 events"),
    (FitOptions(fEpochs=5, fOptimiser=kSGD, fClassWeights=[1, 2]), "FitOptions(fEpochs=5, fOptimiser=kSGD, fClassWeights=[1.0, 2.0])"),
    (ct.Label("y"), "Label(['y'])"), (ct.Label(1), "Label(1.0)"), (ct.Files("a*.root"), "Files(['a*.root'])"), (model.Scaler(), "fMean=["),
    (data.Features(), "View(array([["), (ct.Dataset([f"c{i}" for i in range(20)]), "(20)"), (data.Stream(), "0 entries x 2 numbers"),
    (ct.Jagged["float"]([1.0, 2.0], [0, 2]), "1 event, 2 values"),
]:  # fmt: skip
    assert all(part in repr(thing) for part in parts) and len(repr(thing)) < 500, repr(thing)
    assert str(thing) == repr(thing) or parts[0].startswith("View"), str(thing)  # PyROOT has a way of its own with what has begin()
options = FitOptions(fEpochs=5, fOptimiser=kSGD, fClassWeights=[1, 2])
assert repr(eval(repr(options), dict(FitOptions=FitOptions, kSGD=kSGD))) == repr(options)
for thing in (data, history, ct.Dataset(["<b>"]), ct.Dataset(), ct.Mlp([2, 1]).LastFit()):
    shown = thing._repr_html_()
    assert shown.startswith("<table>") and "<b>" not in shown

records = list(history)
assert [each["epoch"] for each in records] == [1, 2, 3] and records == [history[0], history[1], history[-1]] == history[:]
assert [each["train_loss"] for each in history] == list(history.TrainLoss()) and all(math.isfinite(value) for value in history[0].values())
for key, kind in ((3, IndexError), (-4, IndexError), ("a", TypeError), (1.0, TypeError)):
    try:
        history[key]
    except kind as error:
        assert "History" in str(error)
    else:
        raise AssertionError(key)

# Strings are Python's own, which compare, print and format.
strain = ct.Signal.Strain()
strain.fDetector, strain.fQualityBits = "H1", ["DATA", "CBC"]
for texts in (strain.fQualityBits, data.Columns(), ct.Files(["a", "b"]).Names(), ct.Label(["a", "b"]).Columns(), model.Columns(), data.Targets(), history.MetricNames()):
    assert type(texts) is list and all(type(each) is str for each in texts), texts
assert strain.fQualityBits == ["DATA", "CBC"] and data.Columns() == ["x", "y"] and ct.Files("a*").Names() == ["a*"]
assert f"{strain.fDetector:>4}" == "  H1" and {"H1": 1}[strain.fDetector] and repr(strain.fDetector) == "'H1'"
named_options = ct.FitOptions(fDevice="cpu")
named_options.fCheckpoint = "a.ckpt"
assert (named_options.fDevice, named_options.fCheckpoint) == ("cpu", "a.ckpt") and ct.FitOptions(named_options).fCheckpoint == "a.ckpt"

# Its name says it all.
WITHOUT = [("Batches", "Rows"), ("FloatView", "Data"), ("FloatView", "Rows"), ("FloatView", "Size"), ("Label", "IsNumber"), ("Stream", "SetMixing")]
# Every public method and class has a meaning in help(), below its signatures.
for name in dir(ROOT.CladTorch):
    thing = getattr(ROOT.CladTorch, name)
    if name in ("Signal", "__version__", "Jagged", "View") or name[0] in "kE":
        continue
    assert inspect.getdoc(thing), name
    if not isinstance(thing, type):
        continue
    for method, function in vars(thing).items():
        if method[0].isupper() and not isinstance(function, type) and callable(getattr(thing, method)):
            lines = (inspect.getdoc(getattr(thing, method)) or "").split("\n")
            assert "(" in lines[0], (name, method)
            if not method.startswith("Draw") and (name, method) not in WITHOUT:
                assert [line for line in lines if line and "CladTorch::" not in line], f"{name}.{method} has no meaning"
for text, parts in [(ct.Dataset.__doc__, ("N events", "float32")), (ct.FitOptions.__doc__, ("fEpochs = 20: passes over", "fDevice")), (ct.Model.Fit.__doc__, ("Trains on `data`",)), (ct.Signal.Welch.__doc__, ("power spectral density",)), (ct.ToFrame.__doc__, ("data frame",)), (ct.View["float"].Reshape.__doc__, ("rows of `columns` each",))]:
    assert all(part in text for part in parts), text

# An error is one exception with its message once, without the signatures of C++.
for call, part in [
    (lambda: ct.Dataset(["x"]).Add("events", "nowhere.root", 1), "nowhere.root cannot be opened"),
    (lambda: ct.Mlp([1]), "a network of one size"),
    (lambda: model.Fit(data, fLearningRate=-1), "fLearningRate"),
    (lambda: ct.Mlp.Load("nowhere.ct"), "nowhere.ct"),
    (lambda: ct.Signal.Welch(np.ones(3), 64, 1.0), "3 samples"),
    (lambda: ct.View["float"]([1, 2, 3]).Reshape(2), "3"),
    (lambda: model.Functor()([1.0]), "1 feature for"),
    (lambda: ct.Dataset(["x"]).SetWeight("w").Add(features=np.zeros((2, 1)), labels=[1, 1]), "'w'"),
    (lambda: ct.ToFrame({"a": [1.0], "b": [1.0, 2.0]}), "'b' has 2 rows"),
]:
    try:
        call()
    except ct.Error as error:
        text = str(error)
        assert type(error) is ct.Error and text.count(part) == 1 and "\n" not in text and "=>" not in text and "CladTorch::" not in text.split(":")[0], text
        assert error.__cause__ is None and (error.__suppress_context__ or error.__context__ is None)
    else:
        raise AssertionError(f"nothing was raised, expected {part}")

for thing in (ct.Files(["a", "b"]), ct.Label(2), ct.Label(["a", "b"]), model.Scaler(), data.Features(), data.Labels(), options, ct.Jagged["double"]([1.0, 2.0], [0, 2])):
    again = pickle.loads(pickle.dumps(thing))
    assert type(again) is type(thing) and repr(again) == repr(thing) == repr(copy.copy(thing)), thing
assert ct.Auc(np.array([0.1, 0.4, 0.35, 0.8]), labels=[0, 0, 1, 1]) == 0.75
print("ALL CHECKS PASSED")
