"""Views and Jagged as sequences: every kind of number and rank against NumPy, and as arguments that take a vector."""
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
    for outside in (rows, -rows - 1, 10**9):
        assert raised(lambda: view[outside]) is IndexError, (view, outside)
    for outside in ((rows, 0), (-1, 0), (10**10, 0), (0, view.Columns())):
        assert raised(lambda: view(*outside)) is IndexError, (view, outside)
assert data.Features()[2, 1] == data.Features()(2, 1) == 4

for each in jagged:
    rows = each.Rows()
    assert len(each) == rows == 6 and [len(event) for event in each] == list(range(6))
    assert [list(event) for event in each] == [[n] * n for n in range(6)] and list(each[-1]) == [5] * 5
    for outside in (rows, -rows - 1, 100, 10**9):
        assert raised(lambda: each[outside]) is IndexError, outside

# As a vector: of lists only, and of numbers that it holds.
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
for view in matrices:
    for call in (other.SetParameters, lambda v: other.SetScaler(v, v), lambda v: ct.Mlp(v), lambda v: ct.Signal.Welch(v, 64, 512.0)):
        assert raised(lambda: call(view)) is not None, (view, call)

print("ALL CHECKS PASSED")
