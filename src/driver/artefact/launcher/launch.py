

class LaunchError(Exception):
    """A launch was refused; `status` is the name of a status of roller.h."""

    def __init__(self, status, message):
        super().__init__(status + ": " + message)
        self.status = status


# ---- the CUDA driver ----
_NO_BINARY_FOR_GPU = 209
_SM_COUNT, _CC_MAJOR, _CC_MINOR = 16, 75, 76
_OVERLAPS = 12030                              # captured streams take overlapping launches, too
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


class _Here(threading.local):
    """Where this thread's current context is told, and its address."""

    def __init__(self):
        context = ctypes.c_void_p()
        self.pair = context, ctypes.byref(context)


_here = _Here()


def _context():
    context, at = _here.pair
    if _driver is None:
        _cuda("cuDriverGetVersion", ctypes.byref(ctypes.c_int()))
    if _driver.cuCtxGetCurrent(at) or not context.value:
        raise LaunchError("device", "no context is current")
    return context.value


# ---- arguments ----
_CPU, _CUDA, _MANAGED = 1, 2, 13
_CODES = {0: "i", 1: "u", 2: "f", 4: "bf", 6: "bool", 10: "f8e4m3", 12: "f8e5m2",
          14: "f8ue8m0"}
# Types that arrays have by another name.
_NAMED = {"f8ue4m3": "f8e4m3", "f6e3m2": "u8", "f6e2m3": "u8", "f4e2m1x2": "u8"}
_SCALARS = {"f32": ctypes.c_float, "f64": ctypes.c_double, "i32": ctypes.c_int32,
            "i64": ctypes.c_int64}
_INTERFACES = {"f64": ("<f8",), "f32": ("<f4",), "f16": ("<f2",), "bf16": ("<u2", "<V2", "|V2"),
               "i64": ("<i8",), "i32": ("<i4",), "i16": ("<i2",), "i8": ("|i1",), "u8": ("|u1",),
               "bool": ("|b1",), **{name: ("|u1", "|V1") for name in
                                    ("f8e4m3", "f8e5m2", "f8ue8m0", *_NAMED)}}


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


_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


def _dlpack(a, x):
    # stream -1: the exporter does not wait, the caller's stream orders the work.
    capsule = x.__dlpack__(stream=-1)
    t = _DLTensor.from_address(_pointer_of(capsule, b"dltensor"))
    name = _CODES.get(t.code, "?")
    if name in ("i", "u", "f", "bf"):
        name += str(t.bits)
    if name != _NAMED.get(a["dtype"], a["dtype"]) or t.lanes > 1:
        raise LaunchError("dtype", f"argument '{a['name']}' is {name}, not {a['dtype']}")
    if t.device_type not in (_CUDA, _MANAGED):
        raise LaunchError("args", f"argument '{a['name']}' is not on a CUDA device")
    strides = tuple(t.strides[:t.ndim]) if t.strides else None
    return _Tensor((t.data or 0) + t.byte_offset, tuple(t.shape[:t.ndim]), strides,
                   t.device_id if t.device_type == _CUDA else None, capsule)


