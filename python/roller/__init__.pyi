# Types of the package; tests/python.sh compares them with it where mypy is installed.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, overload

__version__: str

class _DLPack(Protocol):
    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, Any]: ...

class _CudaArray(Protocol):
    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]: ...

_Array = _DLPack | _CudaArray
_Sizes = Mapping[str, int | str]
_Text = Literal["cu", "ptx", "json", "h", "c", "py", "tvmffi", "plan", "log"]
_Path = str | os.PathLike[str]

class Argument(NamedTuple):
    name: str
    role: Literal["input", "scalar", "output"]
    dtype: str
    shape: tuple[int | str, ...]
    strides: tuple[int | str, ...]
    align: int

class Estimate(NamedTuple):
    us: float
    limiter: str
    terms: dict[str, float]
    floor_us: float
    workspace_bytes: int
    flops: float
    bytes: float

class Group(NamedTuple):
    us: float
    limiter: str
    skeleton: str
    makes: list[str]
    refusal: str | None

class Plan:
    def __init__(self, contexts: Any, handle: Any, rank: int = 0) -> None: ...
    @property
    def text(self) -> str: ...
    @property
    def predicted(self) -> Estimate: ...
    def predicted_at(self, **sizes: int) -> Estimate: ...
    @property
    def groups(self) -> tuple[Group, ...]: ...
    @property
    def picture(self) -> str: ...
    def explain(self) -> str: ...

class Trial(NamedTuple):
    us: float
    warm_us: float
    spread: float
    clock_mhz: float
    samples: int
    by_events: bool
    rejected: str | None
    reason: str | None
    where: str

class Bench:
    kernel: str
    us: float
    cold_us: float
    predicted_us: float
    floor_us: float
    flops: float
    bytes: float
    where: str
    others: dict[str, float]
    on_device: bool
    where_others: str
    @property
    def gbs(self) -> float: ...
    @property
    def tflops(self) -> float: ...
    @property
    def of_floor(self) -> float: ...

class Launch(NamedTuple):
    symbol: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    dynamic_smem: int
    static_smem: int
    registers: int
    spill_bytes: int
    tensor_maps: int
    waits_for_previous: bool
    resident: bool

class Check(NamedTuple):
    ok: bool
    text: str
    compared: int
    outputs: int
    undecided: int
    size_sets: int
    data_sets: int
    where: str
    counters: str | None

class Judgement(NamedTuple):
    compared: int
    undecided: int
    wrong: int
    excess: float

class Error(Exception):
    status: str
    message: str
    hint: str | None
    tag: str | None
    file: str | None
    line: int | None
    column: int | None
    def __init__(self, rendered: str, *, status: str = "INTERNAL", message: str | None = None,
                 hint: str | None = None, tag: str | None = None, file: str | None = None,
                 line: int | None = None, column: int | None = None) -> None: ...

class ExpressionError(Error, ValueError): ...
class ProfileError(Error, ValueError): ...
class PlanError(Error, ValueError): ...
class UsageError(Error, ValueError): ...
class ArgumentError(Error, ValueError): ...
class DeviceError(Error, RuntimeError): ...
class NvrtcError(Error, RuntimeError): ...
class FileError(Error, RuntimeError): ...

class CheckError(Error, RuntimeError):
    report: Check

class InternalError(Error, RuntimeError): ...
class CancelledError(Error, RuntimeError): ...
class OutOfMemoryError(Error, MemoryError): ...

class Bound:
    def __init__(self, call: Any, stream: Any, workspace: Any) -> None: ...
    def __call__(self, stream: Any = None) -> Any: ...

