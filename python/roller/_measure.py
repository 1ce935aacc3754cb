"""Times on a device: of a kernel, of several plans, of many programs, beside other functions."""
import concurrent.futures
import statistics
import sys
import time
from collections import namedtuple
from ctypes import byref, c_char_p, c_void_p, cast, sizeof

from . import _abi
from ._errors import text
from ._library import Handle, lib, struct

Trial = namedtuple("Trial", "us warm_us spread clock_mhz samples by_events rejected reason where")
Trial.__doc__ = """A plan that was timed, or why it was not: us after a flush of L2, warm_us without
one, on the device `where`."""


def _trial(t, where):
    return Trial(t.cold_us, t.warm_us, t.spread, t.clock_mhz, t.samples, bool(t.by_events),
                 text(t.rejected), text(t.reason), where)


def race(context, entries, sizes, *, device=None, trials=0, time_limit=0, seed=0):
    """Proves and times plans in a process of their own.  Of each entry, (plans, at), the fastest's
    handle, and all trials; of one none of whose plans was timed the first plan's."""
    options = struct(_abi.RollerTrialOptions, trials=trials or 0, limit_s=time_limit or 0,
                     device=None if device is None else str(device).encode(), seed=seed or 0)
    contenders, kept, where = (_abi.RollerContender * len(entries))(), [], c_char_p()
    for c, (plans, at) in zip(contenders, entries):
        given, n = sizes(at)
        made = (_abi.RollerTrial * lib.roller_plans_count(plans.at))()
        made[0].struct_size = sizeof(_abi.RollerTrial)
        kept.append((given, made))
        c.struct_size, c.plans, c.trial = sizeof(c), plans.at, cast(made, c_void_p)
        c.at, c.n_at = cast(given, c_void_p), n
    context.call(lib.roller_fastest_many, contenders, len(entries), byref(options), byref(where))
    found = [[_trial(t, text(where.value)) for t in made] for _, made in kept]
    best = [Handle(c.kernel, lib.roller_kernel_destroy) if c.kernel else
            context.make(lib.roller_build_best, lib.roller_kernel_destroy, plans.at, None)
            for c, (plans, _) in zip(contenders, entries)]
    return list(zip(best, found))


