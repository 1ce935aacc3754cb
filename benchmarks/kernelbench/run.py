"""KernelBench through PyTorch's graph: what becomes one program, is right, and how long it takes.

    run.py CHECKOUT BUILD [--level N]... [--match PATTERN] [--every K] [--from N] [--jobs N]
                          [--limit SECONDS] [--only predict|prove|backend] [--host HOST]
                          [--table FILE]

Each problem has a process of its own.  At its full size it is lowered, planned for an H100 and
compiled; at reduced sizes it is compiled, run in the simulator, and compared with what the problem
itself computes in PyTorch on the CPU.  --only backend: instead, torch.compile(backend="roller")
beside eager PyTorch, at reduced sizes, of any level.  A row of each goes to BUILD/kernelbench/rows.jsonl; the
table, to standard output or FILE.
"""
import argparse
import copy
import fnmatch
import json
import multiprocessing
import multiprocessing.connection
import os
import sys
import time
import traceback
import warnings

import torch

import roller
import roller.torch
from lower import Unsupported, lower
from problems import export, names, reduced, whole
from randomness import Randomness
from roller.torch.program import Options
from table import table

PROFILE, SEED = "h100", 20261123


def said(error):
    """The first line of an exception."""
    return f"{type(error).__name__}: {error}".split("\n")[0]


