"""Arguments that Python passes to methods and options: keywords everywhere, one sentence for unsuitable values."""

import pathlib
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
assert ct.Dataset(frame.GetColumnNames()).Columns() == [str(name) for name in frame.GetColumnNames()]
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
for scored in (frame, frame.Filter("m_bb > 1"), frame.Define("twice", "2 * m_bb")):
    assert model.DefineBatched(scored, "score").Sum("score").GetValue() == model.Define(scored, "score").Sum("score").GetValue()
assert model.Auc(data=events) > 0.5 and len(model.Predict(data=events)) == events.Rows()
model.SetParameters(values=np.asarray(model.Parameters()))
jagged = ct.Jagged["float"].Read(source=ct.Source(tree="sig_tree", files=file), column="m_bb", cut="m_bb > 1")
pair = ct.Dataset(["m_bb"]).Add(("sig_tree", [file]), 1, "m_bb > 1").Features()
assert np.array_equal(pair, ct.Dataset(["m_bb"]).Add("sig_tree", file, 1, "m_bb > 1").Features())
assert len(ct.Jagged["float"].Read(("sig_tree", file), "m_bb", "m_bb > 1")) == len(jagged) == len(pair)
assert jagged.Padded(length=2).Columns() == 2

assert len(next(iter(stream.Batches(fBatchSize=10)))[1]) == len(next(iter(stream.Batches(options, fBatchSize=10)))[1]) == 10

# Unsuitable values, in one sentence.
for field in (each for each in dir(options) if each[0] == "f" and each[1].isupper()):
    other_style = "".join("_" * letter.isupper() + letter.lower() for letter in field[1:]).lstrip("_")
    for word in (field[1:].lower(), field[1].lower() + field[2:], other_style):
        # Fit has an argument `validation`, too.
        remedy = "CladTorch::Dataset" if word == "validation" else f"write {field}"
        refuses(lambda: model.Fit(events, **{word: 3}), f"'{word}'", remedy)
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
for wrong in (3, None, ["sig_tree", file], np.ones(3)):
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
refuses(lambda: model.Fit(events, fDropout=0.1), "no field 'fDropout'", "MlpOptions has it")
refuses(lambda: events.Add("sig_tree", file, lambda x: 1), "neither a label nor a cut", "frame.Define", "frame.Filter")
for word, meant in (("fit", "Fit"), ("predict_proba", "Predict"), ("set_parameters", "SetParameters")):
    refuses(lambda: getattr(model, word), f"'{word}': write {meant}", kind=AttributeError)
refuses(lambda: model.nothing_like_it, "a CladTorch::Mlp has no attribute 'nothing_like_it'", kind=AttributeError)
assert not hasattr(model, "__array__") and not hasattr(events, "loc")
says(lambda: model.Predict(ct.Dataset(["m_bb"]).Add("sig_tree", file, 1)), "takes 2", "jet1_pt", "NewDataset")
for field, value in (("fEpoch", 3), ("fEpochs", "3"), ("fLoss", ct.kReLU), ("fDevice", 0), ("fSeed", -1)):
    refuses(lambda: setattr(options, field, value), field, kind=(TypeError, AttributeError))

# Names of activations as other libraries have them.
for known in ("kReLU", "kLeakyReLU", "kTanh", "kSigmoid", "kSiLU", "kGELU", "kSoftplus"):
    for text in (known[1:].lower(), known[1:], known, f"CladTorch::{known}", f"ct.{known}"):
        says(lambda: ct.Mlp([7, 3, 1], text), f"write CladTorch::{known}")
    says(lambda: ct.Mlp([7, 3, 1], "elu"), known)

