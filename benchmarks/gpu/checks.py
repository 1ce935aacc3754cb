"""The part `check`: every correctness case and every small instance of the workload sets, several
processes side by side."""
import concurrent.futures
import json
import os
import re
import tempfile
import threading

import cases
import report
from session import TREE, Stop, say

QUICK_CASES = ("rank_0.te", "scalars.te", "siblings.te")


def same_file(a, b):
    with open(a, "rb") as f, open(b, "rb") as g:
        return f.read() == g.read()


def check(s):
    work = work_list(s)
    todo = [w for w in work if ("check", w["key"]) not in s.journal]
    jobs = s.o.jobs or max(1, min((os.cpu_count() or 2) - 2, 12))
    say(f"check: {len(todo)} of {len(work)} cases to do, {jobs} at once")
    stop, done = threading.Event(), 0

    def one(w):
        if stop.is_set() or s.left() < 5:
            return None
        try:
            return w["key"], check_case(s, w)
        except Stop:
            return None
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            for f in concurrent.futures.as_completed([pool.submit(one, w) for w in todo]):
                if f.result():
                    checked(s, *f.result())
                    done += 1
        except BaseException:
            stop.set()
            s.close()
            raise
    records = s.journal.of("check").values()
    say(f"check: {done} done, {sum(r['end'] == 'ok' for r in records)} of {len(records)} right")
    if done < len(todo):
        raise Stop


def checked(s, key, record):
    s.journal.add("check", key, record)
    if record["end"] == "ok" and not (record.get("exact") and record.get("same") is False):
        return
    s.failed += 1
    say(f"check {key}: {record['end']}, same bits: {record.get('same')}: "
        f"{record.get('text', '')[:300]}")


def work_list(s):
    found = []
    files = cases.files(TREE)
    if s.o.quick:
        files = [f for f in files if os.path.basename(f) in QUICK_CASES]
    for file in files:
        status, out, err = s.command([s.gen, "--list-ops", file], 30)
        for line in out.splitlines():
            if "->" in line:
                op, names = cases.outputs(line)
                found.append({"key": f"{file}:{op}", "file": file, "op": op, "out": names})
    for w in cases.small_instances(s.rows):
        path = os.path.join(s.scratch(), re.sub(r"\W", "_", w["key"]) + ".te")
        report.write(path, w["te"])
        names = [n for line in w["te"].splitlines() if line.startswith("op ")
                 for n in cases.outputs(line[3:].split("{")[0])[1]]
        found.append({"key": w["key"], "file": path, "op": None, "out": names})
    return found


def check_case(s, w):
    """Checked on the device; and where all of it was compared, the bits of the device beside
    those of the simulator."""
    with tempfile.TemporaryDirectory() as scratch:
        status, out, err = gen_case(s, w, scratch, str(s.o.device), ["--check"], 180)
        record = {"end": "ok" if status == 0 else "killed" if status is None
                  else f"status {status}", "text": err.strip()[-600:]}
        try:
            check = json.loads(out)["results"][0]["check"]
            record.update(exact=check["data"] != "real", compared=check["compared"],
                          outputs=check["outputs"], where=check["where"])
        except (ValueError, KeyError, IndexError, TypeError):
            return record
        if status or record["compared"] == 0 or record["compared"] < record["outputs"]:
            return record
        status, _, err = gen_case(s, w, scratch, "sim", [], 180)
        if status == 0:
            record["same"] = all(same_file(os.path.join(scratch, f"{n}.{s.o.device}.npy"),
                                           os.path.join(scratch, f"{n}.sim.npy"))
                                 for n in w["out"])
        else:
            record["simulator"] = err.strip()[-300:] or str(status)
        return record


def gen_case(s, w, scratch, where, more, limit):
    outs = [x for n in w["out"] for x in ("--out", f"{n}={scratch}/{n}.{where}.npy")]
    op = ["--op", w["op"]] if w["op"] else []
    return s.command([s.gen, "--json", "--dry-run", "--profile", s.profile(),
                      "--device", where, "--check-budget", "10", *more, *outs, *op, w["file"]],
                     limit)
