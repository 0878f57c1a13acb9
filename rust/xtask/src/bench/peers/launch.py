"""Starts a process for each repetition: `launch.py THREADS COMMAND ARGUMENT...`.

In the arguments {rows}, {batch} and {threads} stand for those of the case. The process prints `bench SECONDS MB`.
"""

import subprocess
import sys

from lines import answer, requests

threads, command = sys.argv[1], sys.argv[2:]
case, megabytes = {}, 0.0
for verb, values in requests():
    if verb == "case":
        case = values
        answer("ready")
    elif verb == "round":
        filled = [part.format(threads=threads, **case) for part in command]
        done = subprocess.run(filled, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        answers = [text.split() for text in done.stdout.splitlines() if text.startswith("bench ")]
        if done.returncode == 0 and answers:
            _, seconds, megabytes = answers[-1]
            answer("time", seconds)
        else:
            answer("error", command[0], "ended with", done.returncode, "and said nothing")
    elif verb == "check":
        answer("check", megabytes)
    else:
        answer("error", "no request", verb)
