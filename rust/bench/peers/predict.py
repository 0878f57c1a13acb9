"""PyTorch's side of `cargo xtask bench predict`: `predict.py THREADS`; the lines are those of predict.C."""

import sys
import time

import torch
from lines import answer, requests
from network import floats, perceptron


class Prediction:
    def __init__(self, values):
        self.x = floats(values["data"], "features").reshape(-1, 28)
        self.model = perceptron([28, 64, 64, 1], floats(values["data"], "parameters"))
        self.at_once = values["once"] == "1"
        self.sum = 0.0

    @torch.inference_mode()
    def round(self):
        """Seconds a row."""
        single = self.x.split(1)
        start = time.perf_counter()
        if self.at_once:
            scores = self.model(self.x).sigmoid()
            seconds = time.perf_counter() - start
            self.sum = scores.sum(dtype=torch.float64).item()
        else:
            self.sum = sum(self.model(row).sigmoid().item() for row in single)
            seconds = time.perf_counter() - start
        return seconds / len(self.x)


def main():
    torch.set_num_threads(int(sys.argv[1]))
    prediction = None
    for verb, values in requests():
        if verb == "case":
            prediction = Prediction(values)
            answer("ready")
        elif verb == "round":
            answer("time", prediction.round())
        elif verb == "check":
            answer("check", prediction.sum / len(prediction.x))
        else:
            answer("error", "no request", verb)


main()
