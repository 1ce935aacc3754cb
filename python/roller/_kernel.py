"""Kernels: what they are, what they are made of, and calls of them."""
import ctypes
import json
import os
import threading
from collections import Counter, namedtuple
from ctypes import byref, c_int64, c_size_t, c_void_p

from . import _abi
from ._abi import RollerTensor
from ._again import Again
from ._errors import ArgumentError, UsageError, text
from ._html import sheet
from ._library import Handle, lib, read_text, strings, struct, thread_error
from ._measure import race
from ._tensors import (CPU, current_stream, describe, describe_scalar, device_of, empty_like,
                       stream_address, workspace_of)

Argument = namedtuple("Argument", "name role dtype shape strides align")
Estimate = namedtuple("Estimate", "us limiter terms floor_us workspace_bytes flops bytes takes")
Launch = namedtuple("Launch", "symbol grid block cluster dynamic_smem static_smem registers "
                              "spill_bytes tensor_maps waits_for_previous resident image")
Taken = namedtuple("Taken", "sizes launches error")
Check = namedtuple("Check", "ok text compared outputs undecided size_sets data_sets where counters")
_ARTEFACTS = {"h": _abi.ROLLER_C_HEADER, "c": _abi.ROLLER_C_SOURCE, "py": _abi.ROLLER_PYTHON,
              "cu": _abi.ROLLER_CU, "cl": _abi.ROLLER_CL, "ptx": _abi.ROLLER_PTX,
              "cubin": _abi.ROLLER_CUBIN, "json": _abi.ROLLER_JSON,
              "tvmffi": _abi.ROLLER_TVM_FFI,
              "plan": _abi.ROLLER_PLAN_USED, "log": _abi.ROLLER_LOG}
_LAUNCHERS = ("h", "c", "py", "tvmffi")


def defines(sizes):
    """{"M": 64, "N": "1..64%8"} as the tools take it."""
    if sizes is not None and not hasattr(sizes, "items"):
        raise TypeError(f"sizes is {sizes!r}, not a dict such as {{'M': 64, 'N': '1..64'}}")
    return strings([f"{name}={value}" for name, value in (sizes or {}).items()])


def _sizes(kernel):
    return json.loads(read_text(lib.roller_kernel_get, kernel, _abi.ROLLER_JSON))["sizes"]


def estimate_of(e):
    terms = {text(e.term[i]): e.term_us[i] for i in range(e.n_terms)}
    return Estimate(e.us, text(e.limiter), terms, e.floor_us, e.workspace_bytes, e.flops, e.bytes,
                    text(e.takes))


# ---- as a person reads it ----
def _time(us):
    return f"{us:.1f} us" if us < 1e3 else f"{us / 1e3:.3f} ms"


def _size(s):
    if not isinstance(s, dict):
        return str(s)
    return f"{s['min']}..{s['max']}" + (f" % {s['multiple']}" if s["multiple"] > 1 else "")


def _launch(l):
    spilled = f", {l.spill_bytes} spilled" if l.spill_bytes else ""
    maps = f", {l.tensor_maps} tensor map{'s' * (l.tensor_maps > 1)}" if l.tensor_maps else ""
    return (f"{l.symbol} grid {'x'.join(map(str, l.grid))} block {'x'.join(map(str, l.block))}, "
            f"{l.registers} registers, {l.static_smem + l.dynamic_smem} bytes shared{spilled}{maps}")


class _Signature:
    """What a call needs of the description."""

    def __init__(self, description):
        args = [Argument(a["name"], a["role"], a["dtype"], tuple(a["shape"]), tuple(a["strides"]),
                         a["align"])
                for a in description["args"]]
        self.args = args
        self.ins = [a for a in args if a.role != "output"]
        self.outs = [a for a in args if a.role == "output"]
        self.how = [(a.role == "scalar", a.dtype) for a in self.ins]

    def order(self, args, named):
        """All inputs in their order."""
        names = [a.name for a in self.ins]
        given = dict(zip(names, args))
        for name in named:
            if name not in names or name in given:
                raise ArgumentError(f"'{name}' is given twice" if name in given else
                                    f"there is no input '{name}'", status="ARGS",
                                    hint=f"the inputs are {', '.join(names)}")
        given.update(named)
        missing = [name for name in names if name not in given]
        if missing or len(args) > len(names):
            raise ArgumentError(f"the inputs are {', '.join(names)}; "
                                f"not given: {', '.join(missing) or 'none'}", status="ARGS")
        return tuple(given[name] for name in names)


