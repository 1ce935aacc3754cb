

class LaunchError(Exception):
    """A launch was refused; `status` is the name of a status of roller.h."""

    def __init__(self, status, message):
        super().__init__(status + ": " + message)
        self.status = status


# ---- the CUDA driver ----
_NO_BINARY_FOR_GPU = 209
_CC_MAJOR, _CC_MINOR = 75, 76
_MAX_DYNAMIC_SHARED = 8
_WORKSPACE_ALIGN = 256
_driver = None


def _cuda(name, *args):
    global _driver
    if _driver is None:
        try:
            _driver = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise LaunchError("driver", str(error)) from None
    return getattr(_driver, name)(*args)


def _must(name, *args):
    code = _cuda(name, *args)
    if code:
        raise LaunchError("cuda", f"{name} gave {code}")


def _current():
    context, device = ctypes.c_void_p(), ctypes.c_int()
    code = _cuda("cuCtxGetCurrent", ctypes.byref(context))
    if code or not context.value or _cuda("cuCtxGetDevice", ctypes.byref(device)):
        raise LaunchError("device", "no context is current")
    return context.value, device.value


# ---- arguments ----
_CPU, _CUDA, _MANAGED = 1, 2, 13
_CODES = {0: "i", 1: "u", 2: "f", 4: "bf", 6: "bool", 10: "f8e4m3", 12: "f8e5m2"}
_SCALARS = {"f32": ctypes.c_float, "f64": ctypes.c_double, "i32": ctypes.c_int32,
            "i64": ctypes.c_int64}
_INTERFACES = {"f64": ("<f8",), "f32": ("<f4",), "f16": ("<f2",), "bf16": ("<u2", "<V2", "|V2"),
               "i64": ("<i8",), "i32": ("<i4",), "i16": ("<i2",), "i8": ("|i1",), "u8": ("|u1",),
               "bool": ("|b1",), "f8e4m3": ("|u1", "|V1"), "f8e5m2": ("|u1", "|V1")}


class _Tensor:
    """Where an argument lies and how.  shape None: a bare address, of which nothing is known."""

    def __init__(self, address, shape=None, strides=None, device=None, owner=None):
        self.address, self.shape, self.strides = address, shape, strides
        self.device, self.owner = device, owner


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


def _dlpack(a, x):
    # stream -1: the exporter does not wait, the caller's stream orders the work.
    capsule = x.__dlpack__(stream=-1)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    t = _DLTensor.from_address(pointer(capsule, b"dltensor"))
    name = _CODES.get(t.code, "?")
    if name in ("i", "u", "f", "bf"):
        name += str(t.bits)
    if name != a["dtype"] or t.lanes > 1:
        raise LaunchError("dtype", f"argument '{a['name']}' is {name}, not {a['dtype']}")
    if t.device_type not in (_CUDA, _MANAGED):
        raise LaunchError("args", f"argument '{a['name']}' is not on a CUDA device")
    strides = tuple(t.strides[i] for i in range(t.ndim)) if t.strides else None
    return _Tensor((t.data or 0) + t.byte_offset, tuple(t.shape[i] for i in range(t.ndim)), strides,
                   t.device_id if t.device_type == _CUDA else None, capsule)


