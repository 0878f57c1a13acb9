"""PyTorch's side of `cargo xtask bench graph`: `graph.py eager|compile THREADS`.

The graphs and their inputs are those of graphs.h, the lines those of graph.cxx. compile: torch.compile with static shapes.
A repetition is the value and the gradients of all inputs that are numbers.
"""

import math
import sys
import time

import torch
from lines import answer, requests
from torch.nn import functional as F


def logistic(x, w, b, y):
    return F.binary_cross_entropy_with_logits(F.linear(x, w, b), y)


def mlp(x, w1, b1, w2, b2, w3, b3, y):
    h = F.relu(F.linear(x, w1, b1))
    h = F.relu(F.linear(h, w2, b2))
    return F.binary_cross_entropy_with_logits(F.linear(h, w3, b3), y)


def residual(x, *t):
    for scale, shift, w1, b1, w2, b2 in zip(*[iter(t)] * 6):
        h = F.layer_norm(x, x.shape[1:], scale, shift)
        x = x + F.linear(F.silu(F.linear(h, w1, b1)), w2, b2)
    return x.square().mean()


def strain_cnn(x, w1, b1, w2, b2, w3, b3, y):
    x = F.max_pool1d(F.relu(F.conv1d(x, w1, b1, padding=3)), 4, 4)
    x = F.avg_pool1d(F.relu(F.conv1d(x, w2, b2, padding=2)), 4, 4)
    return F.cross_entropy(F.linear(x.flatten(1), w3, b3), y)


