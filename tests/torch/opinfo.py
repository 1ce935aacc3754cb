"""PyTorch's own samples of its operators through the backend, forward and backward.

    opinfo.py [--samples N] [--every K] [--from N] [--match PATTERN] [--host HOST] [--dtypes f32,i64]
              [--seconds S] [--rows FILE]   a FILE that has rows is gone on with: with the samples
                                            that were left of each operator, too
    opinfo.py --table CSV ROWS...     the page docs/reference/torch-operators.md of rows of such runs, and CSV

Of an operator and a type at most N samples are tried, and after S seconds of the processor in a run
no more; how many were left is said.  The oracle is eager PyTorch; where a result is farther from it than a tolerance, eager in f64
decides: ours may be no farther from that than twice eager's own, and the tolerance.
"""
import argparse
import collections
import contextlib
import csv
import fnmatch
import json
import math
import os
import sys
import time
import warnings

import torch
from functorch.compile import aot_function
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from torch._subclasses.fake_tensor import (DataDependentOutputException,
                                           DynamicOutputShapeException)

from roller.torch.backend import compiler
from roller.torch.decompositions import table
from roller.torch.program import Options, _program

DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16,
          "i64": torch.int64, "i32": torch.int32, "i8": torch.int8, "u8": torch.uint8,
          "bool": torch.bool}
CODE = Options(profile="a100", host="simulate")
UNSPECIFIED = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty",
               "new_empty_strided")         # operators of which no value is right or wrong
UNORDERED = ("topk",)                # which of equal elements they take is not specified
DATA = DataDependentOutputException, DynamicOutputShapeException
TOLERANCE = {torch.float64: 1e-7, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def reals(values):
    return [v for v in pytree.tree_leaves(values) if isinstance(v, torch.Tensor)]


def wide(tree):
    return pytree.tree_map(lambda x: x.detach().double().requires_grad_(x.requires_grad)
                           if isinstance(x, torch.Tensor) and x.is_floating_point() else x, tree)


def distinct(x):
    """As many numbers as x has elements, each once."""
    torch.manual_seed(42)
    made = torch.randperm(x.numel()).reshape(x.shape) - x.numel() // 2
    return made.to(x.dtype).requires_grad_(x.requires_grad)


class Case:
    """An operator on a sample, as a function of the sample's tensors."""

    def __init__(self, op, sample):
        leaves, self.spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
        self.op, self.leaves, self.sample = op, leaves, sample
        if op.name in UNORDERED:
            leaves[0] = distinct(leaves[0])
        self.places = [k for k, v in enumerate(leaves) if isinstance(v, torch.Tensor)]
        self.tensors = [leaves[k] for k in self.places]

    def function(self, op=None):
        def call(*tensors):
            leaves = list(self.leaves)
            for k, t in zip(self.places, tensors):
                leaves[k] = t
            args, kwargs = pytree.tree_unflatten(leaves, self.spec)
            made = self.op.op(*args, **kwargs)
            return self.sample.output_process_fn_grad(made) if isinstance(
                made, torch.Tensor) else made
        return call


def run(function, tensors):
    """Outputs, and gradients of their sum with weights by the inputs that want one."""
    torch.manual_seed(42)                   # that of random samples, which set it themselves
    given = [t.detach().clone().requires_grad_(t.requires_grad) for t in tensors]
    made = reals(function(*given))
    wanted = [t for t in given if t.requires_grad]
    real = [m for m in made if m.requires_grad]
    grads = []
    if wanted and real:
        weights = [torch.linspace(0.5, 1.5, m.numel(), dtype=torch.float64).reshape(m.shape).to(
            m.dtype) for m in real]
        grads = torch.autograd.grad(real, wanted, weights, allow_unused=True)
    return [m.detach() for m in made], list(grads)


def apart(got, want, exact):
    """Nothing, or how two results differ; exact() gives the same in f64."""
    if (got is None) != (want is None):
        present = want if got is None else got
        return None if not present.any() else "a gradient is missing"
    if got is None:
        return None
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)} for {want.dtype}{list(want.shape)}"
    if not want.dtype.is_floating_point:
        pair = [torch.view_as_real(t.resolve_conj()) if t.is_complex() else t for t in (got, want)]
        return None if torch.equal(*pair) else "other values"
    tolerance = TOLERANCE[want.dtype]
    if torch.allclose(got, want, tolerance, tolerance, equal_nan=True):
        return None
    with contextlib.suppress(RuntimeError, NotImplementedError, TypeError):
        true = exact()
        ours, theirs = ((x.double() - true).abs().nan_to_num(0, 0, 0) for x in (got, want))
        same = torch.equal(got.isfinite(), want.isfinite())
        if same and (ours <= 2 * theirs.max() + tolerance * (1 + true.abs())).all():
            return None
    both = got.isfinite() & want.isfinite()
    return f"differs by {(got - want)[both].abs().max().item() if both.any() else 'its NaN'}"


