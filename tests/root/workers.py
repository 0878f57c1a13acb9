"""Frames whose events workers read: columns for a dataset, and scores that the workers write.

`workers.py FOLDER`: where dask and distributed may be installed; without them nothing is tried.
"""

import os
import sys

sys.path.append(sys.argv[1])
os.environ["PYTHONPATH"] = os.pathsep.join([os.environ.get("PYTHONPATH", ""), sys.argv[1]])  # of the workers

import numpy as np
import ROOT

import cladtorch as ct

COLUMNS = ["x", "y", "x * y"]


def write(name, first, entries):
    frame = ROOT.RDataFrame(entries).Define("n", f"double(rdfentry_ + {first})")
    frame = frame.Define("x", "float(sin(n))").Define("y", "cos(3 * n)").Define("in", "int(x + y > 0.2)")
    frame = frame.Define("w", "1 + 0.5 * x").Define("list", "ROOT::RVecF{x, float(y)}")
    frame.Snapshot("events", name, ["x", "y", "in", "w", "list"])


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
    """[N, F + 2], in an order that does not depend on how the events came."""
    table = np.column_stack([np.asarray(data.Features()), np.asarray(data.Labels()), np.asarray(data.Weights())])
    return table[np.lexsort(table.T)]


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
        write(file, 1000 * number, 400 + 100 * number)
    local = ROOT.RDataFrame("events", files)
    spread = ROOT.RDataFrame("events", files, executor=client, npartitions=4)

    def dataset(frame, cut="", columns=COLUMNS):
        return ct.Dataset(columns).SetWeight("w").Add(frame, "in", cut)

    for cut in ("", "x > -0.5"):
        found, wanted = rows(dataset(spread, cut)), rows(dataset(local, cut))
        assert found.shape == wanted.shape and (found == wanted).all(), cut
    both = [rows(ct.Dataset(["y"]).Column("list", 2).Add(frame, 1)) for frame in (spread, local)]
    assert (both[0] == both[1]).all()
    short = ct.Dataset(["x"]).Column("list", 3)
    refused(lambda: short.Add(spread, 1), "column 'list' takes 3 numbers an event, and one has 2")
    refused(lambda: ct.Stream(["x"]).Add(spread, "in"), "let the workers write them by frame.Snapshot")
    refused(lambda: dataset(spread, lambda x: x > 0), "the cut of a distributed frame is an expression")

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
