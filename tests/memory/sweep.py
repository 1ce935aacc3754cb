#!/usr/bin/env python3
"""Lets allocations of roller-gen fail: sweep.py ROLLER-GEN SEED LONG ARGUMENT...

In the current folder, with fail.so.  A run ends well, or with 3 and a message.  Where the C library
finds no memory for NVRTC, or for loading it, it may also end by a signal, with 127 (the loader) or
with 4 (NVRTC refuses a source without an error), but not without saying so."""
import glob
import os
import random
import subprocess
import sys

SHARE, LATE = 30, 300


def run(command, rule, count=None):
    env = dict(os.environ, LD_PRELOAD=os.path.abspath("fail.so"), FAIL_ALLOC=rule)
    if count:
        env["COUNT_ALLOC"] = count
    for name in glob.glob("k.*"):
        os.remove(name)
    p = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, timeout=300)
    return p.returncode, p.stderr.decode(errors="replace"), sorted(glob.glob("k.*"))


def main():
    gen, seed, thorough, *arguments = sys.argv[1:]
    command = [gen, *arguments]
    code, said, whole = run(command, "", "count")
    if code:
        sys.exit(f"the whole run ends with {code}: {said}")
    n = int(open("count").read())
    rules = [str(i) for i in range(1, n + 1)] + [f"{i}+" for i in range(1, n + 1, 7)]
    if not thorough:
        # Most allocations are those of the profile, so half of the share lies behind it.
        draw = random.Random(seed)
        late = [rule for rule in rules if int(rule.rstrip("+")) > n - LATE]
        rules = draw.sample(rules, SHARE // 2) + draw.sample(late, SHARE // 2)
    ends, wrong = {}, 0
    for rule in rules:
        code, said, left = run(command, rule)
        foreign = code in (4, 127) or code < 0
        good = (code == 0 and left == whole) or \
            (code == 3 and "roller-gen: error: " in said) or \
            (foreign and ("NVRTC" in said or "memory" in said))
        if not good or any(name.endswith(".tmp") for name in left):
            wrong += 1
            print(f"allocation {rule} of {n}: exit {code}, files {left}: {said}")
        ends[code] = ends.get(code, 0) + 1
    print(f"{len(rules)} of {n} allocations failed, ends {ends}, {wrong} wrong")
    sys.exit(wrong > 0)


main()
