"""The shortest way from columns to a trained step, after one way of loading the plugin.

usage: first_step.py numpy-first|root-first|threads
"""
import sys
import time

order = sys.argv[1]
if order == "numpy-first":
    import numpy as np
    import ROOT
else:
    import ROOT
    import numpy as np

if order == "threads":
    ROOT.EnableImplicitMT(2)

start = time.time()
assert ROOT.gSystem.Load("libcladtorch") == 0
ct = ROOT.CladTorch
frame = ROOT.RDataFrame(64).Define("x", "float(rdfentry_)").Define("y", "float(rdfentry_ % 2)")
data = ct.Dataset(["x", "y"]).Add(frame, "y")
history = ct.Mlp([2, 8, 1]).Fit(data, fEpochs=1, fBatchSize=64, fVerbose=0)
print(f"from gSystem.Load to the first trained step: {time.time() - start:.2f} s, loss {history.TrainLoss()[0]:.4f}")
assert history.Epochs() == 1 and history.TrainLoss()[0] > 0
assert np.array_equal(np.asarray(data.Features())[:, 0], np.arange(64))
print("ALL CHECKS PASSED")
