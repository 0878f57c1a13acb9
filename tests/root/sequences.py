"""Views and Jagged as sequences: every kind of number and rank against NumPy, and as arguments that take a vector."""
import pickle

import numpy as np
import ROOT

assert ROOT.gSystem.Load("libcladtorch") == 0
ct = ROOT.CladTorch


def raised(call):
    try:
        call()
    except Exception as error:
        return type(error)
    return None


def refuses(call, kind, *parts):
    """One sentence with all of `parts`."""
    try:
        call()
    except kind as error:
        text = str(error)
        assert all(part in text for part in parts), f"{parts} not all in: {text}"
        assert "\n" not in text and "could not convert" not in text, text
    else:
        raise AssertionError(f"nothing was raised, expected {parts}")


frame = ROOT.RDataFrame(6).Define("n", "long(rdfentry_)").Define("x", "float(n)").Define("l", "ROOT::RVec<long>(n, n)")
data = ct.Dataset(["x", "x * 2"]).Add(frame, "n % 2")
model = ct.Mlp([2, 3, 1])
lists = [data.Labels(), data.Weights(), model.Parameters()]
jagged = [ct.Jagged[kind].Read(frame, "l") for kind in ("float", "double", "std::int64_t", "Long64_t")]
lists += [each.Values() for each in jagged] + [each.Offsets() for each in jagged]
matrices = [data.Features()] + [each.Padded(3) for each in jagged]

for view in lists + matrices + [ct.View["float"]()]:
    array, rows = np.asarray(view), view.Rows()
    assert len(view) == rows == len(list(view))
    assert np.array_equal(list(view), array) if rows else list(view) == []
    for at in range(-rows, rows):
        assert np.array_equal(view[at], array[at])
    assert np.array_equal(view[1:3], array[1:3]) and np.array_equal(view[::-1], array[::-1])
    for outside in (rows, -rows - 1, 10**9, 10**30, -(10**30)):
        refuses(lambda: view[outside], IndexError, f"row {outside} of a view with {rows}")
    if view.Rank() == 2:
        refuses(lambda: view[0, 10**30], IndexError, "column 1000000000000000000000000000000 of a view")
    for outside in ((rows, 0), (-1, 0), (10**10, 0), (0, view.Columns())):
        assert raised(lambda: view(*outside)) is IndexError, (view, outside)
assert data.Features()[2, 1] == data.Features()(2, 1) == 4

for each in jagged:
    rows = each.Rows()
    assert len(each) == rows == 6 and [len(event) for event in each] == list(range(6))
    assert [list(event) for event in each] == [[n] * n for n in range(6)] and list(each[-1]) == [5] * 5
    for outside in (rows, -rows - 1, 100, 10**9, 10**30):
        refuses(lambda: each[outside], IndexError, f"event {outside} of 6")
    assert raised(lambda: each[5][7]) is IndexError and each[5][-1] == 5 and not each[5].flags.writeable
    events = [np.array(event) for event in each]
    taken = [slice(*ends) for ends in [(2, 5), (None, 2), (4, None), (None, None, -1), (5, 0, -2), (9, 12), (-2, None), (3, 3)]]
    taken += [[0, 5, 2, 2], [-1], [], np.arange(6) % 2 == 1, np.zeros(6, bool), np.int8([4, 3]), ...]
    for key in taken:
        chosen = each[key]
        expected = [events[at] for at in np.arange(6)[key]]
        assert type(chosen) is type(each) and chosen.Rows() == len(expected), key
        assert all(np.array_equal(*pair) for pair in zip(chosen, expected)), key
        assert np.array_equal(chosen[::-1][::-1].Values(), np.concatenate([np.zeros(0), *expected])), key
    for key, kind, part in [
        ([6], IndexError, "out of bounds"),
        (np.ones(5, bool), IndexError, "boolean"),
        ("a", TypeError, "'a'"),
        (1.5, TypeError, "1.5"),
        (None, TypeError, "events alone"),
        ((1, 0), TypeError, "(1, 0)"),
        ([[0, 1]], TypeError, "events alone"),
    ]:
        refuses(lambda: each[key], kind, "Jagged", part)
    other = type(each)(np.asarray(each.Values()), list(each.Offsets()))
    assert all(np.array_equal(*pair) for pair in zip(other, each))
    for offsets, part in [([], "no offsets"), ([1], "first offset"), ([0, 2, 1], "offset 2 (1)"), ([0, 16], "15 values")]:
        try:
            type(each)(each.Values(), offsets)
        except ct.Error as error:
            assert part in str(error), error
        else:
            raise AssertionError(offsets)

