"""PyTorch's side of `cargo xtask bench gpu`: `gpu.py eager|graph|graph-tf32|compile`, float32 products exact but for the third.

A request is a line. `case SIZES BATCH ROWS`: the perceptron 28-64-64-1 and its events on the GPU; answers 0. `round STEPS`: seconds
of a step of Adam. `loss`: that of all events, which must have fallen. eager: Adam(fused=True). graph: the same step as a CUDA graph,
with the batch gathered in it. compile: torch.compile(mode="max-autotune") of network and loss, with the same Adam.
"""

import sys
import time

import torch
from torch.nn import functional as F


def perceptron(sizes):
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1]).cuda()


class Training:
    def __init__(self, way, sizes, batch, rows):
        torch.manual_seed(1)
        self.batch, self.classes = batch, sizes[-1]
        self.net = perceptron(sizes)
        self.x = torch.randn(rows, sizes[0], device="cuda")
        score = self.x[:, 0] * self.x[:, 1] + 0.5 * self.x[:, 2]
        if self.classes == 1:
            self.y = (score > 0).float()[:, None]
        else:
            self.y = (score * 2).round().long() % self.classes
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=1e-3, fused=True, capturable=way == "graph")
        self.index = torch.zeros(batch, dtype=torch.int64, device="cuda")
        loss = self.plain_loss
        if way == "compile":
            loss = torch.compile(loss, mode="max-autotune", dynamic=False)
        self.compiled, self.graph = loss, None
        for _ in range(3):
            self.step(torch.randperm(rows, device="cuda")[:batch])
        if way == "graph":
            self.capture()

    def plain_loss(self, x, y):
        if self.classes == 1:
            return F.binary_cross_entropy_with_logits(self.net(x), y)
        return F.cross_entropy(self.net(x), y)

    def step(self, index):
        self.optimiser.zero_grad(set_to_none=True)
        self.compiled(self.x[index], self.y[index]).backward()
        self.optimiser.step()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step(self.index)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.step(self.index)

    def round(self, steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        order = torch.randperm(len(self.x), device="cuda")
        batches = len(self.x) // self.batch
        for step in range(steps):
            first = step % batches * self.batch
            index = order[first : first + self.batch]
            if self.graph is None:
                self.step(index)
            else:
                self.index.copy_(index)
                self.graph.replay()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / steps

    def loss(self):
        with torch.no_grad():
            return self.plain_loss(self.x, self.y).item()


def main():
    way, training = sys.argv[1], None
    if way == "graph-tf32":
        way, torch.backends.cuda.matmul.allow_tf32 = "graph", True
    for line in sys.stdin:
        verb, *values = line.split()
        if verb == "case":
            torch.compiler.reset()
            training = Training(way, [int(size) for size in values[0].split("-")], int(values[1]), int(values[2]))
            print(0, flush=True)
        elif verb == "round":
            print(training.round(int(values[0])), flush=True)
        else:
            print(training.loss(), flush=True)


main()
