"""The parts of a run but for the check (checks.py), each a function of the session."""
import datetime
import glob
import importlib.metadata
import json
import os
import shutil
import sys
import time

import cases
import report
from session import say

PEERS = ("eager", "cublaslt", "triton")
QUICK_PEERS = ("eager", "cublaslt")       # those that need no tuning of their own
COMPILE_ROWS = 60
PROFILE_SECONDS, QUICK_SECONDS = 170, 60
PROFILE_MARGIN = 20                       # the tool ends its measurements so much earlier
PACKAGES = ("torch", "triton", "jax", "cupy-cuda13x", "nvidia-cublas", "nvidia-cublas-cu12",
            "nvidia-cudnn-cu13", "nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")


def packages():
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def environment(s):
    if ("environment", "environment") in s.journal:
        return
    found = {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
             "device": s.info, "cpus": os.cpu_count(), "python": sys.version.split()[0],
             "peers": packages(), "profile": os.path.basename(s.profile()),
             "roller": s.command([s.gen, "-V"], 30)[1].split()[-1]}
    for key, arguments in (("nvidia_smi", ["nvidia-smi", "-q", "-d",
                                           "CLOCK,TEMPERATURE,POWER,PERFORMANCE"]),
                           ("driver", ["nvidia-smi", "--query-gpu=driver_version",
                                       "--format=csv,noheader"]),
                           ("archs", [s.gen, "--list-arch"]),
                           ("devices", [s.profiler, "--list"])):
        if shutil.which(arguments[0]):
            found[key] = s.command(arguments, 60)[1].strip()[:6000]
    kit = os.path.join(s.kit, "kit.json")
    if os.path.exists(kit):
        with open(kit, encoding="utf-8") as f:
            found["kit"] = json.load(f)
    found["libcupti"] = sorted(glob.glob("/usr/local/cuda*/**/libcupti.so.1?", recursive=True))[:3]
    s.journal.add("environment", "environment", found)
    report.write(os.path.join(s.folder, "environment.json"), json.dumps(found, indent=1))
    say(f"roller {found['roller']}, peers: " + (", ".join(
        f"{k} {v}" for k, v in found["peers"].items()) or "none"))


def sanity(s):
    """A trivial kernel through every path: if it cannot be checked, nothing else is tried."""
    te = os.path.join(s.scratch(), "sanity.te")
    report.write(te, "op scale(X: f32[1000]) -> Y: f32[1000] { Y[i] = X[i] * 2 + 1; }\n")
    profile = s.profile() if s.o.profile else s.shipped()
    for key, arguments in (("check", ["--check"]), ("measure", ["--measure", "--top", "2"]),
                           ("counters", ["--counters"])):
        if ("sanity", key) in s.journal:
            continue
        s.need(10)
        form = [] if key == "counters" else ["--json"]
        status, out, err = s.command([s.gen, "--dry-run", *form, "--device", str(s.o.device),
                                      "--profile", profile, *arguments, te], 120)
        s.journal.add("sanity", key, {"end": "ok" if status == 0 else "failed", "status": status,
                                      "out": out[-4000:], "err": err[-2000:]})
        say(f"sanity {key}: {'ok' if status == 0 else 'FAILED'}")
        if status != 0:
            s.failed += 1
            sys.stderr.write(out[-3000:] + err[-2000:])
            if key == "check":
                raise SystemExit("run: a trivial kernel does not run here")
    if ("sanity", "timed") not in s.journal:
        record = s.time_row(cases.tiny_rows()[0], 3, ("eager",), 60)
        s.journal.add("sanity", "timed", record)
        good = report.figures(record) is not None
        s.failed += not good
        say(f"sanity timed: {'ok' if good else 'FAILED: ' + str(record.get('failed'))}")


# ---- the profiler ----
def not_measured(path):
    """What a profile says is missing in it: figure or row, and why."""
    with open(path, encoding="utf-8") as f:
        return json.load(f).get("not_measured", {})


