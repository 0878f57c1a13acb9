"""PyTorch's side of `cargo xtask bench end-to-end`: `end_to_end.py uproot|rdataloader THREADS`.

uproot: read the columns into memory, then train. rdataloader: train from ROOT's own loader, as ROOT's tutorial does.
A round reads the file, standardises, trains for all epochs; `check` then gives the score on the test part.

    case file=F trees=sig_tree:1,bkg_tree:0 columns=a,b,c sizes=28,64,64,1 batch=256 epochs=10 test=0.3

What follows a tree's name is the label of its events, a number or a column.
"""

import sys

import numpy as np
import torch
from lines import Rounds
from sklearn.metrics import roc_auc_score
from torch import nn


def is_number(text):
    return text.lstrip("-").replace(".", "", 1).isdigit()


class Case:
    def __init__(self, values):
        self.file = values["file"]
        self.trees = [tree.split(":") for tree in values["trees"].split(",")]
        self.columns = values["columns"].split(",")
        self.sizes = [int(size) for size in values["sizes"].split(",")]
        self.batch, self.epochs, self.test = int(values["batch"]), int(values["epochs"]), float(values["test"])


class Network:
    """Linear layers with ReLU between them, and their fused Adam."""

    def __init__(self, case, seed):
        torch.manual_seed(seed)
        layers = []
        for inputs, outputs in zip(case.sizes, case.sizes[1:]):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.model = nn.Sequential(*layers[:-1])
        for layer in layers[::2]:  # CladTorch's initial weights: He et al. 2015, zero biases
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
        self.binary = case.sizes[-1] == 1
        self.criterion = nn.BCEWithLogitsLoss() if self.binary else nn.CrossEntropyLoss()
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=1e-3, fused=True)

    def step(self, x, y):
        self.optimiser.zero_grad(set_to_none=True)
        target = y.reshape(-1, 1) if self.binary else y.reshape(-1).long()
        self.criterion(self.model(x), target).backward()
        self.optimiser.step()

    def score(self, x, y):
        """Area under the ROC curve, or the share of right classes."""
        with torch.no_grad():
            output = self.model(x)
        if self.binary:
            return roc_auc_score(y.numpy().reshape(-1), output.numpy().reshape(-1))
        return (output.argmax(1) == y.reshape(-1)).float().mean().item()


def read(case):
    """Features [N, F] and labels [N], by uproot."""
    import uproot

    features, labels = [], []
    with uproot.open(case.file) as file:
        for tree, label in case.trees:
            named = [] if is_number(label) else [label]
            arrays = file[tree].arrays(case.columns + named, library="np")
            rows = len(arrays[case.columns[0]])
            features.append(np.stack([arrays[column] for column in case.columns], axis=1).astype(np.float32))
            labels.append(arrays[label].astype(np.float32) if named else np.full(rows, float(label), np.float32))
    return torch.from_numpy(np.concatenate(features)), torch.from_numpy(np.concatenate(labels))


def train_uproot(case, seed):
    x, y = read(case)
    network = Network(case, seed)
    order = torch.randperm(len(x))
    train, test = order.split([len(x) - int(case.test * len(x)), int(case.test * len(x))])
    deviation, mean = torch.std_mean(x[train], dim=0, correction=0)
    x = (x - mean) / torch.where(deviation > 0, deviation, 1.0)
    for _ in range(case.epochs):
        for rows in train[torch.randperm(len(train))].split(case.batch):
            network.step(x[rows], y[rows])
    return lambda: network.score(x[test], y[test])


def train_rdataloader(case, seed):
    import ROOT

    frames = [ROOT.RDataFrame(tree, case.file).Define("bench_label", f"float({label})") for tree, label in case.trees]
    loader = ROOT.Experimental.ML.RDataLoader(
        frames,
        case.batch,
        columns=case.columns + ["bench_label"],
        target="bench_label",
        shuffle=True,
        drop_remainder=False,
        set_seed=seed + 1,
        load_eager=True,
    )
    train, test = loader.train_test_split(test_size=case.test)
    network = Network(case, seed)
    # The loader does not standardise: one pass over it learns mean and deviation.
    deviation, mean = torch.std_mean(torch.cat([x for x, _ in train.as_torch()]), dim=0, correction=0)
    deviation = torch.where(deviation > 0, deviation, 1.0)
    for _ in range(case.epochs):
        for x, y in train.as_torch():
            network.step((x - mean) / deviation, y)

    def score():
        batches = list(test.as_torch())
        x, y = (torch.cat([batch[part] for batch in batches]) for part in (0, 1))
        return network.score((x - mean) / deviation, y)

    return score


def main():
    train = {"uproot": train_uproot, "rdataloader": train_rdataloader}[sys.argv[1]]
    torch.set_num_threads(int(sys.argv[2]))
    Rounds(lambda values, seed: train(Case(values), seed), lambda _, score: score()).serve()


main()
