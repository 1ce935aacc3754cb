"""Runs other projects' tests on the simulated driver and says what passed, what failed and why.

    run.py BUILD [SUITE]...

SUITE is a name or a pattern of SUITES.  From the environment: TINYGRAD, a checkout of tinygrad;
MATCH, a pattern of tests; FROM=N EVERY=K, only each K-th test from the N-th on; JOBS (1); LIMIT, seconds for each test.
The rows of each suite go to BUILD/foreign/log, the table also to BUILD/foreign/table.md.

A test may fail only as known.toml says; an entry whose test passes, or fails in another way, is
reported like a failure.
"""
import collections
import fnmatch
import glob
import json
import os
import re
import subprocess
import sys
import time
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

Suite = collections.namedtuple("Suite", "name modules load env", defaults=((), {}))
Known = collections.namedtuple("Known", "suite tests says why")
PATHS = ("LD_LIBRARY_PATH", "PYTHONPATH", "LD_PRELOAD")


def tinygrad(name, renderer):
    """Tests of a checkout, wherever its version keeps them; no modules without a checkout.

    Its own processes that compile, made anew for each test, would take longer than the tests.
    """
    checkout = os.environ.get("TINYGRAD", "")
    modules = []
    for test in ("test_uops", "test_ops"):
        found = [folder for folder in ("test.backend", "test")
                 if os.path.exists(os.path.join(checkout, *folder.split("."), test + ".py"))]
        modules += [f"{folder}.{test}" for folder in found[:1] if checkout]
    return Suite(name, modules, ("torch", "warm_tinygrad"),
                 {"DEV": renderer, "PARALLEL": "0", "PYTHONPATH": os.path.abspath(checkout)})


SUITES = (
    Suite("numba", [f"numba.cuda.tests.cudapy.{test}" for test in (
        "test_sync", "test_warp_ops", "test_atomics", "test_math", "test_reduction",
        "test_array_reductions")], ("numba.cuda",)),
    tinygrad("tinygrad-cuda", "CUDA"),
    tinygrad("tinygrad-ptx", "CUDA:PTX"),
    Suite("triton", ["test_triton"], ("triton",)),
    Suite("tilelang", ["test_tilelang"], ("torch",)),
    Suite("clients", ["bindings", "core", "numba", "iree", "tinygrad"]),
)


def environment(build, suite):
    """What all clients see: the simulated driver, NVIDIA's libraries from PyPI, own caches."""
    packages = glob.glob(os.path.join(build, "foreign", "venv", "lib", "python3*",
                                      "site-packages"))[0]
    toolkit = os.path.join(packages, "nvidia", "cu13")
    env = {name: value for name, value in os.environ.items()
           if not name.startswith("ROLLER_") and name != "CC"}       # make's is not tinygrad's
    env.update({
        "LD_LIBRARY_PATH": os.path.join(build, "simdriver"),
        "LD_PRELOAD": os.path.join(build, "simdriver", "libcuda.so.1"),
        "PYTHONPATH": HERE,
        "ROLLER_PROFILE_PATH": os.path.join(ROOT, "profiles"),
        "ROLLER_SIM_PROFILE": "a100,h200,b200,rtx5090",
        "CUDA_PATH": toolkit, "CUDA_HOME": toolkit,
        "NVRTC_PATH": os.path.join(toolkit, "lib", "libnvrtc.so.13"),
        "XDG_CACHE_HOME": os.path.join(build, "foreign", "cache"),
        "TRITON_CACHE_DIR": os.path.join(build, "foreign", "cache", "triton"),
        "TILELANG_CACHE_DIR": os.path.join(build, "foreign", "cache", "tilelang"),
    })
    for name, value in suite.env.items():
        env[name] = f"{value}:{env[name]}" if name in PATHS else value
    return env


def run(build, suite):
    """The rows of a suite, printed as they come."""
    log = os.path.join(build, "foreign", "log", suite.name)
    command = [sys.executable, os.path.join(HERE, "forked.py"),
               "--match", os.environ.get("MATCH") or "*",
               "--from", os.environ.get("FROM") or "0", "--every", os.environ.get("EVERY") or "1",
               "--jobs", os.environ.get("JOBS") or "1",
               "--limit", os.environ.get("LIMIT") or "600"]
    for module in suite.load:
        command += ["--load", module]
    rows = []
    with open(log + ".err", "w", encoding="utf-8") as errors, \
         open(log + ".jsonl", "w", 1, encoding="utf-8") as out, \
         subprocess.Popen(command + list(suite.modules), env=environment(build, suite),
                          stdout=subprocess.PIPE, stderr=errors, text=True) as process:
        for line in process.stdout:
            out.write(line)
            rows.append(json.loads(line))
            row = rows[-1]
            print(f"{row['result']:8}{row['seconds']:7.1f} s  {row['test']}", flush=True)
    if process.returncode:
        with open(log + ".err", encoding="utf-8") as errors:
            rows.append({"test": "(the suite itself)", "result": "failed", "seconds": 0,
                         "said": errors.read()})
    return rows


