"""KernelBench through PyTorch's graph: what becomes programs, is right, and how long it takes.

    run.py CHECKOUT BUILD [--level N]... [--match PATTERN,...] [--every K] [--from N] [--jobs N]
                          [--limit SECONDS] [--memory GB] [--only predict|build|prove]...
                          [--least FACTOR] [--batch N] [--host HOST] [--resume] [--table FILE]

Each problem has a process of its own, bounded by --limit (of the processor) and --memory, and what
becomes of it is the backend's of torch.compile.
predict: at its full size the problem's graph is planned for an H100.  build: those programs are
compiled.  prove: at reduced sizes torch.compile(backend="roller") is compared with eager PyTorch on
the CPU; its kernels run in the simulator.  Where sizes are a model's own, --least and --batch reduce
what there is to reduce.  Rows of BUILD/kernelbench/rows.jsonl complete those of runs before, and
--resume leaves out what has ended there; the table goes to standard output or FILE.
"""
import argparse
import copy
import fnmatch
import json
import multiprocessing
import multiprocessing.connection
import os
import resource
import signal
import sys
import time
import traceback
import warnings

import torch

import roller
import roller.torch
from problems import names, reduced, whole
from randomness import Randomness
from roller.torch.lower import name_of
from table import read_rows, table

PROFILE, SEED = "h100", 20261123
# What PyTorch does by default with f32 on a GPU: convolutions in TF32, products not; a dropout is a
# part of its neighbours' kernel.
OPTIONS = {"tf32": "convolutions", "random": "program"}


def said(error):
    """The first line of an exception."""
    return f"{type(error).__name__}: {error}".split("\n")[0]


def predict(path, row):
    start = time.process_time()
    program = whole(path)
    row["export_s"] = round(time.process_time() - start, 2)
    made, start = roller.torch.explain(program, profiles=[PROFILE], **OPTIONS), time.process_time()
    row["plan_ms"] = round(made.plan_ms)
    row["operators"] = [o for p in made.programs for o in p.operators] + [
        name_of(n) for n in program.graph.nodes if n.op == "call_function"]
    row["programs"] = sum(p.count for p in made.programs)
    row["left"] = sorted({f"{f.operator}: {f.reason}" for f in made.fallbacks})
    with open(row["te"], "w", encoding="utf-8") as file:
        json.dump([p.te for p in made.programs], file)
    row["predicted_us"] = made.total(PROFILE)
    row["kernels"] = sum(p.kernels[PROFILE] * p.count for p in made.programs)
    longest = max(made.programs, key=lambda p: p.us[PROFILE] * p.count)
    row["limiter"] = longest.limiter[PROFILE]


def build(path, row):
    """The programs of predict as code."""
    start = time.process_time()
    with open(row["te"], encoding="utf-8") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernels = [roller.compile(te, profile=PROFILE) for te in json.load(file)]
    row["build_s"] = round(time.process_time() - start, 2)
    row["spilled"] = sum(launch.spill_bytes for k in kernels for launch in k.launches)


def apart(ours, theirs, tolerance):
    """The largest difference over what is allowed."""
    ours, theirs = ours.double(), theirs.double().reshape(ours.shape)
    far = ((ours - theirs).abs() / (tolerance + tolerance * theirs.abs())).nan_to_num(1e9)
    far[ours == theirs] = 0
    return far.max().item() if far.numel() else 0.0


def nearer(ours, theirs, exact):
    """Is ours no farther from exact values than twice theirs, at most?"""
    far = [(x.double() - exact).abs().max() for x in (ours, theirs)]
    return bool(far[0] <= 2 * far[1])


def run(model, inputs):
    torch.manual_seed(SEED)
    with torch.no_grad():
        return model(*inputs)


def drawn(model, inputs):
    """Of PyTorch, with the random numbers that programs draw."""
    torch.manual_seed(SEED)
    with Randomness(int(torch.randint(2 ** 62, ()))):
        return run(model, inputs)