def compiled(program):
    """The lowered graph and its kernel."""
    lowered = lower(program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lowered, roller.compile(lowered.te, profile=PROFILE)


def predict(path, row):
    start = time.process_time()
    program = whole(path)
    row["export_s"] = round(time.process_time() - start, 2)
    lowered, start = lower(program), time.process_time()
    row["operators"], row["statements"] = lowered.operators, lowered.te.count(";")
    with open(row["te"], "w", encoding="utf-8") as file:
        file.write(lowered.te)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = roller.compile(lowered.te, profile=PROFILE)
    row["compile_s"] = round(time.process_time() - start, 2)
    row["predicted_us"], row["floor_us"] = kernel.predicted.us, kernel.predicted.floor_us
    row["limiter"] = kernel.predicted.limiter
    row["kernels"] = len(kernel.launches)
    row["spilled"] = sum(launch.spill_bytes for launch in kernel.launches)


def apart(ours, theirs, tolerance):
    """The largest difference over what is allowed."""
    ours, theirs = ours.double(), theirs.double().reshape(ours.shape)
    far = ((ours - theirs).abs() / (tolerance + tolerance * theirs.abs())).nan_to_num(1e9)
    far[ours == theirs] = 0
    return far.max().item() if far.numel() else 0.0


def prove(path, row):
    """The largest difference from PyTorch, over the tolerance."""
    model, inputs, row["factor"] = reduced(path)
    program = export(model, inputs)
    signature, tensors = program.graph_signature, iter(x for x in inputs)
    known = {**program.state_dict, **program.constants}
    sources = {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
               **signature.inputs_to_lifted_tensor_constants}
    values = {name: next(tensors) for name in signature.user_inputs if name is not None}
    values.update((name, known[source]) for name, source in sources.items())
    lowered, kernel = compiled(program)
    row["reduced"] = [list(values[name].shape) for name in lowered.inputs]
    given = [values[name].detach().clone().contiguous() for name in lowered.inputs]
    results = kernel(*given, *[SEED] * lowered.draws)
    results = results if isinstance(results, tuple) else (results,)
    with torch.no_grad(), Randomness(SEED):
        expected = model(*inputs)
    expected = list(expected) if isinstance(expected, (tuple, list)) else [expected]
    changed = dict(model.named_buffers())
    targets = [changed[target] for target in signature.buffers_to_mutate.values()]
    tolerance = 1e-2 if "@tf32" in lowered.te else 1e-4
    row["error"] = 0.0
    for ours, theirs in zip(results, targets + expected, strict=True):
        row["error"] = max(row["error"], apart(ours, theirs, tolerance))
    row["right"] = row["error"] <= 1


def backend(path, row):
    """The same by torch.compile: programs, what falls back, and the largest difference."""
    model, inputs, row["factor"] = reduced(path)
    twin = copy.deepcopy(model)
    torch._dynamo.config.allow_rnn = True         # else torch.compile leaves LSTM and GRU to eager
    torch.manual_seed(SEED)
    with torch.no_grad():
        expected = model(*inputs)
    seen, options = [], Options(profile=PROFILE, host=row.pop("host"), tf32=False)
    start = time.process_time()
    torch.manual_seed(SEED)
    with torch.no_grad():
        made = torch.compile(twin, backend=lambda gm, given: roller.torch.backend(
            gm, given, options=options, seen=seen.append))(*inputs)
    row["backend_s"] = round(time.process_time() - start, 2)
    row["programs"] = sum(len(p.regions) for p in seen)
    row["fallbacks"] = sorted({f"{f.operator}: {f.reason}" for p in seen for f in p.fallbacks})
    flat = torch.utils._pytree.tree_leaves
    pairs = [*zip(flat(made), flat(expected), strict=True),
             *zip(twin.buffers(), model.buffers(), strict=True)]
    row["error"] = max(apart(ours, theirs, 1e-4) for ours, theirs in pairs)
    row["right"] = row["error"] <= 1


def work(path, row, parts, pipe):
    for part in parts:
        try:
            part(path, row)
        except Exception as error:
            row[part.__name__] = said(error)
            if not isinstance(error, (Unsupported, roller.Error)):
                row["trace"] = traceback.format_exc()
    pipe.send(row)


def processes(rows, parts, jobs, limit):
    """The rows of all problems as they end."""
    context, waiting, running = multiprocessing.get_context("fork"), list(rows), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            path, row = waiting.pop(0)
            ours, theirs = context.Pipe(False)
            process = context.Process(target=work, args=(path, row, parts, theirs))
            process.start()
            theirs.close()
            running[ours] = process, row, time.monotonic() + limit
        multiprocessing.connection.wait(list(running), 1)
        for pipe, (process, row, end) in list(running.items()):
            if pipe.poll():
                try:
                    row = pipe.recv()
                except EOFError:
                    row["predict"] = row["prove"] = "its process ended"
            elif time.monotonic() < end:
                continue
            else:
                process.kill()
                row["predict"] = row["prove"] = f"took more than {limit} s"
            process.join()
            del running[pipe]
            yield row


def of_backend(rows):
    """The table of --only backend, as text."""
    lines = ["| level | tried | right | nothing in PyTorch | with fallbacks | not run |",
             "| --- | --- | --- | --- | --- | --- |"]
    for level in sorted({r["level"] for r in rows}):
        mine = [r for r in rows if r["level"] == level]
        whole_ = sum(bool(r.get("right")) and r["programs"] > 0 and not r["fallbacks"] for r in mine)
        fallen = sum(bool(r.get("fallbacks")) for r in mine)
        lines.append(f"| {level} | {len(mine)} | {sum(bool(r.get('right')) for r in mine)} | {whole_} | "
                     f"{fallen} | {sum('right' not in r for r in mine)} |")
    for r in rows:
        why = r.get("backend") or r.get("prove")
        if why or not r.get("right"):
            lines.append(f"{r['level']} {r['problem']}: {why or r.get('error')}")
        elif not r["programs"]:
            lines.append(f"{r['level']} {r['problem']}: PyTorch gave the backend no graph")
        elif r["fallbacks"]:
            lines.append(f"{r['level']} {r['problem']}: in PyTorch {'; '.join(r['fallbacks'])}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout")
    parser.add_argument("build")
    parser.add_argument("--level", type=int, action="append")
    parser.add_argument("--match", default="*")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("--only", choices=("predict", "prove", "backend"))
    parser.add_argument("--host", default="evaluate", choices=("evaluate", "simulate"))
    parser.add_argument("--table")
    given = parser.parse_args()
    parts = [backend] if given.only == "backend" else [
        part for part in (predict, prove) if given.only in (None, part.__name__)]
    torch.set_num_threads(1)
    folder = os.path.join(given.build, "kernelbench")
    os.makedirs(os.path.join(folder, "te"), exist_ok=True)
    paths = [p for p in names(given.checkout, given.level or [1, 2])
             if fnmatch.fnmatch(os.path.basename(p)[:-3], given.match)][given.first::given.every]
    rows = []
    for path in paths:
        level, name = os.path.basename(os.path.dirname(path)), os.path.basename(path)[:-3]
        rows.append((path, {"level": level, "problem": name,
                            "te": os.path.join(folder, "te", f"{level}_{name}.te"),
                            **({"host": given.host} if given.only == "backend" else {})}))
    done = []
    with open(os.path.join(folder, "rows.jsonl"), "w", encoding="utf-8") as file:
        for row in processes(rows, parts, given.jobs, given.limit):
            print(json.dumps(row), file=file, flush=True)
            done.append(row)
            short = {k: row.get(k) for k in ("predicted_us", "kernels", "spilled", "compile_s",
                                             "error", "predict", "prove", "programs", "fallbacks",
                                             "backend_s", "backend")}
            print(row["level"], row["problem"], short, file=sys.stderr, flush=True)
    if given.only == "backend":
        print(of_backend(done))
        return
    text = table(done, given.checkout)
    if given.table:
        with open(given.table, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
