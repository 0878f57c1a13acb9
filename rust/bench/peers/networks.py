"""The networks of `cargo xtask bench train` as modules of PyTorch, as networks.h has them."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class ResidualBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(width, width), nn.BatchNorm1d(width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.second(F.relu(self.norm(self.first(x))))


class DeepSets(nn.Module):
    def __init__(self):
        super().__init__()
        self.each = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.all = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.all(self.each(x).sum(1))


class TransformerBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.parts, self.mixed = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.between, self.wide, self.narrow = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        rows, tokens, width = x.shape
        parts = self.parts(self.before(x)).chunk(3, 2)
        q, k, v = (part.reshape(rows, tokens, self.heads, width // self.heads).transpose(1, 2) for part in parts)
        attention = F.scaled_dot_product_attention(q, k, v)
        x = x + self.mixed(attention.transpose(1, 2).reshape(rows, tokens, width))
        return x + self.narrow(F.gelu(self.wide(self.between(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.first, self.second = nn.Linear(8, 32), TransformerBlock(32, 4), TransformerBlock(32, 4)
        self.last = nn.Linear(32, 1)

    def forward(self, x):
        return self.last(self.second(self.first(self.embedding(x))).mean(1))


class ParticleNet(nn.Module):
    NEIGHBOURS = 7

    def __init__(self):
        super().__init__()
        self.edges = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.all = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        rows, particles, features = x.shape
        place = x.narrow(2, 0, 2)
        distance = (place.unsqueeze(1) - place.unsqueeze(2)).square().sum(3)
        nearest = distance.topk(self.NEIGHBOURS + 1, 2, largest=False).indices.narrow(2, 1, self.NEIGHBOURS)
        index = nearest.reshape(rows, particles * self.NEIGHBOURS, 1).expand(-1, -1, features)
        neighbour = x.gather(1, index).reshape(rows, particles, self.NEIGHBOURS, features)
        centre = x.unsqueeze(2).expand_as(neighbour)
        return self.all(self.edges(torch.cat([centre, neighbour - centre], 3)).mean(2).mean(1))


def residual_mlp():
    return nn.Sequential(nn.Linear(28, 64), *(ResidualBlock(64) for _ in range(3)), nn.Linear(64, 1))


def strain_cnn():
    return nn.Sequential(
        *(nn.Conv1d(1, 16, 16), nn.ReLU(), nn.MaxPool1d(4)),
        *(nn.Conv1d(16, 32, 8), nn.ReLU(), nn.MaxPool1d(4)),
        *(nn.Conv1d(32, 32, 8), nn.ReLU(), nn.MaxPool1d(4)),
        *(nn.Flatten(), nn.Linear(416, 64), nn.ReLU(), nn.Linear(64, 1)),
    )


def map_cnn():
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(2048, 64), nn.ReLU(), nn.Linear(64, 1)),
    )


def gw_search():
    """As root_macros/gw_network.h."""
    return nn.Sequential(
        *(nn.BatchNorm1d(2), nn.Conv1d(2, 4, 64), nn.BatchNorm1d(4), nn.ELU()),
        *(nn.Conv1d(4, 4, 32), nn.MaxPool1d(4), nn.BatchNorm1d(4), nn.ELU()),
        *(nn.Conv1d(4, 8, 32), nn.BatchNorm1d(8), nn.ELU()),
        *(nn.Conv1d(8, 8, 16), nn.MaxPool1d(3), nn.BatchNorm1d(8), nn.ELU()),
        *(nn.Conv1d(8, 16, 16), nn.BatchNorm1d(16), nn.ELU()),
        *(nn.Conv1d(16, 16, 16), nn.MaxPool1d(4), nn.BatchNorm1d(16), nn.ELU()),
        *(nn.Flatten(), nn.Linear(464, 32), nn.ELU(), nn.Linear(32, 16), nn.ELU(), nn.Linear(16, 1)),
    )


# Name: how the network is made, the shape of an event.
NETWORKS = {
    "residual-mlp": (residual_mlp, (28,)),
    "deep-sets": (DeepSets, (30, 8)),
    "strain-cnn": (strain_cnn, (1, 1024)),
    "gw-search": (gw_search, (2, 2048)),
    "map-cnn": (map_cnn, (1, 64, 64)),
    "transformer": (Transformer, (16, 8)),
    "particle-net": (ParticleNet, (24, 8)),
}


def wave(number, shape):
    """A sine of the place, the same in every party."""
    phase = (torch.arange(math.prod(shape), dtype=torch.float64) + 0.4) * (0.7 + 0.1 * number)
    return phase.sin().to(torch.float32).reshape(shape)


def initialise(net):
    """Weights that are the same in every party: matrices and filters within 1/sqrt(inputs), scales 1, biases 0."""
    with torch.no_grad():
        for number, (name, value) in enumerate(net.named_parameters()):
            if value.dim() > 1:
                value.copy_(wave(number, value.shape) * math.sqrt(value.shape[0] / value.numel()))
            else:
                value.fill_(0 if "bias" in name else 1)


def events(rows, shape):
    """[N, ...] features and [N, 1] labels that depend on them."""
    whole = wave(1, (rows, *shape))
    x = whole + 0.7 * (whole * 12347).sin()
    flat = x.flatten(1)
    score = flat.select(1, 0) + flat.select(1, 3) * flat.select(1, 1)
    wrong = flat.select(1, 2) > 1  # about one in eight
    return x, ((score > 0) != wrong).to(torch.float32).unsqueeze(1)
