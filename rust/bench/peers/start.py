"""PyTorch's side of `cargo xtask bench start`: `start.py ROWS BATCH THREADS`."""

import time

start = time.perf_counter()

import resource
import sys

import torch
from torch import nn

rows, batch, threads = map(int, sys.argv[1:])
torch.set_num_threads(threads)
x, y = torch.rand(rows, 28), (torch.rand(rows, 1) > 0.5).float()
model = nn.Sequential(nn.Linear(28, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
for first in range(0, rows, batch):
    optimiser.zero_grad(set_to_none=True)
    nn.functional.binary_cross_entropy_with_logits(model(x[first : first + batch]), y[first : first + batch]).backward()
    optimiser.step()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print("bench", time.perf_counter() - start, peak)
