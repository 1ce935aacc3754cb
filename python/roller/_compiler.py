"""From expressions to kernels."""
import os
from ctypes import byref, c_char_p, c_int, c_void_p, cast

from . import _abi
from ._errors import text
from ._kernel import Kernel, defines
from ._library import Contexts, lib, struct


class Compiler:
    """Compiles expressions, with options of its own; may be used from any thread.

    cache           keep compiled kernels in the cache, and take them from there
    cache_dir       its folder (the user's standard one)
    cache_key_file  entries bear a tag by the secret in this file
    profile_path    folders of device profiles, a list or colon-separated (the standard ones)
    nvrtc           path of libnvrtc.so.N (the newest that fits, of this Python's wheels and
                    the system)
    threads         of the simulator (one per core)
    line_info       line information in PTX and cubin
    """

    def __init__(self, *, cache=True, cache_dir=None, cache_key_file=None, profile_path=None,
                 nvrtc=None, threads=0, line_info=False):
        self._contexts = Contexts(dict(
            cache=cache, cache_dir=cache_dir, cache_key_file=cache_key_file,
            profile_path=profile_path, nvrtc=nvrtc, threads=threads, line_info=line_info))

    def compile(self, te, *, op=None, sizes=None, profile=None, arch=None, plan=None, align=None,
                workspace_limit=None, check=False, fast_compile=False, file=None):
        """A kernel for an expression: its text, or the path of a .te file as os.PathLike.

        op       which op, where there are several
        sizes    {"M": 64, "N": "1..4096%8"}: as -D of roller-gen
        profile  a name or file (the default one); arch alone picks a profile for it
        plan     a plan's text, in the place of planning
        check    prove it before it is given out
        """
        if isinstance(te, os.PathLike):
            file = file or os.fspath(te)
            with open(te, "rb") as f:
                te = f.read()
        elif isinstance(te, str):
            te = te.encode()
        context = self._contexts.get()
        handle = self._profile(context, profile, arch)
        given, n = defines(sizes)
        parse = struct(_abi.RollerParseOptions, op=None if op is None else op.encode(),
                       defines=cast(given, c_void_p), n_defines=n)
        parsed = context.make(lib.roller_parse, lib.roller_op_destroy, te, len(te),
                              os.fsencode(file or "<expression>"), byref(parse))
        options = struct(_abi.RollerPlanOptions, align=align or 0, check=bool(check),
                         workspace_limit=workspace_limit or 0, fast_compile=bool(fast_compile),
                         arch=None if arch is None else arch.encode())
        if plan is None:
            made = context.make(lib.roller_compile, lib.roller_kernel_destroy, parsed.at,
                                handle.at, byref(options))
            return Kernel(self._contexts, made, parsed, handle, options)
        plan = plan.encode()
        plans = context.make(lib.roller_plan_read, lib.roller_plans_destroy, parsed.at, handle.at,
                             plan, len(plan), b"<plan>", byref(options))
        made = context.make(lib.roller_build_best, lib.roller_kernel_destroy, plans.at, None)
        kernel = Kernel(self._contexts, made, parsed, handle, options)
        if check:
            kernel.check()
        return kernel

    def _profile(self, context, name, arch):
        """Read once, and again when its file has changed."""
        place = (name, arch if name is None else None, os.getcwd(),
                 os.environ.get("ROLLER_PROFILE"), os.environ.get("ROLLER_PROFILE_PATH"))
        handle, seen = context.profiles.get(place, (None, None))
        if seen is not None and seen == _state(lib.roller_profile_file(handle.at)):
            return handle
        if name is None and arch is not None:
            handle = context.make(lib.roller_profile_for_arch, lib.roller_profile_destroy,
                                  arch.encode())
        else:
            handle = context.make(lib.roller_profile_load, lib.roller_profile_destroy,
                                  None if name is None else os.fsencode(name))
        context.profiles[place] = handle, _state(lib.roller_profile_file(handle.at))
        return handle

    def read(self, json, cubin, ptx, *, arch=None):
        """A kernel from its files, without NVRTC: STEM.json as text, cubin as bytes, PTX as text.

        The profile that it was planned for must be there.  A cubin is code: who can write these
        files can run code.
        """
        json, ptx = json.encode(), ptx.encode()
        files = struct(_abi.RollerKernelFiles, json=json, json_len=len(json), cubin_len=len(cubin),
                       cubin=cast(c_char_p(cubin), c_void_p), ptx=ptx, ptx_len=len(ptx),
                       arch=None if arch is None else arch.encode())
        context = self._contexts.get()
        return Kernel(self._contexts, context.make(lib.roller_kernel_read,
                                                   lib.roller_kernel_destroy, byref(files)))

    def profiles(self):
        """Names of the device profiles that are found."""
        return self._list(lib.roller_profile_names)

    def archs(self):
        """Architectures that the newest NVRTC can target."""
        context = self._contexts.get()
        names, version = c_void_p(), c_char_p()
        context.call(lib.roller_archs, byref(names), byref(version))
        found = []
        while (name := c_char_p.from_address(names.value + 8 * len(found)).value) is not None:
            found.append(text(name))
        return found

    def _list(self, function):
        names, n = c_void_p(), c_int()
        self._contexts.get().call(function, byref(names), byref(n))
        return [text(s) for s in (c_char_p * n.value).from_address(names.value)] if n.value else []


def _state(file):
    try:
        s = os.stat(file)
    except OSError:
        return None
    return s.st_mtime_ns, s.st_size, s.st_ino
