"""Ctrl-C at any moment around the beginning of a long call ends it."""

import os
import random
import signal
import time

import ROOT

ROOT.gSystem.Load("libcladtorch")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background inherits that it is ignored
ct = ROOT.CladTorch

data = ct.Dataset(["x"]).Add(ROOT.RDataFrame(20000).Define("x", "float(rdfentry_ % 7)"), "rdfentry_ % 2")
model = ct.Mlp([1, 16, 1])
model.Fit(data, fEpochs=1, fVerbose=0)

random.seed(1)
read, write = os.pipe()
presser = os.fork()
if presser == 0:
    os.close(write)
    while os.read(read, 1):
        end = time.perf_counter() + 4e-4
        moment = end - 4e-4 * random.random()
        while time.perf_counter() < moment:
            pass
        os.kill(os.getppid(), signal.SIGINT)
    os._exit(0)
os.close(read)

heard = 0
for _ in range(300):
    try:
        # Whatever this interrupts, it is inside this block.
        os.write(write, b"x")
        model.Fit(data, fEpochs=1000000, fVerbose=0)
    except KeyboardInterrupt:
        heard += 1
os.close(write)
os.waitpid(presser, 0)
assert heard == 300, heard
print("ALL CHECKS PASSED")
