"""Writes Fashion-MNIST as the tree `fashion` of a ROOT file: `fashion.py FILE FOLDER`.

784 columns p0 to p783 (28 x 28 pixels, 0 to 255) and `label` (0 to 9), float32: the first 20,000 training images of the
IDX files (Xiao, Rasul and Vollgraf 2017) in FOLDER.
"""

import gzip
import sys

import numpy as np
import uproot

ROWS = 20000


def numbers(name, header):
    with gzip.open(f"{sys.argv[2]}/{name}.gz") as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


pixels = numbers("train-images-idx3-ubyte", 16).reshape(-1, 784)[:ROWS].astype(np.float32)
columns = {f"p{i}": np.ascontiguousarray(pixels[:, i]) for i in range(784)}
columns["label"] = numbers("train-labels-idx1-ubyte", 8)[:ROWS].astype(np.float32)
with uproot.recreate(sys.argv[1]) as file:
    file.mktree("fashion", {name: np.float32 for name in columns})
    file["fashion"].extend(columns)