def _interface(a, i, owner):
    if i["typestr"] not in _INTERFACES[a["dtype"]]:
        raise LaunchError("dtype", f"argument '{a['name']}' is {i['typestr']}, not {a['dtype']}")
    width, strides = int(i["typestr"][2:]), i.get("strides")
    if strides is not None:
        strides = tuple(s // width for s in strides)
    return _Tensor(i["data"][0] or 0, tuple(i["shape"]), strides, None, owner)


def _tensor(a, x):
    if isinstance(x, int):
        return _Tensor(x)
    if a["dtype"] not in ("bf16", "f8e4m3", "f8e5m2") or not hasattr(x, "__dlpack__"):
        i = getattr(x, "__cuda_array_interface__", None)
        if i is not None:
            return _interface(a, i, x)
    if hasattr(x, "__dlpack__"):
        return _dlpack(a, x)
    raise LaunchError("args", f"argument '{a['name']}' is neither a device address nor an array "
                              "on the device")


# ---- sizes ----
def _value(e, sizes):
    """A number, or a size expression: + - * / % min max, quotients rounded down."""
    if isinstance(e, int):
        return e
    code = _expressions.get(e)
    if code is None:
        code = _expressions[e] = compile(e.replace("/", "//"), "<size>", "eval")
    return eval(code, {"__builtins__": {}, "min": min, "max": max}, sizes)


_expressions = {}


def _read_sizes(tensors, named):
    sizes, runtime = {}, {}
    for name, s in DESCRIPTION["sizes"].items():
        (runtime if isinstance(s, dict) else sizes)[name] = s
    for what in "shape", "strides":
        for a, t in tensors:
            for d, e in enumerate(a[what]):
                has = getattr(t, what)
                if has is None or d >= len(has) or e not in runtime or e in sizes:
                    continue
                if what == "shape" or t.shape[d] > 1:
                    sizes[e] = has[d]
    bare = any(t.shape is None for _, t in tensors)
    for name, r in runtime.items():
        if bare and name not in sizes and name not in (named or {}):
            raise LaunchError("size", f"{name} is not known: of addresses, sizes={{'{name}': ...}} "
                                      "tells it")
        v = sizes[name] = (named or {}).get(name, sizes.get(name, r["max"]))
        if not r["min"] <= v <= r["max"] or v % r["multiple"]:
            raise LaunchError("size", f"{name} = {v} is not in {r['min']}..{r['max']} "
                                      f"% {r['multiple']}")
    for name, e in DESCRIPTION["lets"].items():
        sizes[name] = _value(e, sizes)
    return sizes


def _count(shape):
    n = 1
    for x in shape:
        n *= x
    return n


def _check(tensors, sizes):
    for a, t in tensors:
        if t.shape is None:
            continue
        want = tuple(_value(e, sizes) for e in a["shape"])
        if len(t.shape) != len(want):
            raise LaunchError("rank", f"argument '{a['name']}' has rank {len(t.shape)}, not "
                                      f"{len(want)}")
        if t.shape != want:
            raise LaunchError("size", f"argument '{a['name']}' has shape {t.shape}, not {want}")
    for a, t in tensors:
        if t.shape is None:
            continue
        dense = 1
        for d in reversed(range(len(t.shape))):
            has, want = t.strides[d] if t.strides else dense, _value(a["strides"][d], sizes)
            dense *= t.shape[d]
            if t.shape[d] > 1 and has != want:
                raise LaunchError("stride", f"dimension {d} of argument '{a['name']}' has stride "
                                            f"{has}, not {want}")
    for a, t in tensors:
        if _count(_value(e, sizes) for e in a["shape"]) == 0:
            continue
        if t.address % a["align"]:
            raise LaunchError("align", f"argument '{a['name']}' is not aligned to {a['align']} "
                                       "bytes")
        if not t.address:
            raise LaunchError("nullptr", f"argument '{a['name']}' has no data")


def _stream(s):
    for name in "cuda_stream", "ptr", "handle":
        s = getattr(s, name, s)
    return int(s or 0)


class Kernel:
    """The program loaded in the context that is current."""

    def __init__(self):
        self.context, self.device = _current()
        cc = []
        for attribute in _CC_MAJOR, _CC_MINOR:
            value = ctypes.c_int()
            _must("cuDeviceGetAttribute", ctypes.byref(value), attribute, self.device)
            cc.append(value.value)
        fits = [(self._fit(t["arch"], *cc), self._arch(t["arch"])[0], i)
                for i, t in enumerate(DESCRIPTION["targets"])]
        fit, _, best = max(fits)
        if not fit:
            raise LaunchError("arch", f"no code for a device of {cc[0]}.{cc[1]}")
        self.target = DESCRIPTION["targets"][best]
        self.module, self.functions = ctypes.c_void_p(), []
        if self.target["kernels"]:
            self._load(best, fit == 2)

    @staticmethod
    def _arch(name):
        digits = "".join(c for c in name if c.isdigit())
        return int(digits), not name[-1].isdigit()

    def _fit(self, name, major, minor):
        (sm, specific), own = self._arch(name), major * 10 + minor
        if sm == own if specific else sm // 10 == major and sm <= own:
            return 2
        return 1 if not specific and sm <= own else 0

    def _load(self, i, cubin):
        code = _NO_BINARY_FOR_GPU
        for image in ([_CUBINS[i]] if cubin else []) + [_PTX[i]]:
            if code == _NO_BINARY_FOR_GPU:
                self._image = ctypes.create_string_buffer(base64.b64decode(image))
                code = _cuda("cuModuleLoadData", ctypes.byref(self.module), self._image)
        if code:
            raise LaunchError("arch" if code == _NO_BINARY_FOR_GPU else "cuda",
                              f"cuModuleLoadData gave {code}")
        for k in self.target["kernels"]:
            f = ctypes.c_void_p()
            _must("cuModuleGetFunction", ctypes.byref(f), self.module, k["symbol"].encode())
            if k["dynamic_smem"] + (k["static_smem"] or 0) > 48 * 1024:
                _must("cuFuncSetAttribute", f, _MAX_DYNAMIC_SHARED, k["dynamic_smem"])
            self.functions.append(f)

    def _prepare(self, args, sizes):
        if len(args) != len(DESCRIPTION["args"]):
            raise LaunchError("args", f"{len(args)} arguments, not {len(DESCRIPTION['args'])}")
        pairs = list(zip(DESCRIPTION["args"], args))
        tensors = {a["name"]: _tensor(a, x) for a, x in pairs if a["role"] != "scalar"}
        listed = [(a, tensors[a["name"]]) for a, _ in pairs if a["role"] != "scalar"]
        for a, t in listed:
            if t.device not in (None, self.device):
                raise LaunchError("args", f"argument '{a['name']}' is on device {t.device}, not "
                                          f"{self.device}")
        scalars = {a["name"]: _SCALARS[a["dtype"]](x) for a, x in pairs if a["role"] == "scalar"}
        return listed, tensors, scalars, _read_sizes(listed, sizes)

    def _choice(self, sizes):
        is_ = [_value(m, sizes) for m in self.target["measures"]]
        return next(c for c in self.target["choices"]
                    if all(most is None or v <= most for v, most in zip(is_, c["upto"])))

    def workspace(self, *args, sizes=None):
        """Bytes that a launch with these arguments needs."""
        listed, _, _, values = self._prepare(args, sizes)
        if self._empty(listed, values):
            return 0
        return self._workspace(values)

    def _workspace(self, sizes):
        split, need = self._choice(sizes)["split"], 0
        for p in self.target["workspace"]:
            n = _value(p["bytes"], sizes)
            if p["split"] == split and n > 0:
                need = max(need, p["offset"] + n)
        return need

    @staticmethod
    def _empty(listed, sizes):
        return all(_count(_value(e, sizes) for e in a["shape"]) == 0
                   for a, _ in listed if a["role"] == "output")

    def __call__(self, *args, stream=0, workspace=0, workspace_bytes=None, sizes=None):
        """Queues the program in `stream`: inputs and scalars as declared, then outputs.

        Arguments are arrays on the device (DLPack or __cuda_array_interface__) or addresses
        (integers); run-time sizes are read from arrays, else given by name in `sizes`.
        """
        if _current()[0] != self.context:
            raise LaunchError("arch", "another context is current than when this was loaded")
        listed, tensors, scalars, values = self._prepare(args, sizes)
        _check(listed, values)
        if self._empty(listed, values):
            return
        need = self._workspace(values)
        if not isinstance(workspace, int):
            i = workspace.__cuda_array_interface__
            workspace, workspace_bytes = i["data"][0], _count(i["shape"]) * int(i["typestr"][2:])
        short = workspace_bytes is not None and workspace_bytes < need
        if need and (not workspace or short or workspace % _WORKSPACE_ALIGN):
            raise LaunchError("workspace", f"{need} bytes aligned to {_WORKSPACE_ALIGN} are needed")
        self._launch(tensors, scalars, values, workspace, _stream(stream))

    def _launch(self, tensors, scalars, sizes, workspace, stream):
        cells = []
        for p in self.target["params"]:
            if p["kind"] == "scalar":
                cells.append(scalars[p["name"]])
            elif p["kind"] == "size":
                cells.append(ctypes.c_int32(sizes[p["name"]]))
            else:
                at = workspace if p["kind"] == "workspace" else tensors[p["name"]].address
                cells.append(ctypes.c_void_p(at))
        params = (ctypes.c_void_p * len(cells))(*(ctypes.addressof(c) for c in cells))
        programs = self._choice(sizes)["programs"]
        for k, function in zip(self.target["kernels"], self.functions):
            if k["program"] not in programs:
                continue
            blocks = _value(k["grid"][0], sizes)
            if blocks:
                _must("cuLaunchKernel", function, blocks, *k["grid"][1:], *k["block"],
                      k["dynamic_smem"], ctypes.c_void_p(stream), params, None)

    def unload(self):
        """Gives the code back; nothing of it may run any more."""
        if self.module:
            _must("cuModuleUnload", self.module)
            self.module = ctypes.c_void_p()


_loaded = {}


def load():
    """The kernel for the context that is current; loaded once per context."""
    context, _ = _current()
    if context not in _loaded:
        _loaded[context] = Kernel()
    return _loaded[context]


def workspace(*args, **named):
    return load().workspace(*args, **named)


def launch(*args, **named):
    load()(*args, **named)
