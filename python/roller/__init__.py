"""roller: CUDA kernels for tensor expressions, by construction.

    import numpy as np, roller
    k = roller.compile("op scale(X: f32[1024], s: f32) -> Y: f32[1024] { Y[i] = s * X[i]; }",
                       profile="h200")
    y = k(np.ones(1024, "f4"), 2.0)            # runs in the simulator: no GPU is needed
    print(k, k.explain(), k.check().text)

Arrays in host memory run in the simulator, arrays on a CUDA device on that device.
"""
from ._abi import VERSION as __version__
from ._compiler import Compiler
from ._errors import (ArgumentError, CancelledError, CheckError, DeviceError, Error,
                      ExpressionError, FileError, InternalError, NvrtcError, OutOfMemoryError,
                      PlanError, ProfileError, UsageError)
from ._kernel import Argument, Bound, Check, Estimate, Kernel, Launch, Taken
from ._library import tvm_ffi_library
from ._measure import Bench, Trial, bench
from ._op import Judgement
from ._plan import Group, Plan

_default = Compiler()
compile = _default.compile
compile_many = _default.compile_many
fastest = _default.fastest
measure_many = _default.measure_many
plan = _default.plan
plans = _default.plans
einsum = _default.einsum
einsum_kernel = _default.einsum_kernel
einsum_te = _default.einsum_te
gradient_te = _default.gradient_te
batch_te = _default.batch_te
evaluate = _default.evaluate
judge = _default.judge
read = _default.read
profiles = _default.profiles
archs = _default.archs

__all__ = [
    "Argument", "ArgumentError", "Bench", "Bound", "CancelledError", "Check", "CheckError", "Compiler",
    "DeviceError", "Error", "Estimate", "ExpressionError", "FileError", "Group", "InternalError",
    "Judgement", "Kernel", "Launch", "NvrtcError", "OutOfMemoryError", "Plan", "PlanError",
    "ProfileError", "Taken", "Trial", "UsageError", "archs", "batch_te", "bench", "compile", "compile_many",
    "einsum", "einsum_kernel", "einsum_te", "evaluate", "fastest", "gradient_te", "judge",
    "measure_many", "plan", "plans", "profiles", "read", "tvm_ffi_library",
]
