"""Starts a process for each repetition, or a job for each round: `launch.py THREADS COMMAND ARGUMENT...`.

In the arguments {rows}, {batch} and other values of the case and the round stand for those, {threads} for THREADS and {request} for all of
them, `key=value`. The process prints `bench SECONDS CHECK`, and may say more behind that, `key=value`.
"""

import subprocess
import sys

from lines import answer, requests

threads, command = sys.argv[1], sys.argv[2:]
case, check = {}, 0.0
for verb, values in requests():
    if verb == "case":
        case = values
        answer("ready")
    elif verb == "round":
        known = {**case, **values}
        request = " ".join(f"{key}={value}" for key, value in known.items())
        filled = [part.format(threads=threads, request=request, **known) for part in command]
        done = subprocess.run(filled, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        answers = [text.split() for text in done.stdout.splitlines() if text.startswith("bench ")]
        if done.returncode == 0 and answers:
            _, seconds, check, *more = answers[-1]
            answer("time", seconds, *more)
        else:
            answer("error", command[0], "ended with", done.returncode, "and said nothing")
    elif verb == "check":
        answer("check", check)
    else:
        answer("error", "no request", verb)
