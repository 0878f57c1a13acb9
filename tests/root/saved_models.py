"""Models of modules in Python: read from the files of saved_models_write.C, made, fitted, saved, copied and pickled."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import ROOT

ROOT.gSystem.Load("libcladtorch")
ct = ROOT.CladTorch
ROOT.gInterpreter.Declare(f'#include "{sys.argv[1]}/saved_models.h"')
data = ROOT.Events()


def numbers(model):
    return np.concatenate([np.asarray(part) for part in (model.Logits(data), model.Predict(data), model.Parameters())], axis=None)


for name in ROOT.kNetworks:
    name = str(name)
    model = ct.Model.Load(f"{name}.ct")
    assert np.array_equal(numbers(model), np.fromfile(f"{name}.before", np.float32)), name
    pickled = pickle.loads(pickle.dumps(model))
    copied = copy.deepcopy(model)
    model.Fit(data, ROOT.Options(2))
    assert np.array_equal(numbers(model), np.fromfile(f"{name}.after", np.float32)), name
    for other in (pickled, copied):
        assert type(other) is ct.Model
        assert np.array_equal(numbers(other), np.fromfile(f"{name}.before", np.float32)), name

ROOT.gInterpreter.Declare("""
#include <CladTorch/Torch.hxx>
CladTorch::Model MakeNet() {
   return CladTorch::Model(torch::nn::Sequential(torch::nn::Linear(24, 8), torch::nn::GELU(), torch::nn::Linear(8, 1)), {24});
}
""")
model = ROOT.MakeNet()
model.Fit(data, fEpochs=2, fVerbose=0)
model.Save("net.ct")
assert np.array_equal(numbers(ct.Model.Load("net.ct")), numbers(model))
with open("net.pickle", "wb") as out:
    pickle.dump(model, out)
numbers(model).tofile("expected.bin")
script = """
import pickle, numpy as np
model = pickle.load(open("net.pickle", "rb"))
parameters = np.asarray(model.Parameters())
assert np.array_equal(parameters, np.fromfile("expected.bin", np.float32)[-len(parameters):])
"""
subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=600)
try:
    ct.Mlp.Load("net.ct")
    raise AssertionError("an Mlp of a module")
except ct.Error as error:
    assert "not an Mlp" in str(error), error
print("ALL CHECKS PASSED")