def measure_profile(s, key, path, more=(), limit=PROFILE_SECONDS, least=100, quick=False):
    """One run of roller-profile; true if it gave a valid profile."""
    quick = quick or s.o.quick
    if ("profile", key) in s.journal:
        return s.journal.of("profile")[key]["end"] == "ok"
    s.need(20 if quick else least)
    begun = time.monotonic()
    if not s.o.simulated:
        more = (*more, "--limit", str(limit - PROFILE_MARGIN))
    status, out, err = s.command([s.profiler, "--device", str(s.o.device), "-f", "-o", path,
                                  "--quick" if quick else "--full", "--progress=always",
                                  *more], limit)
    if status in (0, 5):                  # 5: written, and names figures that are not measured
        status, _, wrong = s.command([s.profiler, "--validate", path], 60)
        err += wrong
    end = "ok" if status == 0 else "killed" if status is None else f"status {status}"
    seconds = round(time.monotonic() - begun, 1)
    missed = not_measured(path) if end == "ok" else {}
    s.journal.add("profile", key, {"end": end, "out": out[-8000:], "err": err[-8000:],
                                   "seconds": seconds, "not_measured": missed})
    say(f"profile {key}: {end}, {seconds:.0f} s, {len(missed)} figures or rows not measured")
    if end != "ok":
        s.failed += 1
        sys.stderr.write(err[-1500:])
    return end == "ok"


def measure_pieces(s):
    """Where the whole cannot be measured: one kind of measurement after another, each a profile in
    which all else is as shipped, so that it is known which of them fail."""
    status, out, err = s.command([s.profiler, "--device", str(s.o.device), "--dry-run", "--quick"],
                                 60)
    for line in out.splitlines():
        name = line.split()[0] if line.split() else "all"
        if name != "all":
            measure_profile(s, f"only {name}", os.path.join(s.folder, f"profile-{name}.json"),
                            ("--only", name), 60, 20)


def compare(s, one, two):
    """How far two profiles are apart; and the tool's own words on that and on the first."""
    with open(one, encoding="utf-8") as f, open(two, encoding="utf-8") as g:
        found = report.compare_profiles(json.load(f), json.load(g))
    for name, arguments in (("compare.txt", ["--compare", one, two]), ("sheet.txt",
                                                                      ["--show", one])):
        out = s.command([s.profiler, *arguments], 60)[1]
        report.write(os.path.join(s.folder, name), out)
    s.journal.add("profile", "compare", found)
    say(f"profile: {found['agree']} of {found['figures']} figures agree within 3 %")


def first_minute(s):
    """What was never measured before, then a profile to plan from, should there be no more time."""
    new = {9: "wgmma,tma", 10: "tma", 12: "tma"}.get(s.info["cc_major"])
    if new:
        measure_profile(s, f"only {new}", os.path.join(s.folder, "profile-new.json"),
                        ("--only", new), QUICK_SECONDS, quick=True)
    measure_profile(s, "quick", os.path.join(s.folder, "profile-quick.json"), (), QUICK_SECONDS,
                    quick=True)


def profile(s):
    if not os.path.exists(s.profiler):
        say("profile: there is no roller-profile in the kit")
        return
    first_minute(s)
    one, two = (os.path.join(s.folder, f"profile-{i}.json") for i in (1, 2))
    if not measure_profile(s, "first", one):
        measure_pieces(s)
    elif measure_profile(s, "second", two) and ("profile", "compare") not in s.journal:
        compare(s, one, two)


# ---- timing ----
def timed(s, part, rows, peers, limit):
    todo = [r for r in rows if (part, r["id"]) not in s.journal]
    for n, row in enumerate(todo):
        s.need(8)
        record = s.time_row(row, 3 if s.o.quick else 10, peers, limit)
        s.journal.add(part, row["id"], record)
        f = report.figures(record)
        text = record.get("failed") or "nothing was timed"
        if f:
            text = f"{f['top1_us']:.2f} us, best {f['top10_us']:.2f} (#{f['best_rank']})"
            if "peer" in f:
                text += f", {f['peer']} {f['peer_us']:.2f}, ratio {f['ratio10']:.2f}"
        say(f"{part} {n + 1}/{len(todo)} {row['id']}: {text}")


def core(s):
    timed(s, "core", cases.core(s.rows), PEERS, 120)


def compiled(s):
    timed(s, "compile", cases.core(s.rows)[:COMPILE_ROWS], ("eager", "compile"), 300)


def sweep(s):
    timed(s, "sweep", cases.rest(s.rows), QUICK_PEERS, 60)