# Types that there are none of.
for template in (ct.Jagged, ct.View):
    for kind in ("int", "unsigned", "float32_t", "std::vector<float>", "", int, bool, np.int32, ROOT.TTree, None, 3):
        refuses(lambda: template[kind], TypeError, '["float"]', '["double"]', '["std::int64_t"]', '["Long64_t"]')
    refuses(lambda: template.Read(frame, "l"), AttributeError, "'Read'", '["double"]')
    refuses(lambda: template([1.0]), TypeError, '["double"]')
    for kind, same in ((np.float32, "float"), ("float64", "double"), (np.int64, "std::int64_t"), (" double ", "double")):
        assert template[kind] is template[same], kind

# Arrays of every type and layout are passed by value wherever C++ takes numbers, not by their bytes.
parameters = np.arange(13)
two = ct.Mlp([2, 3, 1])
for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">f4", ">i8", "longdouble"):
    for array in (parameters.astype(dtype), np.repeat(parameters, 3).astype(dtype)[::3], parameters[::-1].astype(dtype)[::-1]):
        two.SetParameters(array)
        assert list(two.Parameters()) == list(range(13)), dtype
        two.SetScaler(array[:2], array[1:3])
        assert list(two.Scaler().fMean) == [0, 1] and list(two.Scaler().fDeviation) == [1, 2], dtype
        two.SetScaler([], [])
        assert two.Functor()(array[1:3]) == two.Functor()([1, 2]) == two.Functor()(ROOT.RVecD([1, 2])), dtype
        ramp = np.resize(array, 512)
        assert list(ct.Signal.Welch(ramp, 64, 512.0)) == list(ct.Signal.Welch(ramp.tolist(), 64, 512.0)), dtype
        for kind in ("float", "double", "std::int64_t", "Long64_t"):
            assert list(ct.View[kind](array)) == list(range(13)), (dtype, kind)
            assert np.array_equal(ct.View[kind](np.stack([array, array])), [parameters] * 2), (dtype, kind)
        assert list(ct.ToFrame({"s": array}).Take["float"]("s")) == list(range(13)), dtype
        assert ct.ToMatrix(np.stack([array, array], 1))[12, 1] == 12, dtype
        sizes = np.array([2, 3, 1]).astype(dtype)
        if sizes.dtype.kind in "iu":
            assert ct.Mlp(sizes).Inputs() == 2, dtype
        else:
            refuses(lambda: ct.Mlp(sizes), TypeError, "a list of integers", "array")
for array in (np.zeros((13, 1)), np.zeros(13, complex), np.zeros(13, bool), np.array(["1"] * 13), np.zeros(()), {1.0}, {"a": 1}, b"1"):
    for call in (two.SetParameters, lambda a: two.SetScaler(a, a), lambda a: ct.Signal.Welch(a, 64, 512.0), two.Functor()):
        refuses(lambda: call(array), TypeError, "list", "not")
whole = 2**24 + 1
for kind, wrong in [("float", [whole]), ("float", [1e300]), ("double", [2**53]), ("std::int64_t", [0.5]), ("Long64_t", [np.nan])]:
    refuses(lambda: ct.View[kind](wrong), TypeError, str(wrong[0]))
refuses(lambda: ct.ToFrame({"run": [whole]}), TypeError, str(whole), "'run'")
assert list(ct.View["float"]([1 / 3, np.inf, -(2**24)])) == [np.float32(1 / 3), np.inf, -(2**24)]

