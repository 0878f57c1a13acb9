"""The plugin's operators in PyTorch: torch.ops.load_library and torch.library.opcheck."""

import sys

sys.path.insert(0, sys.argv[2])  # where PyTorch is
import torch

torch.ops.load_library(sys.argv[1])
torch.manual_seed(1)
x = torch.randn(8, 4, requires_grad=True)
weight, bias = torch.randn(3, 4, requires_grad=True), torch.randn(3, requires_grad=True)
ops = torch.ops.cladtorch
expected = torch.nn.functional.linear(x, weight, bias).relu()
torch.testing.assert_close(ops.linear_act(x, weight, bias, "relu"), expected)
torch.testing.assert_close(ops.linear_act(x, weight, None, "relu"), (x @ weight.T).relu())
layers = [weight, bias, torch.randn(2, 3, requires_grad=True), torch.randn(2, requires_grad=True)]
for operator, arguments in [
    (ops.linear_act.default, (x, weight, bias, "tanh")),
    (ops.mlp.default, (x, layers, "silu")),
    (ops.layers.default, (x, layers, "gelu", False)),
]:
    print(operator, torch.library.opcheck(operator, arguments))
print("ALL CHECKS PASSED")
