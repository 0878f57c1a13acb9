"""Writes ONNX's own cases of single operators into a folder: `cases.json`, a list of cases with names, tolerances and tensors,
whose bytes lie in `data.bin`, at the offsets that the list says."""

import json
import pathlib
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

warnings.filterwarnings("ignore")
folder = pathlib.Path(sys.argv[1])
data = (folder / "data.bin").open("wb")


def write(raw):
    start = data.tell()
    data.write(raw)
    return [start, len(raw)]


def tensor(info, value):
    """Name, ONNX's number of the type, shape and elements: floats as float64, everything else as int64. Others are left out."""
    if isinstance(value, onnx.TensorProto) and value.data_type <= onnx.TensorProto.BFLOAT16:
        value = numpy_helper.to_array(value)
    if not info.type.HasField("tensor_type") or not isinstance(value, (np.ndarray, np.generic)):
        return None
    kind, value = info.type.tensor_type.elem_type, np.asarray(value)
    if kind in (onnx.TensorProto.STRING, onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128):
        return None
    if kind > onnx.TensorProto.BFLOAT16:
        return None
    is_float = kind in (1, 10, 11, 16)
    numbers = np.ascontiguousarray(value.astype(np.float64 if is_float else np.int64))
    return {"name": info.name, "element": kind, "shape": list(value.shape), "data": write(numbers.tobytes())}


cases = []
for case in collect_testcases(None):
    for inputs, outputs in case.data_sets:
        graph = case.model.graph
        operators = [node.op_type for node in graph.node]
        present = [info for info in graph.input]
        cases.append({
            "name": case.name,
            "operator": operators[0] if len(operators) == 1 else "functions",
            "operators": operators,
            "opset": next((o.version for o in case.model.opset_import if o.domain == ""), 0),
            "rtol": case.rtol,
            "atol": case.atol,
            "model": write(case.model.SerializeToString()),
            "inputs": [tensor(info, value) for info, value in zip(present, inputs)],
            "outputs": [tensor(info, value) for info, value in zip(graph.output, outputs)],
        })
(folder / "cases.json").write_text(json.dumps(cases))
print(onnx.__version__)
