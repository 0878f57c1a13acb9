"""Writes scikit-learn's digits as the tree `digits` of a ROOT file: `digits.py FILE`.

64 columns p0 to p63 (8 x 8 pixels, 0 to 16) and `label` (0 to 9), float32, 1797 rows.
"""

import sys

import numpy as np
import uproot
from sklearn.datasets import load_digits

digits = load_digits()
columns = {f"p{i}": digits.data[:, i].astype(np.float32) for i in range(64)}
columns["label"] = digits.target.astype(np.float32)
with uproot.recreate(sys.argv[1]) as file:
    file.mktree("digits", {name: np.float32 for name in columns})
    file["digits"].extend(columns)
