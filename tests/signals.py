#!/usr/bin/env python3
"""Sends signals to roller-gen at random moments: signals.py ROLLER-GEN N SEED OPTION...

Each run has a folder of its own below the current one and reads mm.te there.  It has to end by its
signal, or to have ended well; what it leaves is complete."""
import json
import os
import random
import signal
import subprocess
import sys
import time

HANG_S = 120


def normal():
    """Signals as a terminal's program has them: a shell ignores some in what it runs behind it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start(gen, options, folder):
    os.mkdir(folder)
    return subprocess.Popen([gen, *options, "-o", "k.cu", "../mm.te"], cwd=folder,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, preexec_fn=normal)


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
    begun = time.monotonic()
    whole_run = start(gen, options, f"whole{seed}")
    whole_run.communicate()
    seconds = time.monotonic() - begun
    whole = files(f"whole{seed}")
    if whole_run.returncode or not whole:
        sys.exit(f"the whole run ends with {whole_run.returncode}")
    ended, wrong, longest = 0, 0, 0.0
    for i in range(int(n)):
        number = draw.choice([signal.SIGINT, signal.SIGTERM])
        moment = draw.uniform(0, seconds)
        folder = f"run{seed}-{i}"
        run = start(gen, options, folder)
        time.sleep(moment)
        run.send_signal(number)
        sent = time.monotonic()
        try:
            said = run.communicate(timeout=HANG_S)[1]
        except subprocess.TimeoutExpired:
            run.kill()
            said = run.communicate()[1] + b" (a hang)"
        longest = max(longest, time.monotonic() - sent)
        left = files(folder)
        ended += run.returncode == -number
        good = run.returncode == -number or (run.returncode == 0 and left.keys() == whole.keys())
        broken = [name for name in left if incomplete(name, left[name], whole, measured)]
        if not good or broken:
            wrong += 1
            print(f"signal {number} after {moment:.3f} s: exit {run.returncode}, files "
                  f"{sorted(left)}, not whole {broken}: {said.decode(errors='replace')}")
    print(f"{n} signals, {ended} ended a run, {wrong} wrong; the longest end took "
          f"{longest:.2f} s of a run of {seconds:.2f} s")
    sys.exit(wrong > 0 or ended == 0)


main()