def check(case, options):
    """(what is wrong or "", fallbacks) of one sample."""
    seen = []
    want, wgrads = run(case.function(), case.tensors)
    compile_graph = compiler(options, seen.append)
    ours = aot_function(case.function(), fw_compiler=compile_graph, bw_compiler=compile_graph,
                        decompositions=table())
    run(ours, case.tensors)                 # tracing may draw random numbers, running may not
    got, ggrads = run(ours, case.tensors)
    fallbacks = [(f.operator, f.reason) for p in seen for f in p.fallbacks]
    fused = sum(len(p.regions) for p in seen)

    def exact(k):
        outs, grads = run(case.function(), wide(case.tensors))
        return (outs + grads)[k]
    for k, (g, w) in enumerate(zip(got + ggrads, want + wgrads, strict=True)):
        said = apart(g, w, lambda k=k: exact(k))
        if said:
            return f"{'output' if k < len(got) else 'gradient'} {k}: {said}", fallbacks, fused
    return "", fallbacks, fused


def samples(op, dtype):
    grad = dtype.is_floating_point and op.supports_autograd
    return op.sample_inputs("cpu", dtype, requires_grad=grad)


def judge(case, options, made):
    """A sample's part of its operator's row."""
    made["tried"] += 1
    try:
        said, fell, fused = check(case, options)
        if said and options.host == "evaluate":     # where rounding decides a jump, the evaluator
            said, fell, fused = check(case, CODE)   # gives no value that is one
            made["by code"] += 1
    except DATA as error:                           # as every backend: a break of the graph
        made["untraced"] += 1
        made["fallbacks"][f"{error.func}"] = "its result's shape or a branch depends on data"
        return
    except Exception as error:
        made["errors"].append(f"{type(error).__name__}: {str(error)[:160]}")
        return
    made["right"] += not said
    made["whole"] += not fell
    made["fused"] += bool(fused)
    made["fallbacks"].update(dict(fell))
    made["wrong"] += [said] if said else []


def accepted(op, sample):
    """The sample as a case; None where PyTorch itself refuses it."""
    try:
        case = Case(op, sample)
        run(case.function(), case.tensors)
    except Exception:
        return None
    return case


def row(op, name, options, given, before):
    """before: the row of the samples that were tried in runs before."""
    made = collections.defaultdict(int, {"op": name_of(op), "dtype": name, "wrong": [],
                                         "fallbacks": {}, "errors": [], **before, "left": 0})
    done, end = made["tried"] + made["refused"], time.process_time() + given.seconds
    _program.cache_clear()                      # no other operator has these programs
    for k, sample in enumerate(samples(op, DTYPES[name])):
        if k < done:
            continue
        if k >= given.samples or time.process_time() > end:
            made["left"] += 1
            continue
        case = accepted(op, sample)
        if case is None:
            made["refused"] += 1
        else:
            judge(case, options, made)
    return made


def name_of(op):
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def rows(given, there=()):
    """there: the rows of runs before; what they have whole is left out, and operators with the
    fewest samples left come first."""
    options = Options(profile="a100", host=given.host)
    there = {(r["op"], r["dtype"]): r for r in there}
    chosen = [op for op in op_db if op.name not in UNSPECIFIED and any(
        fnmatch.fnmatch(op.name, pattern) for pattern in given.match.split(","))]
    waiting = [(op, name, there.get((name_of(op), name), {"left": 1}))
               for op in chosen[given.first::given.every] for name in given.dtypes.split(",")
               if DTYPES[name] in op.supported_dtypes("cpu")]
    for op, name, before in sorted(waiting, key=lambda of: of[2]["left"]):
        if before["left"]:
            yield row(op, name, options, given, before)


