"""The lines between the benchmark and a worker in Python; rust/bench/src/worker.rs describes them."""

import resource
import sys
import time


def requests():
    """Verb and values of each request."""
    for line in sys.stdin:
        verb, *words = line.split()
        yield verb, dict(word.split("=", 1) for word in words)


def answer(*words):
    print("bench", *words, flush=True)


def memory(field):
    """VmRSS (now) or VmHWM (peak) of this process, bytes."""
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(field + ":"))


def cpu_seconds():
    """User and system time of all threads of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class Rounds:
    """Answers `case`, `round` and `check`.

    A round is `work(values of the case, seed)`, whose result is kept for `check(values, result)` until the next round;
    `more(result)` is what it says beside the time, `key=value`.
    """

    def __init__(self, work, check, more=lambda result: ""):
        self.work, self.check, self.more = work, check, more
        self.values = self.result = None
        self.held = 0

    def round(self, seed):
        self.result = None
        with open("/proc/self/clear_refs", "w") as refs:  # VmHWM begins again
            refs.write("5")
        cpu, start = cpu_seconds(), time.perf_counter()
        self.result = self.work(self.values, seed)
        seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu
        answer("time", seconds, f"cpu={cpu}", f"memory={memory('VmHWM') - self.held}", self.more(self.result))

    def serve(self):
        for verb, values in requests():
            try:
                if verb == "case":
                    self.values, self.result, self.held = values, None, memory("VmRSS")
                    answer("ready")
                elif verb == "round":
                    self.round(int(values["seed"]))
                elif verb == "check":
                    answer("check", self.check(self.values, self.result))
                else:
                    answer("error", "no request", verb)
            except Exception as error:
                answer("error", str(error).splitlines()[0] if str(error) else type(error).__name__)