class Kernel:
    def __init__(self, contexts: Any, handle: Any, op: Any = None, profile: Any = None,
                 options: Any = None) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def te(self) -> str: ...
    @property
    def args(self) -> tuple[Argument, ...]: ...
    @property
    def sizes(self) -> dict[str, int | dict[str, int]]: ...
    @property
    def arch(self) -> str: ...
    @property
    def profile(self) -> str: ...
    @property
    def workspace_bytes(self) -> int: ...
    @property
    def launches(self) -> tuple[Launch, ...]: ...
    @property
    def cu(self) -> str: ...
    @property
    def ptx(self) -> str: ...
    @property
    def cubin(self) -> bytes: ...
    @property
    def json(self) -> str: ...
    @property
    def plan(self) -> str: ...
    @property
    def log(self) -> str: ...
    @overload
    def artefact(self, kind: _Text) -> str: ...
    @overload
    def artefact(self, kind: Literal["cubin"]) -> bytes: ...
    def save(self, folder: _Path, stem: str | None = None) -> None: ...
    @property
    def predicted(self) -> Estimate: ...
    def predicted_at(self, **sizes: int) -> Estimate: ...
    trials: tuple[Trial, ...]
    def plans(self, top: int = 8) -> list[Plan]: ...
    def measure(self, *, device: str | int | None = None,
                sizes: Mapping[str, int] | None = None, seed: int | None = None) -> Trial: ...
    def roofline(self) -> str: ...
    def explain(self) -> str: ...
    def check(self, *, device: str | int | None = None, seed: int | None = None,
              budget: float | None = None, counters: bool = False,
              sizes: Mapping[str, int] | None = None) -> Check: ...
    def load(self, device: int = 0) -> None: ...
    def __call__(self, *args: _Array | float, out: Any = None, stream: Any = None,
                 workspace: _Array | None = None, device: str | int | None = None,
                 **named: _Array | float) -> Any: ...
    def torch_op(self, name: str) -> Any: ...
    def bind(self, *args: _Array | float, out: Any = None, stream: Any = None,
             workspace: _Array | None = None) -> Bound: ...
    def _repr_html_(self) -> str: ...

class Compiler:
    def __init__(self, *, cache: bool = True, cache_dir: _Path | None = None,
                 cache_key_file: _Path | None = None,
                 profile_path: str | Iterable[_Path] | None = None, nvrtc: _Path | None = None,
                 threads: int = 0, line_info: bool = False) -> None: ...
    def compile(self, te: str | bytes | os.PathLike[str], *, op: str | None = None,
                sizes: _Sizes | None = None, profile: _Path | None = None,
                arch: str | None = None, plan: str | None = None, align: int | None = None,
                workspace_limit: int | None = None, check: bool = False,
                fast_compile: bool = False, static_smem: bool = False, plain_abi: bool = False,
                programs: int | None = None, file: str | None = None) -> Kernel: ...
    def compile_many(self, programs: Iterable[str | bytes | os.PathLike[str] | dict[str, Any]], *,
                     executor: Any = None,
                     progress: Callable[[int, int], object] | None = None,
                     **options: Any) -> list[Kernel]: ...
    def plan(self, te: str | bytes | os.PathLike[str], **options: Any) -> Plan: ...
    def plans(self, te: str | bytes | os.PathLike[str], *, top: int = 8, op: str | None = None,
             sizes: _Sizes | None = None, profile: _Path | None = None,
             align: int | None = None, workspace_limit: int | None = None,
             plain_abi: bool = False, file: str | None = None) -> list[Plan]: ...
    def fastest(self, te: str | bytes | os.PathLike[str], *, top: int = 10,
                trials: int | None = None, time_limit: float | None = None,
                device: str | int | None = None, at: Mapping[str, int] | None = None,
                seed: int | None = None, op: str | None = None, sizes: _Sizes | None = None,
                profile: _Path | None = None, align: int | None = None,
                workspace_limit: int | None = None, plain_abi: bool = False,
                file: str | None = None) -> Kernel: ...
    def measure_many(self, programs: Iterable[str | bytes | os.PathLike[str] | dict[str, Any]], *,
                     devices: Iterable[str | int] = ("0",), executor: Any = None,
                     trials: int | None = None, time_limit: float | None = None,
                     seed: int | None = None, **options: Any) -> list[Kernel]: ...
    def einsum_te(self, spec: str, types: Sequence[str] | None = None) -> str: ...
    def einsum_kernel(self, spec: str, sizes: _Sizes, *, types: Sequence[str] | None = None,
                      **options: Any) -> Kernel: ...
    def einsum(self, spec: str, *arrays: Any, out: Any = None, profile: _Path | None = None,
               stream: Any = None, workspace: _Array | None = None) -> Any: ...
    def evaluate(self, te: str | bytes | os.PathLike[str], *inputs: Any, out: Any = None,
                 op: str | None = None, sizes: _Sizes | None = None) -> Any: ...
    def judge(self, te: str | bytes | os.PathLike[str], inputs: Sequence[Any],
              outputs: Sequence[Any], *, op: str | None = None,
              sizes: _Sizes | None = None) -> Judgement: ...
    def gradient_te(self, te: str | bytes | os.PathLike[str], wrt: Sequence[str] | None = None, *,
                    op: str | None = None, sizes: _Sizes | None = None) -> str: ...
    def batch_te(self, te: str | bytes | os.PathLike[str], batched: Sequence[bool] | None = None,
                 extent: int = -1, *, op: str | None = None, sizes: _Sizes | None = None) -> str: ...
    def read(self, json: str, cubin: bytes, ptx: str, *, arch: str | None = None) -> Kernel: ...
    def profiles(self) -> list[str]: ...
    def archs(self) -> list[str]: ...

