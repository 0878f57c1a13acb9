"""Fits to events in Python's memory: every container gives the model of a dataset with the same numbers, and unsuitable
values are refused by name.

`fit_tables.py FOLDER`: the folder in which pandas may be installed; without it frames are not tried.
"""

import itertools
import sys

import cladtorch as ct
import numpy as np
from refusals import refuses

sys.path += sys.argv[1:]
try:
    import pandas
except ImportError:
    pandas = None
    print("NOT TESTED: frames of pandas, which is not installed")

random = np.random.default_rng(1)
OPTIONS = dict(fEpochs=3, fBatchSize=32, fVerbose=0)


def events(count):
    x, y = random.normal(size=(2, count)).astype("f4")
    return {"x": x, "y": y, "label": (x * y > 0).astype("f4"), "w": random.uniform(0.5, 2, count).astype("f4"), "energy": x + 10 * y}


train, judges = events(400), events(150)


def rows(table):
    return np.stack([table["x"], table["y"]], 1)


def dataset(table, label="label", weight=None):
    data = ct.Dataset(["x", "y"])
    return data.Add({name: table[name] for name in ("x", "y")}, np.stack([table[each] for each in label], 1) if isinstance(label, list) else table[label], weight=None if weight is None else table[weight])


def mlp(outputs=1):
    return ct.Mlp([2, 8, outputs], ct.kReLU, ct.kUniform, 3)


def parameters(model, history):
    return list(model.Parameters()), [repr(each) for each in history.ValidationLoss()]


def fitted(*args, outputs=1, **options):
    model = mlp(outputs)
    return parameters(model, model.Fit(*args, **(OPTIONS | options)))


CONTAINERS = [dict] + ([pandas.DataFrame] if pandas else [])
ORDERS = [("x", "y", "label", "w"), ("w", "x", "label", "y")]
expected = {
    (weight, judged): fitted(*[dataset(train, weight=weight)] + ([dataset(judges, weight=weight)] if judged else []))
    for weight in (None, "w")
    for judged in (False, True)
}
assert len({str(each) for each in expected.values()}) == 4

# Labels and weights that are columns are not features, in training and in validation.
for make, names in itertools.product(CONTAINERS, ORDERS):
    for (weight, judged), wanted in expected.items():
        words = {} if weight is None else {"weight": weight}
        chosen = [name for name in names if name != "w" or weight]
        table, other = (make({name: some[name] for name in chosen}) for some in (train, judges))
        validations = [other, (other,), (other, "label"), [other, "label"], dataset(judges, weight=weight)] if judged else [None]
        for validation in validations + ([(other, "label", "w")] if judged and weight else []):
            assert fitted(table, "label", validation=validation, **words) == wanted, (weight, judged)
        model = mlp()
        model.Fit(table, "label", **words, **OPTIONS)
        assert list(map(str, model.Columns())) == ["x", "y"] and list(map(str, model.Targets())) == ["label"]
        assert len(model.Predict(table)) == 400

# Arrays of features, labels and weights, in every kind of list.
for as_list in (np.asarray, lambda values: np.asarray(values).tolist(), lambda values: np.asarray(values, "f8"), lambda values: np.asfortranarray(values)):
    x, y, w = as_list(rows(train)), as_list(train["label"]), as_list(train["w"])
    judged = [as_list(rows(judges)), as_list(judges["label"]), as_list(judges["w"])]
    assert fitted(x, y) == expected[None, False] and fitted(x=x, y=y) == expected[None, False]
    assert fitted(x, y, w) == expected["w", False] and fitted(x, y, weight=w) == expected["w", False]
    assert fitted(x, y, validation=tuple(judged[:2])) == expected[None, True]
    assert fitted(x, y, weight=w, validation=judged) == expected["w", True]
    assert fitted(x, y, w, judged, ct.FitOptions(**OPTIONS)) == expected["w", True]

