"""Models for other programs in Python: arguments, files, and the ONNX file in onnxruntime where that is installed."""

import json
import pathlib

import numpy as np
import ROOT

ROOT.gSystem.Load("libcladtorch")
ct = ROOT.CladTorch

rng = np.random.default_rng(1)
x = rng.normal(size=(500, 3)).astype(np.float32)
events = ct.Dataset(["a", "b", "c"]).Add(x, (x[:, 0] * x[:, 1] > 0).astype(np.float32))
model = ct.Mlp([3, 16, 1], ct.kReLU)
model.Fit(events, fEpochs=2, fVerbose=0)

model.SaveWeights(pathlib.Path("w.safetensors"))
content = pathlib.Path("w.safetensors").read_bytes()
length = int.from_bytes(content[:8], "little")
header = json.loads(content[8 : 8 + length])
assert header["layers.0.weight"]["shape"] == [16, 3] and header["layers.0.weight"]["dtype"] == "F32", header
first, end = header["layers.0.weight"]["data_offsets"]
weight = np.frombuffer(content[8 + length :][first:end], np.float32)
assert np.array_equal(weight, np.asarray(model.Parameters())[:48])

other = ct.Mlp([3, 16, 1], ct.kReLU)
other.LoadWeights(path="w.safetensors")
assert np.array_equal(other.Predict(events), model.Predict(events))
assert list(other.Columns()) == ["a", "b", "c"]

# As another program writes it.
tensors = {"layers.0.weight": (16, 3), "layers.0.bias": (16,), "layers.1.weight": (1, 16), "layers.1.bias": (1,)}
described, numbers = {}, b""
for name, shape in tensors.items():
    own = rng.normal(size=shape).astype(np.float32).tobytes()
    described[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(numbers), len(numbers) + len(own)]}
    numbers += own
text = json.dumps(described).encode()
pathlib.Path("foreign.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + numbers)
other.LoadWeights("foreign.safetensors")
assert np.array_equal(np.asarray(other.Parameters()), np.frombuffer(numbers, np.float32))
assert np.array_equal(np.asarray(other.Scaler().fMean), np.asarray(model.Scaler().fMean))

for method in (model.ExportOnnx, model.ExportCpp, model.SaveWeights, other.LoadWeights):
    try:
        method(3)
        raise AssertionError("a path that is a number")
    except TypeError as error:
        assert "'path' a string" in str(error), error

model.ExportCpp("net.hxx")
ROOT.gInterpreter.Declare('#include "net.hxx"')
assert [str(name) for name in ROOT.net.columns] == ["a", "b", "c"]
found = np.zeros(500, np.float32)
ROOT.net.predict(500, x.ravel(), found)
assert np.abs(found - np.asarray(model.Predict(events)).ravel()).max() < 1e-6

model.ExportOnnx("net.onnx")
try:
    import onnxruntime
except ImportError as error:
    print("onnxruntime was not tried:", error)
else:
    session = onnxruntime.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(["predictions"], {"features": x})
    assert np.abs(found.ravel() - np.asarray(model.Predict(events)).ravel()).max() < 1e-6
    print("onnxruntime computes what Predict gives")

model.ExportTorchScript("net.pt")
assert np.allclose(ct.Model.LoadTorchScript("net.pt", [3]).Predict(x), np.asarray(model.Predict(events)).ravel(), atol=1e-6)
try:
    import torch
except (ImportError, OSError) as error:
    print("PyTorch was not tried:", error)
else:
    net = torch.jit.load("net.pt")
    found = net(torch.from_numpy(x)).detach().numpy().ravel()
    assert np.abs(found - np.asarray(model.Predict(events)).ravel()).max() < 1e-6
    assert set(net.state_dict()) >= set(tensors) and all(parameter.requires_grad for parameter in net.parameters())
    print("PyTorch computes what Predict gives")
print("ALL CHECKS PASSED")
