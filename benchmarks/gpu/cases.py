"""The lists of work: correctness cases, small instances of the workload sets, rows to time."""
import hashlib
import json
import os
import re

SETS = ("roller119", "ansor", "tvm21", "bolt", "llm", "rowops")
# Largest value of a size in a small instance; what is not named keeps its value.
SMALL = {"M": 96, "N": 96, "K": 96, "N0": 64, "K0": 64, "N1": 48, "C": 32, "F": 32, "F1": 24,
         "H": 14, "W": 14, "D": 64, "L": 48, "HEADS": 2, "ROWS": 48, "COLS": 512, "SIZE": 8192,
         "OUTER": 24, "RED": 96, "INNER": 40, "B": 3, "T": 8, "CAP": 4,
         "D0": 24, "D1": 24, "D2": 24, "D3": 24, "D4": 24, "D5": 24}
IMAGES = ("conv1d", "conv2d", "conv3d", "dilated_conv", "grouped_conv", "depthwise",
          "transposed_conv", "conv_bn_relu", "capsule", "avgpool", "maxpool")
ALONG = {"H": "R", "W": "S", "D": "T"}    # extent of an image: that of the filter


def tiny_rows():
    """A few rows that any device runs at once."""
    te = {"matmul": "op matmul(A: f32[48,32], B: f32[32,40]) -> C: f32[48,40] {\n"
                    "  C[m,n] += A[m,k] * B[k,n];\n}\n",
          "elementwise": "op relu(X: f32[2000]) -> Y: f32[2000] { Y[i] = max(X[i], 0); }\n"}
    params = {"matmul": {"M": "48", "N": "40", "K": "32"}, "elementwise": {"SIZE": "2000",
                                                                          "fn": "relu"}}
    return [{"id": f"tiny-{name}-{i}", "set": SETS[i], "op": op, "dtype": "f32",
             "params": params[op], "te": te[op]}
            for i, (name, op) in enumerate((("a", "matmul"), ("b", "elementwise"),
                                            ("c", "matmul")))]


def rows(kit):
    with open(os.path.join(kit, "rows.jsonl"), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


# ---- small instances ----
def is_image(row):
    return row["op"] in IMAGES or row["op"] == "b2b_gemm" and "R" in row["params"]


def small_image(key, value, row):
    """An extent of images: their number, channels in whole groups, or more than a filter spans."""
    p = {k: int(v) for k, v in row["params"].items() if v.isdigit()}
    if key == "N":
        return min(value, 2)
    if key in ("C", "F") and p.get("groups", 1) > 1 and row["op"] != "depthwise":
        return min(value, 8 * p["groups"])
    if key in ALONG:
        reach = p.get(ALONG[key], 1) * max(p.get("dil", 1), 1)
        return min(value, max(SMALL[key] if key != "D" else 6, reach + 1) + value % 2)
    return small_value(key, value) if key in ("C", "F", "F1", "CAP") else value


def small_value(key, value):
    """A small value in the same class of alignment: the remainder by 16 stays."""
    limit = SMALL.get(key, value)
    if value <= limit or limit < 16:
        return min(value, limit)
    return limit + value % 16


def small(row):
    """The sizes that a small instance has otherwise."""
    found = {}
    for key, text in row["params"].items():
        if re.search(rf"^param {re.escape(key)} = ", row["te"], re.M):
            value = int(text)
            less = (small_image(key, value, row) if is_image(row) else
                    small_value(key, value))
            if less != value:
                found[key] = less
    return found


def small_instances(all_rows):
    """One per distinct small expression, in the order of the rows."""
    seen, found = set(), []
    for row in all_rows:
        te = row["te"]
        for key, value in small(row).items():
            te = re.sub(rf"^param {key} = \d+;", f"param {key} = {value};", te, flags=re.M)
        if te in seen:
            continue
        seen.add(te)
        found.append({"key": f"small:{row['id']}", "te": te, "op": None})
    return found


# ---- expressions of the tree ----
def files(tree):
    found = []
    for folder in ("tests/cases", "examples"):
        where = os.path.join(tree, folder)
        for name in sorted(os.listdir(where)):
            if name.endswith(".te"):
                found.append(os.path.join(folder, name))
    return found


def outputs(signature):
    """Name of the op and of its outputs, from a line of --list-ops."""
    name, rest = signature.split("(", 1)
    after = rest.rsplit("->", 1)[1]
    return name.strip(), re.findall(r"(\w+): ", after)


# ---- rows to time, in the order of their worth ----
def shuffled(some):
    """An order that is the same everywhere and in which any beginning is a fair sample."""
    return sorted(some, key=lambda r: hashlib.sha1(r["id"].encode()).hexdigest())


def families(all_rows):
    found = {}
    for row in all_rows:
        found.setdefault((row["set"], row["op"], row["dtype"]), []).append(row)
    return found


def core(all_rows):
    """Of each family its middle row, then of big families two more: what a short run should do."""
    first, more = [], []
    for some in families(all_rows).values():
        first.append(some[len(some) // 2])
        if len(some) >= 12:
            more += [some[len(some) // 5], some[-1 - len(some) // 6]]
    by_set = {name: [r for r in first if r["set"] == name] for name in SETS}
    order = []
    while any(by_set.values()):
        for name in SETS:
            if by_set[name]:
                order.append(by_set[name].pop(0))
    return order + shuffled(more)


def rest(all_rows):
    chosen = {r["id"] for r in core(all_rows)}
    return shuffled(r for r in all_rows if r["id"] not in chosen)
