"""The lines between the benchmark and a worker in Python; rust/xtask/src/bench/worker.rs describes them."""

import sys


def requests():
    """Verb and values of each request."""
    for line in sys.stdin:
        verb, *words = line.split()
        yield verb, dict(word.split("=", 1) for word in words)


def answer(*words):
    print("bench", *words, flush=True)