def _bytes(function, *args):
    size = c_size_t()
    status = function(*args, byref(size))
    if status:
        raise thread_error(status)
    return size.value


class _Call:
    """The arguments of one call as the library takes them."""

    __slots__ = ("kernel", "ins", "outs", "kept", "first", "out", "device_type", "device")

    def __init__(self, kernel, args, out):
        s, self.kernel = kernel._signature, kernel
        if len(args) != len(s.ins):
            names = ", ".join(a.name for a in s.ins)
            raise ArgumentError(f"{kernel.name} takes {len(s.ins)} inputs ({names}), not "
                                f"{len(args)}", status="ARGS",
                                hint="outputs are given with out=")
        tensors, self.first = [], None
        self.kept = kept = [args]
        for (scalar, dtype), x in zip(s.how, args):
            if scalar:
                tensor, keep = describe_scalar(x, dtype)
            else:
                tensor, keep = describe(x, dtype, False)
                if self.first is None:
                    self.first = x
            tensors.append(tensor)
            kept.append(keep)
        self.ins = b"".join(tensors)
        self.out = self._make(s) if out is None else self._given(s, out)
        tensors = []
        for a, x in zip(s.outs, self.out):
            tensor, keep = describe(x, a.dtype, True)
            tensors.append(tensor)
            kept.append(keep)
        self.outs = b"".join(tensors)
        self.device_type, self.device = device_of(self.outs)

    def _given(self, s, out):
        out = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        if len(out) != len(s.outs):
            raise ArgumentError(f"there are {len(s.outs)} outputs, and {len(out)} were given",
                                status="ARGS")
        if self.first is None:
            self.first = out[0]
        return out

    def _make(self, s):
        if self.first is None:
            raise ArgumentError("there is no input that tells what kind of array to make",
                                status="ARGS", hint="give the outputs with out=")
        n = len(s.outs)
        outs, rooms = (RollerTensor * n)(), [(ctypes.c_int64 * 8)() for _ in s.outs]
        for tensor, room in zip(outs, rooms):
            tensor.shape = ctypes.addressof(room)
        status = lib.roller_infer(self.kernel._handle.at, self.ins, len(s.ins), outs, n)
        if status:
            raise thread_error(status)
        return tuple(empty_like(self.first, tuple(room[:tensor.ndim]), a.dtype)
                     for tensor, room, a in zip(outs, rooms, s.outs))

    def simulate(self, device):
        k, s = self.kernel, self.kernel._signature
        options = struct(_abi.RollerRunOptions,
                         device=None if device is None else str(device).encode())
        k._contexts.get().call(lib.roller_run, k._handle.at, self.ins, len(s.ins), self.outs,
                               len(s.outs), byref(options), None)

    def prepare(self, stream, workspace, bound=False):
        """What roller_launch takes, the stream last; and what must live until it is done."""
        k, s = self.kernel, self.kernel._signature
        loaded = (k._loads.get(self.device) or k._loaded(self.device)).at
        arrays = self.ins, len(s.ins), self.outs, len(s.outs)
        at, size, kept = None, 0, None
        if k._again.calls:
            k._again.met((k._handle.at, *arrays), bound)
        if workspace is not None:
            at, size, kept = workspace_of(workspace)
        elif k._workspace_bytes:
            at, size, kept = self._workspace(loaded, arrays, stream, bound)
        return (loaded, *arrays, at, size,
                current_stream(self.first) if stream is None else stream_address(stream)), kept

    def _workspace(self, loaded, arrays, stream, bound):
        """As large as the kernel for these sizes wants it, or one that is made for what is bound.
        Where it cannot be made it is left out, if the kernel for all sizes does without."""
        k = self.kernel
        wanted = (k._workspace_bytes if bound and k._again.calls else
                  _bytes(lib.roller_workspace, loaded, *arrays))
        if not wanted:
            return None, 0, None
        if stream is None:
            try:
                return workspace_of(empty_like(self.first, (wanted,), "u8"))
            except TypeError as error:
                refused = error
        need = _bytes(lib.roller_bind_workspace, k._handle.at, *arrays)
        if not need:
            return None, 0, None
        if stream is None:
            raise refused
        raise ArgumentError(f"{need} bytes of workspace are needed, and only the arrays' library "
                            "knows when its own stream is done with them", status="WORKSPACE",
                            hint="with stream= give workspace=, an array of as many bytes")

    def result(self):
        return self.out[0] if len(self.out) == 1 else self.out


