"""Classes that several threads use at once, the first time in this process."""

from concurrent.futures import ThreadPoolExecutor

import cladtorch as ct
import numpy as np

x = np.arange(300, dtype=np.float32).reshape(100, 3)
y = np.arange(100) % 2


def job(number):
    data = ct.Dataset(["a", "b", "c"]).Add(x + number, y)
    metric = ct.Metric("mean", lambda evaluation: float(np.mean(np.asarray(evaluation.Predictions()))))
    model = ct.Mlp([3, 4, 1], ct.kReLU, ct.kUniform, number + 1)
    model.Fit(data, fEpochs=2, fVerbose=0, fMetrics=[metric])
    return model.Predict(data).shape


with ThreadPoolExecutor(4) as pool:
    shapes = list(pool.map(job, range(8)))
assert shapes == [(100,)] * 8, shapes
print("ALL CHECKS PASSED")
