"""PyTorch's side of `cargo xtask bench end-to-end`: `end_to_end.py uproot|rdataloader THREADS`.

uproot: read the columns into memory, then train. rdataloader: train from ROOT's own loader, as ROOT's tutorial does.
A round reads the trees `train` and `validation` of the file, standardises, and trains until the score on the validation
events, taken after each epoch, reaches the target; `check` then gives how far it is above.

    case file=F columns=a,b,c sizes=28,64,64,1 batch=256 task=binary target=0.73 epochs=50

task: binary (the score is the area under the ROC curve), classes (share of right ones) or regression (minus the root
mean squared error). epochs: how many are tried. `end_to_end.py target file=F columns=...` prints the target: the mean
score that PyTorch reaches in ten epochs from five seeds.
"""

import sys

import numpy as np
import torch
from lines import Rounds
from torch import nn

TARGET_EPOCHS = 10
TARGET_SEEDS = range(101, 106)  # not those of the rounds


class Case:
    def __init__(self, values):
        self.file, self.task = values["file"], values["task"]
        self.columns = values["columns"].split(",")
        self.sizes = [int(size) for size in values["sizes"].split(",")]
        self.batch = int(values["batch"])


class Network:
    """Linear layers as they come, ReLU between them, and their fused Adam."""

    def __init__(self, case):
        layers = []
        for inputs, outputs in zip(case.sizes, case.sizes[1:]):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.model = nn.Sequential(*layers[:-1])
        self.task = case.task
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=1e-3, fused=True)

    def loss(self, output, y):
        if self.task == "binary":
            return nn.functional.binary_cross_entropy_with_logits(output[:, 0], y)
        if self.task == "classes":
            return nn.functional.cross_entropy(output, y.long())
        return nn.functional.mse_loss(output[:, 0], y)

    def epoch(self, batches):
        for x, y in batches:
            self.optimiser.zero_grad(set_to_none=True)
            self.loss(self.model(x), y).backward()
            self.optimiser.step()

    def score(self, x, y):
        with torch.no_grad():
            output = self.model(x)
        if self.task == "classes":
            return (output.argmax(1) == y).double().mean().item()
        if self.task == "regression":
            return -nn.functional.mse_loss(output[:, 0], y).sqrt().item()
        in_order = y[output.flatten().argsort()].double()
        signal, rows = in_order.sum().item(), len(in_order)
        above = (torch.arange(1, rows + 1) * in_order).sum().item() - signal * (signal + 1) / 2
        return above / (signal * (rows - signal))


def moments(x):
    deviation, mean = torch.std_mean(x, dim=0, correction=0)
    return torch.where(deviation > 0, deviation, 1.0), mean


class Uproot:
    """The events in memory: batches() of one epoch, validation."""

    def __init__(self, case, _):
        import uproot

        with uproot.open(case.file) as file:
            (x, self.y), (validation, labels) = (self.read(file[tree], case) for tree in ("train", "validation"))
        deviation, mean = moments(x)
        self.x, self.batch = (x - mean) / deviation, case.batch
        self.validation = (validation - mean) / deviation, labels

    @staticmethod
    def read(tree, case):
        arrays = tree.arrays([*case.columns, "label"], library="np")
        features = np.stack([arrays[column] for column in case.columns], axis=1)
        return torch.from_numpy(features), torch.from_numpy(arrays["label"])

    def batches(self):
        for rows in torch.randperm(len(self.x)).split(self.batch):
            yield self.x[rows], self.y[rows]


class Loader:
    """The same from ROOT's loader."""

    def __init__(self, case, seed):
        import ROOT

        def loader(tree, shuffle):
            return ROOT.Experimental.ML.RDataLoader(
                ROOT.RDataFrame(tree, case.file),
                case.batch,
                columns=[*case.columns, "label"],
                target="label",
                shuffle=shuffle,
                drop_remainder=False,
                set_seed=seed + 1,
                load_eager=True,
            )

        self.train = loader("train", True)
        # The loader does not standardise: one pass over it learns mean and deviation.
        self.deviation, self.mean = moments(torch.cat([x for x, _ in self.train.as_torch()]))
        events = [(x, y.reshape(-1)) for x, y in loader("validation", False).as_torch()]
        x, y = (torch.cat(part) for part in zip(*events))
        self.validation = (x - self.mean) / self.deviation, y

    def batches(self):
        for x, y in self.train.as_torch():
            yield (x - self.mean) / self.deviation, y.reshape(-1)


def train(values, seed, source):
    """Epochs until the target, and the score then."""
    case, most, target = Case(values), int(values["epochs"]), float(values["target"])
    torch.manual_seed(seed)
    events, network = source(case, seed), Network(case)
    for epoch in range(1, most + 1):
        network.epoch(events.batches())
        score = network.score(*events.validation)
        if score >= target:
            return epoch, score
    raise RuntimeError(f"the target was not reached in {most} epochs")


def target(values):
    """Mean score after ten epochs."""
    case, scores = Case(values), []
    events = Uproot(case, None)
    for seed in TARGET_SEEDS:
        torch.manual_seed(seed)
        network = Network(case)
        for _ in range(TARGET_EPOCHS):
            network.epoch(events.batches())
        scores.append(network.score(*events.validation))
    return np.mean(scores)


def main():
    if sys.argv[1] == "target":
        torch.set_num_threads(1)
        print(target(dict(word.split("=", 1) for word in sys.argv[2:])))
        return
    source = {"uproot": Uproot, "rdataloader": Loader}[sys.argv[1]]
    # The libraries are loaded with the process, not in its first round.
    __import__({"uproot": "uproot", "rdataloader": "ROOT"}[sys.argv[1]])
    torch.set_num_threads(int(sys.argv[2]))
    Rounds(
        lambda values, seed: train(values, seed, source),
        lambda values, reached: reached[1] - float(values["target"]),
        lambda reached: f"epochs={reached[0]} quality={reached[1]}",
    ).serve()


main()
