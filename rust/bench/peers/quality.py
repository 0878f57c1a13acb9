"""The peers of `cargo xtask bench quality`: `quality.py PARTY THREADS`, each with the defaults of its library.

    case task=binary sizes=28,64,64,1 batch=256 epochs=10 activation=relu data=FOLDER
    round seed=1    time SECONDS quality=Q: of one fit on data in memory, standardisation included
    check           check SUM: of the numbers of the rows that were kept for the test

task: binary (quality is the area under the ROC curve), classes (share of right ones) or regression (minus the root mean
squared error), all of them with the events' weights. pytorch-standardised standardises the target of a regression, too.
"""

import sys
import time
import warnings

import numpy as np
import torch
from lines import answer, requests
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, mean_squared_error, roc_auc_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from torch import nn

TEST_SHARE = 0.3
ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "silu": nn.SiLU, "gelu": nn.GELU}


def test_rows(rows, seed):
    """Which rows are kept for the test: SplitMix64 (Steele, Lea and Flood 2014), as quality.C has it."""
    z = (np.arange(1, rows + 1, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53 < TEST_SHARE


class Case:
    def __init__(self, values):
        self.task, self.activation = values["task"], values["activation"]
        self.sizes = [int(size) for size in values["sizes"].split(",")]
        self.batch, self.epochs = int(values["batch"]), int(values["epochs"])
        names = ("features", "labels", "weights")
        x, self.y, self.w = (np.fromfile(f"{values['data']}/{name}", np.float32) for name in names)
        self.x = x.reshape(len(self.y), self.sizes[0])

    def quality(self, output, test):
        y, w = self.y[test], self.w[test]
        if self.task == "binary":
            return roc_auc_score(y, output, sample_weight=w)
        if self.task == "classes":
            return accuracy_score(y, output, sample_weight=w)
        return -(mean_squared_error(y, output, sample_weight=w) ** 0.5)


def moments(values):
    deviation = values.std(axis=0)
    return values.mean(axis=0), np.where(deviation > 0, deviation, 1)


def standardised(x, train):
    mean, deviation = moments(x[train])
    return ((x - mean) / deviation).astype(np.float32)


def network(case, seed):
    torch.manual_seed(seed)
    layers = []
    for inputs, outputs in zip(case.sizes, case.sizes[1:]):
        layers += [nn.Linear(inputs, outputs), ACTIVATIONS[case.activation]()]
    return nn.Sequential(*layers[:-1])


def loss(task, output, y, w):
    if task == "binary":
        return nn.functional.binary_cross_entropy_with_logits(output[:, 0], y, w)
    if task == "classes":
        return (w * nn.functional.cross_entropy(output, y, reduction="none")).mean()
    return (w * (output[:, 0] - y) ** 2).mean()


def fit_pytorch(case, train, seed, target=(0.0, 1.0)):
    """`target`: mean and deviation that a target is standardised with. Returns the prediction of all rows."""
    x = torch.from_numpy(standardised(case.x, train))
    y = torch.from_numpy((case.y - np.float32(target[0])) / np.float32(target[1]))
    y = y.long() if case.task == "classes" else y
    w = torch.from_numpy(case.w / case.w[train].mean())
    model = network(case, seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    rows = torch.from_numpy(np.flatnonzero(train))
    for _ in range(case.epochs):
        for batch in rows[torch.randperm(len(rows))].split(case.batch):
            optimiser.zero_grad(set_to_none=True)
            loss(case.task, model(x[batch]), y[batch], w[batch]).backward()
            optimiser.step()

    def predict(test):
        with torch.no_grad():
            output = model(x[torch.from_numpy(test)]).numpy()
        return output.argmax(1) if case.task == "classes" else output[:, 0] * target[1] + target[0]

    return predict


def fit_standardised(case, train, seed):
    return fit_pytorch(case, train, seed, moments(case.y[train]))


def fitted(case, model, x, train):
    model.fit(x[train], case.y[train], sample_weight=case.w[train])
    if case.task == "binary":
        return lambda test: model.predict_proba(x[test])[:, 1]
    return lambda test: model.predict(x[test])


def fit_sklearn_mlp(case, train, seed):
    kind = MLPRegressor if case.task == "regression" else MLPClassifier
    model = kind(hidden_layer_sizes=case.sizes[1:-1], batch_size=case.batch, max_iter=case.epochs, random_state=seed)
    return fitted(case, model, standardised(case.x, train), train)


def fit_boosting(case, train, seed):
    kind = HistGradientBoostingRegressor if case.task == "regression" else HistGradientBoostingClassifier
    return fitted(case, kind(random_state=seed), case.x, train)


PARTIES = {
    "pytorch": fit_pytorch,
    "pytorch-standardised": fit_standardised,
    "sklearn-mlp": fit_sklearn_mlp,
    "sklearn-boosting": fit_boosting,
}


def main():
    fit = PARTIES[sys.argv[1]]
    warnings.simplefilter("ignore", ConvergenceWarning)  # the epochs are given
    torch.set_num_threads(int(sys.argv[2]))
    case = test = None
    for verb, values in requests():
        if verb == "case":
            case = Case(values)
            answer("ready")
        elif verb == "round":
            seed = int(values["seed"])
            test = test_rows(len(case.y), seed)
            start = time.perf_counter()
            predict = fit(case, ~test, seed)
            seconds = time.perf_counter() - start
            answer("time", seconds, f"quality={case.quality(predict(test), test)}")
        elif verb == "check":
            answer("check", float(np.flatnonzero(test).sum()))
        else:
            answer("error", "no request", verb)


main()
