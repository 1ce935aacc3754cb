"""libroller through ctypes: from an expression to launches on tensors that somebody else owns.

The structures are those of roller.h; a tensor is DLPack's DLTensor field for field, so a framework's
tensor needs no more than its address and shape."""
import ctypes
from ctypes import (POINTER, Structure, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t,
                    c_uint8, c_uint16, c_uint64, c_void_p)

MAX_RANK, MAX_TERMS = 8, 16
CPU, CUDA = 1, 2
INPUT, SCALAR, OUTPUT = 0, 1, 2
CUBIN, PLAN, PLAN_SUMMARY = 2, 0, 1
# name: bytes, DLPack code, letter of the array module (None: raw bits)
DTYPES = {"f64": (8, 2, "d"), "f32": (4, 2, "f"), "f16": (2, 2, None), "bf16": (2, 4, None),
          "f8e4m3": (1, 10, None), "f8e5m2": (1, 12, None), "i64": (8, 0, "q"), "i32": (4, 0, "i"),
          "i16": (2, 0, "h"), "i8": (1, 0, "b"), "u8": (1, 1, "B"), "bool": (1, 6, "B")}


class Sized(Structure):
    """Begins with its own size, as roller.h wants it."""

    def __init__(self, **fields):
        super().__init__(struct_size=ctypes.sizeof(type(self)), **fields)


class CtxOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("profile_path", c_char_p), ("nvrtc", c_char_p),
                ("threads", c_int), ("ignore_environment", c_int), ("line_info", c_int),
                ("program", c_char_p), ("color", c_int), ("alloc", c_void_p), ("free", c_void_p),
                ("alloc_user", c_void_p)]


class ParseOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("op", c_char_p), ("defines", POINTER(c_char_p)),
                ("n_defines", c_int)]


class Arg(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("dtype", c_char_p),
                ("role", c_int), ("rank", c_int), ("shape", c_int64 * MAX_RANK),
                ("strides", c_int64 * MAX_RANK)]


class PlanOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("top", c_int), ("align", c_int),
                ("workspace_limit", c_int64), ("arch", c_char_p), ("check", c_int)]


class Estimate(Sized):
    _fields_ = [("struct_size", c_size_t), ("us", c_double), ("limiter", c_char_p),
                ("skeleton", c_char_p), ("n_terms", c_int), ("term", c_char_p * MAX_TERMS),
                ("term_us", c_double * MAX_TERMS), ("workspace_bytes", c_int64),
                ("floor_us", c_double), ("floor_dram_us", c_double), ("floor_compute_us", c_double),
                ("floor_launch_us", c_double)]


class LaunchInfo(Sized):
    _fields_ = [("struct_size", c_size_t), ("symbol", c_char_p), ("grid", c_int64 * 3),
                ("block", c_int * 3), ("cluster", c_int * 3), ("dynamic_smem", c_int64),
                ("static_smem", c_int64), ("spill_bytes", c_int64), ("stack_bytes", c_int64),
                ("registers", c_int), ("compiled", c_int)]


