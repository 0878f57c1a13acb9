"""Long calls from Python release its lock for its other threads, and callbacks into Python still work."""

import threading
import time

import ROOT

ROOT.gSystem.Load("libcladtorch")
ct = ROOT.CladTorch


def turns_of_another(call):
    """How often another thread ran during `call`, and the seconds that this took."""
    turns, done = [0], threading.Event()

    def tick():
        while not done.is_set():
            time.sleep(0.001)
            turns[0] += 1

    thread = threading.Thread(target=tick)
    thread.start()
    before, start = turns[0], time.perf_counter()
    try:
        call()
        return turns[0] - before, time.perf_counter() - start
    finally:
        done.set()
        thread.join()


frame = ROOT.RDataFrame(1000000).Define("x", "float(rdfentry_ % 7)")
data = ct.Dataset(["x"]).Add(frame, "rdfentry_ % 2")
model = ct.Mlp([1, 64, 64, 1])
model.Fit(data, fEpochs=1, fVerbose=0)
frame.Snapshot("t", "events.root", ["x"])
stream = ct.Stream(["x"]).Add("t", "events.root", "x > 3")
many = ROOT.TTree("many", "entries for a friend")
many.SetEntries(3000000)
columns = ROOT.CladTorch.NamedColumns_t()
columns["score"] = ct.View["float"](ROOT.std.vector["float"](3000000))
wide = ct.View["float"](ROOT.std.vector["float"](100000000))
psd = ct.Signal.DetectorPsd(1 << 22, 4096)
noise = ct.Signal.Noise(psd, 4096, 1)
calls = {
    "Add": lambda: ct.Dataset(["x"]).Add(frame, "rdfentry_ % 2"),
    "Jagged.Read": lambda: ct.Jagged["double"].Read(frame, "x"),
    "Fit": lambda: model.Fit(data, fEpochs=3, fVerbose=0),
    "Fit by autograd": lambda: model.Fit(data, fEpochs=1, fVerbose=0, fBatchSize=20000, fGradient=ct.kAutograd),
    "Fit of a stream": lambda: model.Fit(stream, fEpochs=1, fVerbose=0),
    "Predict": lambda: model.Predict(data),
    "Auc": lambda: model.Auc(data),
    "Roc": lambda: model.Roc(data),
    "Scores": lambda: model.Scores(data),
    "Split": lambda: data.Split(0.5),
    "WriteFriend": lambda: ct.WriteFriend(many, "friend.root", columns),
    "ToMatrix": lambda: ct.ToMatrix(wide),
    "Signal.Noise": lambda: ct.Signal.Noise(psd, 4096, 1),
    "Signal.Whiten": lambda: ct.Signal.Whiten(noise, psd, 4096),
}
for name, call in calls.items():
    turns, seconds = turns_of_another(call)
    print(f"{name}: another thread had {turns} turns in {seconds:.2f} s")
    assert turns >= max(2, 20 * seconds), name

