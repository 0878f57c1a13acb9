"""Events in Python's memory: arrays of every type, layout and container against a ROOT data frame, and everything that
is refused by name.

`tables.py FOLDER`: the folder in which pandas may be installed; without it only a stand-in with its interface is tried.
"""

import sys

import cladtorch as ct
import numpy as np
import ROOT

sys.path += sys.argv[1:]
try:
    import pandas
except ImportError:
    pandas = None
    print("NOT TESTED: frames of pandas itself, which is not installed")


class Index(list):
    equals = list.__eq__


class Series:
    """The part of a pandas column that matters."""

    def __init__(self, values, index=None, name=None):
        self.values, self.name = np.asarray(values), name
        self.index, self.dtype, self.shape = Index(range(len(self.values)) if index is None else index), self.values.dtype, self.values.shape

    def __array__(self, *args, **kwargs):
        return np.asarray(self.values)

    def __len__(self):
        return len(self.values)

    reindex = dtypes = None


class Frame:
    def __init__(self, columns, index=None):
        self.parts = list(columns.items()) if isinstance(columns, dict) else columns
        self.columns, self.dtypes = [name for name, _ in self.parts], None
        self.index = Index(range(len(self.parts[0][1])) if index is None else index)

    def __getitem__(self, name):
        return Series(dict(self.parts)[name], self.index, name)

    def __len__(self):
        return len(self.index)

    reindex = None


del Series.dtypes
FRAMES = [(Frame, Series)] + ([(pandas.DataFrame, pandas.Series)] if pandas else [])


def refuses(call, *parts, kind=TypeError):
    """One sentence with all of `parts`."""
    try:
        call()
    except kind as error:
        text = str(error)
        assert all(part in text for part in parts), f"{parts} not all in: {text}"
        assert "\n" not in text and "overload" not in text and "=>" not in text, text
    else:
        raise AssertionError(f"nothing was raised, expected {parts}")


def same(data, other):
    pairs = [(each.Features(), each.Labels(), each.Weights()) for each in (data, other)]
    return all(np.array_equal(*map(np.asarray, pair)) and np.shape(pair[0]) == np.shape(pair[1]) for pair in zip(*pairs))


def structured(columns):
    made = np.zeros(len(columns["x"]), [(name, np.asarray(each).dtype) for name, each in columns.items()])
    for name, each in columns.items():
        made[name] = each
    return made


N = 7
random = np.random.default_rng(1)
base = {"x": random.normal(size=N), "y": random.integers(-99, 99, N), "label": np.arange(N) % 2, "w": random.random(N)}
CONTAINERS = [dict, structured, lambda c: structured(c).view(np.recarray), *(frame for frame, _ in FRAMES)]
CONTAINERS += [lambda c: {name: list(each) for name, each in c.items()}]
LAYOUTS = [lambda a: a, lambda a: np.repeat(a, 3)[::3], lambda a: a[::-1].copy()[::-1], np.asfortranarray]
TYPES = ["f2", "f4", "f8", ">f4", ">f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", "?", "longdouble"]

frame = ROOT.RDF.FromNumpy({name: each.astype("f8") for name, each in base.items()})
expected = ct.Dataset(["x", "y"]).SetWeight("w").Add(frame, "label")
for container in CONTAINERS:
    table = container(base)
    chosen = np.arange(N) % 3 != 0
    data = ct.Dataset(["x", "y"]).SetWeight("w").Add(table, "label")
    assert same(data, expected) and list(data.Targets()) == ["label"]
    swapped = ct.Dataset(["y", "x"]).Add(table, base["label"], weight=base["w"])
    assert np.array_equal(np.asarray(swapped.Features())[:, ::-1], data.Features()) and same(ct.Dataset(["y", "x"]).Add(table, "label", weight="w"), swapped)
    cut = ct.Dataset(["x", "y"]).SetWeight("w").Add(source=table, label="label", cut=chosen)
    assert np.array_equal(cut.Features(), np.asarray(data.Features())[chosen]) and np.array_equal(cut.Labels(), np.asarray(data.Labels())[chosen])
    several = ct.Dataset(["x"]).Add(table, ["y", "label"])
    assert np.asarray(several.Labels()).shape == (N, 2) and list(several.Targets()) == ["y", "label"]
    assert np.all(np.asarray(ct.Dataset(["x"]).Add(table, 1).Labels()) == 1) and np.all(ct.Dataset(["x"]).Add(table, True).Labels())
    refuses(lambda: ct.Dataset(["x"]).Add(table, "lable"), "has no column 'lable'", "'label'")
    refuses(lambda: ct.Dataset(["z"]).Add(table, 1), "has no column 'z'", "'x'")
    refuses(lambda: ct.Dataset(["x"]).SetWeight("z").Add(table, 1), "has no column 'z'")
    refuses(lambda: ct.Dataset(["x"]).Add(table), "lacks the argument 'label'")
    refuses(lambda: ct.Dataset(["x"]).Add(table, 1, "x > 0"), "an array of True and False", "FromNumpy")
    refuses(lambda: ct.Dataset(["x"]).Add(table, 1, base["w"]), "True and False", "weight=")
    refuses(lambda: ct.Dataset(["x"]).Add(table, 1, chosen[:-1]), "6 values")
    refuses(lambda: ct.Dataset(["x"]).Add(table, base["label"][1:]), "labels of 6 events", "features of 7", kind=ct.Error)
    refuses(lambda: ct.Dataset(["x"]).Add(table, 1, weight=np.ones(N + 1)), "weights of 8 events", kind=ct.Error)

