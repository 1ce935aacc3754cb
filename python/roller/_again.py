"""Which sizes a kernel is planned for beside its calls: those that come again and again."""
import atexit
import ctypes
import os
import queue
import threading
import weakref
from ctypes import byref, c_int64, c_void_p

from . import _abi
from ._library import Handle, lib, struct

COUNTED = 4096                  # different sizes whose calls are counted; then it begins anew
LEFT_OUT = 63                   # calls in a row that are not looked at, at most


class Again:
    """A kernel's: at the calls-th call with the same sizes a kernel for these is asked for, of which
    there are at most `most`, beside those that the caller asked for.  While calls have sizes that
    were asked for, ever fewer are looked at, so that counting costs nothing in the end."""

    def __init__(self, kernel):
        self.calls, self.most, self.asked = 0, 0, set()
        self._kernel, self._n = weakref.ref(kernel), lib.roller_op_sizes(kernel._op_at)
        self._lock, self._met, self._begun = threading.Lock(), {}, 0
        self._left, self._known = 0, 0      # calls to leave out; how many it was last

    def met(self, arrays, bound):
        """arrays: as roller_sizes_of takes them; bound: they are to be launched many times."""
        if self._left and not bound:
            self._left -= 1
            return
        if self._begun >= self.most:
            return
        values = (c_int64 * self._n)()
        if lib.roller_sizes_of(*arrays, values) or 0 in values:
            return
        sizes = tuple(values)
        self._left = self._known = min(2 * self._known + 1, LEFT_OUT) if sizes in self.asked else 0
        with self._lock:
            if len(self._met) >= COUNTED:
                self._met.clear()
            n = self._met[sizes] = self._met.get(sizes, 0) + (self.calls if bound else 1)
            if n < self.calls or sizes in self.asked or self._begun >= self.most:
                return
            self.asked.add(sizes)
            self._begun += 1
        _maker.ask(self._kernel, values)


class _Maker:
    """A thread that makes one kernel after the other, and ends with the interpreter."""

    def __init__(self):
        self._lock, self._jobs, self._thread = threading.Lock(), queue.SimpleQueue(), None
        self._stop = ctypes.c_bool(False)
        self._watch = struct(_abi.RollerWatch, stop=ctypes.addressof(self._stop))

    def ask(self, kernel, values):
        try:
            self._begin()
            self._jobs.put((kernel, values))
        except RuntimeError as error:       # no thread is to be had, and the caller needs none
            kernel()._not_made[tuple(values)] = error

    def _begin(self):
        with self._lock:
            if self._thread is None and not self._stop.value:
                thread = threading.Thread(target=self._run, name="roller", daemon=True)
                thread.start()
                self._thread = thread

    def _run(self):
        while not self._stop.value and (job := self._jobs.get()):
            self._make(*job)

    def _make(self, kernel, values):
        """What fails is kept with the kernel: nobody waits for it here."""
        try:
            made = self._specialized(kernel, values)
            held = made and kernel()
            if held:
                held._add(tuple(values), made)
        except Exception as error:
            held = kernel()
            if held:
                held._not_made[tuple(values)] = error.with_traceback(None)

    def _specialized(self, kernel, values):
        """None if nobody wants it any more.  Nothing here holds the kernel while its other one is
        compiled."""
        held = kernel()
        if held is None or not held._again.calls:
            return None
        context, handle, out = held._contexts.get(), held._handle, c_void_p()
        del held
        lib.roller_ctx_watch(context.at, byref(self._watch))
        status = lib.roller_specialize(context.at, handle.at, values, None, byref(out))
        if status:
            raise context.error(status)
        return Handle(out.value, lib.roller_kernel_destroy)

    def end(self):
        self._stop.value = True
        self._jobs.put(None)
        if self._thread:
            self._thread.join()


_maker = _Maker()
atexit.register(lambda: _maker.end())
os.register_at_fork(after_in_child=lambda: _maker.__init__())
