"""PyTorch's side of `cargo xtask bench scale`, a process of a job of torchrun: `scale.py THREADS REQUEST`.

The request is that of rust/examples/bench_worker.rs. Rank 0 prints `bench SECONDS CHECK exchange=SECONDS`.
"""

import sys
import time

import torch
import torch.distributed as dist
from network import floats, perceptron
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Sum:
    def __init__(self, count):
        self.numbers = torch.full((int(count),), dist.get_rank() + 1.0)
        self.work = torch.empty_like(self.numbers)

    def step(self):
        self.work.copy_(self.numbers)
        dist.all_reduce(self.work)

    def check(self):
        return self.work[-1].item()


class Training:
    def __init__(self, sizes, batch, data):
        sizes = [int(size) for size in sizes.split(",")]
        self.batch = int(batch)
        self.x = floats(data, "features").reshape(-1, sizes[0])
        labels = floats(data, "labels")
        self.y = labels.reshape(-1, 1) if sizes[-1] == 1 else labels.long()
        self.model = DistributedDataParallel(perceptron(sizes, floats(data, "parameters")))
        self.criterion = nn.BCEWithLogitsLoss() if sizes[-1] == 1 else nn.CrossEntropyLoss()
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=1e-3, fused=True)
        self.taken = 0

    def step(self):
        batches = len(self.x) // (self.batch * dist.get_world_size())
        first = (self.taken % batches * dist.get_world_size() + dist.get_rank()) * self.batch
        self.taken += 1
        self.optimiser.zero_grad(set_to_none=True)
        self.criterion(self.model(self.x[first : first + self.batch]), self.y[first : first + self.batch]).backward()
        self.optimiser.step()

    def check(self):
        with torch.no_grad():
            return self.criterion(self.model.module(self.x), self.y).item()


def seconds(work, steps):
    """Of one of so many steps."""
    dist.barrier()
    start = time.perf_counter()
    for _ in range(steps):
        work.step()
    return (time.perf_counter() - start) / steps


def main():
    torch.set_num_threads(int(sys.argv[1]))
    request = dict(word.split("=", 1) for word in sys.argv[2].split())
    steps = int(request["steps"])
    dist.init_process_group("gloo")
    if "sum" in request:
        work = Sum(request["sum"])
    else:
        work = Training(request["sizes"], request["batch"], request["data"])
    seconds(work, steps // 3 + 1)
    whole, check = seconds(work, steps), work.check()
    exchange = whole
    if "sum" not in request:
        with work.model.no_sync():
            exchange = max(0.0, whole - seconds(work, steps))
    if dist.get_rank() == 0:
        print("bench", whole, check, f"exchange={exchange}", flush=True)
    dist.destroy_process_group()


main()