def read_rows(name):
    """The last row of each operator and type."""
    if not os.path.exists(name):
        return []
    with open(name, encoding="utf-8") as file:
        made = [json.loads(line) for line in file if line.endswith("\n")]
    return list({(r["op"], r["dtype"]): r for r in made}.values())


PAGE = """# PyTorch's operators in the backend

[The backend](../torch.md) was run forward and backward on PyTorch's own samples of its operators (OpInfo) and compared with eager PyTorch. `LONG=1 make test-torch` runs all
samples and makes this page, with `SAMPLES=N` at most N of each operator and type, with `LIMIT=S` no more after S seconds of it, and `LONG=resume` goes on with those that were left.
[operators.csv](../../tests/torch/operators.csv) has each operator's types and samples, and three reasons at most. `make test-torch` runs a share of the samples.

{summary}

- **whole**: nothing fell back to PyTorch. **in part**: something did. **in PyTorch**: all did. **views**: views alone, which PyTorch makes.
- **with all samples**: operators that are whole, and no sample of theirs was left out. Operators of f32 with samples left are listed at the end.
- **untraced**: a shape or a branch depends on data, which breaks the graph in every backend.
- **wrong**: farther from eager PyTorch than {tolerances}, and farther from eager in f64 than twice eager's own distance.
- Bilinear and bicubic interpolation of bytes is wrong by 1 in places: PyTorch takes it apart before any backend sees it, and its own kernels round their weights in another way (`torch.compile(backend="aot_eager")` differs from eager in the same way).
- Samples run by the [definition](../te-reference.md#values) of the expressions; where rounding decides a jump, by the compiled code in the simulator (**by code**).
- Operators whose result is not specified, as `empty`, are left out. Samples of `topk` have no equal elements, since PyTorch does not say which of them it takes.
"""
HEAD = "operator", "whole", "in part", "views", "samples", "wrong", "why"
NO_ROW, COMPLEX = ": no row for ", ": complex"
UNTRACED = ": its result's shape or a branch depends on data"


def kind(row):
    if not row.get("fused") and not row["fallbacks"] and not row["errors"]:
        return "views"
    if not row.get("fused"):
        return "untraced" if row.get("untraced") else "errors" if row["errors"] else "in PyTorch"
    return "whole" if row["whole"] == row["tried"] - row.get("untraced", 0) else "in part"


def line(*cells):
    return f"| {' | '.join(str(c).replace('|', chr(92) + '|') for c in cells)} |\n"


def summary(made):
    text = line("type", "operators", "whole", "with all samples", "in part", "views", "in PyTorch",
                "untraced", "samples", "of", "by code", "wrong") + line(*["---"] * 12)
    for name in DTYPES:
        mine = [r for r in made if r["dtype"] == name and r.get("tried")]
        kinds = collections.Counter(map(kind, mine))
        if mine:
            text += line(name, len(mine), kinds["whole"],
                         sum(kind(r) == "whole" and not r["left"] for r in mine), kinds["in part"],
                         kinds["views"], kinds["in PyTorch"], kinds["untraced"] + kinds["errors"],
                         sum(r["tried"] for r in mine), sum(r["tried"] + r["left"] for r in mine),
                         sum(r.get("by code", 0) for r in mine), sum(len(r["wrong"]) for r in mine))
    return text


def tried(row):
    of = f" of {row['tried'] + row['left']}" if row["left"] else ""
    return f"{row['tried']}{of}"


def operators(made):
    """One row of the CSV for each operator: its types, samples, and why something fell back."""
    by_op = collections.defaultdict(dict)
    for r in made:
        if r.get("tried"):
            by_op[r["op"]][r["dtype"]] = r
    for op, of in sorted(by_op.items()):
        why = {f"{k.removeprefix('aten.').removesuffix('.default')}: {v}" for r in of.values()
               for k, v in r["fallbacks"].items()}
        why |= {e.split("\n")[0][:60] for r in of.values() for e in r["errors"]}
        yield dict(zip(HEAD, (op, *(" ".join(n for n in DTYPES if n in of and kind(of[n]) == k)
                                    for k in ("whole", "in part", "views")),
                              "; ".join(f"{n} {tried(of[n])}" for n in DTYPES if n in of),
                              sum(len(r["wrong"]) for r in of.values()), "; ".join(sorted(why)[:3]))))


