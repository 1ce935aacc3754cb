"""Does an installed CUPTI know the counters of cupti.h for each kind of GPU?  Prints TAP."""
import ctypes
import glob
import os
import re
import sys
from ctypes import c_char_p, c_int, c_size_t, c_void_p

CHIPS = ("GV100", "GA100", "AD102", "GH100", "GB100")
toolkit = os.environ.get("CUDA_PATH", "/usr/local/cuda")
found = sorted(glob.glob(os.path.join(toolkit, "**", "libcupti.so.1[3-9]"), recursive=True))
if not found:
    print("ok - counters are known # SKIP CUPTI is not installed")
    sys.exit(0)


class Host(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("reserved", c_void_p), ("type", c_int), ("chip", c_char_p),
                ("image", c_void_p), ("host", c_void_p)]


class Add(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("reserved", c_void_p), ("host", c_void_p),
                ("metric", ctypes.POINTER(c_char_p)), ("n", c_size_t)]


lib = ctypes.CDLL(found[-1])
with open(sys.argv[1], encoding="utf-8") as f:
    metrics = re.findall(r'"(\w+\.sum)"', f.read())
for chip in CHIPS:
    host = Host(ctypes.sizeof(Host), None, 0, chip.encode(), None, None)
    unknown = metrics
    if not lib.cuptiProfilerHostInitialize(ctypes.byref(host)):
        unknown = []
        for name in metrics:
            one = (c_char_p * 1)(name.encode())
            add = Add(ctypes.sizeof(Add), None, host.host, one, 1)
            if lib.cuptiProfilerHostConfigAddMetrics(ctypes.byref(add)):
                unknown.append(name)
    good = len(metrics) >= 10 and not unknown
    print(f"{'ok' if good else 'not ok'} - {chip} has the counters {' '.join(unknown)}")