def _interface(a, i, owner):
    if i["typestr"] not in _INTERFACES[a["dtype"]]:
        raise LaunchError("dtype", f"argument '{a['name']}' is {i['typestr']}, not {a['dtype']}")
    width, strides = int(i["typestr"][2:]), i.get("strides")
    if strides is not None:
        strides = tuple(s // width for s in strides)
    return _Tensor(i["data"][0] or 0, tuple(i["shape"]), strides, None, owner)


_PACKED = "bf16", "f8e4m3", "f8e5m2", "f8ue4m3", "f8ue8m0"     # what __cuda_array_interface__ has no name for


def _tensor(a, x):
    if isinstance(x, int):
        return _Tensor(x)
    if a["dtype"] not in _PACKED or not hasattr(x, "__dlpack__"):
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


# A kernel, and the places of what it is given.
_Launch = collections.namedtuple("_Launch", "function numbers cluster overlaps words maps")


class _Plan:
    """All of a launch that kinds, shapes and strides of its arguments decide."""

    __slots__ = ("need", "sizes", "launches", "words", "pool")


class _Words(dict):
    """Places of the values that launches pass on, by what they are: arguments first, by name, then
    sizes, by ("size", name), and places in the workspace, by their offset."""

    def __missing__(self, what):
        self[what] = len(self)
        return self[what]

    def of(self, p):
        """The place of a parameter of a kernel."""
        return self[{"size": ("size", p["name"]), "workspace": p.get("offset")}
                    .get(p["kind"], p["name"])]


# ---- tensor maps ----
_MAP_BYTES, _MAP_ALIGN = 128, 64


def _numbers(kind, values):
    return (kind * max(len(values), 1))(*values)


class _Map:
    """A tensor map of a kernel at some sizes: what its encoding takes besides the address.

    `word` is the place of the address of its tensor.
    """

    __slots__ = ("word", "offset", "encode", "before", "after")

    def __init__(self, m, word, sizes):
        def values(key):
            return [_value(e, sizes) for e in m[key]]

        self.word, self.offset, self.encode = word, _value(m["offset"], sizes), None
        dims = values("dims")
        if min(dims) <= 0:
            return                                 # of no elements there is no map
        im2col = m["kind"] == "im2col"
        self.encode = _driver.cuTensorMapEncodeIm2col if im2col else _driver.cuTensorMapEncodeTiled
        self.before = m["type"], ctypes.c_uint32(len(dims))
        rows = ([_numbers(ctypes.c_int, values("lower")), _numbers(ctypes.c_int, values("upper")),
                 ctypes.c_uint32(m["channels"]), ctypes.c_uint32(m["pixels"])] if im2col
                else [_numbers(ctypes.c_uint32, m["box"])])
        self.after = (_numbers(ctypes.c_uint64, dims),
                      _numbers(ctypes.c_uint64, values("strides")), *rows,
                      _numbers(ctypes.c_uint32, m["element_strides"]), m["interleave"],
                      m["swizzle"], m["l2_promotion"], m["fill"])

    def write(self, address, to):
        """The map over a tensor at this address, to 128 bytes."""
        code = self.encode(ctypes.c_void_p(to), *self.before,
                           ctypes.c_void_p(address + self.offset), *self.after)
        if code:
            raise LaunchError("cuda", f"a tensor map gave {code}")


class _Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("zero", ctypes.c_int), ("value", ctypes.c_uint * 16)]


class _Config(ctypes.Structure):
    _fields_ = [("numbers", ctypes.c_uint * 7), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(_Attribute)), ("n_attributes", ctypes.c_uint)]


def _config(numbers, cluster, overlaps):
    """`overlaps`: before the end of the kernel before (programmatic stream serialization)."""
    config, attributes = _Config((ctypes.c_uint * 7)(*numbers)), []
    if _count(cluster) > 1:
        attributes.append(_Attribute(4, 0, (ctypes.c_uint * 16)(*cluster)))
    if overlaps:
        attributes.append(_Attribute(6, 0, (ctypes.c_uint * 16)(1)))
    if attributes:
        config.attributes = (_Attribute * len(attributes))(*attributes)
        config.n_attributes = len(attributes)
    return config


def _at(address):
    """A pointer that ctypes passes on as it is."""
    return ctypes.byref(ctypes.c_char.from_address(address))