def transformer(x, g1, h1, w1, b1, w2, b2, g2, h2, w3, b3, w4, b4):
    rows, tokens, width = x.shape
    parts = F.linear(F.layer_norm(x, (width,), g1, h1), w1, b1).chunk(3, 2)
    q, k, v = (part.reshape(rows, tokens, 4, width // 4).transpose(1, 2) for part in parts)
    attention = F.scaled_dot_product_attention(q, k, v)
    x = x + F.linear(attention.transpose(1, 2).reshape(rows, tokens, width), w2, b2)
    h = F.gelu(F.linear(F.layer_norm(x, (width,), g2, h2), w3, b3))
    return (x + F.linear(h, w4, b4)).square().mean()


def flow(x, w1, b1, w2, b2):
    first, second = x.chunk(2, 1)
    s, t = F.linear(F.linear(first, w1, b1).tanh(), w2, b2).chunk(2, 1)
    s = s.tanh()
    y = torch.cat([first, second * s.exp() + t], 1)
    return (0.5 * y.square().sum(1) - s.sum(1)).mean()


def mixture(x, a, mean, log_width):
    z = (x - mean) * (-log_width).exp()
    return -torch.logsumexp(-0.5 * z.square() + F.log_softmax(a, 0) - log_width, 1).mean()


def mass(pt1, eta1, phi1, pt2, eta2, phi2, scale, resonance):
    pt = (pt1.exp() * scale) * (pt2.exp() * scale)
    eta = eta1 - eta2
    m = (2 * pt * (0.5 * (eta.exp() + (-eta).exp()) - (phi1 - phi2).cos()) + 1e-3).sqrt()
    return (m - resonance).square().mean()


def resonance(x, mean, log_width, log_slope, logit):
    width, slope, share = log_width.exp(), log_slope.exp(), logit.sigmoid()
    signal = width / (math.pi * ((x - mean).square() + width.square()))
    background = slope * (-slope * (x + 1)).exp()
    return -(share * signal + (1 - share) * background).log().mean()


def huber(x, w1, b1, w2, b2, y, log_weight):
    z = F.linear(F.linear(x, w1, b1).tanh(), w2, b2)
    return (F.huber_loss(z, y, reduction="none", delta=0.5) * log_weight.exp()).mean()


def categories(index, table, x, w1, b1, w2, b2, y):
    x = torch.cat([F.embedding(index, table).flatten(1), x], 1)
    return F.cross_entropy(F.linear(F.gelu(F.linear(x, w1, b1)), w2, b2), y)


def deep_sets(x, w1, b1, w2, b2, w3, b3, w4, b4):
    there = (x[:, :, :1] > -0.3).to(torch.float32)
    h = F.relu(F.linear(F.relu(F.linear(x, w1, b1)), w2, b2))
    h = (h * there).sum(1)
    return F.softplus(F.linear(F.elu(F.linear(h, w3, b3)), w4, b4)).mean()


def call(x):
    return x * 2


def residual_shapes(n):
    return [(n, 64)] + 2 * [(64,), (64,), (128, 64), (128,), (64, 128), (64,)]


# Name: function, shapes of the inputs for n rows; {number of input: classes} of those that are indices.
GRAPHS = {
    "logistic": (logistic, lambda n: [(n, 28), (1, 28), (1,), (n, 1)], {}),
    "mlp": (mlp, lambda n: [(n, 28), (64, 28), (64,), (64, 64), (64,), (1, 64), (1,), (n, 1)], {}),
    "residual": (residual, residual_shapes, {}),
    "strain-cnn": (
        strain_cnn,
        lambda n: [(n, 1, 128), (8, 1, 7), (8,), (16, 8, 5), (16,), (2, 128), (2,), (n,)],
        {7: 2},
    ),
    "transformer": (
        transformer,
        lambda n: [(n, 8, 32), (32,), (32,), (96, 32), (96,), (32, 32), (32,), (32,), (32,), (64, 32), (64,), (32, 64), (32,)],
        {},
    ),
    "flow": (flow, lambda n: [(n, 8), (32, 4), (32,), (8, 32), (8,)], {}),
    "mixture": (mixture, lambda n: [(n, 1), (8,), (8,), (8,)], {}),
    "mass": (mass, lambda n: 6 * [(n,)] + 2 * [(1,)], {}),
    "resonance": (resonance, lambda n: [(n,)] + 4 * [(1,)], {}),
    "huber": (huber, lambda n: [(n, 16), (64, 16), (64,), (1, 64), (1,), (n, 1), (n, 1)], {}),
    "categories": (
        categories,
        lambda n: [(n, 4), (50, 8), (n, 16), (64, 48), (64,), (5, 64), (5,), (n,)],
        {0: 50, 7: 5},
    ),
    "deep-sets": (
        deep_sets,
        lambda n: [(n, 10, 8), (32, 8), (32,), (32, 32), (32,), (32, 32), (32,), (1, 32), (1,)],
        {},
    ),
    "call": (call, lambda n: [()], {}),
}


def tensor(number, shape, classes):
    count = math.prod(shape)
    if classes:
        return (torch.arange(count) * 7919).remainder(classes).reshape(shape)
    phase = (torch.arange(count, dtype=torch.float64) + 0.4) * (0.7 + 0.1 * number)
    return (phase.sin() * 0.6).to(torch.float32).reshape(shape).requires_grad_()


class Run:
    def __init__(self, variant, graph, batch):
        function, shapes, classes = GRAPHS[graph]
        self.inputs = [tensor(i, shape, classes.get(i)) for i, shape in enumerate(shapes(int(batch)))]
        self.numbers = [x for x in self.inputs if x.requires_grad]
        self.function = torch.compile(function, dynamic=False) if variant == "compile" else function

    def repetition(self):
        value = self.function(*self.inputs)
        return value, torch.autograd.grad(value, self.numbers)

    def round(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            self.repetition()
        return (time.perf_counter() - start) / steps

    def check(self):
        value, gradients = self.repetition()
        return value.item() + sum(gradient.abs().mean().item() for gradient in gradients)


def main():
    variant, threads = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(threads)
    run = None
    for verb, values in requests():
        if verb == "case":
            torch.compiler.reset()
            run = Run(variant, values["graph"], values["batch"])
            answer("ready")
        elif verb == "round":
            answer("time", run.round(int(values["steps"])))
        elif verb == "check":
            answer("check", run.check())
        else:
            answer("error", "no request", verb)


main()