for dtype in TYPES:
    for layout in LAYOUTS:
        ramp = np.array([0, 1, 1, 0, 1]).astype(dtype) if dtype == "?" else np.array([0, 3, 1, 2, 5]).astype(dtype)
        want = np.stack([ramp, ramp], 1).astype("f4")
        for events in ({"a": layout(ramp), "b": layout(ramp)}, np.stack([layout(ramp)] * 2, 1), np.asfortranarray(np.stack([ramp] * 2, 1)), np.stack([ramp] * 2)[:, ::1].T):
            got = ct.Dataset(["a", "b"]).Add(events, layout(ramp), weight=layout(ramp))
            assert np.array_equal(got.Features(), want) and np.array_equal(got.Labels(), want[:, 0]) and np.array_equal(got.Weights(), want[:, 0]), dtype

# Values that float32 cannot hold, and values that are not numbers, by the name of the column.
BAD = [
    ([1, 2**24 + 1], "16777217"), ([2**53], "9007199254740992"), ([-(2**25)], "-33554432"), (np.array([2**63], "u8"), "9223372036854775808"),
    ([1e39], "1e+39"), ([1j], "complex128"), (["a", "b"], "<U1"), ([b"a"], "|S1"), ([None, 1], "objects", "NoneType"), ([[1], [1, 2]], "inhomogeneous"),
    (np.array(["2020-01-01"], "M8[ns]"), "times"), (np.array([5], "m8[s]"), "times"), (np.ma.array([1.0, 2.0], mask=[0, 1]), "masked"),
    (np.array([{}, 1], object), "objects"), (np.zeros((3, 2)), "1 number an event", "(3, 2)"), (np.zeros(()), "a number for each event", "shape ()"), (3, "a number for each event, [3] for one"),
]  # fmt: skip
for values, *parts in BAD:
    refuses(lambda: ct.Dataset(["bad"]).Add({"bad": values}, 1), "column 'bad'", *parts)
    if "event" not in parts[0]:
        if not ct.Dataset.Add.__globals__["is_texts"](values):  # names of columns
            refuses(lambda: ct.Dataset(["x"]).Add({"x": np.ones(2)}, values), "label")
        refuses(lambda: ct.Dataset(["x"]).Add({"x": np.ones(2)}, 1, weight=values), "the weight", *parts)
assert ct.Dataset(["x"]).Add({"x": np.ma.array([1.0, 2.0], mask=[0, 0])}, 1).Rows() == 2
for value, word in ((np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "-inf")):
    for make in (lambda a: {"x": a, "y": a}, lambda a: np.stack([a, a], 1)):
        bad = np.array([0, 1, value, 3])
        good = make(np.arange(4.0))
        refuses(lambda: ct.Dataset(["x", "y"]).Add(make(bad), 1), 'column "x"', word, "event 2", kind=ct.Error)
        refuses(lambda: ct.Dataset(["x", "y"]).Add(good, bad), "the label", word, "event 2", kind=ct.Error)
        refuses(lambda: ct.Dataset(["x", "y"]).Add(good, 1, weight=bad), "the weight", word, "event 2", kind=ct.Error)
        assert ct.Dataset(["x", "y"]).Add(make(bad), bad, np.isfinite(bad), bad).Rows() == 3
failed = ct.Dataset(["x"]).Add({"x": [1.0]}, 1)
for wrong in ({"x": [np.nan]}, {"y": [1.0]}, {"x": [2**30 + 1]}):
    refuses(lambda: failed.Add(wrong, 1), "x", kind=(TypeError, ct.Error))
assert failed.Rows() == 1

for shape, part in (((N, 3), "2 columns is needed (x, y)"), ((N, 1), "2 columns"), ((0, 2), "no events")):
    refuses(lambda: ct.Dataset(["x", "y"]).Add(np.zeros(shape), 1), part, kind=(TypeError, ct.Error))
