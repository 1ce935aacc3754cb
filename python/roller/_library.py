"""libroller: where it is, its functions, and handles that end with their owners."""
import ctypes
import os
import sys
import threading
import warnings
from ctypes import byref, c_void_p

from . import _abi
from ._errors import error_of, text

_here = os.path.dirname(os.path.abspath(__file__))


def _open():
    """The library of the package, else the system's."""
    own = os.path.join(_here, "lib", "libroller.so.0")
    file = os.environ.get("ROLLER_LIBRARY") or (own if os.path.exists(own) else "libroller.so.0")
    try:
        library = ctypes.CDLL(file)
    except OSError as e:
        raise ImportError(f"libroller cannot be loaded: {e}") from None
    for name, (result, arguments) in _abi.FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is None:
            raise ImportError(f"{file} has no {name}: it is not libroller {_abi.VERSION}")
        function.restype, function.argtypes = result, arguments
    if library.roller_version() != _abi.VERSION_HEX:
        raise ImportError(f"{file} is version {library.roller_version():#08x} of libroller, and "
                          f"this package is of {_abi.VERSION}")
    return library


lib = _open()


def tvm_ffi_library():
    """Path of the library for hosts of TVM-FFI: tvm_ffi.load_module(roller.tvm_ffi_library())."""
    beside = os.path.join(_here, "lib", "libroller_tvm_ffi.so")
    given = os.environ.get("ROLLER_LIBRARY")
    return os.path.join(os.path.dirname(given), "libroller_tvm_ffi.so") if given else beside


def _nvrtc_folders():
    """Where NVIDIA's wheels put NVRTC, in every folder that this Python imports from."""
    found = []
    for place in sys.path:
        for wheel in ("cu13", "cuda_nvrtc"):
            folder = os.path.join(os.path.abspath(place), "nvidia", wheel, "lib")
            if ":" not in folder and folder not in found and os.path.isdir(folder):
                found.append(folder)
    return ":".join(found)


def struct(kind, **fields):
    """A struct of options or of a report, with its size filled in."""
    return kind(struct_size=ctypes.sizeof(kind), **fields)


def strings(items):
    """An array of C strings and its length."""
    items = [i.encode() for i in items]
    return (ctypes.c_char_p * len(items))(*items), len(items)


class Handle:
    """A handle of roller.h; it ends with this object."""

    __slots__ = ("at", "_destroy")

    def __init__(self, at, destroy):
        self.at, self._destroy = at, destroy

    def __del__(self):
        # At the very end of the process the driver may be gone, and memory goes anyhow.
        if not sys.is_finalizing():
            self._destroy(self.at)


class _Signals:
    """Lets Ctrl-C end a call: signal handlers of Python run only when the main thread runs Python.

    The library asks a generator whether to go on.  That is resumed inside its `try`, so that what a
    handler raises is caught, whenever it is raised, and kept for the call to raise.
    """

    def __init__(self):
        self.raised = None
        asked = self._answers()
        next(asked)
        self._cancel = ctypes.CFUNCTYPE(ctypes.c_int, c_void_p)(asked.send)
        self.watch = struct(_abi.RollerWatch, cancel=ctypes.cast(self._cancel, c_void_p))

    def _answers(self):
        while True:
            try:
                while True:
                    yield self.raised is not None
            except GeneratorExit:
                return
            except BaseException as e:
                # Whoever clears its frames would end the generator.
                self.raised = e.with_traceback(None)


def _outside():
    """For the caller's warning: how far up the first frame is that is not the package's."""
    level, frame = 2, sys._getframe(2)
    while frame.f_back and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == _here:
        level, frame = level + 1, frame.f_back
    return level


class Context:
    """A context of roller.h, for the thread that made it."""

    def __init__(self, options):
        at = c_void_p()
        self._signals = None
        if threading.current_thread() is threading.main_thread():
            self._signals = _Signals()
            options.watch = ctypes.addressof(self._signals.watch)
        status = lib.roller_ctx_create(byref(options), byref(at))
        if status:
            raise error_of(status, None)
        self.at = at.value
        self._handle = Handle(self.at, lib.roller_ctx_destroy)
        self.profiles = {}

    def call(self, function, *args):
        """One call; raises what it refuses, and warns of what it warns of."""
        status = function(self.at, *args)
        if status:
            raise self.error(status)
        said = lib.roller_warnings(self.at)
        if said:
            warnings.warn(text(said).rstrip(), stacklevel=_outside())

    def error(self, status):
        if self._signals and self._signals.raised is not None:
            raised, self._signals.raised = self._signals.raised, None
            return raised
        e = lib.roller_error(self.at)
        return error_of(status, _abi.RollerError.from_address(e) if e else None)

    def make(self, function, destroy, *args):
        """A call that makes a handle, its last argument."""
        out = c_void_p()
        self.call(function, *args, byref(out))
        return Handle(out.value, destroy)


def thread_error(status):
    """The exception of a call that has no context."""
    e = lib.roller_error(None)
    return error_of(status, _abi.RollerError.from_address(e) if e else None)


def read_text(function, *args):
    """A text that a function hands out as pointer and length, as bytes; None if it has none."""
    data, size = c_void_p(), ctypes.c_size_t()
    if function(*args, byref(data), byref(size)) or not data.value:
        return None
    return ctypes.string_at(data.value, size.value)


class Contexts(threading.local):
    """A context for each thread, made when it first asks."""

    def __init__(self, options):
        self._options, self._context = options, None

    def get(self):
        if self._context is None:
            self._context = Context(context_options(**self._options))
        return self._context


def _path(p):
    return None if p is None else os.fsencode(os.path.abspath(os.fspath(p)))


def context_options(*, cache, cache_dir, cache_key_file, profile_path, nvrtc, threads, line_info):
    if profile_path is not None and not isinstance(profile_path, str):
        profile_path = ":".join(os.fspath(p) for p in profile_path)
    return struct(
        _abi.RollerCtxOptions, program=b"roller", cache=bool(cache), cache_dir=_path(cache_dir),
        cache_key_file=_path(cache_key_file), nvrtc=_path(nvrtc), threads=threads,
        line_info=bool(line_info),
        profile_path=None if profile_path is None else os.fsencode(profile_path),
        nvrtc_folders=os.fsencode(_nvrtc_folders()))
