"""A network from PyTorch: loaded, applied to events, fine-tuned with its last layers frozen, and written out again.

The twin of pretrained.C; see there. The network comes from write_network.h: with PyTorch's Python you would write
torch.jit.script(net).save("ring.pt").

    python root_macros/pretrained.py [output_folder]
"""

import sys
from pathlib import Path

import cladtorch as ct
import numpy as np
import ROOT

here = Path(__file__).resolve().parent


def points(count, seed):
    """Points [count, 2], and whether they are in a ring around (0.7, 0)."""
    x = np.random.default_rng(seed).normal(0, 1.5, (count, 2)).astype(np.float32)
    radius = (x[:, 0] - 0.7) ** 2 + x[:, 1] ** 2
    return {"x": x[:, 0], "y": x[:, 1], "ring": ((radius > 1) & (radius < 4)).astype(np.float32)}


def main(folder="pretrained_out"):
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    ROOT.gInterpreter.Declare(f'#include "{here}/write_network.h"')
    ROOT.WriteNetwork(str(out / "ring.pt"))

    # The network, for events of shape [2]. It returns logits: the loss says so.
    model = ct.Model.LoadTorchScript(str(out / "ring.pt"), [2])
    model.SetColumns(["x", "y"])
    model.SetOptions(ct.FitOptions(fLoss=ct.kBinaryCrossEntropy))
    model.Print()
    print("scores", model.Predict(points(5, 3)))

    # Fine-tuning: inner and last stay as PyTorch trained them, hidden learns the shift.
    few, test = ct.Dataset(["x", "y"]), ct.Dataset(["x", "y"])
    few.Add(points(400, 1), "ring")
    test.Add(points(5000, 2), "ring")
    before = model.Auc(test)
    model.Freeze("inner")
    model.Freeze("last")
    model.Fit(few, fLoss=ct.kBinaryCrossEntropy, fEpochs=100, fLearningRate=0.01, fVerbose=0, fSeed=1)
    print(f"AUC on the new ring: {before:.3f} as it came, {model.Auc(test):.3f} fine-tuned")

    # How the logit changes with x and y: the mean slope over the test events.
    slopes = np.abs(model.Gradient(test)).mean(axis=0)
    print(f"mean |d logit / dx| = {slopes[0]:.2f}, |d logit / dy| = {slopes[1]:.2f}")

    # Export: for CladTorch, for PyTorch (load_state_dict), for inference engines, for C++ without any library.
    model.Save(str(out / "ring.ct"))
    model.SaveWeights(str(out / "ring.safetensors"))
    model.ExportOnnx(str(out / "ring.onnx"))
    model.ExportCpp(str(out / "ring.hxx"))
    print(f"see {out}")


if __name__ == "__main__":
    main(*sys.argv[1:])
