"""STEM.py as an operator of PyTorch: python3 torch_op.py in a folder with mm.py and scaled.py.

Prints TAP.  Shapes, dtypes and strides of outputs follow from inputs that hold no data; a kernel runs
only where PyTorch has a device.
"""
import importlib.util
import sys

try:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
except ImportError:
    print("ok - STEM.py in PyTorch # SKIP no PyTorch here")
    sys.exit()


def say(right, name, why=""):
    print(("ok - " if right else "not ok - ") + name)
    if not right:
        print("# " + str(why)[:400])


def module(name):
    spec = importlib.util.spec_from_file_location(name, f"./{name}.py")
    it = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(it)
    return it


def refused(kind, what, call):
    try:
        call()
        say(False, what)
    except kind:
        say(True, what)


mm, scaled = module("mm"), module("scaled")
mm.torch_op("roller_test")
scaled.torch_op("roller_test")
ops = torch.ops.roller_test
say(str(ops.mm.default._schema).endswith("mm(Tensor A, Tensor B) -> Tensor"), "a schema",
    ops.mm.default._schema)
with FakeTensorMode():
    c = ops.mm(torch.empty(64, 32), torch.empty(32, 48))
    say(c.shape == (64, 48) and c.dtype == torch.float32 and c.is_contiguous(), "static sizes", c)
    for m in 3, 40:
        c = ops.scaled(torch.empty(m, 8), torch.empty(8, 16), 2.0)
        say(c.shape == (m, 16), f"a run-time size of {m}", c.shape)
    refused(Exception, "a size out of range",
            lambda: ops.scaled(torch.empty(41, 8), torch.empty(8, 16), 2.0))


def uses(a, b):
    return ops.scaled(a, b, 3.0) + 1


traced = torch.fx.experimental.proxy_tensor.make_fx(uses, tracing_mode="symbolic")(
    torch.empty(5, 8, device="meta"), torch.empty(8, 16, device="meta"))
say("roller_test.scaled.default" in traced.code, "traced with symbols for sizes", traced.code)
refused(Exception, "inputs in host memory", lambda: ops.mm(torch.ones(64, 32), torch.ones(32, 48)))
if torch.cuda.is_available():
    a = torch.randint(-4, 4, (64, 32), device="cuda").float()
    b = torch.randint(-4, 4, (32, 48), device="cuda").float()
    say(torch.equal(ops.mm(a, b), a @ b), "the numbers of a device")
    say(torch.equal(torch.compile(ops.mm)(a, b), a @ b), "torch.compile")
    torch.library.opcheck(ops.mm.default, (a, b))
else:
    print("ok - STEM.py in PyTorch on a device # SKIP PyTorch has no device here")
