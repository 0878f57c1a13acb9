"""PyROOT: sources, shapes, masks, tensors of other types without a copy, DLPack."""
import gc

import numpy as np
import ROOT

ROOT.gROOT.SetBatch(True)
assert ROOT.gSystem.Load("libcladtorch") == 0
ct = ROOT.CladTorch

frame = (
    ROOT.RDataFrame(100)
    .Define("x", "float(rdfentry_)")
    .Define("jet", "ROOT::RVecD(rdfentry_ % 3, rdfentry_)")
    .Define("nested", "ROOT::RVec<ROOT::RVecF>(2, ROOT::RVecF(rdfentry_ % 2, 7))")
)
frame.Snapshot("t", "events.root", ["x", "jet"])

data = ct.Dataset(["x/2"])
data.Column("jet", 2, -1).Mask("jet").Column("nested", (2, 2), 0).Add(frame.Filter("x > 3"), "x > 50")
assert list(data.Columns()) == ["x/2", "jet", "mask(jet)", "nested"]
assert np.array_equal(np.asarray(data.Features())[1], [2.5, 5, 5, 1, 1, 7, 0, 7, 0])
assert np.asarray(data.Labels()).sum() == 49
data.Balance()
assert abs(np.asarray(data.Weights())[np.asarray(data.Labels()) == 1].sum() - 48) < 1e-3
file = ROOT.TFile("events.root")
for source in (frame, frame.Filter("x >= 0"), file.Get("t"), ct.Source("t", "events.root")):
    assert ct.Dataset(["x"]).Add(source, 1).Rows() == 100
    jets = ct.Jagged["double"].Read(ct.Source(source), "jet")
    values, offsets = np.asarray(jets.Values()), np.asarray(jets.Offsets())
    assert values.dtype == np.float64 and offsets.dtype == np.int64 and offsets.shape == (101,)
    assert np.array_equal(np.diff(offsets), np.arange(100) % 3)
    assert np.array_equal(values, np.repeat(np.arange(100.0), np.arange(100) % 3))
assert np.asarray(ct.Jagged["std::int64_t"].Read(ct.Source(frame), "rdfentry_ * 2").Values())[99] == 198
twice = ct.Jagged["Long64_t"].Read(frame, "rdfentry_ * 2").Values()
assert np.asarray(twice).dtype == np.int64 and np.asarray(twice)[99] == 198
assert np.from_dlpack(twice)[99] == 198
assert np.array_equal(np.asarray(jets.Padded(1, -5))[:4, 0], [-5, 1, 2, -5])

# zero copy, read only, alive after everything else is gone
view = ct.Dataset(["x"]).Add(frame, 1).Features()
address = view.Address()
shared = np.from_dlpack(view)
assert shared.shape == (100, 1) and shared.dtype == np.float32 and not shared.flags.writeable
assert shared.__array_interface__["data"][0] == address
own = np.from_dlpack(view, copy=True)
assert own.flags.writeable and own.__array_interface__["data"][0] != address
nothing = ct.FloatView()
assert np.asarray(nothing).shape == (0,) and nothing.__array_interface__["data"][0] != 0  # which NumPy 2.2 does not take
del view
gc.collect()
assert np.array_equal(shared[:, 0], np.arange(100))
whole = ct.Jagged["std::int64_t"].Read(ct.Source(frame), "rdfentry_").Values()
assert np.from_dlpack(whole).dtype == np.int64 and whole.__dlpack_device__() == (1, 0)
for _ in range(1000):
    whole.__dlpack__()  # a capsule that nobody takes frees its copy
    whole.__dlpack__(max_version=(1, 0))
try:
    whole.__dlpack__(copy=False)
    raise AssertionError("an old reader would have been able to write")
except BufferError as error:
    assert "read only" in str(error)
# back to ROOT
assert ct.ToMatrix(data.Features())[1, 0] == 2.5
scored = ct.ToFrame({"score": data.Features(), "label": data.Labels()})
assert np.array_equal(scored.AsNumpy(["label"])["label"], np.asarray(data.Labels()))
tree = file.Get("t")
ct.WriteFriend(tree, "friend.root", {"twice": ct.Dataset(["2 * x"]).Add(tree, 1).Labels()})
assert ROOT.RDataFrame("cladtorch", "friend.root").Sum("twice").GetValue() == 100

try:
    import torch

    tensor = torch.from_dlpack(data.Features())
    assert tensor.shape == (96, 9) and tensor[1, 0] == 2.5
except (ImportError, OSError) as problem:
    print("SKIPPED: torch.from_dlpack,", problem)
print("ALL CHECKS PASSED")
