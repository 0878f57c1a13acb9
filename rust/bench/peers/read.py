"""uproot's side of `cargo xtask bench read`: `read.py THREADS`. The lines are those of read.cxx."""

import sys
from concurrent.futures import ThreadPoolExecutor

import awkward
import numpy as np
import uproot
from lines import Rounds


def names(values):
    return [column.split("/")[0] for column in values["columns"].split(",")]


def checksum(x):
    """As in checksum.h, for the numbers of a matrix row by row."""
    bits = np.ascontiguousarray(x).view(np.uint32).ravel().astype(np.uint64)
    weights = 2 * np.arange(len(bits), dtype=np.uint64) + 1
    return int((bits * weights).sum(dtype=np.uint64)) % 2**53


def reader(threads):
    pool = ThreadPoolExecutor(threads) if threads > 1 else uproot.TrivialExecutor()

    def read(values, _):
        length = int(values["length"])
        with uproot.open(values["file"], num_workers=threads) as file:
            arrays = file[values["tree"]].arrays(
                names(values), library="ak" if length else "np", decompression_executor=pool, interpretation_executor=pool
            )
        if not length:
            return np.stack([arrays[name] for name in names(values)], axis=1, dtype=np.float32, casting="same_kind")
        padded = [awkward.fill_none(awkward.pad_none(arrays[name], length, clip=True), 0) for name in names(values)]
        return np.concatenate([awkward.to_numpy(column).astype(np.float32) for column in padded], axis=1)

    return read


Rounds(reader(int(sys.argv[1])), lambda _, matrix: checksum(matrix)).serve()
