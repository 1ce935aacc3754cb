#!/usr/bin/env python3
"""Sends signals to roller-gen at moments of its run: signals.py ROLLER-GEN N SEED OPTION...

Each run has a folder of its own below the current one and reads mm.te there.  It has to end by its
signal, or to have ended well; what it leaves is complete.  The moments, of signal.so in the current
folder, are spread over the whole run: over its allocations, the compiler's among them, over what it
does with files, and over its waits for others, where it has some."""
import json
import os
import random
import signal
import subprocess
import sys

HANG_S = 120


def normal():
    """Signals as a terminal's program has them: a shell ignores some in what it runs behind it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start(gen, options, folder, **rules):
    os.mkdir(folder)
    env = dict(os.environ, LD_PRELOAD=os.path.abspath("signal.so"), **rules)
    return subprocess.Popen([gen, *options, "-o", "k.cu", "../mm.te"], cwd=folder, env=env,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, preexec_fn=normal)


def moments(draw, n, counts):
    """n pairs of a kind and a number: one drawn from each of as many equal parts of the run."""
    kinds = [kind for kind in ("alloc", "call", "wait") if counts[kind]]
    for i in range(n):
        kind, parts = kinds[i % len(kinds)], -(-n // len(kinds))
        yield kind, 1 + int((i // len(kinds) + draw.random()) / parts * counts[kind])


def files(folder):
    return {name: open(os.path.join(folder, name), "rb").read() for name in os.listdir(folder)}


def incomplete(name, text, whole, measured):
    """Is a file not what a whole run writes?  Which plan is the fastest so far can differ."""
    if name not in whole:
        return True
    if not measured:
        return text != whole[name]
    if name.endswith(".json"):
        return not json.loads(text)["targets"]
    return not text.endswith(b"}\n")


def main():
    gen, n, seed, *options = sys.argv[1:]
    draw = random.Random(int(seed))
    measured = "--measure" in options
    whole_run = start(gen, options, f"whole{seed}", SIGNAL_COUNT="../count")
    whole_run.communicate()
    whole = files(f"whole{seed}")
    if whole_run.returncode or not whole:
        sys.exit(f"the whole run ends with {whole_run.returncode}")
    counts = {kind: int(n) for kind, n in map(str.split, open("count"))}
    ended, wrong = 0, 0
    for i, (kind, moment) in enumerate(moments(draw, int(n), counts)):
        number = draw.choice([signal.SIGINT, signal.SIGTERM])
        folder = f"run{seed}-{i}"
        run = start(gen, options, folder, SIGNAL_AT=f"{kind}:{moment}:{int(number)}")
        try:
            said = run.communicate(timeout=HANG_S)[1]
        except subprocess.TimeoutExpired:
            run.kill()
            said = run.communicate()[1] + b" (a hang)"
        left = files(folder)
        ended += run.returncode == -number
        good = run.returncode == -number or (run.returncode == 0 and left.keys() == whole.keys())
        broken = [name for name in left if incomplete(name, left[name], whole, measured)]
        if not good or broken:
            wrong += 1
            print(f"signal {number} at {kind} {moment}: exit {run.returncode}, files "
                  f"{sorted(left)}, not whole {broken}: {said.decode(errors='replace')}")
    print(f"{n} signals at moments of {counts}, {ended} ended a run, {wrong} wrong")
    sys.exit(wrong > 0 or ended == 0)


main()