# Columns of a frame: lists and rows, with numbers of every form.
rows = ct.ToFrame({"s": np.arange(3), "t": [[1, 2], [3, 4], [5, 6]], "u": data.Features()[:3], "v": ROOT.std.vector["float"](3, 7)})
assert [list(each) for each in rows.AsNumpy(["t"])["t"]] == [[1, 2], [3, 4], [5, 6]]
assert rows.Count().GetValue() == 3 and rows.Sum("v").GetValue() == 21
for number, wrong in enumerate([np.zeros((2, 2, 2)), "x", None, 3, {"a": 1}, [[1, 2], [3]], ["a"], data]):
    refuses(lambda: ct.ToFrame({"s": wrong}), TypeError, "'columns'", "'s'")
for wrong in (np.zeros(3), [1, 2], None, "s", {3: [1.0]}, data):
    refuses(lambda: ct.ToFrame(wrong), TypeError, "'columns'", "a dictionary of names")

of_cpp = ct.NamedColumns_t()
of_cpp["s"] = data.Labels()
assert ct.ToFrame(of_cpp).Sum("s").GetValue() == 3

# Predictions of several outputs are rows.
several = ct.Mlp([2, 3])
for predictions in (several.Predict(data), several.Logits(data=data)):
    assert np.asarray(predictions).shape == (6, 3)
    assert ct.ToFrame({"p": predictions, "w": data.Weights()}).Count().GetValue() == 6
assert np.allclose(np.sum(several.Predict(data), axis=1), 1) and np.asarray(model.Predict(data)).shape == (6,)

# As a vector: only of lists, and of numbers that it can hold.
for view in lists:
    for kind in ("float", "double") + ("long",) * (np.asarray(view).dtype == np.int64):
        assert np.array_equal(ROOT.std.vector[kind](view), view), (view, kind)
for view in matrices:
    assert raised(lambda: ROOT.std.vector["float"](view)) is not None
other = ct.Mlp([2, 3, 1], seed=5)
assert other.Parameters()[0] != model.Parameters()[0]
other.SetParameters(model.Parameters())
assert np.array_equal(other.Parameters(), model.Parameters())
two = ct.View["float"]([1, 2])
other.SetScaler(two, two)
assert list(other.Scaler().fMean) == [1, 2]
assert other.Functor()(two.ToRVec()) == other.Functor()([1, 2])
power = ct.View["double"](np.ones(512))
assert list(ct.Signal.Welch(power, 64, 512.0)) == list(ct.Signal.Welch(np.ones(512), 64, 512.0))
# Complex numbers of C++ are NumPy's, and NumPy's are accepted.
tone = np.exp(2j * np.pi * 64 * np.arange(512) / 512)
spectrum = np.asarray(ct.Signal.MatchedFilter(tone.real, np.ones(257), 512.0).ComplexSeries(tone.real))
assert spectrum.dtype == complex and spectrum.shape == (512,)
assert np.allclose(np.abs(spectrum), ct.Signal.MatchedFilter(tone.real, np.ones(257), 512.0).Series(tone.real))
of_binary = ct.Signal.BinarySpectrum(ct.Signal.Binary(), ct.Signal.kTaylorF2, [10.0, 30.0, 60.0])
assert np.abs(of_binary)[0] == 0 and np.all(np.abs(of_binary)[1:] > 0)
for amplitudes in ([0.6 + 0.8j, 1], np.array([0.6 + 0.8j, 1]), (0.6 + 0.8j, 1)):
    response = ct.Signal.Response(fAmplitudes=amplitudes, fDelays=[0, 0.01])
    assert np.array_equal(response.fAmplitudes, [0.6 + 0.8j, 1]) and list(response.fDelays) == [0, 0.01]
    again = pickle.loads(pickle.dumps(response))
    assert np.array_equal(again.fAmplitudes, [0.6 + 0.8j, 1]) and list(again.fDelays) == [0, 0.01]
drawn = ct.Signal.DrawResponses(["H1", "L1"], 3)
assert np.allclose([np.sum(np.abs(each.fAmplitudes) ** 2) for each in drawn], 1)
refuses(lambda: ct.Signal.Response(fAmplitudes=["a"]), TypeError, "list of complex numbers")
for view in matrices:
    for call in (other.SetParameters, lambda v: other.SetScaler(v, v), lambda v: ct.Mlp(v), lambda v: ct.Signal.Welch(v, 64, 512.0)):
        assert raised(lambda: call(view)) is not None, (view, call)

print("ALL CHECKS PASSED")
