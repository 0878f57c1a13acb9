"""Long calls, each ended by Ctrl-C: KeyboardInterrupt, and the objects that they worked on are intact."""

import os
import signal
import threading

import ROOT

ROOT.gSystem.Load("libcladtorch")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background inherits that it is ignored
ct = ROOT.CladTorch


def endless():
    return ROOT.RDataFrame(1000000000000).Define("x", "float(rdfentry_ % 7)")


def events(rows):
    return ct.Dataset(["x"]).Add(ROOT.RDataFrame(rows).Define("x", "float(rdfentry_ % 7)"), "rdfentry_ % 2")


def interrupted(name, call):
    print("NOW", name, flush=True)
    try:
        call()
    except KeyboardInterrupt:
        print("KeyboardInterrupt in", name, flush=True)
    else:
        raise AssertionError(f"{name} went on")


# Once each before Ctrl-C: PyROOT sets up classes at their first use.
data = events(100)
jagged = ct.Jagged["double"]
jagged.Read(ROOT.RDataFrame(10).Define("x", "float(rdfentry_)"), "x", "x > 1")
first = ct.Mlp([1, 2, 1])
first.Fit(data, fEpochs=1, fVerbose=0, fGradient=ct.kAutograd)
assert not first.LastFit().Interrupted()
first.Predict(data)

frame = endless()
interrupted("Add of a frame", lambda: data.Add(frame, 1))
interrupted("Add of an expression", lambda: data.Add(frame, 1, "x * x > 1"))
assert data.Rows() == 100
interrupted("Jagged.Read", lambda: jagged.Read(frame, "x", "x > 1"))
large = ct.Mlp([1, 2048, 2048, 2048, 1])
some = events(300000)
interrupted("Predict", lambda: large.Predict(some))

many = events(20000)
wide = ct.Mlp([1, 512, 512, 1])
psd = ct.Signal.DetectorPsd(4096, 2048)
bank = [ct.Signal.MatchedFilter(ct.Signal.Chirp(4096, 2048, 15, 45, 1), psd, 2048, 1)]
endless_fit = dict(fEpochs=1000000, fVerbose=0)
pair = ct.Ensemble([ct.Mlp([1, 16, 1]), ct.Mlp([1, 8, 1])])
interrupted("SearchBounds", lambda: ct.Signal.SearchBounds(bank, 5, 0.5, 1.5, [0.1], 2000000, 2000000))
interrupted("Importance", lambda: wide.Importance(some, 1000))
interrupted("Report", lambda: wide.Report("report.pdf", some))
interrupted("CrossValidate", lambda: ct.Mlp([1, 16, 1]).CrossValidate(many, 3, **endless_fit))
interrupted("Ensemble.Fit", lambda: pair.Fit(many, **endless_fit))
tuning = ct.RandomSearch(ct.Mlp([1, 16, 1])).LogUniform("fLearningRate", 1e-5, 1e-3)
tuning.Run(many, 1, fEpochs=1, fVerbose=0)
interrupted("RandomSearch.Run", lambda: tuning.Run(many, 3, **endless_fit))
assert len(tuning.Trials()) == 1  # it keeps what has ended
area = [ct.Metric("area", lambda e: e.Auc())]
first.Fit(many, fMetrics=area, fEpochs=1, fVerbose=0)
interrupted("a metric of a fit", lambda: first.Fit(many, fMetrics=area, **endless_fit))
assert first.LastFit().Interrupted()  # it keeps what it has learned

model = ct.Mlp([1, 16, 1])
before = list(model.Parameters())
for gradient in (ct.kClad, ct.kAutograd):
    interrupted("Fit", lambda: model.Fit(many, fEpochs=1000000, fVerbose=0, fGradient=gradient))
    assert model.LastFit().Interrupted() and 0 <= model.LastFit().Epochs() < 1000000
    after = list(model.Parameters())
    assert after != before
    before = after
model.Predict(data)

# Python's handler does not run in a thread: the thread gets the error, and the main thread KeyboardInterrupt.
caught = []


def fit():
    try:
        model.Fit(many, fEpochs=1000000, fVerbose=0)
    except ct.Interrupted as error:
        caught.append(error)


thread = threading.Thread(target=fit)
thread.start()
interrupted("Fit in a thread", thread.join)
thread.join()
assert len(caught) == 1

# The user's own handler decides what follows.
signals = []
signal.signal(signal.SIGINT, lambda number, frame: signals.append(number))
print("NOW with a handler", flush=True)
try:
    model.Fit(many, fEpochs=1000000, fVerbose=0)
except ct.Interrupted as error:
    assert "LastFit" in str(error)
assert signals == [signal.SIGINT]

# A handler that ignores the signal.
signal.signal(signal.SIGINT, signal.SIG_IGN)
threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
assert not model.Fit(many, fEpochs=300, fVerbose=0).Interrupted()
print("ALL CHECKS PASSED")