# A structured array, labels of several targets, classes, lists in a column.
structured = np.zeros(400, [(name, "f4") for name in ("x", "y", "label")])
for name in structured.dtype.names:
    structured[name] = train[name]
assert fitted(structured, "label") == expected[None, False]
two = ["label", "energy"]
table = {name: each for name, each in train.items() if name != "w"}
assert fitted(table, two, outputs=2) == fitted(dataset(train, two), outputs=2) == fitted(rows(train), np.stack([train[each] for each in two], 1), outputs=2)
assert fitted({"x": train["x"], "y": train["y"]}, train["label"], outputs=2) == fitted(dataset(train), outputs=2)
lists = ct.Mlp([3, 1])
lists.Fit({"pair": rows(train), "w": train["w"]}, train["label"], **OPTIONS)
assert list(map(str, lists.Columns())) == ["pair", "w"] and list(lists.NewDataset().Lengths()) == [2, 1]
if pandas:
    series = pandas.DataFrame(rows(train), columns=["x", "y"])
    assert fitted(series, pandas.Series(train["label"], name="label")) == expected[None, False]
    refuses(lambda: fitted(series, pandas.Series(train["label"], index=range(400, 800))), "the index of the label")
    refuses(lambda: fitted(pandas.DataFrame(rows(train)), train["label"]), "names are no text", "array")

# A model with columns takes them by name, in any order and beside others.
model = mlp()
model.Fit(rows(train), train["label"], **OPTIONS)
assert list(map(str, model.Columns())) == ["x0", "x1"]
named = mlp()
named.SetColumns(["x", "y"])
assert parameters(named, named.Fit({"other": train["w"], "y": train["y"], "x": train["x"]}, train["label"], **OPTIONS)) == expected[None, False]
named.Fit(rows(train), train["label"], **OPTIONS)

# Unsuitable values.
x, y = rows(train), train["label"]
refuses(lambda: mlp().Fit(x, **OPTIONS), "'y'")
refuses(lambda: mlp().Fit(x, y[:-1], **OPTIONS), "399", kind=ct.Error)
refuses(lambda: mlp().Fit(x, "label", **OPTIONS), "an array has no column 'label'")
refuses(lambda: mlp().Fit({"x": x[:, 0], "y": x[:, 1], "label": y}, "lable", **OPTIONS), "no column 'lable'", "'label'")
refuses(lambda: mlp().Fit({"x": x[:, 0], "y": x[:, 1], "z": y}, y, **OPTIONS), "3 numbers an event", "2", kind=ct.Error)
refuses(lambda: mlp().Fit(x[:, :1], y, **OPTIONS), "2 columns")
refuses(lambda: mlp().Fit(x[0], y, **OPTIONS), "'data'")
refuses(lambda: mlp().Fit(np.zeros((0, 2)), [], **OPTIONS), "no events")
refuses(lambda: mlp().Fit(x, y, sample_weight=y), "'sample_weight'", "weight")
refuses(lambda: mlp().Fit(x, y, validation_data=(x, y)), "'validation_data'", "validation")
refuses(lambda: mlp().Fit(x, y, epochs=3), "'epochs'", "fEpochs")
refuses(lambda: mlp().Fit(x, y, fEpoch=3), "fEpoch", "fEpochs")
refuses(lambda: mlp().Fit(x, y, weight=[1.0]), "weights of 1", kind=ct.Error)
for wrong in (0.2, x, (x,), (x, y, y, y), (y, x), "label", ()):
    refuses(lambda: mlp().Fit(x, y, validation=wrong, **OPTIONS), "validation")
refuses(lambda: mlp().Fit(x, y, validation=(x[:, :1], y), **OPTIONS), "2 columns")
refuses(lambda: mlp().Fit({"x": x[:, 0], "y": x[:, 1], "label": y}, "label", validation={"x": x[:, 0], "y": x[:, 1]}), "no column 'label'")
print("ALL CHECKS PASSED")
