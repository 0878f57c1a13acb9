"""The networks of `cargo xtask bench inference`: `inference_networks.py NETWORK EVENTS FOLDER` writes into the folder net.pt
(TorchScript, traced in evaluation), net.onnx (opset 17), events and expected (float32: [events, ...] and what PyTorch computes
of them in float64), and prints the shape of an event.

An event is 28 numbers for `mlp`. For the others it is 30 particles [9, 30]: eta, phi, log pt and five more, and a mask; at least
10 particles are there, and what is not is 0.
"""

import math
import sys
from pathlib import Path

import torch
from networks import initialise, wave
from torch import nn
from torch.nn import functional as F

PARTICLES, FEATURES = 30, 8


class Edges(nn.Module):
    """Convolution over the edges to the nearest neighbours (Qu and Gouskos 2020, fig. 1)."""

    NEIGHBOURS = 7

    def __init__(self, inputs, width):
        super().__init__()
        sizes = [2 * inputs, width, width, width]
        layers = ([nn.Conv2d(a, b, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()] for a, b in zip(sizes, sizes[1:]))
        self.layers = nn.Sequential(*(each for layer in layers for each in layer))
        self.shortcut = nn.Sequential(nn.Conv1d(inputs, width, 1, bias=False), nn.BatchNorm1d(width))

    def forward(self, places, x):
        events, features, particles = x.shape
        squares = places.square().sum(1, keepdim=True)
        distance = squares + squares.transpose(1, 2) - 2 * places.transpose(1, 2) @ places
        nearest = distance.topk(self.NEIGHBOURS + 1, 2, largest=False).indices[:, :, 1:]
        index = nearest.reshape(events, 1, particles * self.NEIGHBOURS).expand(-1, features, -1)
        neighbour = x.gather(2, index).reshape(events, features, particles, self.NEIGHBOURS)
        centre = x.unsqueeze(3).expand_as(neighbour)
        mean = self.layers(torch.cat([centre, neighbour - centre], 1)).mean(3)
        return F.relu(self.shortcut(x) + mean)


class ParticleNet(nn.Module):
    """ParticleNet-Lite (Qu and Gouskos 2020, fig. 2)."""

    def __init__(self):
        super().__init__()
        self.norm, self.first, self.second = nn.BatchNorm1d(FEATURES), Edges(FEATURES, 32), Edges(32, 64)
        self.fusion = nn.Sequential(nn.Conv1d(96, 128, 1, bias=False), nn.BatchNorm1d(128), nn.ReLU())
        self.last = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, event):
        x, mask = event.split([FEATURES, 1], 1)
        far = 1e3 * (1 - mask)
        x = self.norm(x) * mask
        a = self.first(event[:, :2] + far, x) * mask
        b = self.second(a + far, a) * mask
        whole = self.fusion(torch.cat([a, b], 1)) * mask
        return self.last(whole.sum(2) / mask.sum(2))


