"""Every case by every launcher: python3 compare.py [CASE...] in a folder with their artefacts.

Prints TAP.  The driver is libcuda.so.1 on the library path.
"""
import importlib.util
import os
import sys
import threading

import driver
from cases import CASES, MAPPED, STAYING, matmul, numbers
from driver import Memory
from from_json import launch as launch_json
from from_library import Library, scalar, tensor

BYTES = 1 << 20
queue = None


def module(name):
    """STEM.py by its path: `import` would take STEM.so, which is no module."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, f"./{name}.py")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def say(right, name, why=""):
    print(("ok - " if right else "not ok - ") + name)
    if not right:
        print("# " + str(why)[:400])


def close(got, want):
    return got == want or len(got) == len(want) and all(abs(g - w) <= 1e-5 * abs(w) for g, w in zip(got, want))


def runs(name, case, sizes):
    _, make, _ = case
    ins, outs = make(sizes)
    inputs = {n: Memory(shape, dtype, v) if shape is not None else v for n, shape, dtype, v in ins}
    room = Memory((BYTES,), "f32", bytes=BYTES)

    def fresh():
        return {n: Memory(shape, dtype) for n, shape, dtype, _ in outs}

    def address(x):
        return x.address if isinstance(x, Memory) else x

    def judge(made, what):
        for n, _, _, want in outs:
            got = made[n].read()
            say(close(got, want), f"{name} {sizes} by {what}", f"{n}: {got[:8]}, not {want[:8]}")

    made = fresh()
    named = {n: address(x) for n, x in {**inputs, **made}.items()}
    needed = launch_json(name + ".json", name + CODE, named, sizes, room.address, queue)
    judge(made, "STEM.json")

    made, python = fresh(), module(name)
    given = [*inputs.values(), *made.values()]
    say(python.workspace(*given) == needed, f"{name} {sizes}: workspace of STEM.py")
    python.launch(*given, workspace=room, stream=queue)
    judge(made, "STEM.py")
    made = fresh()
    python.launch(*map(address, [*inputs.values(), *made.values()]), workspace=room.address,
                  sizes=sizes)
    judge(made, "STEM.py with addresses")

    made = fresh()
    packed = [x.pack() if isinstance(x, Memory) else x for x in [*inputs.values(), *made.values()]]
    python.launch(*packed, workspace=room, stream=queue)
    judge(made, "STEM.py by DLPack")
    made, so = fresh(), Library(f"./{name}.so", name)
    t_in = [tensor(x) if isinstance(x, Memory) else scalar(x, d)
            for (_, _, d, _), x in zip(ins, inputs.values())]
    t_out = [tensor(m) for m in made.values()]
    say(so.workspace(t_in, t_out) == (0, needed), f"{name} {sizes}: workspace of STEM.so")
    status = so.launch(t_in, t_out, room.address, needed, queue)
    say(status == 0, f"{name} {sizes}: STEM.so launches", status)
    judge(made, "STEM.so")
    if needed:
        say(so.launch(t_in, t_out, room.address, needed - 1, queue) == 24, f"{name}: too small")
        say(so.launch(t_in, t_out, room.address + 16, needed, queue) == 24, f"{name}: misaligned")
    so.unload()
    return needed


def refusals():
    """One thing wrong at a time; both launchers name it by the same status."""
    scaled = module("scaled")
    a, b, c = Memory((4, 8)), Memory((8, 16)), Memory((4, 16))
    so = Library("./scaled.so", "scaled")
    statuses = {"args": 17, "dtype": 18, "rank": 19, "size": 20, "stride": 21, "align": 22,
                "nullptr": 23}

    def refused(status, what, change=lambda t: None, args=(a, b, 3, c)):
        ins, outs = [tensor(a), tensor(b), scalar(3, "f32")], [tensor(c)]
        change(ins)
        got = so.launch(ins, outs)
        say(got == statuses[status], f"STEM.so refuses {what}", got)
        try:
            scaled.launch(*args)
            say(False, f"STEM.py refuses {what}")
        except scaled.LaunchError as e:
            say(e.status == status, f"STEM.py refuses {what}", e)

    def like(m, **other):
        class Other:
            __cuda_array_interface__ = dict(m.__cuda_array_interface__, **other)
        return Other()

    def put(**fields):
        def change(ins):
            for n, v in fields.items():
                setattr(ins[0], n, v)
        return change

    def shape(*n):
        i64 = driver.ctypes.c_int64
        return (i64 * len(n))(*n)

    refused("args", "too few", lambda ins: ins.pop(), (a, b, c))
    refused("dtype", "a dtype", put(bits=64), (like(a, typestr="<f8"), b, 3, c))
    refused("rank", "a rank", put(ndim=1), (like(a, shape=(32,)), b, 3, c))
    refused("size", "a size", put(shape=shape(3, 8)), (like(a, shape=(3, 8)), b, 3, c))
    refused("size", "a size out of range", put(shape=shape(41, 8)),
            (like(a, shape=(41, 8)), b, 3, like(c, shape=(41, 16))))
    refused("stride", "strides", put(strides=shape(9, 1)), (like(a, strides=(36, 4)), b, 3, c))
    refused("align", "an alignment", put(byte_offset=4),
            (like(a, data=(a.address + 4, False)), b, 3, c))
    def python_refuses(status, what, *args, **named):
        try:
            scaled.launch(*args, **named)
            say(False, f"STEM.py refuses {what}")
        except scaled.LaunchError as e:
            say(e.status == status, f"STEM.py refuses {what}", e)

    python_refuses("dtype", "bits of DLPack", a.pack(bits=16), b, 3, c)
    python_refuses("dtype", "a code of DLPack", a.pack(code=0), b, 3, c)
    python_refuses("dtype", "lanes of DLPack", a.pack(lanes=4), b, 3, c)
    python_refuses("args", "host memory by DLPack", a.pack(type=1), b, 3, c)
    python_refuses("args", "another device by DLPack", a.pack(id=1), b, 3, c)
    python_refuses("align", "an offset of DLPack", a.pack(byte_offset=4), b, 3, c)
    python_refuses("args", "what is no array", "a", b, 3, c)
    python_refuses("size", "addresses without sizes", a.address, b.address, 3, c.address)
    asked = a.pack()
    scaled.launch(asked, b, 3, c)
    say(asked.asked == -1, "STEM.py lets nobody wait for a stream", asked.asked)
    refused("nullptr", "no data", put(data=None), (like(a, data=(0, False)), b, 3, c))
    so.unload()


def again():
    """What STEM.py keeps of a launch serves those like it, and no others."""
    scaled = module("scaled")
    b = Memory((8, 16), values=numbers(8 * 16, 3, 7))
    kernel, context = scaled.load(), driver.current()

    def right(m, scale, how, **named):
        a, c = Memory((m, 8), values=numbers(m * 8, 5, 9)), Memory((m, 16))
        given = [how(x) for x in (a, b)]
        kernel(*given, scale, how(c), **named)
        want = matmul(numbers(m * 8, 5, 9), numbers(8 * 16, 3, 7), m, 16, 8, scale)
        return close(c.read(), want)

    say(all(right(m, s, lambda x: x) for m in (4, 5, 4, 40) for s in (1, 3, -2)), "arrays again")
    say(all(right(m, 2, lambda x: x.pack()) for m in (4, 5, 4)), "DLPack again")
    say(all(right(m, s, lambda x: x.address, sizes={"M": m}, stream=queue)
            for m in (4, 5, 4) for s in (1, 3)), "addresses again, in another stream")
    a, c = Memory((4, 8)), Memory((4, 16))

    def refused(status, what, *args, **named):
        try:
            kernel(*args, **named)
            say(False, f"again STEM.py refuses {what}")
        except scaled.LaunchError as e:
            say(e.status == status, f"again STEM.py refuses {what}", e)

    known = {"sizes": {"M": 4}}
    kernel(a.address, b.address, 3, c.address, **known)
    refused("align", "an alignment", a.address + 4, b.address, 3, c.address, **known)
    refused("nullptr", "no data", a.address, 0, 3, c.address, **known)
    refused("size", "other sizes", a.address, b.address, 3, c.address, sizes={"M": 41})
    refused("size", "no sizes", a.address, b.address, 3, c.address)
    refused("size", "another shape", a, b, 3, Memory((5, 16)))
    refused("dtype", "another dtype", a, b, 3, Memory((4, 16), "i32"))
    refused("args", "too few", a, b, 3)
    good = []

    def work(k):
        driver.enter(context)
        good.extend(right(1 + (k + i) % 7, k, lambda x: x) for i in range(12))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    say(len(good) == 48 and all(good), "STEM.py in several threads", good)


def elsewhere():
    """A program loaded in one context, and another one current; code for another device."""
    mm = module("mm")
    so = Library("./mm.so", "mm")
    a, b, c = Memory((64, 32)), Memory((32, 48)), Memory((64, 48))
    kernel = mm.load()
    driver.begin()
    got = so.launch([tensor(a), tensor(b)], [tensor(c)])
    say(got == 16, "STEM.so refuses another context", got)
    try:
        kernel(a, b, c)
        say(False, "STEM.py refuses another context")
    except mm.LaunchError as e:
        say(e.status == "arch", "STEM.py refuses another context", e)
    driver.begin(1)
    other = Library("./mm.so", "mm")
    say(other.status == 16, "STEM.so has no code for another device", other.status)
    try:
        mm.load()
        say(False, "STEM.py has no code for another device")
    except mm.LaunchError as e:
        say(e.status == "arch", "STEM.py has no code for another device", e)


def main():
    global queue, CODE
    chosen = sys.argv[1:] or list(CASES)
    CODE = ".sm_90a." + os.environ.get("CODE", "ptx")
    early = Library(f"./{chosen[0]}.so", chosen[0])
    say(early.status == 5, "no context, no program", early.status)
    driver.begin()
    queue = driver.stream()
    workspaces, known = {}, {**CASES, **MAPPED, **STAYING}
    for name in chosen:
        for sizes in known[name][2]:
            try:
                workspaces[name] = runs(name, known[name], sizes)
            except Exception as e:
                say(False, f"{name} {sizes} runs", repr(e))
    if len(chosen) == len(CASES):
        say(workspaces["splitk"] > 0, "a case with a workspace")
        refusals()
        again()
        elsewhere()


main()