for wrong in (np.zeros(3), np.zeros((2, 2, 2)), np.zeros(()), [1.0, 2.0], [[1], [1, 2]]):
    refuses(lambda: ct.Dataset(["x"]).Add(wrong, 1), "a tree, a chain, a data frame", "an array [events, features]")
for library, instead in ("uproot.models", "tree and its file"), ("awkward", "to_rdataframe"):
    other = type("Other", (dict,), {"__module__": library})()
    for call in (lambda: ct.Dataset(["x"]).Add(other, 1), lambda: ct.Source(other)):
        refuses(call, f"a Other of {library.partition('.')[0]}", instead)
refuses(lambda: ct.Dataset(["x"]).Add({"x": [1.0], "y": [1.0]}, ["y", 3]), "the label", "<U")
refuses(lambda: ct.Dataset(["x", "y"]).Add({"x": [1.0], "y": [1.0, 2.0]}, 1), "column 'y' has 2 events", "'x' 1")
refuses(lambda: ct.Dataset().Add({"x": [1.0]}, 1), "without columns")
refuses(lambda: ct.Dataset(["x"]).Add(np.zeros((2, 1)), "label"), "an array has no column 'label'")

# Lists of the length of their column, and masks.
jets = ct.Dataset(["x"]).Column("jets", 3).Mask("jets").Column("pairs", (2, 2))
lists = {"x": np.arange(2), "jets": np.arange(6).reshape(2, 3), "pairs": np.arange(8).reshape(2, 2, 2)}
assert list(jets.Lengths()) == [1, 3, 3, 4]
rows = np.asarray(ct.Dataset(jets).Add(lists, 1).Features())
assert np.array_equal(rows[1], [1, 3, 4, 5, 1, 1, 1, 4, 5, 6, 7])
for wrong in (np.zeros((2, 4)), np.zeros(2), np.zeros((2, 3, 2))):
    refuses(lambda: jets.Add({**lists, "jets": wrong}, 1), "column 'jets' takes 3 numbers an event")

# The events of pandas are matched by their index.
for make, column in FRAMES:
    table = make({"x": [1.0, 2.0, 3.0], "y": [0, 1, 0]}, index=[4, 5, 6])
    for values in (np.array([0, 1, 0]), column([0, 1, 0], index=[4, 5, 6], name="y")):
        for same_events in (values, values == 0 if isinstance(values, np.ndarray) else column(np.asarray(values) == 0, index=[4, 5, 6])):
            assert ct.Dataset(["x"]).Add(table, same_events, np.asarray(values) >= 0, values).Rows() == 3
    other = column([0, 1, 0], index=[6, 5, 4])
    mask = column([True, True, False], index=[6, 5, 4])
    refuses(lambda: ct.Dataset(["x"]).Add(table, other), "the index of the label", "reindex")
    refuses(lambda: ct.Dataset(["x"]).Add(table, 1, weight=other), "the index of the weight")
    refuses(lambda: ct.Dataset(["x"]).Add(table, 1, mask), "the index of the cut")
    refuses(lambda: ct.Dataset(["x"]).Add(table, make({"a": [1, 2, 3]}, index=[6, 5, 4])), "the index of the labels")
    refuses(lambda: ct.Dataset(["x"]).Add(np.zeros((3, 1)), other, weight=column([1, 1, 1])), "the index of the weight")
    refuses(lambda: ct.Dataset(["x", "y"]).Add({"x": other, "y": column([1, 1, 1])}, 1), "the index of column 'y'")
    assert ct.Dataset(["x"]).Add(np.zeros((3, 1)), other, weight=other).Rows() == 3
    assert list(ct.Dataset(["x"]).Add(table, make({"a": [1, 2, 3], "b": [1, 2, 3]}, index=[4, 5, 6])).Targets()) == ["a", "b"]
refuses(lambda: ct.Dataset(["x"]).Add(Frame([("x", [1.0]), ("x", [2.0])]), 1), "2 columns 'x'")
if pandas:
    twice = pandas.DataFrame([[1.0, 2.0]], columns=["x", "x"])
    refuses(lambda: ct.Dataset(["x"]).Add(twice, 1), "2 columns 'x'")
    own = pandas.DataFrame({"i": pandas.array([1, 2], "Int64"), "f": pandas.array([1.5, 2], "Float64"), "b": pandas.array([True, False], "boolean")})
    assert np.array_equal(ct.Dataset(["i", "f", "b"]).Add(own, 1).Features(), [[1, 1.5, 1], [2, 2, 0]])
    for name, bad in [
        ("categories", pandas.Series(["a", "b"], dtype="category")), ("categories", pandas.Series([1, 2], dtype="category")),
        ("times", pandas.Series(pandas.to_datetime(["2020-01-01", "2020-01-02"]))), ("column 'x'", pandas.Series(["a", "b"])),
        ("column 'x'", pandas.Series(pandas.array([1, None], "Int64"))), ("column 'x'", pandas.Series([1, "b"], dtype=object)),
        ("column 'x'", pandas.Series(pandas.to_timedelta([1, 2], "s"))), ("16777217", pandas.Series(pandas.array([1, 2**24 + 1], "Int64"))),
    ]:  # fmt: skip
        refuses(lambda: ct.Dataset(["x"]).Add(pandas.DataFrame({"x": bad}), 1), "column 'x'", name)
    refuses(lambda: ct.Dataset(["x"]).Add(pandas.DataFrame({"x": [np.nan]}), 1), "NaN", kind=ct.Error)
    print("frames of pandas", pandas.__version__, "tried")

