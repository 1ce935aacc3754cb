"""ONNX's own cases of its operators, each compiled and run in the simulator:
run_cases.py [--match PATTERN] [--every N] [--table FILE]

Inputs that an expression depends on (shapes, axes, counts) are constants.  The table has a row for
each operator: how many cases are right, and why the others are refused.  Prints TAP; a refusal
with a reason is no failure.
"""
import argparse
import collections
import fnmatch
import multiprocessing
import re
import sys
import warnings

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

import roller
from roller.onnx import Malformed, Unsupported, load

PROFILE = "a100"
# Inputs of operators that have to be constants.
CONSTANTS = {
    "AffineGrid": [1], "BlackmanWindow": [0], "CenterCropPad": [1], "Col2Im": [1, 2],
    "ConstantOfShape": [0], "CumProd": [1], "CumSum": [1], "DFT": [1, 2], "Dropout": [1, 2],
    "Expand": [1], "HammingWindow": [0], "HannWindow": [0], "If": [0], "Loop": [0, 1],
    "MaxUnpool": [2], "MelWeightMatrix": [0, 1, 2, 3, 4], "OneHot": [1], "Pad": [1, 3],
    "Range": [0, 1, 2], "Reshape": [1], "Resize": [1, 2, 3], "STFT": [1, 3],
    "Slice": [1, 2, 3, 4], "Split": [1], "Squeeze": [1], "Tile": [1], "TopK": [1], "Trilu": [1],
    "Unsqueeze": [1], "Upsample": [1],
}


def constants(graph):
    names = set()
    for node in graph.node:
        places = [1] if node.op_type.startswith("Reduce") else CONSTANTS.get(node.op_type, [])
        names.update(node.input[i] for i in places if i < len(node.input))
    return names


def array(value):
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    if isinstance(value, (list, dict)) or value is None:
        raise Unsupported("sequences and optional values")
    return np.asarray(value)


def differs(ours, theirs, case):
    """What is wrong with a result; None: nothing."""
    if ours.shape != theirs.shape:
        return f"the shape {ours.shape} for {theirs.shape}"
    if ours.dtype != theirs.dtype and ours.dtype.itemsize == theirs.dtype.itemsize:
        ours = ours.view(theirs.dtype)    # types that NumPy has not, as bits
    if ours.dtype.kind in "bui":
        count = int((ours != theirs).sum())
        return f"{count} of {ours.size} elements" if count else None
    coarse = theirs.dtype.itemsize <= 2
    near = np.isclose(ours.astype("f8"), theirs.astype("f8"), rtol=max(case.rtol, 1e-3),
                      atol=2e-2 if coarse else max(case.atol, 1e-5), equal_nan=True)
    return None if near.all() else f"{int((~near).sum())} of {ours.size} elements"


def tried(case):
    """("right", "wrong" or "refused", why)"""
    names = [info.name for info in case.model.graph.input]
    try:
        for inputs, outputs in case.data_sets:
            values = dict(zip(names, map(array, inputs)))
            fixed = {n: values.pop(n) for n in constants(case.model.graph) if n in values}
            model = load(case.model.SerializeToString(), given=fixed, profile=PROFILE)
            for ours, theirs in zip(model(**values), map(array, outputs), strict=True):
                wrong = differs(ours, theirs, case)
                if wrong:
                    return "wrong", wrong
    except Malformed as error:
        return "wrong", str(error)
    except Unsupported as error:
        return "refused", re.sub(r"^node '[^']*' ", "", str(error))
    except roller.Error as error:
        return "wrong", str(error)
    return "right", ""


_cases = {}


def work(name):
    """A process collects the cases once."""
    if not _cases:
        _cases.update((c.name, c) for c in collect_testcases(None))
    warnings.simplefilter("ignore")
    return name, *tried(_cases[name])


