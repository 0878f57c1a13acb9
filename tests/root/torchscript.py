"""Networks that PyTorch wrote, in Python: shapes, gradients, frozen parameters, pickles, and a user's mistakes."""

import copy
import sys
from pathlib import Path

import cladtorch as ct
import numpy as np

data = Path(__file__).resolve().parents[2] / "data/pytorch"


def refuses(what, f, *parts):
    try:
        f()
    except (ct.Error, TypeError) as error:
        message = str(error)
        assert all(part in message for part in parts), f"{what}: {message}"
        print("ok    ", what)
        return
    sys.exit(f"FAILED {what} was accepted")


rng = np.random.default_rng(1)
model = ct.Model.LoadTorchScript(str(data / "mlp.pt"), [3])
x = rng.normal(size=(20, 3)).astype(np.float32)
assert np.array_equal(model.Predict(x), model.Logits(x))
assert ct.Model.LoadTorchScript(data / "mlp.pt", (3,)).Inputs() == 3  # a pathlib.Path, a tuple
gradient = model.Gradient(x)
assert gradient.shape == (20, 3)
step = 1e-2
for feature in range(3):
    shift = np.eye(3, dtype=np.float32)[feature] * step
    slope = (model.Logits(x + shift) - model.Logits(x - shift)) / (2 * step)
    assert np.allclose(slope, gradient[:, feature], atol=1e-3), feature
several = ct.Model.LoadTorchScript(data / "deep_set.pt", [[5, 3], [5, 1]])
assert several.Outputs() == 2 and several.Gradient(rng.normal(size=(4, 20)).astype(np.float32)).shape == (4, 2, 20)

labels = (x.sum(axis=1) > 0).astype(np.float32)
before = np.array(model.Parameters())
model.Freeze("0")
model.Fit(x, labels, fEpochs=2, fVerbose=0, fWeightDecay=0.1)
after = np.array(model.Parameters())
assert np.array_equal(before[:32], after[:32]) and not np.any(before[32:] == after[32:])
assert np.array_equal(copy.deepcopy(model).Logits(x), model.Logits(x))

weights = ct.Model.LoadTorchScript(data / "normalised.pt", [4])
other = rng.normal(size=(9, 4)).astype(np.float32)
expected = weights.Predict(other)
weights.SetParameters(np.full(weights.Parameters().Size(), 0.5, dtype=np.float32))
weights.LoadWeights(data / "checkpoint.ckpt")
assert np.array_equal(weights.Predict(other), expected)

refuses("no shape", lambda: ct.Model.LoadTorchScript(str(data / "mlp.pt")), "shape")
refuses("an empty shape", lambda: ct.Model.LoadTorchScript(data / "mlp.pt", []), "shape")
refuses("a number as shape", lambda: ct.Model.LoadTorchScript(data / "mlp.pt", 3), "shape")
refuses("a batch in the shape", lambda: ct.Model.LoadTorchScript(data / "window.pt", [64, 1, 32]), "window.pt")
refuses("no file", lambda: ct.Model.LoadTorchScript("none.pt", [3]), "none.pt")
refuses("weights as a network", lambda: ct.Model.LoadTorchScript(data / "normalised_weights.pt", [4]), "LoadWeights")
refuses("a network as weights", lambda: model.LoadWeights(data / "mlp.pt"), "LoadTorchScript")
refuses("no such layer", lambda: model.Freeze("layers.0"), "'layers.0'", "0.weight")
print("ALL CHECKS PASSED")