class Bound:
    """A kernel with its arguments: calling it does nothing but launch.  See Kernel.bind."""

    __slots__ = ("_call", "_args", "_kept", "_result")

    def __init__(self, call, stream, workspace):
        self._call, self._result = call, call.result()
        on_host = call.device_type == CPU
        self._args, self._kept = (None, None) if on_host else call.prepare(stream, workspace, True)

    def __call__(self, stream=None):
        """Launches, in another stream than the bound one if that is given; gives the outputs."""
        if self._args is None:
            self._call.simulate(None)
            return self._result
        args = self._args if stream is None else (*self._args[:-1], stream_address(stream))
        status = lib.roller_launch(*args)
        if status:
            raise thread_error(status)
        return self._result


class Kernel:
    """A compiled kernel; made by compile, einsum_kernel and read.

    Call it with its inputs and scalars as declared: k(a, b, out=c).  See help(Kernel.__call__).
    """

    def __init__(self, contexts, handle, op=None, profile=None, options=None):
        self._contexts, self._handle = contexts, handle
        self._op, self._profile, self._options = op, profile, options
        self._lock, self._loads, self._found = threading.Lock(), {}, {}
        self.trials = ()                # what `fastest` timed
        self._special, self._not_made, self._again = {}, {}, Again(self)
        self._workspace_bytes = lib.roller_kernel_workspace(handle.at)

    def __reduce__(self):
        """As its files: what takes it apart needs neither NVRTC nor the expression's text."""
        return _unpickle, (self.json, self.cubin, self.ptx), {"trials": self.trials}

    # ---- what it is ----
    def _once(self, key, make):
        """Made when it is first asked for; made twice by two threads, it is the same."""
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = make()
        return found

    @property
    def _description(self):
        return self._once("description", lambda: json.loads(self.json))

    @property
    def _signature(self):
        found = self._found.get("signature")
        return found or self._once("signature", lambda: _Signature(self._description))

    @property
    def _target(self):
        return self._description["targets"][0]

    name = property(lambda self: self._description["op"], doc="The op's name.")
    te = property(lambda self: self._description["te"], doc="The expression, in canonical form.")
    args = property(lambda self: tuple(self._signature.args),
                    doc="Inputs and scalars as declared, then outputs.")
    sizes = property(lambda self: self._description["sizes"],
                     doc="Value of every size; of one known at run time min, max and multiple.")
    arch = property(lambda self: self._target["arch"], doc="What it was compiled for.")
    profile = property(lambda self: self._target["profile"]["name"],
                       doc="The device profile it was planned for.")

    workspace_bytes = property(lambda self: self._workspace_bytes,
                               doc="Bytes that are enough for a launch of any size.")

    @property
    def launches(self):
        """The kernels of the program, in order; grids of the largest sizes."""
        out = []
        for i in range(lib.roller_kernel_launches(self._handle.at)):
            l = struct(_abi.RollerLaunchInfo)
            lib.roller_kernel_launch_info(self._handle.at, i, byref(l))
            out.append(Launch(text(l.symbol), tuple(l.grid), tuple(l.block), tuple(l.cluster),
                              l.dynamic_smem, l.static_smem, l.registers, l.spill_bytes,
                              l.tensor_maps, bool(l.waits_for_previous),
                              bool(l.resident), l.image))
        return tuple(out)

    # ---- what it is made of ----
    def _text(self, kind):
        b = read_text(lib.roller_kernel_get, self._handle.at, _ARTEFACTS[kind])
        return None if b is None else b.decode()

    cu = property(lambda self: self._text("cu"), doc="CUDA C++, without any #include.")
    cl = property(lambda self: self._text("cl"),
                  doc="OpenCL C, where the profile's language is that; then there is no other code.")
    ptx = property(lambda self: self._text("ptx"), doc="PTX, as NVRTC made it.")
    json = property(lambda self: self._text("json"),
                    doc="Everything that a launch without roller needs.")
    plan = property(lambda self: self._text("plan"), doc="The plan's text; compile takes it again.")
    log = property(lambda self: self._text("log"), doc="What NVRTC and ptxas said.")

    @property
    def cubin(self):
        """Machine code, as bytes."""
        return read_text(lib.roller_kernel_get, self._handle.at, _abi.ROLLER_CUBIN)

    def artefact(self, kind):
        """A file that roller-gen --emit would write, as str (a cubin as bytes).

        `kind` is one of cu cl ptx cubin json h c py tvmffi (in C) plan log.
        """
        if kind not in _ARTEFACTS:
            raise ValueError(f"{kind!r} is none of {' '.join(_ARTEFACTS)}")
        if kind == "cubin":
            return self.cubin
        if kind not in _LAUNCHERS:
            return self._text(kind)
        context = self._contexts.get()
        kernels = (c_void_p * 1)(self._handle.at)
        data, size = c_void_p(), c_size_t()
        context.call(lib.roller_artefact, kernels, 1, _ARTEFACTS[kind], byref(data), byref(size))
        return ctypes.string_at(data.value, size.value).decode()

    def save(self, folder, stem=None):
        """Writes STEM.cu, STEM.ARCH.ptx, STEM.ARCH.cubin and STEM.json, as roller-gen would.

        Of a kernel in OpenCL C these are STEM.cl and STEM.json.
        """
        os.makedirs(folder, exist_ok=True)
        stem = os.path.join(os.fspath(folder), stem or self.name)
        for end, data in (("cu", self.cu), ("cl", self.cl), (f"{self.arch}.ptx", self.ptx),
                          (f"{self.arch}.cubin", self.cubin), ("json", self.json)):
            if data is None:
                continue
            temporary = f"{stem}.{end}.tmp{os.getpid()}"
            with open(temporary, "wb") as f:
                f.write(data if isinstance(data, bytes) else data.encode())
            os.replace(temporary, f"{stem}.{end}")

    # ---- what is predicted, why, and is it right ----
    def _plan_text(self, what):
        plan = lib.roller_kernel_plan(self._handle.at)
        return (read_text(lib.roller_plan_text, plan, what) or b"").decode()

    @property
    def predicted(self):
        """The model's estimate at the largest sizes; times in microseconds."""
        e = struct(_abi.RollerEstimate)
        lib.roller_plan_estimate(lib.roller_kernel_plan(self._handle.at), byref(e))
        return estimate_of(e)

    def predicted_at(self, **sizes):
        """The same at values of run-time sizes, k.predicted_at(M=64); `takes` says which kernels of
        the plan a launch takes, as `explain` numbers them."""
        e, (at, n) = struct(_abi.RollerEstimate), defines(sizes)
        self._contexts.get().call(lib.roller_plan_estimate_at,
                                  lib.roller_kernel_plan(self._handle.at), at, n, byref(e))
        return estimate_of(e)

    def _sources(self, context):
        """Op and profile; one that was read from files finds them again."""
        if self._profile is None:
            self._profile = context.make(lib.roller_profile_load, lib.roller_profile_destroy,
                                         self.profile.encode())
        if self._op is None:
            te = self.te.encode()
            self._op = context.make(lib.roller_parse, lib.roller_op_destroy, te, len(te),
                                    b"<kernel>", None)
        return self._op, self._profile

    def roofline(self):
        """The device's roofline as SVG, with the kernel where it is predicted to be."""
        context = self._contexts.get()
        kernels = (c_void_p * 1)(self._handle.at)
        svg, size = c_void_p(), c_size_t()
        context.call(lib.roller_roofline, self._sources(context)[1].at, kernels, 1, byref(svg),
                     byref(size))
        return ctypes.string_at(svg.value, size.value).decode()

    def explain(self):
        """Why this plan: rules, terms, what limits it, runners-up, what was rejected."""
        context = self._contexts.get()
        op, profile = self._sources(context)
        options = self._options or struct(_abi.RollerPlanOptions)
        plans = context.make(lib.roller_plan, lib.roller_plans_destroy, op.at, profile.at,
                             byref(options))
        return (read_text(lib.roller_plans_explain, plans.at) or b"").decode()

    def plans(self, top=8):
        """The best plans for its expression and profile, as roller.plans gives them: other ways to
        compute the same, of which compile(plan=) takes the text.  Nothing is compiled."""
        from ._plan import plans_of
        op, profile = self._sources(self._contexts.get())
        return plans_of(self._contexts, op, profile, self._with(top=top))

    def _with(self, **fields):
        """The options that it was planned with, and these."""
        options = struct(_abi.RollerPlanOptions)
        if self._options is not None:
            ctypes.memmove(byref(options), byref(self._options), ctypes.sizeof(options))
        for name, value in fields.items():
            setattr(options, name, value)
        return options

    def measure(self, *, device=None, sizes=None, seed=None):
        """Its time on a device (a number or UUID; the first), taken in a process of its own with
        data of its own (docs/measuring.md); sizes: values of run-time sizes (the largest).  It is
        proved there before; CheckError if it is wrong."""
        context = self._contexts.get()
        op, profile = self._sources(context)
        plan, options = self.plan.encode(), self._with()
        plans = context.make(lib.roller_plan_read, lib.roller_plans_destroy, op.at, profile.at,
                             plan, len(plan), b"<plan>", byref(options))
        return race(context, [(plans, sizes)], defines, device=device, seed=seed)[0][1][0]

    def check(self, *, device=None, seed=None, budget=None, counters=False, sizes=None):
        """Runs it on integer, real, extreme and sparse data and compares with a plain evaluation of the
        expression: in the simulator, which also finds races and reads out of bounds, or on
        `device` ("0", a UUID, "auto").  CheckError if it is wrong, with the report as `report`.
        """
        report = struct(_abi.RollerCheckReport)
        at, n = defines(sizes)
        options = struct(_abi.RollerCheckOptions, seed=seed or 0, budget_s=budget or 0,
                         counters=bool(counters), n_at=n, at=ctypes.cast(at, c_void_p),
                         device=None if device is None else str(device).encode())
        context = self._contexts.get()
        status = lib.roller_check(context.at, self._handle.at, byref(options), byref(report))
        done = Check(bool(report.ok), text(report.text), report.compared, report.outputs,
                     report.undecided, report.size_sets, report.data_sets, text(report.where),
                     text(report.counters) or None)
        if status:
            error = context.error(status)
            error.report = done
            raise error
        return done

    # ---- the sizes at hand ----
    @property
    def _op_at(self):
        return lib.roller_kernel_op(self._handle.at)

    def specialize(self, **sizes):
        """Plans and compiles it for some values of run-time sizes, k.specialize(M=64), or takes that
        from the cache; gives the new kernel.  Launches of this one on a device take it at these
        sizes from then on, those of other threads too, and at all others what they took.  Sizes that
        are not named stay open.  The order in which terms are added may be another.  There is room
        for 64 of them.
        """
        op, s = self._op_at, struct(_abi.RollerSize)
        for name, value in sizes.items():
            if not 0 <= value < 2 ** 63:
                raise ArgumentError(f"{name} = {value} is no size", status="SIZE")
        values = (c_int64 * lib.roller_op_sizes(op))()
        for i in range(len(values)):
            lib.roller_op_size(op, i, byref(s))
            values[i] = sizes.pop(text(s.name), -1) if s.runtime else s.value
        for name in sizes:
            raise ArgumentError(f"there is no run-time size '{name}'", status="SIZE")
        made = self._special.get(tuple(values))
        if made is None:
            self._need_place()
            made = self._contexts.get().make(lib.roller_specialize, lib.roller_kernel_destroy,
                                             self._handle.at, values, None)
            self._again.asked.add(tuple(values))
            self._add(tuple(values), made)
        return Kernel(self._contexts, made, None, self._profile,
                      self._with(workspace_limit=self._workspace_bytes or 1))

    def specialize_after(self, calls, most=8):
        """Has sizes that come again specialized: once `calls` calls on a device had the same ones a
        kernel for them is compiled in a thread of its own, for at most `most` sizes, and calls
        take it when it is there.  What is bound counts as called so often; where most calls have
        a kernel of their own, not all are counted.  0: no more.  When a kernel is there is
        chance, and with it the last bits of results; `taken` says which are.
        """
        self._again.calls, self._again.most = calls if self._runtime else 0, most

    @property
    def taken(self):
        """What launches on devices took: this kernel, then those for the sizes at hand, each with
        its sizes and its number of launches; those that could not be made have an `error`.
        """
        special, counts, p = list(self._special.values()), Counter(), struct(_abi.RollerExecProgram)
        for loaded in list(self._loads.values()):
            i = 0
            while lib.roller_exec_program(loaded.at, i, byref(p)) == 0:
                counts[p.kernel] += p.launches
                i += 1
        made = [(self.sizes, self._handle.at)] + [(_sizes(k.at), k.at) for k in special]
        failed = [Taken(dict(zip(self.sizes, values)), 0, error)
                  for values, error in list(self._not_made.items())]
        return (*(Taken(sizes, counts[at], None) for sizes, at in made), *failed)

    @property
    def _runtime(self):
        return any(isinstance(s, dict) for s in self.sizes.values())

    def _need_place(self):
        if len(self._special) >= _abi.ROLLER_MOST_ADDED:
            raise UsageError("there is no room for another kernel", status="USAGE")

    def _add(self, values, made):
        with self._lock:
            if values in self._special:
                return
            self._need_place()
            for loaded in self._loads.values():
                self._add_to(loaded, made)
            self._special[values] = made
            self._not_made.pop(values, None)

    @staticmethod
    def _add_to(loaded, made):
        status = lib.roller_exec_add(loaded.at, made.at)
        if status:
            raise thread_error(status)

    # ---- calls ----
    def load(self, device=0):
        """Loads it on a device before its first call there would; opens the driver."""
        self._loaded(device)

    def _loaded(self, device):
        found = self._loads.get(device)
        if found is None:
            with self._lock:
                found = self._loads.get(device)
                if found is None:
                    out = c_void_p()
                    status = lib.roller_load(self._handle.at, device, byref(out))
                    if status:
                        raise thread_error(status)
                    found = Handle(out.value, lib.roller_exec_destroy)
                    for made in self._special.values():
                        self._add_to(found, made)
                    self._loads[device] = found
        return found

    def __call__(self, *args, out=None, stream=None, workspace=None, device=None, **named):
        """Runs it: inputs and scalars as declared, outputs in `out`; gives the outputs.

        Those behind the first may be given by their names: k(a, B=b).

        Arrays in host memory (NumPy, or any with DLPack) run in the simulator, or, with `device`
        ("0", a UUID, "auto"), are copied to that device and back.  Arrays on a CUDA device are
        launched there: asynchronously, in `stream` (an address, or an object that has one), else
        the current stream of PyTorch and CuPy, else the legacy one.  Outputs that are not given
        are made where the library of the first array is NumPy, PyTorch, CuPy or JAX, and so is the
        workspace, but for JAX; `workspace` lends one.
        """
        call = _Call(self, self._signature.order(args, named) if named else args, out)
        if call.device_type == CPU:
            call.simulate(device)
            return call.result()
        if device is not None:
            raise ArgumentError("device= is for arrays in host memory", status="ARGS")
        prepared, _kept = call.prepare(stream, workspace)
        status = lib.roller_launch(*prepared)
        if status:
            raise thread_error(status)
        return call.result()

    def bind(self, *args, out=None, stream=None, workspace=None):
        """The kernel with these arguments, to be launched many times: b = k.bind(a, c, out=d); b().

        The arrays are kept; their memory must stay where it is.
        """
        return Bound(_Call(self, args, out), stream, workspace)

    def torch_op(self, name):
        """The kernel as an operator of PyTorch: kernel.torch_op("mine::softmax"); with derivative,
        batches and run-time sizes (docs/torch-op.md)."""
        from .torch.op import torch_op
        return torch_op(name, self.te, self.profile, self)

    # ---- how it looks ----
    def _heading(self):
        declared = {"input": "{}: {}[{}]", "scalar": "{}: {}", "output": "{}: {}[{}]"}
        text_of = [declared[a.role].format(a.name, a.dtype, ",".join(map(str, a.shape)))
                   for a in self.args]
        n = len(self._signature.ins)
        outs = ", ".join(text_of[n:])
        return (f"{self.name}({', '.join(text_of[:n])}) -> "
                f"{outs if len(text_of) == n + 1 else f'({outs})'}")

    def _facts(self):
        """(label, text) of each line of the sheet."""
        p = self._profile
        origin = "" if p is None else f", {text(lib.roller_profile_origin(p.at))} profile"
        yield "for", f"{self.profile} ({self.arch}{origin})"
        yield "plan", self._plan_text(_abi.ROLLER_PLAN_SUMMARY)
        e = self.predicted
        terms = ", ".join(f"{k} {_time(us)}" for k, us in e.terms.items() if us >= 0.05)
        varies, at = self._runtime, " at the largest sizes" if self._runtime else ""
        yield "predicted", (f"{_time(e.us)}{at}, limited by {e.limiter} ({terms})\n"
                            f"no kernel takes less than {_time(e.floor_us)}")
        if varies:
            yield "sizes", ", ".join(f"{name} = {_size(s)}" for name, s in self.sizes.items())
        if self.workspace_bytes:
            yield "workspace", f"{self.workspace_bytes} bytes"
        yield "kernels", "\n".join(map(_launch, self.launches))

    def __repr__(self):
        lines = [self._heading()]
        for label, said in self._facts():
            for line in said.splitlines():
                lines.append(f"  {label:10} {line}")
                label = ""
        return "\n".join(lines)

    def _repr_html_(self):
        return sheet(self)


def _unpickle(json, cubin, ptx):
    from . import read
    return read(json, cubin, ptx)
