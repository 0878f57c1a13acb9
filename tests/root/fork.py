"""PyROOT: what a forked process may do with its parent's objects: it works or throws, and never waits."""
import os
import signal

import ROOT

ROOT.gROOT.SetBatch(True)
assert ROOT.gSystem.Load("libcladtorch") == 0
ct = ROOT.CladTorch
kPatience = 60  # seconds, after which a fork that waits is ended

ROOT.RDataFrame(20000).Define("x", "float(rdfentry_)").Define("y", "rdfentry_ % 2").Snapshot("t", "events.root")
data = ct.Dataset(["x"]).Add("t", "events.root", "y")


def fit(gradient):
    # Wide enough for LibTorch to use its threads.
    model = ct.Mlp([1, 512, 512, 1])
    return model.Fit(data, fEpochs=1, fBatchSize=4096, fVerbose=0, fGradient=gradient)


def forked(name, body):
    """Runs `body` in a fork, which must end."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(kPatience)
        code = 1
        try:
            body()
            code = 0
        except BaseException as error:
            print(f"{name}: {error!r}", flush=True)
        os._exit(code)
    status = os.waitpid(pid, 0)[1]
    assert status == 0, f"{name} ended with signal {os.WTERMSIG(status)}, code {os.WEXITSTATUS(status)}"


def refused(call):
    try:
        call()
    except ct.Error as error:
        assert "forked" in str(error) and "spawn" in str(error), error
    else:
        raise AssertionError("accepted")


for gradient in (ct.kAutograd, ct.kClad):
    before = fit(gradient)
    def again():
        history = fit(gradient)
        assert abs(history.TrainLoss()[0] - before.TrainLoss()[0]) < 1e-3, history.TrainLoss()[0]
    forked(f"Fit with gradient {int(gradient)}", again)
    forked(f"Fit with gradient {int(gradient)} in a fork of a fork", lambda: forked("inner", again))

stream = ct.Stream(["x"]).Add("t", "events.root", "y")
batches = stream.Batches(ct.FitOptions())
assert batches.Next()


def use():
    refused(batches.Next)
    refused(lambda: stream.Batches(ct.FitOptions()))
    refused(lambda: ct.Mlp([1, 4, 1]).Fit(stream, fEpochs=1, fVerbose=0))
    refused(lambda: stream.Add("t", "events.root", 1))
    fresh = ct.Stream(["x"]).Add("t", "events.root", "y")
    assert sum(batch[0].Rows() for batch in fresh.Batches(ct.FitOptions())) > 10000


forked("batches of the other process", use)
def end():
    global batches
    del batches
forked("the end of them", end)
assert batches.Next()
print("ALL CHECKS PASSED")
