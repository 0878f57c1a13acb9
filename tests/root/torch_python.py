"""LibTorch through PyROOT: code given to gInterpreter.Declare, and tensors that Python holds."""

import ROOT

ROOT.gSystem.Load("libcladtorch")
assert ROOT.gInterpreter.Declare("""
#include <CladTorch/Torch.hxx>
torch::Tensor scaled(const torch::Tensor &x, double factor) { return x * factor; }
double total(const torch::Tensor &x) { return x.sum().item<double>(); }
""")
tensor = ROOT.scaled(ROOT.torch.ones([2, 3]), 2.5)
assert (tensor.size(0), tensor.size(1)) == (2, 3)
assert ROOT.total(tensor) == 15
try:
    tensor.matmul(tensor)
except Exception as error:  # what PyROOT makes of a c10::Error
    assert "2x3 and 2x3" in str(error), error
else:
    raise AssertionError("a product of wrong shapes was not refused")
print("ALL CHECKS PASSED")
