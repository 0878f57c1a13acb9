"""Every file that readers.C left here, and the trees that come with ROOT: both readers give uproot's values, bit for bit.

`readers_uproot.py FOLDER`: the folder in which uproot is installed."""
import glob
import os
import sys

sys.path.append(sys.argv[1])  # behind ROOT's own modules

import awkward as ak
import numpy as np
import ROOT
import uproot

ROOT.gROOT.SetBatch(True)
assert ROOT.gSystem.Load("libcladtorch") == 0
ct = ROOT.CladTorch

LENGTH, PAD = 3, -7.0  # of lists
BEYOND_UPROOT = {"codec301.root", "mlpHiggs.root"}  # compressed with "CS"


def as_floats(array):
    """`array` as float32 [N], or as [N, n]: lists are truncated and padded, inner dimensions are laid side by side."""
    if array.ndim > 1 and "var" in str(array.type):
        array = ak.fill_none(ak.pad_none(ak.values_astype(array, np.float32), LENGTH, clip=True), np.float32(PAD))
    numbers = ak.to_numpy(array).astype(np.float32)
    return numbers if numbers.ndim == 1 else numbers.reshape(len(numbers), -1)


def columns_of(branch):
    """Names of columns, as ROOT has them, with uproot's numbers."""
    array = branch.array()
    fields = ak.fields(array)
    if not fields:
        return {branch.name: as_floats(array)}
    return {f"{branch.name}.{field}": as_floats(array[field]) for field in fields}


def ours(path, tree, columns, reader):
    """Columns `columns` of the file, as float32 [N, F]."""
    data = ct.Dataset([name for name, numbers in columns if numbers.ndim == 1])
    for name, numbers in columns:
        if numbers.ndim > 1:
            data.Column(name, numbers.shape[1], PAD)
    data.SetReader(getattr(ct, reader))
    return np.asarray(data.Add(tree, path, 1.0).Features())


def compare(path):
    """Returns how many columns of the file's trees were compared, and which ones uproot did not read."""
    compared, left = 0, []
    with uproot.open(path) as file:
        for name in file.keys(filter_classname="TTree", cycle=False):
            tree, known = file[name], {}
            for branch in tree.branches:
                try:
                    known.update(columns_of(branch))
                except Exception as reason:
                    left.append(f"{branch.name} ({type(reason).__name__}: {str(reason).splitlines()[0]})")
            finite = [(column, numbers) for column, numbers in known.items() if np.isfinite(numbers).all()]
            columns = [each for each in finite if each[1].ndim == 1] + [each for each in finite if each[1].ndim > 1]
            expected = np.concatenate([numbers.reshape(len(numbers), -1) for _, numbers in columns], axis=1)
            for reader in ("kAutoReader", "kRootReader"):
                found = ours(path, name, columns, reader)
                equal = (found.view(np.uint32) == expected.view(np.uint32)).all(axis=0)
                assert found.shape == expected.shape and equal.all(), f"{path}, {name}: {np.flatnonzero(~equal)}"
            compared += len(columns)
    return compared, left


tutorials = str(ROOT.TROOT.GetTutorialDir())
paths = sorted(glob.glob("*.root")) + [
    f"{tutorials}/machine_learning/data/Higgs_data.root",
    f"{tutorials}/legacy/mlp/mlpHiggs.root",
]
assert len(paths) > 15
for path in paths:
    name = os.path.basename(path)
    try:
        compared, left = compare(path)
    except ValueError as reason:
        assert name in BEYOND_UPROOT and "CS" in str(reason), reason
        print(f"uproot {uproot.__version__} does not read {name}: {str(reason).splitlines()[0]}")
        continue
    assert compared > 0 and not left, f"{path}: {left}"
    print(f"uproot {uproot.__version__} agrees in {compared} columns of {name}")
print("ALL CHECKS PASSED", flush=True)
