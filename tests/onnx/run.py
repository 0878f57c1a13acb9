"""Checks ONNX files and runs them: for each name in `list.txt` of a folder reads `name.onnx` and features from `name.x` (float32,
[events, inputs]), writes `name.y`."""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

folder = pathlib.Path(sys.argv[1])
for name in (folder / "list.txt").read_text().split():
    path = folder / f"{name}.onnx"
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert [imported.version for imported in model.opset_import] == [17], model.opset_import
    metadata = {entry.key: json.loads(entry.value) for entry in model.metadata_props}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    (features,), (predictions,) = session.get_inputs(), session.get_outputs()
    assert features.shape[0] == predictions.shape[0] == "events", features.shape
    x = np.fromfile(folder / f"{name}.x", np.float32).reshape(-1, features.shape[1])
    assert len(metadata["columns"]) == x.shape[1], metadata
    y = session.run(["predictions"], {"features": x})[0]
    one = session.run(["predictions"], {"features": x[:1]})[0]
    assert y.dtype == np.float32 and y.shape == (len(x), predictions.shape[1]), y.shape
    assert np.allclose(one, y[:1], 1e-6, 1e-6), (name, one, y[:1])
    y.tofile(folder / f"{name}.y")
