"""Frames whose events workers read: columns for a dataset, and scores that the workers write.

`workers.py FOLDER`: the folder in which dask and distributed may be installed; without them nothing is tried.
"""

import os
import sys

sys.path.append(sys.argv[1])
os.environ["PYTHONPATH"] = os.pathsep.join([os.environ.get("PYTHONPATH", ""), sys.argv[1]])  # of the workers

import numpy as np
import ROOT

import cladtorch as ct

COLUMNS = ["x", "y", "x * y"]


def write(number, name):
    first, entries = 1000 * number, 400 + 100 * number
    frame = ROOT.RDataFrame(entries).Define("n", f"double(rdfentry_ + {first})")
    frame = frame.Define("x", "float(sin(n))").Define("y", "cos(3 * n)").Define("in", "int(x + y > 0.2)")
    frame = frame.Define("w", "1 + 0.5 * x").Define("list", "ROOT::RVecF{x, float(y)}").Define("n_of_file", str(number))
    frame = frame.Define("jets_list1", "x * y")
    frame.Snapshot("events", name, ["x", "y", "in", "w", "list", "n_of_file", "jets_list1"])


def load(path):
    """In each worker: the plugin, and the model as a function."""
    import ROOT

    if not hasattr(ROOT, "cladtorch_score"):
        ROOT.gSystem.Load("libcladtorch")
        ROOT.gInterpreter.Declare(
            "#include <CladTorch/CladTorch.hxx>\n"
            "float cladtorch_score(float x, float y, float xy) {"
            f'static const auto score = CladTorch::Model::Load("{path}").Functor();'
            "return score({x, y, xy}); }"
        )


def rows(data):
    """[N, F + 2], in an order that does not depend on the arrival of the events."""
    table = np.column_stack([np.asarray(data.Features()), np.asarray(data.Labels()), np.asarray(data.Weights())])
    return table[np.lexsort(table.T)]


def rows_of(stream):
    """The same of all batches of an epoch."""
    batches = stream.Batches(fValidation=0)
    return rows(Joined([[np.array(part) for part in batch] for batch in batches]))


class Joined:
    """The result of a dataset of these batches."""

    def __init__(self, batches):
        self.Features, self.Labels, self.Weights = ((lambda part=part: np.concatenate(part)) for part in zip(*batches))


def refused(call, words):
    try:
        call()
    except TypeError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")


def check(client):
    files = [os.path.abspath(f"part_{number}.root") for number in range(3)]
    for number, file in enumerate(files):
        write(number, file)
    local = ROOT.RDataFrame("events", files)
    spread = ROOT.RDataFrame("events", files, executor=client, npartitions=4)

    def dataset(frame, cut="", columns=COLUMNS):
        return ct.Dataset(columns).SetWeight("w").Add(frame, "in", cut)

    def stream(frame, cut):
        return ct.Dataset(["x", "jets_list1"]).Column("list", 2).Mask("list").SetWeight("w").Stream().Add(frame, "in", cut)

    for cut in ("", "x > -0.5"):
        found, wanted = rows(dataset(spread, cut)), rows(dataset(local, cut))
        assert found.shape == wanted.shape and (found == wanted).all(), cut
    both = [rows(ct.Dataset(["y"]).Column("list", 2).Add(frame, 1)) for frame in (spread, local)]
    assert (both[0] == both[1]).all()
    short = ct.Dataset(["x"]).Column("list", 3)
    refused(lambda: short.Add(spread, 1), "column 'list' takes 3 numbers an event, and one has 2")
    refused(lambda: ct.Stream(["x", "x * y"]).Add(spread, "in"), "no column 'x * y', and a stream reads what the workers write")
    refused(lambda: ct.Stream(["x"]).Add(spread, "in", "x > 7"), "no event of the frame passes the cut 'x > 7'")
    for cut in ("", "x > -0.5", "n_of_file == 1"):
        found, wanted = rows_of(stream(spread, cut)), rows_of(stream(local, cut))
        assert found.shape == wanted.shape and (found == wanted).all(), cut
    refused(lambda: dataset(spread, lambda x: x > 0), "the cut of a distributed frame is an expression")
    for text in ("list[0]", "x^2", "Length$(list)"):
        refused(lambda: ct.Dataset([text]).Add(spread, "in"), "is computed by the workers as plain C++")
        refused(lambda: dataset(spread, text + " > 0"), "is computed by the workers as plain C++")

    model = ct.Mlp([3, 16, 1])
    model.Fit(dataset(spread), fEpochs=3, fVerbose=0)
    model.Save("model.ctm")
    ROOT.RDF.Distributed.initialize(load, os.path.abspath("model.ctm"))
    scored = ROOT.RDataFrame("events", files, executor=client, npartitions=4).Define("score", "cladtorch_score(x, y, x * y)")
    scored.Snapshot("scored", os.path.abspath("scored.root"), ["x", "y", "score"])
    read = ROOT.RDataFrame("scored", "scored_*.root").AsNumpy(["x", "y", "score"])
    assert len(read["x"]) == 400 + 500 + 600
    events = ct.Dataset(COLUMNS).Add(ROOT.RDataFrame("scored", "scored_*.root"), 0)
    assert np.array_equal(np.ravel(model.Predict(events)), read["score"])
    print("the workers read", len(rows(dataset(spread))), "events for a dataset, and wrote", len(read["score"]), "scores")


def main():
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        print(f"frames of workers skipped: {error} (pip install dask distributed)")
    else:
        with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as client:
            check(client)
    print("ALL CHECKS PASSED")


if __name__ == "__main__":  # the workers read this file, too
    main()
