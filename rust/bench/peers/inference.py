"""Sides in Python of `cargo xtask bench inference`: `inference.py eager|onnxruntime THREADS`; the lines are those of inference.C.

eager: the module of PyTorch in inference mode. onnxruntime: its session on the CPU, events and predictions bound beforehand.
"""

import sys
import time
from pathlib import Path

import torch
from inference_networks import made
from lines import answer, requests


class Eager:
    def __init__(self, values, blocks, threads):
        torch.set_num_threads(threads)
        self.net, self.blocks = made(values["network"]), blocks

    @torch.inference_mode()
    def run(self, at):
        return self.net(self.blocks[at])


class Onnx:
    def __init__(self, values, blocks, threads):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        path = Path(values["data"]) / "net.onnx"
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.bindings = [self.bound(onnxruntime, block.numpy()) for block in blocks]

    def bound(self, onnxruntime, block):
        binding = self.session.io_binding()
        binding.bind_cpu_input("x", block)
        out = torch.empty(len(block), 1)
        value = onnxruntime.OrtValue.ortvalue_from_numpy(out.numpy())
        binding.bind_ortvalue_output("y", value)
        return binding, value

    def run(self, at):
        binding, value = self.bindings[at]
        self.session.run_with_iobinding(binding)
        return value


def numbers(result):
    return torch.from_numpy(result.numpy()).double().flatten()


class Inference:
    def __init__(self, variant, values, threads):
        self.batch, folder = int(values["batch"]), Path(values["data"])
        shape = [int(size) for size in values["shape"].split(",")]
        read = lambda name: torch.from_file(str(folder / name), size=(folder / name).stat().st_size // 4)
        blocks = [block.contiguous() for block in read("events").reshape(-1, *shape).split(self.batch)]
        self.side = {"eager": Eager, "onnxruntime": Onnx}[variant](values, blocks, threads)
        self.calls = range(len(blocks))
        found, expected = torch.cat([numbers(self.side.run(at)) for at in self.calls]), read("expected").double()
        worst = ((found - expected).abs().max() / expected.abs().max()).item()
        if not worst < float(values["tolerance"]):
            raise ValueError(f"predictions differ by {worst:.1e} from those in float64")

    def round(self, steps):
        """Seconds a call."""
        run, calls = self.side.run, [step % len(self.calls) for step in range(steps)]
        start = time.perf_counter()
        for at in calls:
            result = run(at)
        seconds = (time.perf_counter() - start) / steps
        self.mean = numbers(result).mean().item()
        return seconds


def main():
    variant, threads = sys.argv[1], int(sys.argv[2])
    inference = None
    for verb, values in requests():
        try:
            if verb == "case":
                inference = None
                inference = Inference(variant, values, threads)
                answer("ready")
            elif verb == "round":
                answer("time", inference.round(int(values["steps"])))
            elif verb == "check":
                answer("check", inference.mean)
            else:
                answer("error", "no request", verb)
        except Exception as error:
            answer("error", (str(error).splitlines() or [type(error).__name__])[0])


main()
