"""Whole models in the simulator, compared with onnxruntime on the CPU: run_models.py BUILD

At reduced sizes, since the simulator runs every thread.  One also runs in C, on the simulated
driver of BUILD.  Prints TAP.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

import models
from roller.onnx import load

RANDOM = np.random.default_rng(1)


def real(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def cases():
    """(name, model, inputs, run-time sizes)"""
    mask = np.ones((2, 16), np.int64)
    mask[1, 11:] = 0
    bert = {"tokens": RANDOM.integers(0, 99, (2, 16)), "mask": mask}
    yield "mnist", models.mnist(2), {"image": real(2, 1, 28, 28)}, {}
    yield "mnist, N = 1..16", models.mnist(), {"image": real(3, 1, 28, 28)}, {"N": "1..16"}
    yield "resnet18", models.resnet18(1, 32, 8, 10), {"image": real(1, 3, 32, 32)}, {}
    yield "bert", models.bert(2, 16, 32, 4, 2, 99), bert, {}
    yield "bert, N = 1..8", models.bert("N", 16, 32, 4, 1, 99), bert, {"N": "1..8"}
    yield "resnet18, N = 1..4", models.resnet18("N", 32, 4, 10), {"image": real(3, 3, 32, 32)}, \
        {"N": "1..4"}
    yield "llama, N = 1..4", models.llama("N", 8, 32, 4, 2, 48), {"x": real(2, 8, 32)}, \
        {"N": "1..4"}
    yield "llama", models.llama(1, 16, 64, 8, 2, 96), {"x": real(1, 16, 64)}, {}


def apart(ours, theirs):
    """The largest difference, over a tolerance of 1e-4 and 1e-4 of the value."""
    return np.max(np.abs(ours - theirs) / (1e-4 + 1e-4 * np.abs(theirs)))


def live(model):
    """The most bytes of temporaries that live at a time, each as long as a kernel needs it."""
    target = json.loads(model.kernel.json)["targets"][0]
    parts = target["workspace"]
    return max((sum(p["bytes"] for p in parts if p["first_kernel"] <= k <= p["last_kernel"])
                for k in range(len(target["kernels"]))), default=0)


def in_c(build, proto, image):
    model = load(proto, sizes={"N": "1..16"}, profile="a100")
    theirs, = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"image": image})
    with tempfile.TemporaryDirectory() as folder:
        source, weights, _ = model.save(folder)
        host, given, result = (os.path.join(folder, n) for n in ("host", "in", "out"))
        image.tofile(given)
        here = os.path.dirname(os.path.abspath(__file__))
        subprocess.run([os.environ.get("CC", "cc").split()[-1], "-std=c11", "-Wall", "-Wextra",
                        "-Werror", "-DMODEL=mnist", f'-DSOURCE="{source}"', "-o", host,
                        os.path.join(here, "host.c"), "-ldl"], check=True)
        driver = {"LD_LIBRARY_PATH": os.path.join(build, "simdriver"),
                  "ROLLER_SIM_PROFILE": "a100"}
        subprocess.run([host, weights, given, result, str(theirs.nbytes), str(len(image))],
                       check=True, env={**os.environ, **driver})
        return apart(np.fromfile(result, np.float32).reshape(theirs.shape), theirs)


def estimated(folder, profiles):
    """What roller-onnx prints of ResNet-18 for several devices: None, or what is wrong."""
    path = os.path.join(folder, "resnet18.onnx")
    proto = models.resnet18()
    onnx.save(proto, path)
    text = subprocess.run([sys.executable, "-m", "roller.onnx", path, "--estimate", "--profile",
                           ",".join(profiles)], check=True, stdout=subprocess.PIPE, text=True).stdout
    names = {n.name for n in proto.graph.node if n.op_type != "Flatten"}   # which computes nothing
    parts = re.split(r"^(\S+): ([0-9.]+) us predicted, (\d+) kernels$", text, flags=re.M)[1:]
    if parts[::4] != profiles:
        return f"profiles {parts[::4]}"
    for profile, total, count, lines in zip(*[iter(parts)] * 4):
        rows = [r.split() for r in lines.splitlines() if r.startswith("  ")]
        sum_us = sum(float(r[0]) for r in rows)
        if len(rows) != int(count) or abs(sum_us - float(total)) > 0.06 * len(rows):   # of rounding
            return f"{profile}: {len(rows)} kernels do not make up {total} us"
        missing = names - {word for r in rows for word in r[4:]}
        if missing:
            return f"{profile}: no kernel computes {missing}"
    return None


def main():
    failed = 0

    def tell(good, what):
        nonlocal failed
        failed += not good
        print(f"{'ok' if good else 'not ok'} - onnx: {what}", flush=True)
    for name, model, inputs, sizes in cases():
        theirs = onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)
        ours = load(model, sizes=sizes, profile="a100")
        worst = max(apart(a, b) for a, b in zip(ours(**inputs), theirs, strict=True))
        tell(worst <= 1, f"{name}: {worst:.3f} of the tolerance")
        if sizes:                         # then its parts are expressions
            continue
        lives = live(ours)
        tell(ours.kernel.workspace_bytes <= 1.05 * lives,
             f"{name}: a workspace of {ours.kernel.workspace_bytes} bytes, {lives} live at a time")
    with tempfile.TemporaryDirectory() as folder:
        wrong = estimated(folder, ["h100", "a100", "l4"])
    tell(not wrong, f"resnet18 at full size, node by node on three devices {wrong or ''}".strip())
    worst = in_c(sys.argv[1], models.mnist(), real(3, 1, 28, 28))
    tell(worst <= 1, f"mnist in C, N = 3 of 1..16: {worst:.3f} of the tolerance")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