class _Cells:
    """What one launch at a time passes to the driver: values, 8 bytes each, tensor maps, and the
    stream."""

    __slots__ = ("word", "room", "maps", "pointers", "scalars", "places", "configs", "stream",
                 "calls")

    def __init__(self, plan):
        self.word, self.stream = (ctypes.c_uint64 * len(plan.words))(), 0
        self.pointers, self.scalars, self.places = [], [], []
        for what, i in plan.words.items():
            if isinstance(what, int):
                self.places.append((i, what))
            elif isinstance(what, tuple):
                ctypes.c_int32.from_buffer(self.word, 8 * i).value = plan.sizes[what[1]]
            elif DESCRIPTION["args"][i]["role"] == "scalar":
                kind = _SCALARS[DESCRIPTION["args"][i]["dtype"]]
                self.scalars.append((kind.from_buffer(self.word, 8 * i), i))
            else:
                self.pointers.append(i)
        base, maps = ctypes.addressof(self.word), sum(len(x.maps) for x in plan.launches)
        self.configs = [_config(x.numbers, x.cluster, x.overlaps) for x in plan.launches]
        self.room = ctypes.create_string_buffer(_MAP_BYTES * maps + _MAP_ALIGN)
        at = -(-ctypes.addressof(self.room) // _MAP_ALIGN) * _MAP_ALIGN
        self.calls, self.maps = [], []             # a map, its place, the address that it was made of
        for config, x in zip(self.configs, plan.launches):
            places = [at + _MAP_BYTES * i for i in range(len(x.maps))]
            at += _MAP_BYTES * len(x.maps)
            self.maps += [[m, p, None] for m, p in zip(x.maps, places) if m.encode]
            params = _numbers(ctypes.c_void_p, [base + 8 * i for i in x.words] + places)
            self.calls.append((ctypes.byref(config), _at(x.function), ctypes.byref(params), None))


def _launch_old(config, function, params, extra):
    """cuLaunchKernelEx of a driver that has it not, before CUDA 11.8."""
    c = config._obj
    return _driver.cuLaunchKernel(function, *map(ctypes.c_uint, c.numbers),
                                  ctypes.c_void_p(c.stream), params, extra)


# Of the most shapes, addresses do not count.
_MOST_PLANS = 1024
_LOW_BITS = max(a["align"] for a in DESCRIPTION["args"] if a["role"] != "scalar") - 1


# ---- what decides a launch, quickly: of an argument, and its address ----
def _look_torch(x):
    return (x.dtype, x.shape, x.stride(), x.device, x.requires_grad), x.data_ptr()


def _is_torch(kind):
    return any(c.__module__ == "torch" and c.__name__ == "Tensor" for c in kind.__mro__)


def _look(a, x):
    """The function that says so of all arguments of this type."""

    def slowly(x):
        t = _tensor(a, x)
        return (t.shape, t.strides, t.device), t.address

    def by_interface(x):
        i = getattr(x, "__cuda_array_interface__", None)
        if i is None:
            return slowly(x)
        strides = i.get("strides")
        return (i["typestr"], tuple(i["shape"]), strides and tuple(strides)), i["data"][0] or 0

    if _is_torch(type(x)):
        return _look_torch
    packs = a["dtype"] in _PACKED and hasattr(x, "__dlpack__")
    return slowly if packs or not hasattr(x, "__cuda_array_interface__") else by_interface


def _room(x):
    """Address and bytes of an array that serves as workspace."""
    if _is_torch(type(x)):
        return x.data_ptr(), x.numel() * x.element_size()
    i = x.__cuda_array_interface__
    return i["data"][0], _count(i["shape"]) * int(i["typestr"][2:])


class Kernel:
    """The program loaded in the context that is current."""

    def __init__(self):
        self.context, device = _context(), ctypes.c_int()
        _must("cuCtxGetDevice", ctypes.byref(device))
        self.device, cc = device.value, []
        self._plans, self._looks = {}, {}
        try:
            self._call = _driver.cuLaunchKernelEx
        except AttributeError:
            self._call = _launch_old
        version = ctypes.c_int()
        _must("cuDriverGetVersion", ctypes.byref(version))
        self._overlaps = version.value >= _OVERLAPS
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
        self._modules, self.functions, self._held = {}, [], []
        self._needs(any(k["tensor_maps"] for k in self.target["kernels"]),
                    "cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col")
        self._needs(any(_count(k["cluster"]) > 1 for k in self.target["kernels"]),
                    "cuLaunchKernelEx")
        if self.target["kernels"]:
            self._load(best, fit == 2)

    @staticmethod
    def _needs(any_kernel, *names):
        for name in names:
            if any_kernel and not hasattr(_driver, name):
                raise LaunchError("driver", f"it has no {name}: CUDA 12 or newer is needed")

    @staticmethod
    def _arch(name):
        digits = "".join(c for c in name if c.isdigit())
        return int(digits), not name[-1].isdigit()

    def _fit(self, name, major, minor):
        (sm, specific), own = self._arch(name), major * 10 + minor
        if sm == own if specific else sm // 10 == major and sm <= own:
            return 2
        return 1 if not specific and sm <= own else 0

    def _load_modules(self, code, places):
        """Loads what lies at these places of it; the first error's code, or 0."""
        self._image = ctypes.create_string_buffer(base64.b64decode(code))
        for at in places:
            module = ctypes.c_void_p()
            error = _cuda("cuModuleLoadData", ctypes.byref(module), ctypes.byref(self._image, at))
            if error:
                self.unload()
                return error
            self._modules[at] = module
        return 0

    def _load(self, i, cubin):
        code = _NO_BINARY_FOR_GPU
        if cubin:
            images = {k.get("image", 0) for k in self.target["kernels"]}
            code = self._load_modules(_CUBINS[i], sorted(images))
        if code == _NO_BINARY_FOR_GPU:
            code = self._load_modules(_PTX[i], [0])
        if code:
            raise LaunchError("arch" if code == _NO_BINARY_FOR_GPU else "cuda",
                              f"cuModuleLoadData gave {code}")
        for k in self.target["kernels"]:
            f, module = ctypes.c_void_p(), self._modules.get(k.get("image", 0), self._modules[0])
            _must("cuModuleGetFunction", ctypes.byref(f), module, k["symbol"].encode())
            if k["dynamic_smem"] + (k["static_smem"] or 0) > 48 * 1024:
                _must("cuFuncSetAttribute", f, _MAX_DYNAMIC_SHARED, k["dynamic_smem"])
            self.functions.append(f)
            self._held.append(self._resident(k, f))

    def _resident(self, k, f):
        """Blocks of a kernel whose blocks stay that the device holds at a time; 0: not told."""
        n, sms = ctypes.c_int(), ctypes.c_int(1)
        together = _count(k["cluster"])
        if k["resident"] is None:
            return 0
        if together > 1:
            config = _config([*k["cluster"], *k["block"], k["dynamic_smem"]], k["cluster"], False)
            if not hasattr(_driver, "cuOccupancyMaxActiveClusters"):
                return 0
            code = _cuda("cuOccupancyMaxActiveClusters", ctypes.byref(n), f, ctypes.byref(config))
        else:
            _must("cuDeviceGetAttribute", ctypes.byref(sms), _SM_COUNT, self.device)
            code = _cuda("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(n), f,
                         _count(k["block"]), ctypes.c_size_t(k["dynamic_smem"]))
        return 0 if code else n.value * together * sms.value

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

    def _plan(self, args, sizes):
        """Checks all arguments."""
        listed, _, _, values = self._prepare(args, sizes)
        _check(listed, values)
        plan = _Plan()
        plan.need, plan.sizes, plan.launches, plan.pool = 0, values, [], []
        plan.words = _Words((a["name"], i) for i, a in enumerate(DESCRIPTION["args"]))
        if not self._empty(listed, values):
            plan.need = self._workspace(values)
            self._choose(plan, values)
        return plan

    def _choose(self, plan, sizes):
        programs = self._choice(sizes)["programs"]
        for k, function, held in zip(self.target["kernels"], self.functions, self._held):
            if k["program"] not in programs:
                continue
            blocks = _value(k["grid"][0], sizes)
            if held >= k["cluster"][0]:            # in whole clusters, and no more than have work
                blocks = min(held - held % k["cluster"][0], _value(k["resident"], sizes))
            if blocks:
                numbers = [blocks, *k["grid"][1:], *k["block"], k["dynamic_smem"]]
                overlaps = self._overlaps and bool(plan.launches) and k["waits_for_previous"]
                maps = [_Map(m, plan.words[m["tensor"] or 0], sizes) for m in k["tensor_maps"]]
                plan.launches.append(_Launch(function.value, numbers, k["cluster"], overlaps,
                                             [plan.words.of(p) for p in k["params"]], maps))

    def __call__(self, *args, stream=0, workspace=0, workspace_bytes=None, sizes=None):
        """Queues the program in `stream`: inputs and scalars as declared, then outputs.

        Arguments are arrays on the device (DLPack or __cuda_array_interface__) or addresses
        (integers); run-time sizes are read from arrays, else given by name in `sizes`.
        """
        if _context() != self.context:
            raise LaunchError("arch", "another context is current than when this was loaded")
        self._queue(args, stream, workspace, workspace_bytes, sizes)

    def _queue(self, args, stream, workspace, workspace_bytes, sizes):
        kinds = tuple(map(type, args))
        looks = self._looks.get(kinds)
        if looks is None:
            looks = self._looks_of(args, kinds)
        key, values = [kinds], list(args)
        for i, look in looks:
            kind, values[i] = look(args[i])
            key.append(kind)
        if sizes:
            key.extend(sizes.items())
        key = tuple(key)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan(args, sizes)
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        if not plan.launches:
            return
        if plan.need:
            if not isinstance(workspace, int):
                workspace, workspace_bytes = _room(workspace)
            short = workspace_bytes is not None and workspace_bytes < plan.need
            if not workspace or short or workspace % _WORKSPACE_ALIGN:
                raise LaunchError("workspace", f"{plan.need} bytes aligned to {_WORKSPACE_ALIGN} "
                                               "are needed")
        if type(stream) is not int:
            stream = _stream(stream)
        self._launch(plan, args, values, workspace, stream, sizes)

    def _looks_of(self, args, kinds):
        """Which arguments have to be looked at, and how."""
        if len(args) != len(DESCRIPTION["args"]):
            raise LaunchError("args", f"{len(args)} arguments, not {len(DESCRIPTION['args'])}")
        looks = [(i, _look(a, x)) for i, (a, x) in enumerate(zip(DESCRIPTION["args"], args))
                 if a["role"] != "scalar" and not isinstance(x, int)]
        self._looks[kinds] = looks
        return looks

    def _launch(self, plan, args, values, workspace, stream, sizes):
        try:
            cells = plan.pool.pop()                # what another thread launches with is not there
        except IndexError:
            cells = _Cells(plan)
        word, low = cells.word, 0
        for i in cells.pointers:
            word[i] = at = values[i]
            low |= at or 1
        if low & _LOW_BITS:
            self._plan(args, sizes)                # an argument without elements may lie anywhere
        for cell, j in cells.scalars:
            cell.value = values[j]
        for i, offset in cells.places:
            word[i] = workspace + offset
        for m in cells.maps:
            made, to, of = m
            at = word[made.word]
            if at != of:
                made.write(at, to)
                m[2] = at
        if cells.stream != stream:
            cells.stream = stream
            for config in cells.configs:
                config.stream = stream
        for call in cells.calls:
            code = self._call(*call)
            if code:
                raise LaunchError("cuda", f"the launch gave {code}")
        plan.pool.append(cells)

    def unload(self):
        """Gives the code back; nothing of it may run any more."""
        while self._modules:
            _must("cuModuleUnload", self._modules.popitem()[1])


_loaded = {}


def load():
    """The kernel for the context that is current; loaded once per context."""
    context = _context()
    if context not in _loaded:
        _loaded[context] = Kernel()
    return _loaded[context]


def workspace(*args, **named):
    return load().workspace(*args, **named)


def launch(*args, stream=0, workspace=0, workspace_bytes=None, sizes=None):
    context = _context()
    kernel = _loaded.get(context)
    if kernel is None:
        kernel = _loaded[context] = Kernel()
    kernel._queue(args, stream, workspace, workspace_bytes, sizes)


# ---- PyTorch ----
_TORCH = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
          "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8",
          "bool": "bool", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
          "f8ue4m3": "float8_e4m3fn", "f8ue8m0": "float8_e8m0fnu",
          "f6e3m2": "uint8", "f6e2m3": "uint8", "f4e2m1x2": "uint8"}


