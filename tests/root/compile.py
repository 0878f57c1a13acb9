"""CladTorch.Compile in PyROOT, for a function passed to gInterpreter.Declare."""

import ROOT

ROOT.gSystem.Load("libcladtorch")
assert ROOT.gInterpreter.Declare("""
#include <CladTorch/Torch.hxx>
torch::Tensor my_graph(torch::Tensor x, torch::Tensor w) { return (x.matmul(w).relu()).sum(); }
CladTorch::Compiled compile(const torch::Tensor &x, const torch::Tensor &w) { return CladTorch::Compile(my_graph, {x, w}); }
double largest(const torch::Tensor &x) { return x.abs().max().item<double>(); }
""")
torch = ROOT.torch
x, w = torch.ones([8, 4]), torch.ones([4, 3])
compiled = ROOT.compile(x, w)
y = compiled.Forward([x, w])
gradients = compiled.Backward([torch.ones_like(y)])
assert ROOT.largest(y) == 96
assert ROOT.largest(gradients[0]) == 3 and ROOT.largest(gradients[1]) == 8
by_name = ROOT.CladTorch.Compile(ROOT.my_graph, [x, w], fName="graph", fDynamicBatch=True)
assert ROOT.largest(by_name.Forward([torch.ones([3, 4]), w])) == 36 and by_name.BackEnd() == "aot"
for function in (lambda x: x, "my_graph", ROOT.largest):
    try:
        ROOT.CladTorch.Compile(function, [x])
    except TypeError as error:
        assert "Declare" in str(error) or "largest" in str(error), error
    else:
        raise AssertionError(f"{function} was compiled")
for examples in ([[1.0, 2.0]], 3, [x, None]):
    try:
        ROOT.CladTorch.Compile(ROOT.my_graph, examples)
    except TypeError as error:
        assert "takes a list of LibTorch's tensors" in str(error), error
    else:
        raise AssertionError(f"{examples} were taken")
try:
    compiled.Forward(x, w)
except TypeError as error:
    assert "give them as one list" in str(error), error
else:
    raise AssertionError("two tensors were taken as a list")
try:
    compiled.Forward([x])
except Exception as error:  # CladTorch::Error
    assert "takes 2 tensors" in str(error), error
else:
    raise AssertionError("one input instead of two was not refused")
# Nothing runs under Python's lock: beside Python's torch LibTorch's autograd refuses that.
ROOT.gInterpreter.Declare("""
extern "C" int PyGILState_Check();
int gHeld = 0, gCalls = 0;
torch::Tensor look(torch::Tensor x) { ++gCalls, gHeld += PyGILState_Check(); return x; }
torch::Tensor watched(torch::Tensor x) {
   if (x.requires_grad()) x.register_hook([](torch::Tensor slope) { return look(slope); });
   return look(x).exp().cumsum(0).sum();
}
""")
free = ROOT.CladTorch.Compile(ROOT.watched, [x], fBackEnd=ROOT.CladTorch.kAutogradBackEnd)
one = torch.ones([])
for name, call in {
    "Forward": lambda: free.Forward([x]),
    "Backward": lambda: free.Backward([one]),
    "ForwardAll": lambda: free.ForwardAll([x]),
    "Call": lambda: free.Call([x]),
    "CallAll": lambda: free.CallAll([x]),
    "Jacobian": lambda: free.Jacobian([x]),
    "HessianVector": lambda: free.HessianVector([x], [x]),
}.items():
    before = ROOT.gCalls
    call()
    assert ROOT.gCalls > before and ROOT.gHeld == 0, f"{name}: {ROOT.gCalls - before} calls, {ROOT.gHeld} under the lock"
ROOT.watched(x)
assert ROOT.gHeld > 0, "PyROOT itself keeps the lock"
print("ALL CHECKS PASSED")