# What users of other libraries write, or mistake: the call, and the words that the sentence names.
tree = ROOT.TFile.Open(file).Get("sig_tree")
functor = model.Functor()
whitener = ct.Signal.Whitener(np.ones(33), 1.0, 0, 3)
three = ct.Mlp([2, 3])
huge = 10**30
MISTAKES = [
    (lambda: ct.Dataset({"m_bb", "jet1_pt"}), "'columns' a list of strings", "no order"),
    (lambda: ct.Dataset(np.zeros((3, 2))), "'columns' a list of strings", "shape (3, 2)"),
    (lambda: ct.Dataset().Column("l", huge), "'length'", "from 0 to 18446744073709551615"),
    (lambda: ct.Dataset().Column("l", (2, 3, 4)), "'shape' two integers"),
    (lambda: ct.Dataset().Column(["a", "b"]), "'name' a string, not ['a', 'b']"),
    (lambda: ct.Dataset(["x"]).SetWeight(), "'column' a string", "nothing"),
    (lambda: ct.Dataset(["x"]).SetWeight("w", ["w"]), "'column' a string", "'w' and ['w']"),
    (lambda: ct.Dataset(["x"]).SetReader("fast"), "kAutoReader, kRootReader, kFastReader", "'fast'"),
    (lambda: ct.Dataset(["x"]).Add("sig_tree", [file, 3], 1), "'files' the name of a file, a glob", "a list"),
    (lambda: ct.Dataset(["x"]).Add("sig_tree", tree, 1), "'files' the name of a file, a glob", "a TTree"),
    (lambda: ct.Files(), "the name of a file", "nothing"),
    (lambda: ct.Source(tree="sig_tree", file=file), "no argument 'file'", "tree, files"),
    (lambda: ct.Source("sig_tree", [3]), "the names of a tree and its file"),
    (lambda: ct.Source("sig_tree", file).Filter(), "'cut' a string", "nothing"),
    (lambda: ct.Source("sig_tree", file).Filter("m_bb > 1", ["m_bb"]), "'cut' a string", "['m_bb']"),
    (lambda: ct.Source("sig_tree", file).Filter(lambda x: x > 1, ["m_bb"]), "Python function", "frame.Filter"),
    (lambda: ct.Label(), "a CladTorch::Label is a number", "nothing"),
    (lambda: ct.Label(["a", 3]), "a CladTorch::Label is a number", "['a', 3]"),
    (lambda: ct.Label({"a": 3}), "a CladTorch::Label is a number"),
    (lambda: list(stream), "stream.Batches"),
    (lambda: stream.SetMixing("balanced"), "kProportional, kBalanced", "'balanced'"),
    (lambda: stream.SetWindow(-1), "'entries' an integer of 0 or more", "-1"),
    (lambda: stream.Batches(256), "'options' a CladTorch::FitOptions", "256"),
    (lambda: ct.Mlp(3, 4, 1), "'sizes' a list of integers", "not 3"),
    (lambda: ct.Mlp([2.0, 3, 1]), "'sizes' a list of integers", "[2.0, 3, 1]"),
    (lambda: ct.Mlp(np.array([2.0, 3, 1])), "'sizes' a list of integers", "array of float64"),
    (lambda: ct.Mlp([2, huge, 1]), "'sizes' a list of integers"),
    (lambda: ct.Mlp([2, 1], seed=huge), "'seed'", "18446744073709551615"),
    (lambda: ct.Mlp([2, 1], ct.kReLU, "xavier"), "kKaiming, kXavier, kUniform", "'xavier'"),
    (lambda: ct.Model(), "LibTorch", "Mlp(sizes)"),
    (lambda: ct.Model(lambda x: x, [2]), "LibTorch", "a function"),
    (lambda: model.Fit(events, 5), "'options' a CladTorch::FitOptions (as FitOptions(fEpochs=3))", "not 5"),
    (lambda: model.Fit(events, {"fEpochs": 5}), "'options' a CladTorch::FitOptions"),
    (lambda: model.Fit(events, ct.FitOptions), "'options' a CladTorch::FitOptions", "the class"),
    (lambda: model.Fit(np.zeros(4), np.zeros(4)), "'data' a CladTorch::Dataset", "[events, features]", "(4,)"),
    (lambda: model.Fit(events, ct.FitOptions(), lambda prediction, label: prediction), "no Python function", "fLossFunction"),
    (lambda: model.Auc(np.zeros((4, 2)), np.zeros(4)), "2 were given", "Dataset(columns).Add(x, y)"),
    (lambda: model.Fit(events, lr=0.1), "'lr'", "write fLearningRate"),
    (lambda: model.Fit(events, optimizer="adam"), "'optimizer'", "write fOptimiser"),
    (lambda: model.Fit(events, validation_split=0.1), "write fValidation"),
    (lambda: model.Fit(events, gradient_clipping_algorithm=1), "'gradient_clipping_algorithm'", "data, options, validation, stream", "fEpochs"),
    (lambda: model.Fit(events, fOptimizer=ct.kSGD), "'fOptimizer'", "write fOptimiser"),
    (lambda: model.Fit(events, fOptimiser="adam"), "kAdam, kAdamW, kSGD", "'adam'"),
    (lambda: model.Fit(events, fEpochs=2**40), "fEpochs", "2147483647"),
    (lambda: model.Fit(events, fShuffle=2), "fShuffle", "True or False"),
    (lambda: ct.FitOptions(3), "its fields by name", "fEpochs", "3"),
    (lambda: ct.FitOptions({"fEpochs": 3}), "its fields by name", "a dict"),
    (lambda: functor(1.0, 2.0), "the numbers of one event as one list", "1.0, 2.0"),
    (lambda: functor(np.zeros((3, 2))), "the numbers of one event as one list", "(3, 2)"),
    (lambda: functor(None), "the numbers of one event as one list"),
    (lambda: functor.Evaluate([1.0, 2.0], 2), "a pointer of C++", "[1.0, 2.0]"),
    (lambda: whitener(np.ones((2, 64))), "the numbers of one event as one list"),
    (lambda: model.Roc(model.Predict(events)), "'data' a CladTorch::Dataset", "an array of float32"),
    (lambda: model.Scores(events, [0, 0.5, 1]), "'bins' an integer"),
    (lambda: model.Scores(events, 2**31), "'bins'", "2147483647"),
    (lambda: model.Save(3), "'path' a string", "3"),
    (lambda: model.SetParameters(["a"]), "'values' a list of numbers", "['a']"),
    (lambda: model.SetParameters("abc"), "'values' a list of numbers, not 'abc'"),
    (lambda: ct.Jagged["double"].Read("sig_tree", file, "m_bb"), "'source' a CladTorch::Source", "Source("),
    (lambda: ct.Jagged["double"]([1.0], "a"), "'offsets' a view, an array or a list", "'a'"),
    (lambda: ct.FloatView(None, 3, 2, None), "an array or a list of numbers"),
    (lambda: ct.ToMatrix(events), "'view' a view, an array or a list", "a CladTorch::Dataset"),
    (lambda: ct.ToFrame(), "lacks the argument 'columns'"),
    (lambda: ct.ToFrame(s=[1.0]), "no argument 's'", "columns"),
    (lambda: ct.WriteFriend("sig_tree", "f.root", {"s": [1.0]}), "'tree' a tree", "'sig_tree'"),
    (lambda: ct.WriteFriend(tree, {"s": [1.0]}, "f.root"), "'path' a string", "a dict"),
    (lambda: ct.WriteFriend(tree, "f.root"), "lacks the argument 'columns'"),
    (lambda: ct.Signal.Welch("abc", 64, 1.0), "'strain' a list of numbers", "'abc'"),
    (lambda: ct.Signal.Welch(np.ones(512), 64.0, 1.0), "'segment' an integer", "64.0"),
    (lambda: ct.Signal.Welch(np.ones(512)), "lacks the argument 'segment'"),
    (lambda: ct.Signal.Noise(np.ones(5), 1.0, -1), "'seed' an integer of 0 or more", "-1"),
    (lambda: ct.Signal.SearchBounds(whitener, 5, 0.1, 0.2, [0.1], 100, 100), "'bank' a list of matched filters", "Whitener"),
    (lambda: ct.Signal.AucBound(6, ct.kReLU), "kUnknownPhase, kKnownPhase", "CladTorch::EActivation"),
]
for call, *parts in MISTAKES:
    refuses(call, *parts)
    refuses(call, "CladTorch::" if parts[0] not in ("stream.Batches", "Python function") else parts[0])

