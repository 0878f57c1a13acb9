"""What Python passes to methods and options: keywords everywhere, one sentence for what does not fit."""

import sys

import numpy as np
import ROOT

ROOT.gSystem.Load("libcladtorch")
ct = ROOT.CladTorch
assert ct.kReLU == 1  # before any class was met
file = f"{ROOT.gROOT.GetTutorialDir()}/machine_learning/data/Higgs_data.root"
frame = ROOT.RDataFrame("sig_tree", file)


def refuses(f, *parts, kind=TypeError):
    """One sentence with all of `parts`, from our own check."""
    try:
        f()
    except kind as error:
        text = str(error)
        assert all(part in text for part in parts), f"{parts} not all in: {text}"
        assert "\n" not in text and "overload" not in text, text
    else:
        raise AssertionError(f"nothing was raised, expected {parts}")


def says(f, *parts):
    """An error of C++ with all of `parts`."""
    try:
        f()
    except ct.Error as error:
        assert all(part in str(error) for part in parts), f"{parts} not all in: {error}"
    else:
        raise AssertionError(f"nothing was raised, expected {parts}")


# Keywords, in every order, whatever stands before them.
assert ct.Mlp([7, 8, 1], ct.kReLU, seed=3).Inputs() == 7
assert ct.Mlp(init=ct.kXavier, sizes=[7, 8, 1]).Inputs() == 7
events = ct.Dataset(columns=["jet1_pt", "m_bb"])
events.Add("sig_tree", files=file, label=np.float32(1), cut="m_bb > 0").Add(source=ROOT.RDataFrame("bkg_tree", file), label=0)
assert list(ct.Dataset().Column("x", pad=3, length=2).Columns()) == ["x"]
assert list(ct.Dataset().Column(name="x", shape=(2, 3)).Columns()) == ["x"]
half, rest = events.Split(seed=4, first=0.5)
assert half.Rows() + rest.Rows() == events.Rows()
stream = ct.Stream(columns=["m_bb"]).Add(tree="sig_tree", files=file, label=1)
assert sum(len(x) for x, _, _ in stream.Batches(epoch=2, part=ct.kValidation)) < 10000
model = ct.Mlp([2, 4, 1])
assert model.Fit(data=events, fEpochs=np.int64(2), fVerbose=0).Epochs() == 2
options = ct.FitOptions(fEpochs=1, fVerbose=0)
assert options.fBatchSize == 256 and model.Fit(events, options=options, fLoss=ct.kHuber).Epochs() == 1
assert options.fLoss == ct.kAuto, "the caller's options are left alone"
assert model.Define(name="score", frame=frame.Filter("m_bb > 1")).Count().GetValue() > 0
assert model.Auc(data=events) > 0.5 and len(model.Predict(data=events)) == events.Rows()
model.SetParameters(values=np.asarray(model.Parameters()))
jagged = ct.Jagged["float"].Read(source=ct.Source(tree="sig_tree", files=file), column="m_bb", cut="m_bb > 1")
assert jagged.Padded(length=2).Columns() == 2

assert len(next(iter(stream.Batches(fBatchSize=10)))[1]) == len(next(iter(stream.Batches(options, fBatchSize=10)))[1]) == 10

# What does not fit, in one sentence.
for field in (each for each in dir(options) if each[0] == "f" and each[1].isupper()):
    other_style = "".join("_" * letter.isupper() + letter.lower() for letter in field[1:]).lstrip("_")
    for word in (field[1:].lower(), field[1].lower() + field[2:], other_style):
        refuses(lambda: model.Fit(events, **{word: 3}), f"'{word}'", f"write {field}")
        refuses(lambda: stream.Batches(**{word: 3}), f"'{word}'", f"write {field}")