class Block(nn.Module):
    """A block of the Particle Transformer (Qu, Li and Qian 2022, fig. 3): of particles, with a bias for each pair; of a class
    token, which alone asks, where `tokens` are given."""

    HEADS = 4

    def __init__(self, width):
        super().__init__()
        self.before, self.middle, self.between, self.inner = (nn.LayerNorm(n) for n in (width, width, width, 4 * width))
        self.q, self.k, self.v, self.mixed = (nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def heads(self, x):
        return x.reshape(x.shape[0], -1, self.HEADS, x.shape[2] // self.HEADS).transpose(1, 2)

    def forward(self, x, bias, token=None):
        given = self.before(x if token is None else torch.cat([token, x], 1))
        asking = given if token is None else token
        q, k, v = self.heads(self.q(asking)), self.heads(self.k(given)), self.heads(self.v(given))
        weights = (q @ k.transpose(2, 3) / math.sqrt(q.shape[3]) + bias).softmax(3)
        x = asking + self.middle(self.mixed((weights @ v).transpose(1, 2).reshape(x.shape[0], -1, x.shape[2])))
        return x + self.narrow(self.inner(F.gelu(self.wide(self.between(x)))))


class ParticleTransformer(nn.Module):
    """The Particle Transformer, of width 64, with two blocks of particles and one of the class."""

    def __init__(self, width=64):
        super().__init__()
        self.norm, self.token = nn.BatchNorm1d(FEATURES), nn.Parameter(torch.zeros(1, 1, width))
        self.embedding = nn.Sequential(nn.Linear(FEATURES, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, width), nn.GELU())
        pairs = [nn.BatchNorm1d(4), nn.Conv1d(4, 32, 1), nn.BatchNorm1d(32), nn.GELU(), nn.Conv1d(32, Block.HEADS, 1)]
        self.pairs, self.blocks = nn.Sequential(*pairs), nn.ModuleList([Block(width), Block(width)])
        self.of_class, self.end, self.last = Block(width), nn.LayerNorm(width), nn.Linear(width, 1)

    @staticmethod
    def of_pairs(x):
        """Logarithms of distance, kt, share of the momentum and mass of each pair [events, 4, particles, particles]."""
        eta, phi, log_pt = x[:, 0:1], x[:, 1:2], x[:, 2:3]
        difference = lambda part: part.unsqueeze(3) - part.unsqueeze(2)
        around = torch.remainder(difference(phi) + math.pi, 2 * math.pi) - math.pi
        distance = (difference(eta).square() + around.square() + 1e-8).sqrt()
        pt = log_pt.exp()
        least = torch.minimum(pt.unsqueeze(3), pt.unsqueeze(2))
        share = least / (pt.unsqueeze(3) + pt.unsqueeze(2))
        grown = difference(eta).exp()
        cosh = (grown + 1 / grown) / 2  # ONNX's exporter has no torch.cosh
        mass = 2 * pt.unsqueeze(3) * pt.unsqueeze(2) * (cosh - torch.cos(around))
        return torch.cat([distance, least * distance, share, mass.clamp(min=1e-6)], 1).log()

    def forward(self, event):
        x, mask = event.split([FEATURES, 1], 1)
        events, _, particles = x.shape
        hidden = -1e4 * (1 - mask.unsqueeze(2))
        bias = self.pairs(self.of_pairs(x).reshape(events, 4, particles * particles))
        bias = bias.reshape(events, Block.HEADS, particles, particles) + hidden
        x = self.embedding(self.norm(x).transpose(1, 2))
        for block in self.blocks:
            x = block(x, bias)
        token = self.of_class(x, F.pad(hidden, (1, 0)), self.token.expand(events, -1, -1))
        return self.last(self.end(token)).flatten(1)


NETWORKS = {
    "mlp": lambda: nn.Sequential(nn.Linear(28, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid()),
    "particle-net": ParticleNet,
    "particle-transformer": ParticleTransformer,
}


def made(network):
    """In evaluation, with running statistics that are not 0 and 1."""
    net = NETWORKS[network]().eval()
    initialise(net)
    for number, module in enumerate(each for each in net.modules() if hasattr(each, "running_mean")):
        module.running_mean.copy_(0.1 * wave(number, module.running_mean.shape))
        module.running_var.copy_(1 + 0.5 * wave(number + 1, module.running_var.shape))
    return net


def events(network, rows):
    shape = (28,) if network == "mlp" else (FEATURES + 1, PARTICLES)
    whole = wave(1, (rows, *shape))
    x = whole + 0.7 * (whole * 12347).sin()
    if network != "mlp":
        there = 10 + torch.arange(rows) * 7 % (PARTICLES - 9)
        x[:, FEATURES] = (torch.arange(PARTICLES) < there.unsqueeze(1)).to(torch.float32)
        x[:, :FEATURES] *= x[:, FEATURES:]
    return x


def export(net, x, path):
    names = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": {"x": {0: "events"}, "y": {0: "events"}}}
    torch.onnx.export(net, x, path, dynamo=False, opset_version=17, **names)


def main():
    network, rows, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    net, x = made(network), events(network, rows)
    with torch.inference_mode():
        exact = made(network).double()
        expected = torch.cat([exact(block.double()) for block in x.split(4096)])
    x.numpy().tofile(folder / "events")
    expected.float().numpy().tofile(folder / "expected")
    torch.jit.trace(net, x[:3], check_trace=False).save(folder / "net.pt")
    try:
        export(net, x[:3], folder / "net.onnx")
    except (ImportError, torch.onnx.errors.OnnxExporterError) as error:
        print(f"no net.onnx: {error}", file=sys.stderr)
    print(",".join(map(str, x.shape[1:])))


if __name__ == "__main__":
    main()