def compile(te: str | bytes | os.PathLike[str], *, op: str | None = None,
            sizes: _Sizes | None = None, profile: _Path | None = None, arch: str | None = None,
            plan: str | None = None, align: int | None = None,
            workspace_limit: int | None = None, check: bool = False, fast_compile: bool = False,
            static_smem: bool = False, plain_abi: bool = False, programs: int | None = None,
            file: str | None = None) -> Kernel: ...
def compile_many(programs: Iterable[str | bytes | os.PathLike[str] | dict[str, Any]], *,
                 executor: Any = None,
                 progress: Callable[[int, int], object] | None = None,
                 **options: Any) -> list[Kernel]: ...
def bench(kernel: Kernel, *args: Any, beside: Mapping[str, Any] | None = None,
          device: str | int | None = None, seed: int | None = None) -> Bench: ...
def fastest(te: str | bytes | os.PathLike[str], *, top: int = 10, trials: int | None = None,
            time_limit: float | None = None, device: str | int | None = None,
            at: Mapping[str, int] | None = None, seed: int | None = None, op: str | None = None,
            sizes: _Sizes | None = None, profile: _Path | None = None, align: int | None = None,
            workspace_limit: int | None = None, plain_abi: bool = False,
            file: str | None = None) -> Kernel: ...
def measure_many(programs: Iterable[str | bytes | os.PathLike[str] | dict[str, Any]], *,
                 devices: Iterable[str | int] = ("0",), executor: Any = None,
                 trials: int | None = None, time_limit: float | None = None,
                 seed: int | None = None, **options: Any) -> list[Kernel]: ...
def plan(te: str | bytes | os.PathLike[str], **options: Any) -> Plan: ...
def plans(te: str | bytes | os.PathLike[str], *, top: int = 8, op: str | None = None,
         sizes: _Sizes | None = None, profile: _Path | None = None, align: int | None = None,
         workspace_limit: int | None = None, plain_abi: bool = False,
         file: str | None = None) -> list[Plan]: ...
def einsum_te(spec: str, types: Sequence[str] | None = None) -> str: ...
def einsum_kernel(spec: str, sizes: _Sizes, *, types: Sequence[str] | None = None,
                  **options: Any) -> Kernel: ...
def einsum(spec: str, *arrays: Any, out: Any = None, profile: _Path | None = None,
           stream: Any = None, workspace: _Array | None = None) -> Any: ...
def evaluate(te: str | bytes | os.PathLike[str], *inputs: Any, out: Any = None,
             op: str | None = None, sizes: _Sizes | None = None) -> Any: ...
def judge(te: str | bytes | os.PathLike[str], inputs: Sequence[Any], outputs: Sequence[Any], *,
          op: str | None = None, sizes: _Sizes | None = None) -> Judgement: ...
def gradient_te(te: str | bytes | os.PathLike[str], wrt: Sequence[str] | None = None, *,
            op: str | None = None, sizes: _Sizes | None = None) -> str: ...
def batch_te(te: str | bytes | os.PathLike[str], batched: Sequence[bool] | None = None,
         extent: int = -1, *, op: str | None = None, sizes: _Sizes | None = None) -> str: ...
def read(json: str, cubin: bytes, ptx: str, *, arch: str | None = None) -> Kernel: ...
def profiles() -> list[str]: ...
def archs() -> list[str]: ...
def tvm_ffi_library() -> str: ...

__all__ = [
    "Argument", "ArgumentError", "Bench", "Bound", "CancelledError", "Check", "CheckError", "Compiler",
    "DeviceError", "Error", "Estimate", "ExpressionError", "FileError", "Group", "InternalError",
    "Judgement", "Kernel", "Launch", "NvrtcError", "OutOfMemoryError", "Plan", "PlanError",
    "ProfileError", "Trial", "UsageError", "archs", "batch_te", "bench", "compile", "compile_many",
    "einsum", "einsum_kernel", "einsum_te", "evaluate", "fastest", "gradient_te", "judge",
    "measure_many", "plan", "plans", "profiles", "read", "tvm_ffi_library",
]
