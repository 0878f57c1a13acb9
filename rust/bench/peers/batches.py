"""ROOT's RDataLoader in the cases `batches/` of `cargo xtask bench read`: `batches.py THREADS`. As in batches.C."""

import sys
import time

import numpy as np
import ROOT
from lines import Rounds


def walk(values, seed):
    """Seconds to the first batch, and each column's sum of bits."""
    start = time.perf_counter()
    columns = [column.split("/")[0] for column in values["columns"].split(",")]
    loader = ROOT.Experimental.ML.RDataLoader(
        ROOT.RDataFrame(values["tree"], values["file"]),
        int(values["batch"]),
        columns=columns,
        shuffle=True,
        drop_remainder=False,
        set_seed=seed + 1,
    )
    first, sums = None, np.zeros(len(columns), np.uint64)
    for batch in loader.as_numpy():
        if first is None:
            first = time.perf_counter() - start
        sums += np.ascontiguousarray(batch).view(np.uint32).sum(axis=0, dtype=np.uint64)
    return first, sums


def check(_, result):
    sums = result[1]
    return int((sums * (2 * np.arange(len(sums), dtype=np.uint64) + 1)).sum(dtype=np.uint64)) % 2**53


if int(sys.argv[1]) > 1:
    ROOT.EnableImplicitMT(int(sys.argv[1]))
Rounds(walk, check, lambda result: f"first={result[0]}").serve()