# Datasets are joined.
first, second = ct.Dataset(["x", "y"]).Add(base, 1), ct.Dataset(["x", "y"]).Add(base, 0, weight="w")
for joined in (ct.Dataset(first).Add(second), first + second, sum([first, second]), ct.Dataset(first).Add(other=second)):
    assert joined.Rows() == 2 * N and np.array_equal(joined.Weights()[N:], second.Weights()) and list(joined.Labels()) == [1] * N + [0] * N
assert first.Rows() == N and first.Add(first).Rows() == 2 * N and np.array_equal(first.Features()[:N], first.Features()[N:])
refuses(lambda: first.Add(ct.Dataset(["y", "x"])), "cannot be added", "same columns", kind=ct.Error)
refuses(lambda: first.Add(ct.Dataset(["x", "y"]).Add(base, ["label", "w"])), "same targets", kind=ct.Error)
assert first.Add(first.Features(), first.Labels(), weight=first.Weights()).Rows() == 4 * N

# Predictions.
data = ct.Dataset(["x", "y"]).Add(base, "label")
model = ct.Mlp([2, 3, 1])
assert model.Predict(np.asarray(data.Features())).shape == (N,)  # without columns of its own
refuses(lambda: model.Predict(base), "no columns yet", kind=ct.Error)
three = {"x": np.zeros(3)}
refuses(lambda: ct.Dataset(["x"]).Add(three, np.array(["s", "b", "s"])), "'s' for each event", "labels == 's'")
refuses(lambda: ct.Dataset(["x"]).Add(three, np.array([1, None, 0], dtype=object)), "objects such as a NoneType")
refuses(lambda: ct.Dataset(["x"]).Add({"x": np.array([0, 1e-46, 2e-46])}, np.zeros(3)), "column 'x'", "1e-46, become 0", "another unit")
model.Fit(data, fEpochs=1, fVerbose=0)
wanted = model.Predict(data)
assert type(wanted) is np.ndarray and wanted.dtype == np.float32 and wanted.shape == (N,) and wanted.flags.writeable
for container in (*CONTAINERS, lambda c: np.stack([c["x"], c["y"]], 1), lambda c: np.stack([c["x"], c["y"]], 1).tolist(), lambda c: data.Features()):
    for method in (model.Predict, model.Logits):
        assert np.array_equal(method(container(base)), method(data)) and np.array_equal(method(data=container(base)), method(data)), container
assert model.Predict(np.zeros((0, 2))).shape == (0,) and model.Predict({"x": [], "y": []}).shape == (0,)
for wrong, *parts in ((np.zeros((3, 3)), "2 columns", "(3, 3)"), ({"x": [1.0]}, "no column 'y'"), (np.zeros(2), "'data' a CladTorch::Dataset")):
    refuses(lambda: model.Predict(wrong), *parts)
# Those of an ensemble, of a list of models or of what CrossValidate gives.
pair = ct.Ensemble([model, model])
for method in (pair.Predict, pair.Spread):
    assert np.array_equal(method(base), method(data)) and method(data=np.asarray(data.Features())).shape == (N,)
folds = ct.Mlp([2, 3, 1]).CrossValidate(data, 2, fEpochs=1, fVerbose=0)
assert ct.Ensemble(folds.Models()).Size() == 2
classes = ct.Mlp([2, 3])
classes.Fit(data, fEpochs=1, fVerbose=0)
assert classes.Predict(base).shape == (N, 3) and np.allclose(classes.Predict(base).sum(1), 1, atol=1e-6)
assert ct.Evaluation.Classifier(classes.Predict(data), data.Labels()).Outputs() == 3
lists_model = ct.Mlp([11, 1])
filled = ct.Dataset(jets).Add(lists, [0, 1])
lists_model.Fit(filled, fEpochs=1, fVerbose=0, fValidation=0)
assert np.array_equal(lists_model.Predict(lists), lists_model.Predict(filled))
assert list(lists_model.NewDataset().Lengths()) == list(jets.Lengths())
print("ALL CHECKS PASSED")