# No mistakes.
path = pathlib.Path(file)
twice = ct.Dataset(["m_bb"]).Add("sig_tree", [file, path], label=1)
assert twice.Rows() == 20000 and ct.Dataset(["m_bb"]).Add(ct.Source("sig_tree", files=(file, file)), 1).Rows() == 20000
assert ct.Stream(["m_bb"]).Add("sig_tree", ct.Files([file]), 1).Entries() == 10000
assert ct.Dataset(["m_bb"]).Add("sig_tree", path, 1).Rows() == ct.Dataset(["m_bb"]).Add(ct.Source("sig_tree", files=path), 1).Rows()
model.Save(pathlib.Path("model.ct"))
assert ct.Mlp.Load(path=pathlib.Path("model.ct")).Inputs() == 2
assert model.Fit(events, fShuffle=np.bool_(False), fEpochs=1, fVerbose=0).Epochs() == 1
assert ct.Dataset(np.array(["m_bb"])).Add(ct.Source("sig_tree", file).Filter(cut="m_bb > 1"), 1).Rows() < 10000

# C++'s own errors are reported once, by Python.
try:
    events.Add("sig_tree", "elsewhere.root", 1)
except ct.Error as error:
    print(error, file=sys.stderr)
print("ALL CHECKS PASSED")