# All other public methods are quick, or were forgotten in calls.py.
QUICK = {
    "": {"AntennaPattern", "AucBound", "Delay", "EfficiencyBound", "NetworkSnr", "Rank", "Ranks"},
    "Batches": {"Features", "Labels", "Rows", "Weights"},
    "CrossValidation": {"FoldOf", "Folds", "Histories", "Models", "Predictions"},
    "Dataset": {"Column", "Columns", "Features", "Labels", "Lengths", "Mask", "Print", "Rows", "SetReader", "SetSharding", "SetWeight",
                "Stream", "Targets", "Weight", "Weights", "Width"},
    "Ensemble": {"Members", "Size"},
    "Evaluation": {"Events", "Labels", "Outputs", "Predictions", "Sigmas", "Weights"},
    "Files": {"Names"},
    "Functor": {"Evaluate", "Inputs"},
    "History": {"BestEpoch", "Description", "Draw", "Epochs", "Interrupted", "LearningRate", "Metric", "MetricNames", "Print", "RestoredEpoch", "Seconds",
                "TrainLoss", "ValidationLoss"},
    "Jagged": {"Offsets", "Rows", "Values"},
    "Mlp": {"Columns", "Functor", "Inputs", "LastFit", "NewDataset", "Options", "Outputs", "Parameters", "Print", "Scaler", "SetColumns",
            "SetOptions", "SetParameters", "SetScaler", "SetTargetScaler", "TargetScaler", "Targets"},
    "RandomSearch": {"Draw", "BestModel", "BestTrial", "Choice", "LogUniform", "Print", "Table", "Trials", "Uniform"},
    "Source": {"Data", "Filter"},
    "Stream": {"Batches", "Columns", "Entries", "SetBuffer", "SetMixing", "SetWindow", "Targets", "Weight", "Width"},
}  # fmt: skip
known = ct.Mlp.Fit.__globals__
for kind in (ct.Batches, ct.CrossValidation, ct.Dataset, ct.Ensemble, ct.Evaluation, ct.Files, ct.FitOptions, ct.Functor, ct.History, ct.Jagged["double"], ct.Mlp, ct.RandomSearch, ct.Scaler, ct.Source,
             ct.Stream, ct.Signal.CoherentSearch, ct.Signal.MatchedFilter, ct.Signal.Whitener):  # fmt: skip
    name = known["plain"](kind.__cpp_name__)
    methods = {known["plain"](str(method.GetName())) for method in ROOT.TClass.GetClass(kind.__cpp_name__).GetListOfMethods()
               if method.Property() & ROOT.kIsPublic and str(method.GetName())[0].isupper()}  # fmt: skip
    forgotten = methods - {name} - QUICK.get(name, set()) - known["LONG"].get(name, set())
    assert not forgotten, f"{name}: {forgotten}"
functions = set()
for space in ("CladTorch", "CladTorch::Signal"):
    functions |= {str(function.GetName()) for function in ROOT.TClass.GetClass(space).GetListOfMethods()}
assert {"WriteFriend", "Whiten"} <= functions
functions = {name for name in functions if name[0].isupper()}
forgotten = functions - QUICK[""] - known["LONG"]["CladTorch"] - known["LONG"]["Signal"]
assert not forgotten, forgotten
unchecked = functions - set().union(*known["FUNCTIONS"].values())
assert not unchecked, f"their arguments are not checked, see arguments.py: {unchecked}"

# A message of ROOT or CladTorch in such a call: PyROOT would make a Python warning of it, without the lock.
few = ct.Dataset(["x"]).Add(ROOT.RDataFrame(100).Define("x", "float(rdfentry_)"), 1)
ct.Mlp([1, 1]).Fit(few, fEpochs=1, fVerbose=0)


# Python functions in the event loop.
ROOT.gInterpreter.Declare("""
#include <functional>
std::function<float(float)> gFromPython;
void SetFromPython(std::function<float(float)> f) { gFromPython = f; }
""")


def increased(x):
    return x + 1


ROOT.SetFromPython(increased)
functions = {"gFromPython(x)": 99 + 1}


def twice(x):
    return 2 * x


try:
    ROOT.Numba.Declare(["float"], "float")(twice)
    functions["Numba::twice(x)"] = 2 * 99
except Exception as error:
    print("NOT TESTED: a function compiled by Numba, because", error)
for text, expected in functions.items():
    some = ROOT.RDataFrame(100).Define("x", "float(rdfentry_)").Define("y", text)
    assert ct.Dataset(["y"]).Add(some, 1).Rows() == 100
    assert max(ct.Jagged["double"].Read(some, "y").Values()) == expected

# LibTorch's autograd refuses to run while a thread holds Python's lock, once Python's torch is loaded.
try:
    import torch
except (ImportError, OSError) as error:
    print("NOT TESTED: beside torch, because", str(error).splitlines()[-1])
else:
    assert torch.ones(2, requires_grad=True).sum().requires_grad
    model.Fit(few, fEpochs=1, fVerbose=0, fGradient=ct.kAutograd)
    print("beside torch", torch.__version__)
print("ALL CHECKS PASSED")
