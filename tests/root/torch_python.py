"""LibTorch through PyROOT: code passed to gInterpreter.Declare, and tensors held by Python."""

import pickle

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
assert ROOT.gInterpreter.Declare("CladTorch::Model linear() { return CladTorch::Model(torch::nn::Linear(2, 1), {2}); }")
model = ROOT.linear()
assert ROOT.CladTorch.Model(model).Inputs() == 2
again = pickle.loads(pickle.dumps(model))
assert (again.Inputs(), again.Outputs()) == (2, 1) and list(again.Parameters()) == list(model.Parameters())
# A network that LibTorch runs has no model file.
assert ROOT.gInterpreter.Declare("""
CladTorch::Model summed() {
   auto sum = [](torch::Tensor x) { return x.cumsum(1); };
   return CladTorch::Model(torch::nn::Sequential(torch::nn::Functional(sum), torch::nn::Linear(2, 1)), {2});
}
""")
try:
    pickle.dumps(ROOT.summed())
except TypeError as error:
    assert "LibTorch runs Sequential itself" in str(error) and "\n" not in str(error), error
else:
    raise AssertionError("a model without a model file was pickled")
print("ALL CHECKS PASSED")
