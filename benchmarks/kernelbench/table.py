"""The table of the rows of runs, as Markdown; of a problem's rows the last counts:

    table.py CHECKOUT ROWS...
"""
import collections
import json
import math
import os
import sys

BOARD = "H100_Modal"             # NVIDIA H100 80GB HBM3: what profiles/h100.json describes
EAGER, COMPILED = "baseline_time_torch.json", "baseline_time_torch_compile_inductor_default.json"
SLOW = 0.8                       # of the better of the published times, in speed
CLASSES = (                      # the first that a problem has an operator of
    ("transposed convolution", {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}),
    ("convolution", {"convolution"}),
    ("attention", {"_scaled_dot_product_flash_attention_for_cpu"}),
    ("matrix product", {"mm", "bmm", "addmm", "baddbmm"}),
    ("scan", {"cumsum", "cumprod"}),
    ("pooling", {"max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool1d", "avg_pool2d",
                 "avg_pool3d"}),
    ("norm, softmax, reduction", {"var_mean", "sum", "mean", "amax", "max", "min", "argmax",
                                  "argmin", "prod"}),
)


def published(checkout):
    """Milliseconds of each problem: eager, compiled."""
    def read(name):
        path = os.path.join(checkout, "results", "timing", BOARD, name)
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    eager, compiled = read(EAGER), read(COMPILED)
    return {(level, os.path.splitext(name)[0]): (times[name]["mean"], compiled[level][name]["mean"])
            for level, times in eager.items() for name in times if name in compiled.get(level, {})}


def kind(row):
    operators = set(row.get("operators", ()))
    return next((name for name, any_of in CLASSES if operators & any_of),
                "element-wise" if operators else "not planned")


def is_whole(row):
    """Planned at its own sizes or run at reduced ones, with nothing that PyTorch runs."""
    return ("predicted_us" in row or "right" in row) and not (
        row.get("left") or row.get("fallbacks"))


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def line(*cells):
    return "| " + " | ".join(map(str, cells)) + " |\n"


def summary(rows, times):
    """A line for each class of each level, and for each level."""
    text = line("level", "class", "problems", "whole", "right", "torch / roller",
                "torch.compile / roller", "slower than 0.8") + line(*["---"] * 8)
    groups = collections.defaultdict(list)
    for row in rows:
        for name in (kind(row), "all"):
            groups[row["level"][5:], name].append(row)
    order = [name for name, _ in CLASSES] + ["element-wise", "not planned", "all"]
    for level, name in sorted(groups, key=lambda g: (g[0], order.index(g[1]))):
        group = groups[level, name]
        whole = [r for r in group if is_whole(r)]
        planned = [r for r in whole if "predicted_us" in r]
        ratios = [[1000 * t / r["predicted_us"] for r in planned
                   for t in times[r["level"], r["problem"]][k:k + 1]] for k in (0, 1)]
        right = sum(r.get("right", False) for r in group)
        text += line(level, name, len(group), len(whole), right,
                     *(f"{mean(x):.2f}" if x else "" for x in ratios),
                     sum(min(pair) < SLOW for pair in zip(*ratios)))
    return text


def slow(rows, times, reasons):
    """Problems predicted slower than SLOW of the better published time, and the rest: why."""
    text = ""
    for row in rows:
        key = f"{row['level']}/{row['problem']}"
        why = row.get("predict") or row.get("build") or row.get("prove")
        if not why and not row.get("right", "error" not in row):
            why = f"differs by {row.get('error', math.inf):.3g} times the tolerance"
        if not why and not is_whole(row):
            why = f"in PyTorch: {'; '.join({*row.get('left', ()), *row.get('fallbacks', ())})}"
        if why:
            text += line(key, "", "", "", why)
        if why or "predicted_us" not in row:
            continue
        eager, compiled = times[row["level"], row["problem"]]
        ratio = 1000 * min(eager, compiled) / row["predicted_us"]
        if ratio < SLOW:
            text += line(key, f"{row['predicted_us'] / 1000:.3f}", f"{min(eager, compiled):.3f}",
                         f"{ratio:.2f}", reasons.get(key, ""))
    head = line("problem", "predicted ms", "published ms", "ratio", "why") + line(*["---"] * 5)
    return head + text if text else "none\n"


def table(rows, checkout):
    times = published(checkout)
    with open(os.path.join(os.path.dirname(__file__), "reasons.json"), encoding="utf-8") as file:
        reasons = json.load(file)
    rows = sorted((r for r in rows if (r["level"], r["problem"]) in times),
                  key=lambda r: (r["level"], int(r["problem"].split("_")[0])))
    whole = sum(map(is_whole, rows))
    right = sum(r.get("right", False) for r in rows)
    built = [r["spilled"] for r in rows if "spilled" in r]
    return (f"{len(rows)} problems: {whole} whole, {right} right at reduced sizes; {len(built)} "
            f"compiled at their own sizes, {sum(map(bool, built))} of these with a kernel that "
            f"spills.\n\n{summary(rows, times)}\n{slow(rows, times, reasons)}")


def read_rows(files):
    """{(level, problem): the last row}."""
    rows = {}
    for name in files:
        if os.path.exists(name):
            with open(name, encoding="utf-8") as file:
                rows.update(((r["level"], r["problem"]), r) for r in map(json.loads, file))
    return rows


def main():
    print(table(read_rows(sys.argv[2:]).values(), sys.argv[1]), end="")


if __name__ == "__main__":
    main()