def _outputs(torch, given):
    """Outputs for these inputs, which may be symbols; and the sizes."""
    inputs = [(a, x) for a, x in zip(DESCRIPTION["args"], given) if a["role"] == "input"]
    device = inputs[0][1].device if inputs else torch.device("cuda")
    sizes = _read_sizes([(a, _Tensor(0, tuple(x.shape), tuple(x.stride()))) for a, x in inputs],
                        None)
    return [torch.empty_strided([_value(e, sizes) for e in a["shape"]],
                                [_value(e, sizes) for e in a["strides"]],
                                dtype=getattr(torch, _TORCH[a["dtype"]]), device=device)
            for a in DESCRIPTION["args"] if a["role"] == "output"]


def torch_op(namespace="roller", copy=False):
    """Registers torch.ops.NAMESPACE.OP, for eager code and torch.compile, and returns it.

    It takes inputs and scalars as declared, and gives new outputs, computed on the current stream
    of the inputs' device.  With `copy` inputs that are not contiguous are copied; without, they are
    refused where their strides are not the declared ones.
    """
    import torch
    kinds = {"f32": "float", "f64": "float", "i32": "int", "i64": "int"}
    args = [a for a in DESCRIPTION["args"] if a["role"] != "output"]
    n_out = len(DESCRIPTION["args"]) - len(args)
    takes = ", ".join(("Tensor " if a["role"] == "input" else kinds[a["dtype"]] + " ") + a["name"]
                      for a in args)
    gives = "Tensor" if n_out == 1 else "(" + ", ".join(["Tensor"] * n_out) + ")"
    name = namespace + "::" + DESCRIPTION["op"]

    def fake(*given):
        out = _outputs(torch, given)
        return out[0] if n_out == 1 else tuple(out)

    @torch.library.custom_op(name, mutates_args=(), schema=f"({takes}) -> {gives}")
    def run(*given):
        if copy:
            given = [x.contiguous() if isinstance(x, torch.Tensor) else x for x in given]
        out = _outputs(torch, given)
        with torch.cuda.device(out[0].device):
            need, room = workspace(*given, *out), 0
            if need:
                room = torch.empty(need, dtype=torch.uint8, device=out[0].device)
            launch(*given, *out, workspace=room,
                   stream=torch.cuda.current_stream(out[0].device).cuda_stream)
        return out[0] if n_out == 1 else tuple(out)

    run.register_fake(fake)
    return run
