"""Starts a process for each repetition: `launch.py THREADS COMMAND ARGUMENT...`.

In the arguments {rows}, {batch} and {threads} stand for those of the case. The process prints `bench SECONDS MB`.
"""

import subprocess
import sys

threads, command = sys.argv[1], sys.argv[2:]
case, megabytes = {}, 0.0
for line in sys.stdin:
    verb, *words = line.split()
    if verb == "case":
        case = dict(word.split("=", 1) for word in words)
        print("bench ready", flush=True)
    elif verb == "round":
        filled = [part.format(threads=threads, **case) for part in command]
        done = subprocess.run(filled, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        answers = [text.split() for text in done.stdout.splitlines() if text.startswith("bench ")]
        if done.returncode == 0 and answers:
            _, seconds, megabytes = answers[-1]
            print("bench time", seconds, flush=True)
        else:
            print(f"bench error {command[0]} ended with {done.returncode} and said nothing", flush=True)
    elif verb == "check":
        print("bench check", megabytes, flush=True)
