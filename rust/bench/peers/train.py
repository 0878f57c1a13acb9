"""PyTorch's side of `cargo xtask bench train`: `train.py eager|compile THREADS`.

The networks and events are those of networks.h, the lines those of train.cxx. eager: Adam(fused=True). compile:
torch.compile of network and loss, with the same Adam. Adam begins anew in each round.
"""

import sys
import time

import torch
from lines import answer, requests
from networks import NETWORKS, events, initialise
from torch.nn import functional as F


class Training:
    def __init__(self, variant, network, batch, rows):
        make, shape = NETWORKS[network]
        self.batch, self.net = int(batch), make()
        initialise(self.net)
        self.x, self.y = events(int(rows), shape)
        self.plain_loss = lambda x, y: F.binary_cross_entropy_with_logits(self.net(x), y)
        self.loss = torch.compile(self.plain_loss, dynamic=False) if variant == "compile" else self.plain_loss

    def round(self, steps):
        start = time.perf_counter()
        optimiser = torch.optim.Adam(self.net.parameters(), lr=1e-3, fused=True)
        batches = len(self.x) // self.batch
        for step in range(steps):
            first = step % batches * self.batch
            x, y = self.x[first : first + self.batch], self.y[first : first + self.batch]
            optimiser.zero_grad(set_to_none=True)
            self.loss(x, y).backward()
            optimiser.step()
        return (time.perf_counter() - start) / steps

    def check(self):
        self.net.eval()
        with torch.no_grad():
            blocks = zip(self.x.split(512), self.y.split(512))
            loss = sum(len(x) * self.plain_loss(x, y).item() for x, y in blocks) / len(self.x)
        self.net.train()
        return loss


def main():
    variant, threads = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(threads)
    training = None
    for verb, values in requests():
        if verb == "case":
            torch.compiler.reset()
            training = Training(variant, values["network"], values["batch"], values["rows"])
            answer("ready")
        elif verb == "round":
            answer("time", training.round(int(values["steps"])))
        elif verb == "check":
            answer("check", training.check())
        else:
            answer("error", "no request", verb)


main()
