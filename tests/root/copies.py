"""copy, deepcopy and pickle of every public class: a true copy, or a refusal with a message."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import ROOT

ROOT.gSystem.Load("libcladtorch")
ct = ROOT.CladTorch
file = f"{ROOT.gROOT.GetTutorialDir()}/machine_learning/data/Higgs_data.root"
data = ct.Dataset(["jet1_pt", "m_bb"]).Add("sig_tree", file, 1).Add("bkg_tree", file, 0)
model = ct.Mlp([2, 4, 1])
history = model.Fit(data, fEpochs=1, fVerbose=0)
stream = ct.Stream(["m_bb"]).Add("sig_tree", file, 1)
psd = ct.Signal.DetectorPsd(256, 512)


def jagged(kind):
    return ct.Jagged[kind].Read(ct.Source("sig_tree", file), "m_bb" if kind != "std::int64_t" else "1 + 1")


things = [
    model, ct.Model(model), model.Evaluate(data), data, history, stream, stream.Batches(), ct.FitOptions(fEpochs=7, fDevice="cpu"), model.Functor(),
    ct.Source("sig_tree", file), ct.Files([file, file]), ct.Label(1.0), model.Scaler(), ct.Signal.Whitener(psd, 512, 1, 2),
    ct.Signal.MatchedFilter(ct.Signal.Blip(256, 512, 50, 0.2), psd, 512),
    ct.Signal.CoherentSearch([ct.Signal.MatchedFilter(ct.Signal.Blip(256, 512, 50, 0.2), psd, 512)], [ct.Signal.Response()], 0.1, 0.2, 5, 5),
    ct.Signal.NetworkFilter(model, 1), ct.Signal.OnlineSearch(model, 512, 1, 8, 64, 32, 8), ct.Signal.Trigger(), ct.Signal.Reach(), ct.Signal.Response(), ct.Signal.Bounds(), ct.Signal.Candidate(), ct.Signal.Injection(), ct.Signal.Sensitivity(), ct.Signal.Strain(), ct.Epoch(), ct.MlpOptions(), ct.Signal.Binary(),
    ct.Metric(ct.kAuc), ct.Ensemble([model, model]), model.CrossValidate(data, 2, fEpochs=1, fVerbose=0),
    ct.RandomSearch(ct.Mlp([2, 1])), ct.Trial(),
    *(ct.View[kind]() for kind in ("float", "double", "std::int64_t")),
    *(jagged(kind) for kind in ("float", "double", "std::int64_t")),
]  # fmt: skip

# All classes of the dictionary are among them.
ROOT.gClassTable.Init()
table = set()
while name := ROOT.gClassTable.Next():
    if str(name).startswith("CladTorch::"):
        table.add(str(name).replace("Long64_t", "long"))
error = ct.Error("told")  # an exception of Python, with Python's ways
assert "told" in str(copy.copy(error)) and "told" in str(copy.deepcopy(error))
named = {"CladTorch::Error", "CladTorch::Interrupted"} | {type(thing).__cpp_name__.replace("int64_t", "long").replace("std::", "") for thing in things}
missing = {name for name in table - named if not ROOT.TClass.GetClass(name).Property() & ROOT.kIsNamespace}
assert not missing, f"copies.py tries no {missing}"


def attempt(f):
    """The result of `f`, or None after a refusal that names an alternative."""
    try:
        return f()
    except TypeError as error:
        assert "CladTorch::" in str(error) and "cannot" in str(error) or "no deep copy" in str(error), error
        return None


for thing in things:
    for copied in (copy.copy(thing), attempt(lambda: copy.deepcopy(thing))):
        assert copied is None or type(copied) is type(thing), thing
    pickled = attempt(lambda: pickle.loads(pickle.dumps(thing)))
    assert pickled is None or type(pickled) is type(thing), thing

changed = copy.deepcopy(model)
changed.SetParameters([0] * len(model.Parameters()))
assert np.any(model.Parameters()) and not np.any(changed.Parameters())
assert np.array_equal(copy.copy(model).Predict(data), model.Predict(data))
options = pickle.loads(pickle.dumps(ct.FitOptions(fEpochs=7, fLoss=ct.kHuber, fClassWeights=[1, 2.5])))
assert list(options.fClassWeights) == [1, 2.5]
assert (options.fEpochs, options.fLoss, options.fBatchSize) == (7, ct.kHuber, 256)

bounds = ct.Signal.Bounds()
bounds.fBayes.fAuc = 0.75
bounds.fMaximised.fEfficiencies = [0.25, 0.5]
for found in (copy.deepcopy(bounds), pickle.loads(pickle.dumps(bounds))):
    assert found.fBayes.fAuc == 0.75 and list(found.fMaximised.fEfficiencies) == [0.25, 0.5] and found.fBayes.fAucError == 0

# In another process, which has not loaded the plugin.
with open("model.pickle", "wb") as out:
    pickle.dump(model, out)
with open("expected.npy", "wb") as out:
    np.save(out, np.asarray(model.Parameters()))
script = """
import pickle, numpy as np
model = pickle.load(open("model.pickle", "rb"))
assert np.array_equal(np.asarray(model.Parameters()), np.load("expected.npy"))
"""
subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=600)
print("ALL CHECKS PASSED")
