"""Where PyTorch is installed: its contenders compute what the rows say: peers.py KIT.

A small instance of every kind of row goes through the simulator and, on the CPU, through each
contender of benchmarks/gpu/peers.py.  Prints TAP; without PyTorch all is skipped."""
import ctypes
import os
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KIT = sys.argv[1]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TREE, "benchmarks", "gpu"))
try:
    import torch
except ImportError:
    print("1..1\nok 1 - contenders of PyTorch # SKIP PyTorch is not installed")
    sys.exit(0)
import re

import cases
import library
import peers

PROFILE = "a100"


def kinds(rows):
    """One small instance per operator, dtype, and set of flags."""
    found = {}
    for row in rows:
        te, params = row["te"], dict(row["params"])
        for key, value in cases.small(row).items():
            te = re.sub(rf"^param {key} = \d+;", f"param {key} = {value};", te, flags=re.M)
            params[key] = str(value)
        flags = tuple((k, v) for k, v in sorted(params.items())
                      if k in ("layout", "ta", "tb", "act", "fn", "bias", "res", "bn", "affine",
                               "softmax", "R", "stride", "RANK") or k == "groups" and v != "1")
        found.setdefault((row["op"], row["dtype"], flags), dict(row, te=te, params=params))
    return found


def tensor(argument, t):
    size, code, _ = library.DTYPES[argument.dtype]
    shape = (ctypes.c_int64 * max(len(argument.shape), 1))(*argument.shape)
    raw = library.Tensor(ndim=len(argument.shape))
    raw.device, raw.dtype = library.DlDevice(library.CPU, 0), library.DlType(code, 8 * size, 1)
    raw.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    raw.data = t if isinstance(t, int) else t.data_ptr()
    return raw, shape


def simulate(lib, kernel, arguments, given):
    keep, ins, outs = [], [], []
    for a in arguments:
        if a.role == library.SCALAR:
            value = library.scalar(a)
            keep.append(value)
            made = tensor(a, ctypes.addressof(value))
        else:
            made = tensor(a, given[a.name])
        keep.append(made)
        (outs if a.role == library.OUTPUT else ins).append(made[0])
    lib.lib.roller_simulate.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                                        ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    lib._must(lib.ctx, lib.lib.roller_simulate(
        lib.ctx, kernel, (library.Tensor * len(ins))(*ins), len(ins),
        (library.Tensor * len(outs))(*outs), len(outs)))


def fill(a):
    kind = peers.TORCH[a.dtype]
    if not kind.is_floating_point:
        return torch.randint(-64, 64, a.shape, dtype=kind)
    return torch.randn(a.shape).to(kind)


def judge(lib, profile, row):
    op = lib.parse(row["te"])
    plans = lib.plan(op, profile, 1)
    kernel = lib.build(lib.ctx, lib.plans(plans)[0])
    arguments = lib.arguments(op)
    given = {a.name: fill(a) for a in arguments if a.role == library.INPUT}
    result = {a.name: torch.zeros(a.shape, dtype=peers.TORCH[a.dtype]) for a in arguments
              if a.role == library.OUTPUT}
    simulate(lib, kernel, arguments, {**given, **result})
    said = []
    contenders = peers.eager(row, given)
    limit = max(peers.TOLERANCE.get(k, 0.0) for k in
                [row["dtype"]] + [str(a.dtype) for a in arguments if a.role == library.OUTPUT])
    for name, (run, read) in contenders.items():
        try:
            y = run()
        except (RuntimeError, NotImplementedError) as e:
            said.append(f"{name} does not run on the CPU: {str(e).splitlines()[0][:100]}")
            continue
        y = read(y)
        for got, want in zip(result.values(), y if isinstance(y, tuple) else (y,)):
            error = peers.difference(got, want.reshape(got.shape).to(got.dtype))
            assert error <= limit, f"{name}: relative error {error:.3g}, at most {limit:g}"
    for kind, handle in (("kernel", kernel), ("plans", plans), ("op", op)):
        lib.free(kind, handle)
    return said


def main():
    torch.manual_seed(1)
    torch.set_num_threads(2)
    lib = library.Library(os.path.join(KIT, "lib", "libroller.so.0"),
                          os.path.join(TREE, "profiles"))
    profile = lib.profile(PROFILE)
    bad = 0
    for (op, dtype, _), row in kinds(cases.rows(KIT)).items():
        name = f"{op} {dtype} {row['id']}"
        try:
            for line in judge(lib, profile, row):
                print(f"# {name}: {line}")
            print(f"ok - {name}", flush=True)
        except Exception as e:
            print(f"not ok - {name}: {type(e).__name__}: {str(e)[:300]}", flush=True)
            bad = 1
    return bad


sys.exit(main())
