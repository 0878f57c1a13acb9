"""Continuous searches from Python: arrays as series, lists of records, refusals with a message."""

import numpy as np
import ROOT

ROOT.gSystem.Load("libcladtorch")
ct = ROOT.CladTorch
signal = ct.Signal


def refused(call, *words):
    try:
        call()
    except (TypeError, AttributeError) as error:
        assert all(word in str(error) for word in words), error
        return
    raise AssertionError(f"nothing was refused where {words} were expected")


strain = np.random.default_rng(1).normal(size=(2, 4096))
white = [np.asarray(signal.WhitenInBlocks(each, 512, 1024, 128, 64)) for each in strain]
assert all(each.shape == (4032,) and 0.8 < each.std() < 1.25 for each in white)

model = ct.Mlp([64, 1])
search = signal.NetworkFilter(model, 8, 2)
scores = np.asarray(search.Scores(white))
assert scores.shape == (1 + (4032 - 32) // 8,)
# Of a list, of an array, of vectors and of float32 the same.
for series in (np.array(white), [list(each) for each in white], (white[0], white[1])):
    assert np.array_equal(np.asarray(search.Scores(series)), scores)
windows = np.lib.stride_tricks.sliding_window_view(np.array(white, dtype="f4"), 32, axis=1)[:, ::8].transpose(1, 0, 2).reshape(-1, 64)
assert np.array_equal(scores, model.Logits(windows))
for wrong in (1, "ab", [1, 2], np.ones(5), {1: white[0]}, None):
    refused(lambda: search.Scores(wrong), "takes for 'series' a list of series, one for each detector")

found = signal.FindCandidates(np.array([0, 2, 3, 0], dtype="f4"), 100, 0.1, 1)
assert repr(list(found)) == "[Candidate(fTime=100.2, fStatistic=3.0)]", list(found)
reach = signal.SensitiveDistance(list(found), [signal.Candidate(fStatistic=1), found[0]], [signal.Injection(fTime=100.2, fDistance=50)], 10, [0.1])
assert [round(each.fDistance, 9) for each in reach] == [50] and reach[0].fFraction == 1
refused(lambda: signal.Injection(fDistanc=50), "fDistance")
refused(lambda: signal.Injection(100.2), "by name")
refused(lambda: signal.SensitiveDistance(1, found, [], 10, [0.1]), "a list of candidates")
signal.WriteCandidates("candidates.hdf", found)
assert list(signal.ReadHdf5("candidates.hdf", "stat")) == [3]

online = signal.OnlineSearch(model, 512, 2, 32, 512, 128, 64)
given = [len(online.Add(1e9 + block / 16, strain[:, 32 * block : 32 * (block + 1)])) for block in range(128)]
assert given == [0] * 15 + [1] * 113, given
print("ALL CHECKS PASSED")
