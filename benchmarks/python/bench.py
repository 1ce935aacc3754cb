"""What Python costs: a warm compile, and a launch beside the same launch from C.

    benchmarks/python/run [BUILD]

All times are of the processor, so that what else runs on the machine counts little.  The launch is of a kernel with three arrays and a scalar.  Its arrays have no elements unless DEVICE=1
says that there is a GPU: then nothing but the way to the driver is timed.
"""
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests",
                                "python"))
import gpu                                             # noqa: E402
import roller                                           # noqa: E402
from roller._kernel import _Call                        # noqa: E402
from roller._library import lib                         # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TEXTS = {name: open(os.path.join(ROOT, "examples", name + ".te")).read()
         for name in ("matmul", "softmax", "conv2d")}
FMA = ("param M = 0..64; op fma(A: f32[M,64], B: f32[M,64], s: f32) -> C: f32[M,64] "
       "{ C[i,j] = A[i,j] * s + B[i,j]; }")


def best(run, n, repeat=100):
    """Microseconds of the processor for one of n, least and median of several times."""
    times = []
    for _ in range(repeat):
        begin = time.thread_time_ns()
        for _ in range(n):
            run()
        times.append((time.thread_time_ns() - begin) / n / 1e3)
    return min(times), statistics.median(times)


def compile_loop():
    folder = tempfile.mkdtemp()
    compiler = roller.Compiler(cache_dir=folder)
    for name, te in TEXTS.items():
        begin = time.perf_counter()
        compiler.compile(te, profile="h200")
        cold = (time.perf_counter() - begin) * 1e3
        least, middle = best(lambda: compiler.compile(te, profile="h200"), 5, 20)
        print(f"compile {name:8} cold {cold:7.1f} ms   warm {least / 1e3:.2f} ms "
              f"(median {middle / 1e3:.2f})")


def c_loop(folder):
    file = os.path.join(folder, "loop.so")
    package = os.path.dirname(roller.__file__)
    library = os.path.join(package, "lib", "libroller.so.0")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-I",
                    os.path.join(ROOT, "include"), os.path.join(HERE, "loop.c"), library, "-o",
                    file], check=True)
    loop = ctypes.CDLL(file).launch_loop
    loop.restype = ctypes.c_double
    loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int,
                     ctypes.c_void_p, ctypes.c_int]
    return loop


def launch_loop():
    gpu.begin()
    rows = 64 if os.environ.get("DEVICE") else 0
    a, b, c = (gpu.Array(np.zeros((rows, 64), "f4")) for _ in range(3))
    k = roller.compile(FMA, profile=os.environ.get("ROLLER_PROFILE", "h200"))
    k(a, b, 2.0, out=c)
    loaded, call = k._loaded(0), _Call(k, (a, b, 2.0), c)
    with tempfile.TemporaryDirectory() as folder:
        loop = c_loop(folder)
        n = 100
        from_c = min(loop(loaded.at, call.ins, 3, call.outs, 1, None, n) for _ in range(100)) / 1e3
    bound = k.bind(a, b, 2.0, out=c)
    stream = 0
    ways = {"C": from_c, "Python, bound": best(bound, n)[0],
            "Python, three arrays": best(lambda: k(a, b, 2.0, out=c, stream=stream), n)[0]}
    capsules = best(lambda: (a.__dlpack__(stream=-1), a.__dlpack_device__()), n)[0]
    for what, us in ways.items():
        more = "" if what == "C" else f"   {us - from_c:+.2f} us"
        print(f"launch  {what:22} {us:6.2f} us{more}")
    print(f"        of which a DLPack capsule of these arrays, in Python, is {capsules:.2f} us")
    assert lib.roller_version()


compile_loop()
launch_loop()
