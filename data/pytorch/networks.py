"""Writes the networks of the tests as PyTorch does: TorchScript files, a state_dict and a Lightning-like checkpoint.

python networks.py FOLDER        # PyTorch 2.11
"""

import io
import json
import sys
import zipfile
from pathlib import Path

import torch
from torch import Tensor, nn


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 16), nn.Linear(16, 1)
        self.norm, self.inner = nn.LayerNorm(16), nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x)
        for _ in range(2):
            h = h + nn.functional.gelu(self.inner(self.norm(h)))
        return self.last(h)


class DeepSet(nn.Module):
    """Particles [events, 5, 3] with their mask [events, 5, 1]."""

    def __init__(self):
        super().__init__()
        self.each, self.all = nn.Sequential(nn.Linear(3, 8), nn.ReLU()), nn.Linear(8, 2)

    def forward(self, particles: Tensor, mask: Tensor) -> Tensor:
        return self.all((self.each(particles) * mask).sum(1))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(4, 24), nn.Linear(8, 1)
        self.scale = 8**-0.5

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        weights = torch.softmax(q @ k.transpose(-2, -1) * self.scale, -1)
        return self.out((weights @ v).mean(1))


class Image(nn.Module):
    """As torchvision's residual networks."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.block, self.pool, self.last = nn.Conv2d(4, 4, 3, padding=1), nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.relu(self.norm(self.stem(x)))
        h = torch.relu(h + self.block(h))
        return self.last(torch.flatten(self.pool(h), 1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.last = nn.GRU(2, 6, batch_first=True), nn.Linear(6, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.gru(x)[0][:, -1])


class Positions(nn.Module):
    """A table of its own, a buffer that is not in the state_dict, and a branch on the mode."""

    def __init__(self):
        super().__init__()
        self.table, self.last = nn.Parameter(torch.randn(5, 3)), nn.Linear(15, 1)
        self.register_buffer("shift", torch.linspace(-1, 1, 3), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(x + self.table + self.shift)
        if self.training:
            h = nn.functional.dropout(h, 0.1)
        return self.last(h.flatten(1))


class Edges(nn.Module):
    """Points [events, 3, 6] and their neighbours, found by indices that count through all events of the batch, as code for graphs does;
    a counter that nothing reads; sizes that a trace keeps as tensors."""

    def __init__(self, by_rows):
        super().__init__()
        self.by_rows, self.each, self.last = by_rows, nn.Linear(6, 8), nn.Linear(8, 1)
        self.scales = nn.Parameter(torch.rand(9))
        self.register_buffer("neighbours", torch.stack([torch.randperm(6)[:2] for _ in range(6)]).unsqueeze(0))
        self.register_buffer("calls", torch.zeros(1, dtype=torch.long), persistent=False)

    def taken(self, x: Tensor) -> Tensor:
        events, features, points = x.size()
        base = torch.arange(0, events, device=x.device).view(-1, 1, 1) * points
        flat = (self.neighbours.expand(events, -1, -1) + base).view(-1)
        if self.by_rows:
            rows = x.transpose(2, 1).reshape(-1, features)[flat, :]
            return rows.view(events, points, 2, features).permute(0, 3, 1, 2).contiguous()
        columns = x.transpose(0, 1).reshape(features, -1)[:, flat]
        return columns.view(features, events, points, 2).transpose(1, 0).contiguous()

    def forward(self, x: Tensor) -> Tensor:
        self.calls.add_(1)
        features = x.size(1)
        small, large = self.scales.split([features, 2 * features])
        taken = self.taken(x * small.view(-1, 1))
        edges = torch.cat((x.unsqueeze(-1).expand_as(taken), taken - x.unsqueeze(-1)), 1) * large.view(-1, 1, 1)
        return self.last(torch.relu(self.each(edges.permute(0, 2, 3, 1))).mean((1, 2)))


def neighbours(x: Tensor, count: int) -> Tensor:
    """Of points [events, coordinates, points] the nearest others [events, points, count]."""
    squares = x.square().sum(1, keepdim=True)
    distances = squares.transpose(1, 2) - 2 * x.transpose(1, 2) @ x + squares
    return distances.topk(count + 1, largest=False)[1][:, :, 1:]


class EdgeConvolution(nn.Module):
    """The block of ParticleNet (Qu and Gouskos 2019)."""

    def __init__(self, features, outputs, count):
        super().__init__()
        self.count = count
        sizes = [(2 * features, outputs), (outputs, outputs)]
        layers = [(nn.Conv2d(*size, 1, bias=False), nn.BatchNorm2d(size[1]), nn.ReLU()) for size in sizes]
        self.edges = nn.Sequential(*(layer for block in layers for layer in block))
        self.shortcut = nn.Sequential(nn.Conv1d(features, outputs, 1, bias=False), nn.BatchNorm1d(outputs))

    def forward(self, coordinates: Tensor, x: Tensor) -> Tensor:
        events, features, points = x.shape
        with torch.no_grad():
            nearest = neighbours(coordinates, self.count)
        flat = torch.arange(events, device=x.device).reshape(-1, 1, 1) * points + nearest
        taken = x.transpose(1, 2).contiguous().view(events * points, features)[flat.flatten(), :]
        taken = taken.view(events, points, self.count, features).permute(0, 3, 1, 2)
        centre = x.unsqueeze(3).expand(-1, -1, -1, self.count)
        return torch.relu(self.edges(torch.cat([centre, taken - centre], 1)).mean(3) + self.shortcut(x))


class ParticleNet(nn.Module):
    """Particles [events, 5, 8], of which the first two numbers are the coordinates and the last one says which of them are there."""

    def __init__(self):
        super().__init__()
        self.norm, self.first, self.second = nn.BatchNorm1d(4), EdgeConvolution(4, 6, 3), EdgeConvolution(6, 8, 2)
        self.fusion = nn.Sequential(nn.Conv1d(14, 8, 1, bias=False), nn.BatchNorm1d(8), nn.ReLU())
        self.last = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))

    def forward(self, x: Tensor) -> Tensor:
        there = x[:, 4:] > -1
        away = 100 * (~there).float()
        x = self.norm(x[:, :4]) * there
        first = self.first(x[:, :2] + away, x) * there
        second = self.second(first + away, first) * there
        fused = self.fusion(torch.cat([first, second], 1)) * there
        return self.last(fused.sum(2) / there.float().sum(2).clamp(min=1))


def pair_features(a: Tensor, b: Tensor) -> Tensor:
    """Of momenta [events, (px, py, pz, E), pairs] the logarithms of distance, relative transverse momentum, its share and mass."""

    def parts(p):
        px, py, pz, energy = p.split(1, 1)
        return (px.square() + py.square()).sqrt(), 0.5 * ((energy + pz) / (energy - pz)).log(), torch.atan2(py, px)

    (pt, rapidity, phi), (other_pt, other_rapidity, other_phi) = parts(a), parts(b)
    turn = torch.remainder(phi - other_phi + torch.pi, 2 * torch.pi) - torch.pi
    distance = ((rapidity - other_rapidity).square() + turn.square()).clamp(min=1e-2).sqrt()
    least, total = torch.minimum(pt, other_pt), a + b
    mass = total[:, 3:].square() - total[:, :3].square().sum(1, keepdim=True)
    return torch.cat([distance, least * distance, least / (pt + other_pt), mass], 1).clamp(min=1e-2).log()


class PairEmbedding(nn.Module):
    """Embeds each pair of particles once and writes it to both sides of the table [events, heads, points, points]."""

    def __init__(self, heads):
        super().__init__()
        self.heads = heads
        self.embed = nn.Sequential(nn.BatchNorm1d(4), nn.Conv1d(4, 6, 1), nn.BatchNorm1d(6), nn.GELU(), nn.Conv1d(6, heads, 1))

    def forward(self, momenta: Tensor) -> Tensor:
        events, _, points = momenta.shape
        i, j = torch.tril_indices(points, points)
        embedded = self.embed(pair_features(momenta[:, :, i], momenta[:, :, j]))
        table = embedded.new_zeros(events, self.heads, points, points)
        table[:, :, i, j] = embedded
        table[:, :, j, i] = embedded
        return table


class AttentionBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.before, self.after, self.middle = heads, nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.pair, self.out = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.dense = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor, sources: Tensor, bias: Tensor) -> Tensor:
        def split(y):
            return y.unflatten(2, (self.heads, -1)).transpose(1, 2)

        sources = self.before(sources)
        key, value = self.pair(sources).chunk(2, -1)
        taken = nn.functional.scaled_dot_product_attention(split(self.query(x)), split(key), split(value), bias)
        x = x + self.after(self.out(taken.transpose(1, 2).flatten(2)))
        return x + self.dense(self.middle(x))


class ParticleTransformer(nn.Module):
    """After Qu, Li and Qian (2022): particles [events, (px, py, pz, another number, whether it is there), 6] of mass 1, attention with a
    bias for each pair, then attention of a class token."""

    def __init__(self):
        super().__init__()
        self.embed, self.pairs = nn.Sequential(nn.Linear(4, 8), nn.GELU()), PairEmbedding(2)
        self.block, self.last_block = AttentionBlock(8, 2), AttentionBlock(8, 2)
        self.token, self.last = nn.Parameter(torch.randn(1, 1, 8)), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        missing, events = x[:, 4] < -1, x.size(0)
        energy = (1 + x[:, :3].square().sum(1, keepdim=True)).sqrt()
        table = self.pairs(torch.cat([x[:, :3], energy], 1))
        away = torch.zeros_like(missing, dtype=x.dtype).masked_fill_(missing, float("-inf"))
        h = self.embed(x[:, :4].transpose(1, 2)).masked_fill(missing.unsqueeze(-1), 0)
        h = self.block(h, h, table + away[:, None, None])
        token = self.token.expand(events, -1, -1)
        missing = torch.cat([torch.zeros_like(missing[:, :1]), missing], 1)
        away = torch.zeros_like(missing, dtype=x.dtype).masked_fill_(missing, float("-inf"))
        return self.last(self.last_block(token, torch.cat([token, h], 1), away[:, None, None])).squeeze(1)


class Jets(nn.Module):
    """Particles [events, 6, 4], some of which are not there: neighbours that are found without gradients, attention with a bias that
    trains, an equation, and the mean over a count."""

    def __init__(self):
        super().__init__()
        self.each, self.qkv, self.last = nn.Linear(4, 8), nn.Linear(8, 24), nn.Linear(8, 2)
        self.bias, self.mixing = nn.Parameter(torch.randn(2, 6, 6)), nn.Parameter(torch.randn(8, 8) / 3)

    def forward(self, x: Tensor) -> Tensor:
        events, there = x.size(0), x[..., 3] > -0.5
        with torch.no_grad():
            nearest = (x.unsqueeze(1) - x.unsqueeze(2)).square().sum(3).topk(3, 2, largest=False).indices
            size = x.square().mean((1, 2), keepdim=True).detach()
        h = torch.tanh(self.each(x)) / (1 + size)
        h = h + h.gather(1, nearest.reshape(events, 18, 1).expand(-1, -1, 8)).reshape(events, 6, 3, 8).mean(2)
        q, k, v = self.qkv(h).reshape(events, 6, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.bias.masked_fill(~there.reshape(events, 1, 1, 6), -1e4)
        h = h + nn.functional.scaled_dot_product_attention(q, k, v, bias).transpose(1, 2).contiguous().reshape(events, 6, 8)
        h = torch.einsum("npc,cd->npd", h, self.mixing) * there.unsqueeze(2)
        return self.last(h.sum(1) / there.sum(1, keepdim=True).clamp(min=1))


class Sized(nn.Module):
    """Points [events, 3, 3] and what is computed without gradients, which a trace does not see: a tensor and a size."""

    def __init__(self):
        super().__init__()
        self.last, self.table = nn.Linear(12, 2), nn.Parameter(torch.randn(1, 2))

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            means, count = x.square().mean(2), 6 * x.size(0)
        shift = self.table.expand(count, 2).reshape(x.size(0), 12).sum(1, keepdim=True)
        return self.last(torch.cat([x.flatten(1), means.detach()], 1)) + shift


class Whole(nn.Module):
    """Everything that a state_dict has beside what trains: a frozen layer, tied weights, a layer and a buffer that nothing uses, a buffer
    that is used, counts of batches."""

    def __init__(self):
        super().__init__()
        self.frozen, self.norm = nn.Linear(4, 6), nn.BatchNorm1d(6)
        self.there, self.back = nn.Linear(6, 6, bias=False), nn.Linear(6, 6)
        self.back.weight = self.there.weight
        self.unused, self.last = nn.Linear(3, 2), nn.Linear(6, 1)
        self.frozen.requires_grad_(False)
        self.register_buffer("scale", torch.rand(6) + 0.5)
        self.register_buffer("table", torch.arange(7))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.norm(self.frozen(x))) * self.scale
        return self.last(self.back(torch.tanh(self.there(x))))


def frozen_start():
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1), nn.Sigmoid())
    net[0].requires_grad_(False)
    return net


def settled(net, *shapes):
    """With running statistics of some events."""
    net.train()
    for _ in range(3):
        net(*(torch.randn(32, *shape) for shape in shapes))
    return net.eval()


def networks():
    dense = nn.Sequential(nn.Linear(4, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Dropout(0.2), nn.Linear(12, 3))
    window = nn.Sequential(nn.Conv1d(1, 4, 5), nn.BatchNorm1d(4), nn.ReLU(), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(56, 1))
    return {
        "mlp": nn.Sequential(nn.Linear(3, 8), nn.SiLU(), nn.Linear(8, 1)),
        "normalised": settled(dense, [4]),
        "window": settled(window, [1, 32]),
        "residual": Residual(),
        "deep_set": DeepSet(),
        "attention": Attention(),
        "image": settled(Image(), [1, 6, 6]),
        "recurrent": Recurrent(),
        "positions": Positions(),
        "frozen_start": frozen_start(),
    }


def without_places(value):
    """JSON without what says where each operator was called."""
    if isinstance(value, dict):
        return {key: {} if key == "metadata" else without_places(each) for key, each in value.items()}
    return [without_places(each) for each in value] if isinstance(value, list) else value


def trace(net, shape, path):
    """torch.jit.trace without the places of the source text, which name folders of this machine."""
    whole = io.BytesIO()
    torch.jit.save(torch.jit.trace(net, torch.randn(5, *shape), check_trace=False), whole)
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(path, "w") as plain:
        for name in archive.namelist():
            if not name.endswith(".debug_pkl"):
                plain.writestr(zipfile.ZipInfo(name), archive.read(name))


def export(net, shape, path):
    """torch.export.save without the lines of source text and the examples, which name folders of this machine."""
    dim = torch.export.Dim("events", min=2)
    program = torch.export.export(net, (torch.randn(5, *shape),), dynamic_shapes=({0: dim},))
    whole = io.BytesIO()
    torch.export.save(program, whole)
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(path, "w") as plain:
        for name in archive.namelist():
            content = archive.read(name)
            if name.endswith("models/model.json"):
                content = json.dumps(without_places(json.loads(content)), separators=(",", ":")).encode()
            if "sample_inputs" not in name:
                plain.writestr(zipfile.ZipInfo(name), content)


def main(folder):
    torch.manual_seed(1)
    made = networks()
    for name, net in made.items():
        torch.jit.script(net).save(folder / f"{name}.pt")
    torch.jit.trace(made["normalised"].eval(), torch.randn(5, 4)).save(folder / "traced.pt")
    for by_rows, name in ((True, "rows"), (False, "columns")):
        torch.jit.trace(Edges(by_rows), torch.randn(5, 3, 6), check_trace=False).save(folder / f"edges_by_{name}.pt")
    whole = settled(Whole(), [4])
    torch.jit.script(whole).save(folder / "whole.pt")
    torch.save({"model": {f"module.{name}": tensor for name, tensor in whole.state_dict().items()}}, folder / "whole_weights.pt")
    for name, shape in {"normalised": [4], "window": [1, 32], "residual": [6], "attention": [7, 4], "positions": [5, 3]}.items():
        export(made[name].train(name == "normalised"), shape, folder / f"{name}.pt2")
    jets = Jets()
    trace(jets, [6, 4], folder / "jets.pt")
    export(jets, [6, 4], folder / "jets.pt2")
    torch.manual_seed(2)
    particle_net = settled(ParticleNet(), [5, 8])
    trace(particle_net, [5, 8], folder / "particle_net.pt")
    export(particle_net, [5, 8], folder / "particle_net.pt2")
    transformer = settled(ParticleTransformer(), [5, 6])
    trace(transformer, [5, 6], folder / "particle_transformer.pt")
    export(transformer, [5, 6], folder / "particle_transformer.pt2")
    sized = Sized()
    trace(sized, [3, 3], folder / "sized.pt")
    export(sized, [3, 3], folder / "sized.pt2")
    made["normalised"].eval()
    torch.save(made["normalised"].state_dict(), folder / "normalised_weights.pt")
    weights = {f"net.{name}": tensor for name, tensor in made["normalised"].state_dict().items()}
    optimizer = torch.optim.Adam(made["normalised"].parameters())
    checkpoint = {"epoch": 3, "state_dict": weights, "optimizer_states": [optimizer.state_dict()], "hyper_parameters": {"lr": 1e-3}}
    torch.save(checkpoint, folder / "checkpoint.ckpt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
