"""Writes the data sets of `cargo xtask bench quality` and `end-to-end`.

    data.py raw SET SOURCE FOLDER    features [N, F], labels [N] and weights [N] as raw float32
    data.py trees SET SOURCE FILE    trees `train` (70 % of the rows) and `validation`; x0, x1, ..., `label`: float32

SOURCE: the folder of ROOT's tutorials, that of Fashion-MNIST, or anything for scikit-learn's digits.
"""

import gzip
import os
import sys
from typing import NamedTuple

import numpy as np
import uproot


class Tutorial(NamedTuple):
    """A file of ROOT's machine-learning tutorials."""

    file: str
    labels: dict  # of the events of each tree: a number, or a column
    apart: tuple = ()  # columns that are no features
    weight: str = ""  # 1 in trees that have no such column


TUTORIALS = {
    # The weights are those of TMVAClassification.C and TMVARegression.C.
    "tmva_class_example": Tutorial("tmva_class_example.root", {"TreeS": 1, "TreeB": 0}, ("weight",), "weight"),
    "tmva_multiclass_example": Tutorial(
        "tmva_multiclass_example.root", {"TreeS": 0, "TreeB0": 1, "TreeB1": 2, "TreeB2": 3}
    ),
    "tmva_reg_example": Tutorial("tmva_reg_example.root", {"TreeR": "fvalue"}, weight="var1"),
    "higgs": Tutorial("Higgs_data.root", {"sig_tree": 1, "bkg_tree": 0}, ("Type",)),
}

FASHION_ROWS = 20000


def read_tree(tree, wanted, label):
    """Features [N, F], labels [N] and weights [N]."""
    arrays = {name: tree[name].array(library="np").astype(np.float32) for name in tree.keys()}
    rows = tree.num_entries
    labels = arrays[label] if isinstance(label, str) else np.full(rows, label, np.float32)
    weights = arrays.get(wanted.weight, np.ones(rows, np.float32))
    names = [name for name in arrays if name not in (*wanted.apart, label)]
    return np.stack([arrays[name] for name in names], axis=1), labels, weights


def read_tutorial(wanted, folder):
    with uproot.open(os.path.join(folder, "machine_learning/data", wanted.file)) as file:
        parts = [read_tree(file[tree], wanted, label) for tree, label in wanted.labels.items()]
    return [np.concatenate(part) for part in zip(*parts)]


def unweighted(features, labels):
    return features, labels, np.ones(len(labels), np.float32)


def read_digits():
    """8 x 8 pixels of 0 to 16, labels 0 to 9, 1797 rows."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return unweighted(digits.data.astype(np.float32), digits.target.astype(np.float32))


def read_fashion(folder):
    """28 x 28 pixels of 0 to 255, labels 0 to 9: the first training images (Xiao, Rasul and Vollgraf 2017)."""

    def numbers(name, header):
        with gzip.open(f"{folder}/{name}.gz") as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)

    pixels = numbers("train-images-idx3-ubyte", 16).reshape(-1, 784)
    labels = numbers("train-labels-idx1-ubyte", 8)
    return unweighted(pixels[:FASHION_ROWS].astype(np.float32), labels[:FASHION_ROWS].astype(np.float32))


def read(name, source):
    """Features [N, F], labels [N] and weights [N]."""
    if name in TUTORIALS:
        return read_tutorial(TUTORIALS[name], source)
    return {"digits": lambda _: read_digits(), "fashion": read_fashion}[name](source)


def write_raw(features, labels, weights, folder):
    for name, part in (("features", features), ("labels", labels), ("weights", weights)):
        part.tofile(os.path.join(folder, name))


def write_trees(features, labels, path):
    columns = {f"x{i}": np.ascontiguousarray(features[:, i]) for i in range(features.shape[1])} | {"label": labels}
    order = np.random.default_rng(1).permutation(len(labels))
    cut = len(labels) * 7 // 10
    with uproot.recreate(path) as file:
        for tree, rows in (("train", order[:cut]), ("validation", order[cut:])):
            file.mktree(tree, {name: np.float32 for name in columns})
            file[tree].extend({name: values[rows] for name, values in columns.items()})


kind, name, source, target = sys.argv[1:]
parts = read(name, source)
if kind == "raw":
    write_raw(*parts, target)
else:
    write_trees(parts[0], parts[1], target)
