"""Launches from STEM.json and code: what a host writes that knows roller by its documents."""
import ctypes
import json
import re

from driver import P, call, cuda


def value(e, sizes):
    if isinstance(e, int):
        return e
    names = dict(sizes, min=min, max=max)
    return eval(re.sub("/", "//", e), {}, names)


def tensor_map(m, sizes, address):
    """128 bytes at a multiple of 64."""
    def numbers(kind, values):
        return (kind * max(len(values), 1))(*[value(e, sizes) for e in values])

    room = ctypes.create_string_buffer(192)
    at = P(-(-ctypes.addressof(room) // 64) * 64)
    u32, dims = ctypes.c_uint32, [value(e, sizes) for e in m["dims"]]
    if 0 in dims:
        return room, at
    common = (m["type"], u32(len(dims)), P(address + value(m["offset"], sizes)),
              numbers(ctypes.c_uint64, dims), numbers(ctypes.c_uint64, m["strides"]))
    rest = (numbers(u32, m["element_strides"]), m["interleave"], m["swizzle"], m["l2_promotion"],
            m["fill"])
    if m["kind"] == "tiled":
        call("cuTensorMapEncodeTiled", at, *common, numbers(u32, m["box"]), *rest)
    else:
        call("cuTensorMapEncodeIm2col", at, *common, numbers(ctypes.c_int, m["lower"]),
             numbers(ctypes.c_int, m["upper"]), u32(m["channels"]), u32(m["pixels"]), *rest)
    return room, at


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("zero", ctypes.c_int), ("value", ctypes.c_uint * 16)]


class Config(ctypes.Structure):
    _fields_ = [("numbers", ctypes.c_uint * 7), ("stream", P),
                ("attributes", ctypes.POINTER(Attribute)), ("n_attributes", ctypes.c_uint)]


def resident(k, f):
    """Blocks of a kernel that the device holds at a time; 0: the driver does not tell."""
    n, sms, together = ctypes.c_int(), ctypes.c_int(), k["cluster"][0]
    if together == 1:
        device = ctypes.c_int()
        call("cuCtxGetDevice", ctypes.byref(device))
        call("cuDeviceGetAttribute", ctypes.byref(sms), 16, device)
        call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(n), f, k["block"][0],
             ctypes.c_size_t(k["dynamic_smem"]))
        return n.value * sms.value
    at = Attribute(4, 0, (ctypes.c_uint * 16)(*k["cluster"]))
    config = Config((ctypes.c_uint * 7)(*k["cluster"], *k["block"], k["dynamic_smem"]), None,
                    ctypes.pointer(at), 1)
    untold = cuda.cuOccupancyMaxActiveClusters(ctypes.byref(n), f, ctypes.byref(config))
    return 0 if untold else n.value * together


def launch(path, code, args, given, workspace, stream):
    """args: addresses and numbers by name; given: run-time sizes.  Gives the bytes of workspace."""
    whole = json.load(open(path))
    target = whole["targets"][0]
    sizes = {n: given[n] if isinstance(s, dict) else s for n, s in whole["sizes"].items()}
    for n, e in whole["lets"].items():
        sizes[n] = value(e, sizes)
    if all(0 in [value(e, sizes) for e in a["shape"]]
           for a in whole["args"] if a["role"] == "output"):
        return 0
    modules = {}
    text = ctypes.create_string_buffer(open(code, "rb").read())
    c_type = {"pointer": P, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float,
              "f64": ctypes.c_double}
    measures = [value(e, sizes) for e in target["measures"]]
    taken = [c for c in target["choices"]
             if all(most is None or m <= most for m, most in zip(measures, c["upto"]))][0]
    before = False
    for k in target["kernels"]:
        grid = [value(e, sizes) for e in k["grid"]]
        if k["program"] not in taken["programs"] or grid[0] == 0:
            continue
        maps = [tensor_map(m, sizes, args[m["tensor"]] if m["tensor"] else workspace)
                for m in k["tensor_maps"]]
        cells = []
        for p in k["params"]:
            has = {"size": sizes.get(p["name"]), "workspace": workspace + p.get("offset", 0)}
            cells.append(c_type[p["type"]](has.get(p["kind"], args.get(p["name"]))))
        places = [ctypes.addressof(c) for c in cells] + [at.value for _, at in maps]
        params = (P * len(places))(*places)
        f, image = P(), k.get("image", 0) if code.endswith(".cubin") else 0
        if image not in modules:
            modules[image] = P()
            call("cuModuleLoadData", ctypes.byref(modules[image]), ctypes.byref(text, image))
        call("cuModuleGetFunction", ctypes.byref(f), modules[image], k["symbol"].encode())
        call("cuFuncSetAttribute", f, 8, k["dynamic_smem"])
        if k["resident"] is not None:
            grid[0] = min(resident(k, f) or grid[0], value(k["resident"], sizes))
        at = []
        if k["cluster"] != [1, 1, 1]:
            at.append(Attribute(4, 0, (ctypes.c_uint * 16)(*k["cluster"])))
        if before and k["waits_for_previous"]:
            at.append(Attribute(6, 0, (ctypes.c_uint * 16)(1)))
        config = Config((ctypes.c_uint * 7)(*grid, *k["block"], k["dynamic_smem"]), stream,
                        (Attribute * len(at))(*at) if at else None, len(at))
        call("cuLaunchKernelEx", ctypes.byref(config), f, params, None)
        before = True
    return max([p["offset"] + value(p["bytes"], sizes) for p in target["workspace"]
                if p["split"] == taken["split"]], default=0)
