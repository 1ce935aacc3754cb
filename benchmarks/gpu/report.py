"""From a journal to what people read: one JSON per workload set with the raw samples, one Markdown
page with the tables, and a comparison of two profiles."""
import json
import math
import os

import cases

TIMED = ("core", "compile", "sweep")
AGREE = 0.03                              # two runs of the profiler


def write(path, text):
    with open(path + ".part", "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(path + ".part", path)


# ---- one timed row ----
def figures(record):
    """What a record says in numbers, or None if nothing of ours was timed."""
    ours = [c for c in record.get("contenders", ()) if c["kind"] == "ours" and "us" in c]
    peers = [c for c in record.get("contenders", ()) if c["kind"] == "peer" and "us" in c]
    if not ours:
        return None
    top = min(ours, key=lambda c: c["rank"])
    best = min(ours, key=lambda c: c["us"])
    peer = min(peers, key=lambda c: c["us"]) if peers else None
    full = [c for c in ours if not c.get("given_up")]
    found = {"top1_us": top["us"], "top10_us": best["us"], "best_rank": best["rank"],
             "predicted_us": top["predicted_us"], "error": top["predicted_us"] / top["us"] - 1,
             "spread": top["spread"], "limiter": top["limiter"], "skeleton": top["skeleton"],
             "floor": top["floor_us"] / top["us"] if top.get("floor_us") else None,
             "floor10": best["floor_us"] / best["us"] if best.get("floor_us") else None,
             "regret": top["us"] / best["us"] - 1, "tau": kendall(full), "plans": len(ours)}
    other = [c for c in record["contenders"] if c["kind"] == "shipped"]
    if other:                             # the same code as one of ours, or timed by itself
        why = other[0].get("failed", "")
        same = [c for c in ours if why == f"same machine code as {c['name']}"]
        found["shipped_us"] = (same or other)[0].get("us")
    if peer:
        found.update(peer=peer["name"], peer_us=peer["us"], ratio1=top["us"] / peer["us"],
                     ratio10=best["us"] / peer["us"])
    return found


def kendall(ours):
    """Rank correlation of prediction and measurement: 1 same order, -1 reversed."""
    agree, pairs = 0, 0
    for i, a in enumerate(ours):
        for b in ours[:i]:
            x, y = a["predicted_us"] - b["predicted_us"], a["us"] - b["us"]
            if x == 0 or y == 0:
                continue
            pairs += 1
            agree += 1 if (x > 0) == (y > 0) else -1
    return agree / pairs if pairs else None


def geomean(values):
    values = [v for v in values if v and v > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def middle(values):
    values = sorted(v for v in values if v is not None)
    if not values:
        return None
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def summary(rows):
    """Over rows with figures."""
    got = [f for f in rows if f]
    with_peer = [f for f in got if "ratio1" in f]
    return {"rows": len(rows), "timed": len(got), "with_peer": len(with_peer),
            "ratio1": geomean(f["ratio1"] for f in with_peer),
            "ratio10": geomean(f["ratio10"] for f in with_peer),
            "faster1": sum(f["ratio1"] <= 1 for f in with_peer),
            "faster10": sum(f["ratio10"] <= 1 for f in with_peer),
            "error": middle([abs(f["error"]) for f in got]),
            "floor1": geomean(f["floor"] for f in got),
            "tau": middle([f["tau"] for f in got]), "regret": middle([f["regret"] for f in got]),
            "regret_max": max((f["regret"] for f in got), default=None),
            "shipped": geomean(f["top1_us"] / f["shipped_us"] for f in got if f.get("shipped_us"))}


# ---- tables ----
def number(v, form="{:.2f}", scale=1.0):
    return "-" if v is None else form.format(v * scale)


def percent(v, form="{:.0f} %"):
    return number(v, form, 100)


def us(v):
    return "-" if v is None else f"{v:.2f}" if v < 1000 else f"{v:.0f}"


def table(head, lines):
    out = ["| " + " | ".join(head) + " |", "|" + "|".join("---" if i < 2 else "--:"
                                                        for i in range(len(head))) + "|"]
    return "\n".join(out + ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


SUMMARY_HEAD = ("part", "set", "rows", "timed", "with peer", "ours / best peer, top-1",
                "top-10", "not slower, top-1", "top-10", "error of prediction", "of the floor",
                "rank correlation", "regret", "largest", "top-1 / that of the shipped profile")


def summary_line(part, name, s):
    return (part, name, str(s["rows"]), str(s["timed"]), str(s["with_peer"]),
            number(s["ratio1"]), number(s["ratio10"]), str(s["faster1"]), str(s["faster10"]),
            percent(s["error"]), percent(s["floor1"]), number(s["tau"]), percent(s["regret"]),
            percent(s["regret_max"]), number(s["shipped"]))


ROW_HEAD = ("row", "op", "type", "top-1 us", "top-10 us", "rank", "shipped profile", "best peer",
            "peer us", "ours / peer, top-1", "top-10", "predicted us", "error", "of the floor",
            "spread")


def row_line(record, f):
    return (record["id"], record["op"], record["dtype"], us(f["top1_us"]), us(f["top10_us"]),
            f"#{f['best_rank']}", us(f.get("shipped_us")), f.get("peer", "-"),
            us(f.get("peer_us")),
            number(f.get("ratio1")), number(f.get("ratio10")), us(f["predicted_us"]),
            percent(f["error"], "{:+.0f} %"), percent(f["floor"]), percent(f["spread"],
                                                                          "{:.1f} %"))


def failures(record):
    """Why plans of ours, or the whole row, were not timed; spills and copies are no failures."""
    found = [record["failed"]] if record.get("failed") else []
    for c in record.get("contenders", ()):
        why = c.get("failed", "")
        if c["kind"] == "ours" and why and not why.startswith(("spill", "same machine code")):
            found.append(f"{c['name']}: {why}")
    return found


def timed_page(journal):
    sums, parts = [], []
    for part in TIMED:
        records = journal.of(part)
        if not records:
            continue
        lines, bad, everything = [], [], []
        for name in cases.SETS:
            mine = [r for r in records.values() if r["set"] == name]
            if not mine:
                continue
            got = [figures(r) for r in mine]
            everything += got
            sums.append(summary_line(part, name, summary(got)))
            lines += [row_line(r, f) for r, f in zip(mine, got) if f]
        sums.append(summary_line(part, "all", summary(everything)))
        for r in records.values():
            bad += [f"- {r['id']}: {why}" for why in failures(r)]
        parts.append(f"## {part}\n\n" + table(ROW_HEAD, lines))
        if bad:
            parts.append(f"### Not timed in {part}\n\n" + "\n".join(bad) + "\n")
    if not sums:
        return ""
    return "## Summary\n\n" + table(SUMMARY_HEAD, sums) + "\n" + "\n".join(parts)


def check_page(journal):
    records = journal.of("check")
    if not records:
        return ""
    wrong = {k: r for k, r in records.items() if r["end"] != "ok"}
    compared = [r for r in records.values() if r.get("same") is not None]
    unlike = {k: r for k, r in records.items() if r.get("same") is False and r.get("exact")}
    text = (f"## Correctness\n\n{len(records) - len(wrong)} of {len(records)} cases are right on the "
            f"device. Of {len(compared)} run in the simulator as well, "
            f"{sum(r['same'] for r in compared)} gave the same bits; of those whose integer data "
            f"is exact, {len(unlike)} differ.\n\n")
    lines = [(k, r["end"], r.get("text", "").replace("\n", " ")[:200].replace("|", "/"))
             for k, r in list(wrong.items()) + list(unlike.items())]
    return text + (table(("case", "end", "what"), lines) if lines else "")


# ---- profiles ----
def leaves(value, path=""):
    """Figures of a profile: path to value."""
    if isinstance(value, dict):
        if "value" in value and isinstance(value["value"], (int, float)):
            yield path, float(value["value"])
            return
        for key, v in value.items():
            yield from leaves(v, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for i, v in enumerate(value):
            name = v.get("name") or v.get("level") or v.get("of") or i if isinstance(v, dict) else i
            if isinstance(v, list) and len(v) == 2:
                yield f"{path}@{v[0]:g}", float(v[1])
            else:
                yield from leaves(v, f"{path}[{name}]")


def compare_profiles(one, two):
    """How far two runs are apart, figure by figure."""
    a, b = dict(leaves(one)), dict(leaves(two))
    both = [(k, a[k], b[k]) for k in a if k in b and not k.startswith("made")]
    apart = [(k, x, y, abs(x - y) / max(abs(x), abs(y)) if x != y else 0.0) for k, x, y in both]
    near = sum(d <= AGREE for *_, d in apart)
    return {"figures": len(apart), "agree": near, "share": near / len(apart) if apart else None,
            "only_one": sorted(set(a) ^ set(b)),
            "worst": [list(x) for x in sorted(apart, key=lambda x: -x[3])[:40]]}


def profile_page(found):
    if not found:
        return ""
    text = (f"## Two runs of the profiler\n\n{found['agree']} of {found['figures']} figures agree "
            f"within {AGREE:.0%}.\n\n")
    lines = [(k, "", f"{x:g}", f"{y:g}", percent(d, "{:.1f} %"))
             for k, x, y, d in found["worst"] if d > AGREE]
    return text + (table(("figure", "", "first", "second", "apart"), lines) if lines else "")


# ---- all of it ----
def write_all(folder, journal, environment):
    for name in cases.SETS:
        rows = [{"part": part, **r, "figures": figures(r)}
                for part in TIMED for r in journal.of(part).values() if r["set"] == name]
        if rows:
            write(os.path.join(folder, f"{name}.json"),
                  json.dumps({"set": name, "environment": environment, "rows": rows}, indent=1))
    device = environment.get("device", {})
    head = (f"# {device.get('name', 'a device')}\n\nroller {environment.get('roller', '?')}, driver "
            f"{environment.get('driver', device.get('driver', '?'))}, profile "
            f"{environment.get('profile', '?')}, {environment.get('date', '')}. ")
    if device.get("simulated"):
        head += "Simulated: these times are the simulator's and say nothing of a GPU. "
    head += ("Times are medians in microseconds, cold L2, contenders in turns; the floor is what no "
             "plan beats by the profile; a ratio below 1 means that roller is faster.\n\n")
    pair = journal.of("profile").get("compare")
    write(os.path.join(folder, "README.md"),
          head + check_page(journal) + "\n" + profile_page(pair) + "\n" + timed_page(journal))
