"""Mistakes in declarations from Python to the interpreter, and in notebook cells; then everything works.

Usage: typos.py USED_BEFORE in a folder with the macros of typos.rs.
"""

import pathlib
import sys

import ROOT

if sys.argv[1] == "True":
    ROOT.gSystem.Load("libcladtorch")
    model = ROOT.CladTorch.Mlp([2, 4, 1])

good = pathlib.Path("corrected.C").read_text()
bad = {path.stem: path.read_text() for path in sorted(pathlib.Path().glob("*.C")) if path.stem != "corrected"}
for text in bad.values():
    assert not ROOT.gInterpreter.Declare(text), text
for name in bad:
    ROOT.gInterpreter.ProcessLine(f".L {name}.C")
    assert not ROOT.gROOT.GetGlobalFunction(name), name
if sys.argv[1] == "True":
    assert model.Inputs() == 2 and ROOT.CladTorch.Mlp(model).Outputs() == 1

assert ROOT.gInterpreter.Declare(good), good
ROOT.corrected()
ct = ROOT.CladTorch
assert ct.Mlp([3, 1], ct.kReLU, seed=2).Inputs() == 3
assert ct.FitOptions().fEpochs == 20
print("ALL CHECKS PASSED")
