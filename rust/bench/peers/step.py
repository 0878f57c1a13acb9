"""PyTorch's side of `cargo xtask bench step`: `step.py eager|fused|compile THREADS`.

eager: torch.optim.Adam as it comes. fused: Adam(fused=True). compile: torch.compile of the loss, with the fused Adam.
The lines it reads and writes are those of rust/examples/bench_worker.rs. A batch is a view of contiguous rows.
"""

import sys
import time

import torch
from lines import answer, requests
from network import floats, perceptron
from torch import nn


class Training:
    def __init__(self, variant, sizes, batch, data):
        sizes = [int(size) for size in sizes.split(",")]
        self.batch = int(batch)
        self.x = floats(data, "features").reshape(-1, sizes[0])
        labels = floats(data, "labels")
        self.y = labels.reshape(-1, 1) if sizes[-1] == 1 else labels.long()
        self.model = perceptron(sizes, floats(data, "parameters"))
        criterion = nn.BCEWithLogitsLoss() if sizes[-1] == 1 else nn.CrossEntropyLoss()
        self.plain_loss = lambda x, y: criterion(self.model(x), y)
        self.loss = torch.compile(self.plain_loss) if variant == "compile" else self.plain_loss
        fused = None if variant == "eager" else True
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=1e-3, fused=fused)
        self.taken = 0

    def round(self, steps):
        batches = len(self.x) // self.batch
        start = time.perf_counter()
        for step in range(self.taken, self.taken + steps):
            first = step % batches * self.batch
            x, y = self.x[first : first + self.batch], self.y[first : first + self.batch]
            self.optimiser.zero_grad(set_to_none=True)
            self.loss(x, y).backward()
            self.optimiser.step()
        seconds = time.perf_counter() - start
        self.taken += steps
        return seconds / steps

    def check(self):
        with torch.no_grad():
            return self.plain_loss(self.x, self.y).item()


def main():
    variant, threads = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(threads)
    training = None
    for verb, values in requests():
        if verb == "case":
            torch.compiler.reset()
            training = Training(variant, values["sizes"], values["batch"], values["data"])
            answer("ready")
        elif verb == "round":
            answer("time", training.round(int(values["steps"])))
        elif verb == "check":
            answer("check", training.check())
        else:
            answer("error", "no request", verb)


main()