def prove(path, row):
    """Programs, what falls back, and the largest difference from eager PyTorch."""
    model, inputs, row["factor"] = reduced(path, row["least"], row["batch"])
    twin = copy.deepcopy(model)
    torch._dynamo.config.allow_rnn = True         # else torch.compile leaves LSTM and GRU to eager
    seen, start = [], time.process_time()
    options = {**OPTIONS, "profile": PROFILE, "host": row["host"]}
    compiled = torch.compile(twin, backend=lambda gm, given: roller.torch.backend(
        gm, given, options=options, seen=seen.append))
    made = run(compiled, inputs)
    programs = [r.program for p in seen for r in p.regions]
    if any(p.draws for p in programs):            # tracing drew from PyTorch's generator, too
        run(model, inputs)
        made = run(compiled, inputs)
    row["prove_s"] = round(time.process_time() - start, 2)
    wide = copy.deepcopy(model).double()
    expected = drawn(model, inputs)
    row["proved"] = len(programs)
    row["fallbacks"] = sorted({f"{f.operator}: {f.reason}" for p in seen for f in p.fallbacks})
    flat = torch.utils._pytree.tree_leaves
    pairs = [*zip(flat(made), flat(expected), strict=True),
             *zip(twin.buffers(), model.buffers(), strict=True)]
    tolerance = 1e-2 if any("@tf32" in p.te for p in programs) else 1e-4
    row["error"] = max(apart(ours, theirs, tolerance) for ours, theirs in pairs)
    row["right"] = row["error"] <= 1
    if not row["right"]:                          # of what rounding decides, f64 is the judge
        exact = drawn(wide, [x.double() if x.is_floating_point() else x for x in inputs])
        row["right"] = all(
            apart(*pair, tolerance) <= 1 or nearer(*pair, x)
            for pair, x in zip(pairs, [*flat(exact), *wide.buffers()], strict=True))


PARTS = {part.__name__: part for part in (predict, build, prove)}
ENDED = {"predict": "predicted_us", "build": "spilled", "prove": "right"}   # what they leave in a row


def bound(limit, memory):
    """Of this process: seconds of the processor, GB."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    if memory:
        resource.setrlimit(resource.RLIMIT_DATA, (memory << 30,) * 2)


def work(path, row, parts, limits, pipe):
    bound(*limits)
    for part in parts:
        row.pop(part.__name__, None)
        try:
            part(path, row)
        except Exception as error:
            row[part.__name__] = said(error)
            if not isinstance(error, roller.Error):
                row["trace"] = traceback.format_exc()
    pipe.send(row)


def processes(rows, parts, jobs, limits):
    """The rows of all problems as they end; what stops one is said under its last part."""
    context, waiting, running = multiprocessing.get_context("fork"), list(rows), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            path, row = waiting.pop(0)
            ours, theirs = context.Pipe(False)
            process = context.Process(target=work, args=(path, row, parts, limits, theirs))
            process.start()
            theirs.close()
            running[ours] = process, row
        for pipe in multiprocessing.connection.wait(list(running)):
            process, row = running.pop(pipe)
            try:
                row = pipe.recv()
                process.join()
            except EOFError:
                process.join()
                row[parts[-1].__name__] = (
                    f"took more than {limits[0]} s of the processor"
                    if process.exitcode == -signal.SIGXCPU else "its process ended")
            yield row


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
    parser.add_argument("--memory", type=int, default=0)
    parser.add_argument("--least", type=float, default=0.5)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--host", default="simulate", choices=("evaluate", "simulate"))
    parser.add_argument("--table")
    given = parser.parse_args()
    parts = [part for name, part in PARTS.items() if name in (given.only or PARTS)]
    torch.set_num_threads(1)
    folder = os.path.join(given.build, "kernelbench")
    os.makedirs(os.path.join(folder, "te"), exist_ok=True)
    levels = given.level or [1, 2]
    paths = [p for p in names(given.checkout, levels)
             if any(fnmatch.fnmatch(os.path.basename(p)[:-3], pattern)
                    for pattern in given.match.split(","))][given.first::given.every]
    file = os.path.join(folder, "rows.jsonl")
    known, rows = read_rows([file]), []
    for path in paths:
        level, name = os.path.basename(os.path.dirname(path)), os.path.basename(path)[:-3]
        row = known.get((level, name), {})
        if not given.resume or any(ENDED[part.__name__] not in row for part in parts):
            rows.append((path, {**row, "level": level, "problem": name, "host": given.host,
                                "least": given.least, "batch": given.batch,
                                "te": os.path.join(folder, "te", f"{level}_{name}.json")}))
    with open(file, "a", encoding="utf-8") as out:
        for row in processes(rows, parts, given.jobs, (given.limit, given.memory)):
            print(json.dumps(row), file=out, flush=True)
            known[row["level"], row["problem"]] = row
            short = {k: v for k, v in row.items() if k not in ("operators", "te", "trace")}
            print(json.dumps(short), file=sys.stderr, flush=True)
    text = table([r for (level, _), r in known.items() if int(level[5:]) in levels], given.checkout)
    with open(given.table or os.devnull, "w", encoding="utf-8") as out:
        print(text, file=out if given.table else sys.stdout)


if __name__ == "__main__":
    main()