refuses(lambda: ct.Mlp([7, -3, 1]), "sizes", "[7, -3, 1]")
refuses(lambda: ct.Mlp([7, 3, 1], ct.kXavier), "activation", "CladTorch::EActivation", "CladTorch::EInit")
refuses(lambda: ct.Mlp([7, 3, 1], 3), "activation", "3")
refuses(lambda: ct.Mlp([7, 3, 1], sed=3), "no argument 'sed'", "sizes, activation, init, seed")
refuses(lambda: ct.Mlp(), "lacks the argument 'sizes'")
refuses(lambda: ct.Mlp([7, 3, 1], sizes=[7, 1]), "'sizes' twice")
refuses(lambda: ct.Dataset("m_bb"), "columns", "['m_bb']")
refuses(lambda: ct.Dataset(["m_bb", 3]), "columns", "a list of strings")
refuses(lambda: events.Add("sig_tree", file), "label")
refuses(lambda: events.SetReader(ct.kReLU), "reader", "CladTorch::EReader")
refuses(lambda: events.Split(first="x"), "first", "a number")
refuses(lambda: stream.Batches(part=ct.kReLU), "part", "CladTorch::EPart")
refuses(lambda: model.Predict(model), "data", "a CladTorch::Mlp")
refuses(lambda: model.Fit("x"), "data", "'x'")
for wrong in (3, None, ["sig_tree", file], {"tree": file}, np.ones(3)):
    refuses(lambda: ct.Source(wrong), "a tree, a chain, a data frame")
    refuses(lambda: ct.Dataset(["m_bb"]).Add(wrong, 1), "a tree, a chain, a data frame")
    refuses(lambda: ct.Stream(["m_bb"]).Add(wrong, 1), "a tree, a chain, a data frame")
    refuses(lambda: ct.Jagged["float"].Read(wrong, "m_bb"), "a tree, a chain, a data frame")
    refuses(lambda: model.Define(wrong, "score"), "'frame' a data frame")
    refuses(lambda: ct.Dataset(["m_bb"]).SetWeight(wrong), "'column' a string")
for wrong in (None, {"m_bb": 1}, np.ones(3), [1, 2], model):
    refuses(lambda: ct.Dataset(["m_bb"]).Add("sig_tree", file, wrong), "'label' a number, the name of a column or a list")
refuses(lambda: ct.Source("sig_tree"), "the names of a tree and its file", "'sig_tree'")
refuses(lambda: model.Define("events", "score"), "'frame' a data frame", "'events'")
refuses(lambda: ct.Dataset(["m_bb"]).SetWeight(lambda x: x, ["m_bb"]), "a Python function", "frame.Define")
refuses(lambda: model.Fit(), "lacks the argument 'data'")
refuses(lambda: model.Fit(events, fEpoch=3), "no field 'fEpoch'", "fEpochs")
refuses(lambda: model.Fit(events, fLoss=ct.kReLU), "fLoss", "CladTorch::ELoss", "CladTorch::EActivation")
refuses(lambda: model.Fit(events, fEpochs=2.5), "fEpochs", "an integer", "2.5")
refuses(lambda: ct.FitOptions(fEpoch=3), "no field 'fEpoch'", kind=AttributeError)
for field, value in (("fEpoch", 3), ("fEpochs", "3"), ("fLoss", ct.kReLU), ("fDevice", 0), ("fSeed", -1)):
    refuses(lambda: setattr(options, field, value), field, kind=(TypeError, AttributeError))

# Names of activations as other libraries have them.
for known in ("kReLU", "kLeakyReLU", "kTanh", "kSigmoid", "kSiLU", "kGELU", "kSoftplus"):
    for text in (known[1:].lower(), known[1:], known, f"CladTorch::{known}", f"ct.{known}"):
        says(lambda: ct.Mlp([7, 3, 1], text), f"write CladTorch::{known}")
    says(lambda: ct.Mlp([7, 3, 1], "elu"), known)

# Predictions of several outputs come as one list.
scores = ct.FloatView(ct.Mlp([2, 3]).Predict(events)).Reshape(3)
assert np.asarray(scores).shape == (events.Rows(), 3)
assert ct.ToFrame({"scores": scores}).Count().GetValue() == events.Rows()

# C++'s own errors are said once, by Python.
try:
    events.Add("sig_tree", "elsewhere.root", 1)
except ct.Error as error:
    print(error, file=sys.stderr)
print("ALL CHECKS PASSED")