HEAD = """# ONNX operators that run

Made by `LONG=1 MATCH=onnx make test-hosts`: ONNX's own cases of its operators, run in the simulator for
a100 and compared with what ONNX expects ([onnx.md](../onnx.md)). Of its {all} operators {right} have a case that runs:
{whole} run in all {cases} of their cases, {part} in some, {none} in none; {without} have no case. Below, 5/8 is
5 of 8 cases, followed by what is refused of the others (how many of them), and why.
"""
# Operators of which ONNX has no case, and why they are refused.
ML = "classical machine learning, which has its own libraries"
WITHOUT = {
    **dict.fromkeys("ConcatFromSequence Optional SequenceAt SequenceConstruct SequenceEmpty "
                    "SequenceErase SequenceLength".split(), "sequences and optional values"),
    **dict.fromkeys("Multinomial RandomNormal RandomNormalLike RandomUniform "
                    "RandomUniformLike".split(), "random numbers, whose values ONNX leaves open"),
    **dict.fromkeys("CastMap CategoryMapper DictVectorizer ZipMap".split(), "maps and strings"),
    **dict.fromkeys("FeatureVectorizer Imputer LinearClassifier LinearRegressor Normalizer "
                    "OneHotEncoder SVMClassifier SVMRegressor Scaler TreeEnsembleClassifier "
                    "TreeEnsembleRegressor".split(), ML),
    "GlobalLpPool": "it has a form here, which nothing of ONNX's tries",
    "Gradient": "a graph of its own; roller derives ops",
    "MaxRoiPool": "RoiAlign is its successor",
}


def refused(found):
    """What is refused of an operator's cases, and why."""
    why = collections.Counter(re.sub(r"^\([A-Za-z0-9]+\): ", "", w).split("\n")[0]
                              for r, w in found if r == "refused")
    kinds = [w.removeprefix("elements of type ") for w in why if w.startswith("elements of")]
    reasons = [f"{w} ({n})" for w, n in why.most_common() if not w.startswith("elements of")]
    return "; ".join(reasons + [f"elements of {', '.join(kinds)}"] * bool(kinds))


def rows_of(title, operators, by):
    """A list of what is refused, with the operators and how many of their cases are right."""
    alike = collections.defaultdict(list)
    for operator in operators:
        found = by[operator]
        count = sum(r == "right" for r, _ in found)
        alike[refused(found)].append(f"{operator} {count}/{len(found)}")
    return [f"\n## {title}\n"] + [f"- {', '.join(some)}: {why}." for why, some in alike.items()]


def table(rows):
    """rows: (operator, result, why)."""
    by = collections.defaultdict(list)
    for operator, result, why in rows:
        by[operator].append((result, why))
    right = {o: sum(x == "right" for x, _ in r) for o, r in by.items()}
    whole = sorted(o for o in by if right[o] == len(by[o]))
    part = sorted(o for o in by if 0 < right[o] < len(by[o]))
    none = sorted(o for o in by if not right[o])
    known = {s.name for s in onnx.defs.get_all_schemas()}
    without = sorted(known - set(by))
    text = ["\n## All cases run\n", ", ".join(whole) + "."]
    text += rows_of("Some cases run", part, by) + rows_of("No case runs", none, by)
    text += ["\n## Without a case\n"]
    for reason in dict.fromkeys(WITHOUT.values()):
        text.append(f"- {', '.join(o for o in without if WITHOUT.get(o) == reason)}: {reason}.")
    assert set(without) <= set(WITHOUT), set(without) - set(WITHOUT)
    return HEAD.format(all=len(known), right=len(whole) + len(part), whole=len(whole),
                       cases=sum(right[o] for o in whole), part=len(part), none=len(none),
                       without=len(without)) + "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--match", default="*")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--table")
    o = parser.parse_args()
    warnings.simplefilter("ignore")
    # Cases of the functions that define operators have those operators in their place.
    cases = [c for c in collect_testcases(None)
             if fnmatch.fnmatch(c.name, o.match) and "_expanded" not in c.name][::o.every]
    operators = {c.name: c.model.graph.node[-1].op_type for c in cases}
    rows, counts = [], collections.Counter()
    with multiprocessing.Pool(2, maxtasksperchild=200) as pool:
        for name, result, why in pool.imap(work, operators, chunksize=8):
            rows.append((operators[name], result, why))
            counts[result] += 1
            if result == "wrong":
                print(f"not ok - onnx: {name}: {why}", flush=True)
    if o.table:
        with open(o.table, "w", encoding="utf-8") as file:
            file.write(table(rows))
    good = "ok" if not counts["wrong"] else "not ok"
    print(f"{good} - onnx: of {len(rows)} cases of operators {counts['right']} are right, "
          f"{counts['refused']} refused with a reason")
    return counts["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
