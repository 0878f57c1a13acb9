"""Networks that PyTorch wrote, in Python: shapes, gradients, frozen parameters, pickles, and typical mistakes."""

import copy
import json
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



def tensors(path):
    """Shapes and bytes of a safetensors file, by name."""
    content = Path(path).read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    about = json.loads(content[8:start])
    about.pop("__metadata__")
    return {name: (tensor["shape"], content[start:][slice(*tensor["data_offsets"])]) for name, tensor in about.items()}


# A state_dict has frozen, tied and unused tensors, buffers and counts of batches; in a checkpoint, under the names of
# DataParallel.
whole = ct.Model.LoadTorchScript(data / "whole.pt", [4])
expected = whole.Predict(other)
whole.SaveWeights("whole.safetensors")
names = ["weight", "bias"]
layers = {f"{layer}.{name}" for layer in ("frozen", "norm", "back", "unused", "last") for name in names} | {"there.weight"}
statistics = {f"norm.{name}" for name in ("running_mean", "running_var", "num_batches_tracked")}
written = tensors("whole.safetensors")
assert set(written) == layers | statistics | {"scale", "table"}, sorted(written)
assert written["there.weight"] == written["back.weight"] and written["table"][1] == np.arange(7).tobytes()
assert written["norm.num_batches_tracked"] == ([], (3).to_bytes(8, "little"))
whole.SetParameters(np.full(whole.Parameters().Size(), 0.5, dtype=np.float32))
whole.LoadWeights(data / "whole_weights.pt")
assert np.array_equal(whole.Predict(other), expected)
whole.SaveWeights("again.safetensors")
assert tensors("again.safetensors") == written
frozen = written["frozen.weight"]
whole.Fit(other, (other.sum(axis=1) > 0).astype(np.float32), fEpochs=2, fBatchSize=9, fValidation=0, fVerbose=0)
whole.SaveWeights("fitted.safetensors")
fitted = tensors("fitted.safetensors")
assert fitted["norm.num_batches_tracked"][1] == (5).to_bytes(8, "little") and fitted["frozen.weight"] == frozen
assert fitted["there.weight"] == fitted["back.weight"] != written["back.weight"] and fitted["unused.weight"] == written["unused.weight"]
whole.Save("whole.ct")
restored = ct.Model.Load("whole.ct")
restored.SaveWeights("restored.safetensors")
assert tensors("restored.safetensors") == fitted
restored.LoadWeights("whole.safetensors")
assert np.array_equal(restored.Logits(other), expected)
restored.SaveWeights("restored.safetensors")
assert tensors("restored.safetensors") == written


def changed(name, change):
    """The weights with the bytes of one tensor replaced."""
    content = Path("whole.safetensors").read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    first, end = json.loads(content[8:start])[name]["data_offsets"]
    bytes_of = content[start + first : start + end]
    Path("changed.safetensors").write_bytes(content[: start + first] + change(bytes_of) + content[start + end :])
    return lambda: whole.LoadWeights("changed.safetensors")


def ones(values):
    return np.ones(len(values) // 4, np.float32).tobytes()


refuses("other frozen weights", changed("frozen.weight", ones), "frozen.weight", "does not train", "Freeze")
refuses("other fixed buffers", changed("scale", ones), "scale", "does not train")
refuses("ties that differ", changed("there.weight", ones), "there.weight", "back.weight", "one in the network")
changed("unused.bias", ones)()
whole.SaveWeights("again.safetensors")
assert tensors("again.safetensors")["unused.bias"][1] == ones(written["unused.bias"][1])
recurrent = ct.Model.LoadTorchScript(data / "recurrent.pt", [5, 2])  # LibTorch runs it
sequences = rng.normal(size=(9, 10)).astype(np.float32)
expected = recurrent.Predict(sequences)
recurrent.SaveWeights("recurrent.safetensors")
recurrent.SetParameters(np.full(recurrent.Parameters().Size(), 0.5, dtype=np.float32))
recurrent.LoadWeights("recurrent.safetensors")
assert np.array_equal(recurrent.Predict(sequences), expected)

refuses("no shape", lambda: ct.Model.LoadTorchScript(str(data / "mlp.pt")), "shape")
refuses("an empty shape", lambda: ct.Model.LoadTorchScript(data / "mlp.pt", []), "shape")
refuses("a number as shape", lambda: ct.Model.LoadTorchScript(data / "mlp.pt", 3), "shape")
refuses("a batch in the shape", lambda: ct.Model.LoadTorchScript(data / "window.pt", [64, 1, 32]), "window.pt")
refuses("no file", lambda: ct.Model.LoadTorchScript("none.pt", [3]), "none.pt")
refuses("weights as a network", lambda: ct.Model.LoadTorchScript(data / "normalised_weights.pt", [4]), "LoadWeights")
refuses("a network as weights", lambda: model.LoadWeights(data / "mlp.pt"), "LoadTorchScript")
refuses("no such layer", lambda: model.Freeze("layers.0"), "'layers.0'", "0.weight")
print("ALL CHECKS PASSED")