def run_clients(build, suite):
    """The rows of the programs of tests/foreign/clients, which has an environment of its own."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ROLLER_")}
    rows = []
    for name in suite.modules:
        begin = time.monotonic()
        end = subprocess.run([os.path.join(HERE, "clients", "run"), name], check=False, text=True,
                             env={**env, "BUILD": build}, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        rows.append({"test": name, "result": "failed" if end.returncode else "passed",
                     "seconds": round(time.monotonic() - begin, 2), "said": end.stdout})
        print(f"{rows[-1]['result']:8}{rows[-1]['seconds']:7.1f} s  {name}", flush=True)
    return rows


def reason(said):
    """The line that says most: the simulated driver's, else the last one.

    That a function is not there is no reason: cuda.bindings asks for all that it knows.
    """
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("simulated driver: there is no ")]
    told = [line for line in lines if line.startswith("simulated driver:")]
    return (told or lines or ["nothing was said"])[-1][:300]


def judge(suite, rows, known):
    """Sets `known` in the rows that fail as they are known to; entries that no longer hold."""
    stale = []
    for entry in known:
        if not fnmatch.fnmatchcase(suite.name, entry.suite):
            continue
        for pattern in entry.tests:
            matching = [r for r in rows if fnmatch.fnmatchcase(r["test"], pattern)]
            for row in matching:
                if row["result"] == "failed" and re.search(entry.says, row["said"], re.S):
                    row["known"] = entry.why
                elif row["result"] == "failed":
                    stale.append(f"{row['test']} fails, but does not say {entry.says!r}")
                else:
                    stale.append(f"{row['test']} is {row['result']}, but known to fail")
            if not matching and not any(os.environ.get(c) for c in ("MATCH", "FROM", "EVERY")):
                stale.append(f"{pattern}: no such test")
    return stale


def table(results):
    lines = ["| suite | tests | passed | skipped | failed, the client's fault | failed | time |",
             "|---|---|---|---|---|---|---|"]
    for suite, rows in results:
        n = collections.Counter("known" if "known" in r else r["result"] for r in rows)
        seconds = sum(r["seconds"] for r in rows)
        lines.append(f"| {suite.name} | {len(rows)} | {n['passed']} | {n['skipped']} | {n['known']} "
                     f"| {n['failed']} | {seconds:.0f} s |")
    return lines


def reasons(results):
    """Why tests failed or were skipped: one line for each test and each reason."""
    lines = []
    for suite, rows in results:
        skipped, known = collections.Counter(), collections.Counter()
        for row in rows:
            if row["result"] == "skipped":
                skipped[reason(row["said"])] += 1
            elif "known" in row:
                known[row["known"]] += 1
            elif row["result"] == "failed":
                lines.append(f"- FAILED {suite.name}: {row['test']}: {reason(row['said'])}")
        lines += [f"- {suite.name}, {n} failed by the client's fault: {why}"
                  for why, n in known.items()]
        lines += [f"- {suite.name}, {n} skipped: {why}" for why, n in skipped.items()]
    return lines


def main():
    build = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2:] or ["*"]
    chosen = [s for s in SUITES if any(fnmatch.fnmatchcase(s.name, w) for w in wanted)]
    if not chosen:
        sys.exit(f"foreign: no suite {' '.join(wanted)}; there are "
                 + ", ".join(s.name for s in SUITES))
    with open(os.path.join(HERE, "known.toml"), "rb") as source:
        known = [Known(**entry) for entry in tomllib.load(source).get("known", ())]
    os.makedirs(os.path.join(build, "foreign", "log"), exist_ok=True)
    results, stale = [], []
    for suite in chosen:
        if not suite.modules:
            print(f"foreign: {suite.name} is left out" + (
                "; TINYGRAD=DIR names a checkout of tinygrad with its tests"
                if suite.name.startswith("tinygrad") else ""))
            continue
        rows = run_clients(build, suite) if suite.name == "clients" else run(build, suite)
        stale += [f"- STALE {suite.name}: {line}" for line in judge(suite, rows, known)]
        results.append((suite, rows))
    text = "\n".join([*table(results), "", *reasons(results), *stale])
    print("\n" + text)
    with open(os.path.join(build, "foreign", "table.md"), "w", encoding="utf-8") as out:
        out.write(text + "\n")
    failed = any(r["result"] == "failed" and "known" not in r for _, rows in results for r in rows)
    sys.exit(1 if failed or stale else 0)


if __name__ == "__main__":
    main()