class DlDevice(Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class DlType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device", DlDevice), ("ndim", c_int32), ("dtype", DlType),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class Error(Structure):
    _fields_ = [("struct_size", c_size_t), ("status", c_int), ("tag", c_char_p), ("file", c_char_p), ("line", c_int),
                ("column", c_int), ("message", c_char_p), ("hint", c_char_p),
                ("rendered", c_char_p)]


class RollerError(Exception):
    pass


FUNCTIONS = {
    "roller_ctx_create": [c_void_p, c_void_p],
    "roller_profile_load": [c_void_p, c_char_p, c_void_p],
    "roller_parse": [c_void_p, c_char_p, c_size_t, c_char_p, c_void_p, c_void_p],
    "roller_op_arg": [c_void_p, c_int, c_void_p],
    "roller_plan": [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p],
    "roller_plan_text": [c_void_p, c_int, c_void_p, c_void_p],
    "roller_plan_estimate": [c_void_p, c_void_p],
    "roller_build": [c_void_p, c_void_p, c_char_p, c_void_p],
    "roller_kernel_get": [c_void_p, c_int, c_void_p, c_void_p],
    "roller_kernel_launch_info": [c_void_p, c_int, c_void_p],
    "roller_fill": [c_void_p, c_int, c_uint64, c_void_p, c_size_t],
    "roller_load": [c_void_p, c_int, c_void_p],
    "roller_workspace": [c_void_p, c_void_p, c_int, c_void_p, c_int, c_void_p],
    "roller_launch": [c_void_p, c_void_p, c_int, c_void_p, c_int, c_void_p, c_size_t, c_void_p],
}
HANDLES = ("ctx", "profile", "op", "plans", "kernel", "exec")


class Argument:
    """One declared argument: name, dtype, role, shape, and its bytes in memory."""

    def __init__(self, raw):
        self.name, self.dtype = raw.name.decode(), raw.dtype.decode()
        self.role, self.shape = raw.role, list(raw.shape[:raw.rank])
        self.bytes = DTYPES[self.dtype][0]
        for extent in self.shape:
            self.bytes *= extent


class Library:
    """libroller with one context; handles are freed by `free`."""

    def __init__(self, path, profile_path=None, threads=0):
        self.lib = ctypes.CDLL(str(path))
        for name, types in FUNCTIONS.items():
            getattr(self.lib, name).argtypes = types
        for kind in HANDLES:
            getattr(self.lib, f"roller_{kind}_destroy").argtypes = [c_void_p]
            getattr(self.lib, f"roller_{kind}_destroy").restype = None
        self.lib.roller_error.argtypes, self.lib.roller_error.restype = [c_void_p], POINTER(Error)
        self.lib.roller_plans_count.argtypes = [c_void_p]
        self.lib.roller_plans_count.restype = c_size_t
        self.lib.roller_plans_get.argtypes = [c_void_p, c_size_t]
        self.lib.roller_plans_get.restype = c_void_p
        self.lib.roller_op_args.argtypes = [c_void_p]
        self.lib.roller_kernel_launches.argtypes = [c_void_p]
        self.options = CtxOptions(threads=threads, program=b"roller",
                                  profile_path=profile_path.encode() if profile_path else None)
        self.ctx = self.context()

    def context(self):
        """Another context: one serves one thread at a time."""
        ctx = c_void_p()
        self._must(None, self.lib.roller_ctx_create(byref(self.options), byref(ctx)))
        return ctx.value

    def free(self, kind, handle):
        getattr(self.lib, f"roller_{kind}_destroy")(handle)

    def _must(self, ctx, status):
        if not status:
            return
        found = self.lib.roller_error(ctx)
        text = found.contents.message if found and found.contents.message else b"failed"
        raise RollerError(f"{text.decode(errors='replace')} (status {status})")

    def _make(self, name, ctx, *arguments):
        out = c_void_p()
        self._must(ctx, getattr(self.lib, name)(ctx, *arguments, byref(out)))
        return out.value

    def profile(self, name):
        return self._make("roller_profile_load", self.ctx, name.encode())

    def parse(self, te, op=None):
        options = ParseOptions(op=op.encode() if op else None)
        text = te.encode()
        return self._make("roller_parse", self.ctx, text, len(text), b"row.te", byref(options))

    def arguments(self, op):
        found = []
        for i in range(self.lib.roller_op_args(op)):
            raw = Arg()
            self._must(None, self.lib.roller_op_arg(op, i, byref(raw)))
            found.append(Argument(raw))
        return found

    def fill(self, op, i, seed, size):
        """Small integers, as a check has them, in the argument's type."""
        data = ctypes.create_string_buffer(max(size, 1))
        self._must(None, self.lib.roller_fill(op, i, seed, data, size))
        return data.raw[:size]

    def plan(self, op, profile, top):
        options = PlanOptions(top=top)
        return self._make("roller_plan", self.ctx, op, profile, byref(options))

    def plans(self, plans):
        return [self.lib.roller_plans_get(plans, i)
                for i in range(self.lib.roller_plans_count(plans))]

    def plan_text(self, plan, what=PLAN):
        text, size = c_char_p(), c_size_t()
        self._must(None, self.lib.roller_plan_text(plan, what, byref(text), byref(size)))
        return text.value.decode()

    def estimate(self, plan):
        raw = Estimate()
        self._must(None, self.lib.roller_plan_estimate(plan, byref(raw)))
        return {"us": raw.us, "limiter": raw.limiter.decode(), "skeleton": raw.skeleton.decode(),
                "terms_us": {raw.term[i].decode(): raw.term_us[i] for i in range(raw.n_terms)},
                "floor_us": raw.floor_us, "workspace_bytes": raw.workspace_bytes}

    def build(self, ctx, plan):
        return self._make("roller_build", ctx, plan, None)

    def cubin(self, kernel):
        data, size = c_void_p(), c_size_t()
        self._must(None, self.lib.roller_kernel_get(kernel, CUBIN, byref(data), byref(size)))
        return ctypes.string_at(data, size.value)

    def launches(self, kernel):
        found = []
        for i in range(self.lib.roller_kernel_launches(kernel)):
            raw = LaunchInfo()
            self._must(None, self.lib.roller_kernel_launch_info(kernel, i, byref(raw)))
            found.append({"symbol": raw.symbol.decode(), "grid": list(raw.grid),
                          "block": list(raw.block), "registers": raw.registers,
                          "spill_bytes": raw.spill_bytes, "dynamic_smem": raw.dynamic_smem})
        return found

    def load(self, kernel, device):
        out = c_void_p()
        self._must(None, self.lib.roller_load(kernel, device, byref(out)))
        return out.value


class Launch:
    """An Exec with its tensors: calling it launches, and takes as little of the host as it can."""

    def __init__(self, library, exec_, arguments, address, device, alloc, scalars):
        self.library, self.exec = library, exec_
        self.keep = []
        inputs = [a for a in arguments if a.role != OUTPUT]
        outputs = [a for a in arguments if a.role == OUTPUT]
        self.n_in, self.n_out = len(inputs), len(outputs)
        self.tensor_in = (Tensor * max(self.n_in, 1))(
            *[self._tensor(a, address, device, scalars) for a in inputs])
        self.tensor_out = (Tensor * max(self.n_out, 1))(
            *[self._tensor(a, address, device, scalars) for a in outputs])
        need = c_size_t()
        library._must(None, library.lib.roller_workspace(
            exec_, self.tensor_in, self.n_in, self.tensor_out, self.n_out, byref(need)))
        self.bytes = need.value
        self.workspace = alloc(need.value) if need.value else None

    def _tensor(self, argument, address, device, scalars):
        size, code, _ = DTYPES[argument.dtype]
        t = Tensor(ndim=len(argument.shape))
        t.dtype = DlType(code, 8 * size, 1)
        shape = (c_int64 * max(len(argument.shape), 1))(*argument.shape)
        self.keep.append(shape)
        t.shape = ctypes.cast(shape, POINTER(c_int64))
        if argument.role == SCALAR:
            value = scalars(argument)
            self.keep.append(value)
            t.device = DlDevice(CPU, 0)
            t.data = ctypes.addressof(value)
        else:
            t.device = DlDevice(CUDA, device)
            t.data = address[argument.name]
        return t

    def __call__(self, stream):
        status = self.library.lib.roller_launch(
            self.exec, self.tensor_in, self.n_in, self.tensor_out, self.n_out, self.workspace,
            self.bytes, stream)
        if status:
            self.library._must(None, status)


def scalar(argument, value=1e-5):
    """A scalar argument in host memory: the epsilon of a norm, else 1."""
    kinds = {"f32": ctypes.c_float, "f64": c_double, "i32": c_int32, "i64": c_int64}
    kind = kinds[argument.dtype]
    return kind(value if argument.name == "eps" else 1)