# ---- beside other functions ----
class Bench:
    """A kernel's time, and others' on the same arrays; str() is a table.

    us        the kernel's, warm, as loops of calls find it
    cold_us   after a flush of L2
    others    {name: us}
    where     the device that timed the kernel; where_others: what timed the others
    """

    def __init__(self, kernel, trial, estimate, others, on_device):
        self.kernel, self.us, self.cold_us = kernel.name, trial.warm_us, trial.us
        self.where, self.others, self.on_device = trial.where, others, on_device
        self.where_others = ("on the arrays' device, by events, warm" if on_device else
                             "on this machine's processor, by its clock")
        self.predicted_us, self.floor_us = estimate.us, estimate.floor_us
        self.flops, self.bytes = estimate.flops, estimate.bytes

    @property
    def gbs(self):
        """GB/s of the bytes that any kernel must move."""
        return self.bytes / self.us / 1e3

    @property
    def tflops(self):
        return self.flops / self.us / 1e6

    @property
    def of_floor(self):
        """The least time that any kernel takes, over this one's: 1 is the best."""
        return self.floor_us / self.us

    def _rows(self):
        yield "", "time", "GB/s", "TFLOP/s", "of the floor"
        ours = {f"{self.kernel}, warm L2": self.us, f"{self.kernel}, cold L2": self.cold_us,
                "predicted, cold L2": self.predicted_us}
        for name, us in {**ours, **self.others}.items():
            rates = (f"{self.bytes / us / 1e3:.1f}", f"{self.flops / us / 1e6:.2f}",
                     f"{self.floor_us / us:.0%}")       # of the device, not of a processor
            yield (name, f"{us:.2f} us", *(rates if name in ours or self.on_device else ("",) * 3))

    def __str__(self):
        rows = list(self._rows())
        wide = [max(len(r[k]) for r in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(c.ljust(w) if k == 0 else c.rjust(w)
                           for k, (c, w) in enumerate(zip(r, wide))).rstrip() for r in rows]
        lines.append(f"{self.kernel} on {self.where}")
        if self.others:
            lines.append(f"{', '.join(self.others)} {self.where_others}")
        return "\n".join(lines)

    __repr__ = __str__


def sizes_of(kernel, args):
    """Run-time sizes of a call with these arrays."""
    return {extent: n for a, x in zip(kernel._signature.ins, args) if a.role == "input"
            for extent, n in zip(a.shape, x.shape) if isinstance(extent, str)
            and extent in kernel.sizes}


def bench(kernel, *args, beside=None, device=None, seed=None):
    """Times a kernel at the sizes of these arrays, and other functions on the arrays themselves.

    The kernel runs on `device` (the first; docs/measuring.md says how), with data of its own.
    beside  {"torch": torch.matmul, ...}: each is called with args.  Arrays of PyTorch and CuPy on a
            CUDA device are timed by events, others by this machine's clock.
    """
    at = sizes_of(kernel, args)
    trial = kernel.measure(device=device, sizes=at, seed=seed)
    timer, on_device = _timer(args)
    others = {name: timer(lambda f=f: f(*args)) for name, f in (beside or {}).items()}
    return Bench(kernel, trial, kernel.predicted_at(**at), others, on_device)


def _timer(args):
    """What times calls with these arrays, and whether that is on a device."""
    library = next((type(x).__module__.partition(".")[0] for x in args if hasattr(x, "shape")), "")
    if library == "torch" and any(getattr(x, "is_cuda", False) for x in args):
        torch = sys.modules["torch"]
        return (lambda f: _by_events(f, lambda: torch.cuda.Event(enable_timing=True),
                                     lambda a, b: a.elapsed_time(b), torch.cuda.synchronize),
                True)
    if library == "cupy":
        cuda = sys.modules["cupy"].cuda
        return (lambda f: _by_events(f, cuda.Event, cuda.get_elapsed_time,
                                     cuda.Device().synchronize), True)
    return _by_clock, False


REPEATS, LEAST_S = 11, 1e-3


def _often(f):
    """How often it is called for one sample, so that the clock's grain does not count."""
    f()
    begun = time.perf_counter()
    f()
    return max(1, int(LEAST_S / max(time.perf_counter() - begun, 1e-9)))


def _by_clock(f):
    n, found = _often(f), []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        for _ in range(n):
            f()
        found.append((time.perf_counter() - begun) / n)
    return statistics.median(found) * 1e6


def _by_events(f, event, elapsed_ms, wait):
    n, found = _often(f), []
    for _ in range(REPEATS):
        wait()
        begin, end = event(), event()
        begin.record()
        for _ in range(n):
            f()
        end.record()
        wait()
        found.append(elapsed_ms(begin, end) / n)
    return statistics.median(found) * 1e3


# ---- many ----
def over_devices(devices, jobs, run):
    """run(device, job) for each job: a device has one at a time, and takes the next when it is
    done; results in order."""
    waiting, results = iter(enumerate(jobs)), {}

    def serve(device):
        for k, job in waiting:
            results[k] = run(device, job)
    with concurrent.futures.ThreadPoolExecutor(len(devices)) as threads:
        for done in [threads.submit(serve, d) for d in devices]:
            done.result()
    return [results[k] for k in range(len(results))]


def shared_out(devices, jobs, trials, run):
    """run(device, jobs, trials): each device has its share of both; results in order.  No device
    is asked that would have no trial."""
    n = min(len(devices), len(jobs), trials or len(jobs))

    def serve(k):
        return run(devices[k], jobs[k::n], trials and trials // n + (k < trials % n))
    with concurrent.futures.ThreadPoolExecutor(n or 1) as threads:
        done = list(threads.map(serve, range(n)))
    return [done[k % n][k // n] for k in range(len(jobs))]