def group(row):
    """The section of the page that an operator is in."""
    why = row["why"].split("; ") if row["why"] else []
    if int(row["wrong"]):
        return "restricted"
    if not why:
        return "whole" if row["whole"] else "views"
    if all(UNTRACED in w for w in why):
        return "untraced"
    if any(COMPLEX in w for w in why):
        return "complex"
    if all(NO_ROW in w for w in why):
        return "no row in part" if row["whole"] or row["in part"] else "no row"
    return "restricted"


def missing(row):
    """The operator, with what it lacks where that has another name."""
    names = [w.split(": ")[0] for w in row["why"].split("; ")]
    return f"`{row['operator']}`" + (f" ({', '.join(names)})" if names != [row["operator"]] else "")


def unfinished(made):
    """What is said of operators of which samples were left out, in f32."""
    return ", ".join(f"`{r['op']}` {tried(r)}" for r in sorted(made, key=lambda r: r["op"])
                     if r["dtype"] == "f32" and r.get("tried") and r["left"])


def page(made, summary_text, left):
    of = collections.defaultdict(list)
    for row in made:
        of[group(row)].append(row)
    names = {k: ", ".join(f"`{r['operator']}`" for r in v) for k, v in of.items()}
    tolerances = ", ".join(f"{v:g} of {str(k).removeprefix('torch.')}" for k, v in TOLERANCE.items())
    text = PAGE.format(tolerances=tolerances, summary=summary_text.rstrip())
    for title, said in (
            ("Whole, in every type tried", names.get("whole")), ("Views", names.get("views")),
            ("Untraced", names.get("untraced")),
            ("Of complex numbers, which .te does not have, at least within", names.get("complex")),
            ("In PyTorch: no formula yet", ", ".join(map(missing, of["no row"]))),
            ("In part, or of some types alone: no formula yet for what is in brackets, or for the "
             "operator itself",
             ", ".join(map(missing, of["no row in part"])))):
        text += f"\n## {title}\n\n{said}\n" if said else ""
    text += "\n## Restricted\n\n" + line("operator", "whole", "in part", "in PyTorch, and why")
    text += line(*["---"] * 4)
    alike = collections.defaultdict(list)
    for row in of["restricted"]:
        wrong = f"{row['wrong']} samples wrong; " if int(row["wrong"]) else ""
        alike[row["whole"], row["in part"], wrong + row["why"]].append(f"`{row['operator']}`")
    text += "".join(line(", ".join(some), *cells) for cells, some in alike.items())
    return text + (f"\n## Samples tried of those that there are, in f32\n\n{left}\n" if left else "")


def write_table(csv_name, files):
    made = []
    for name in files:
        made += read_rows(name)
    rows_made = list(operators(made))
    with open(csv_name, "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, HEAD, lineterminator="\n")
        out.writeheader()
        out.writerows(rows_made)
    print(page(rows_made, summary(made), unfinished(made)), end="")


def parser():
    made = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for option, kind, value in (("samples", int, 3), ("every", int, 1), ("seconds", float, math.inf), ("match", str, "*"),
                                ("host", str, "evaluate"), ("dtypes", str, "f32"),
                                ("rows", str, None)):
        made.add_argument(f"--{option}", type=kind, default=value)
    made.add_argument("--from", type=int, default=0, dest="first")
    return made


def main():
    if sys.argv[1:2] == ["--table"]:
        return write_table(sys.argv[2], sys.argv[3:])
    given = parser().parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    # There is no device: PyTorch would keep each seed for one, with the stack of its call.
    torch.cuda.manual_seed_all = torch.xpu.manual_seed_all = lambda seed: None
    name = given.rows or os.devnull
    there = read_rows(name) if given.rows else []
    with open(name, "a", encoding="utf-8") as file:
        for made in rows(given, there):
            print(json.dumps(made), file=file, flush=True)
            if made["wrong"] or made["errors"] or not given.rows:
                print(json.dumps(made), flush=True)


if __name__ == "__main__":
    main()
