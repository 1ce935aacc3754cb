"""A fused program: the text of one op, and what runs it where its tensors lie."""
import contextlib
import functools
import sys
import time
import warnings

import torch

from .. import _default
from .._errors import Error
from .._op import Op

HOSTS, RANDOM = ("simulate", "evaluate"), ("torch", "program")


class Options:
    """How programs of a graph are made and run.

    profile: the GPU that is planned for (that of the tensors, or the default one).
    host: what tensors in host memory are for.  `simulate` runs the compiled code in the simulator,
    `evaluate` the definition of the expression, which needs no NVRTC and is faster.
    tf32: of f32 products, or of "convolutions" alone; None: as PyTorch's switches say.
    random: `torch` leaves random numbers to PyTorch, `program` draws them where they are used, by
    seeds of PyTorch's generator.
    executor, progress: as of compile_many; progress=True writes to standard error, as it does to a
    terminal anyhow.
    specialize: after so many calls on a GPU with the same run-time sizes a program is compiled for
    these, beside the calls (Kernel.specialize_after); 0: never, as under
    torch.use_deterministic_algorithms."""

    def __init__(self, *, profile=None, host="simulate", tf32=None, random="torch", executor=None,
                 progress=None, specialize=16):
        progress = sys.stderr.isatty() if progress is None else progress
        self.executor, self.progress = executor, say if progress is True else progress
        if random not in RANDOM:
            raise ValueError(f"random is {random!r}, which is none of {' '.join(RANDOM)}")
        self.random = random
        if host not in HOSTS:
            raise ValueError(f"host is {host!r}, which is none of {' '.join(HOSTS)}")
        if tf32 not in (None, False, True, "convolutions"):
            raise ValueError(f"tf32 is {tf32!r}, which is none of None False True 'convolutions'")
        self.profile, self.host, self.tf32 = profile, host, tf32
        self.specialize = specialize


def say(done, wanted):
    """A line that counts."""
    print(f"\rroller: {done} of {wanted} programs", end="\n" * (done == wanted), file=sys.stderr,
          flush=True)


@contextlib.contextmanager
def quiet():
    """Warnings about a text that nobody wrote are of use to nobody."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Program:
    """te: its text; inputs: one node's value for each of its arguments."""

    def __init__(self, te, profile):
        self.te, self.profile = te, profile
        self.op = Op(_default, te, file="graph.te")
        self.plans, self.plan_ms = {}, 0.0          # by profile; of the processor
        self.draws = any(a.role == "scalar" for a in self.op.ins)

    @functools.cached_property
    def kernel(self):
        with quiet():
            return _default.compile(self.te, profile=self.profile, file="graph.te")

    def plan(self, profile=None):
        """The plan, for this profile or another one, made once; no code is made."""
        profile = profile or self.profile
        if profile not in self.plans:
            begun = time.process_time()
            with quiet():
                self.plans[profile] = _default.plan(self.te, profile=profile, file="graph.te")
            self.plan_ms += (time.process_time() - begun) * 1e3
        return self.plans[profile]

    def run(self, inputs, outputs, host):
        if self.draws:
            inputs = [*inputs, int(torch.randint(2 ** 62, ()))]
        if outputs[0].device.type == "cpu" and host == "evaluate":
            self.op.evaluate(inputs, outputs)
        else:
            self.kernel(*inputs, out=tuple(outputs))


@functools.lru_cache(4096)
def _program(te, profile):
    return Program(te, profile)


def program(te, profile):
    """Equal programs are one: planned, compiled and loaded once."""
    with quiet():
        return _program(te, profile)


def ready(programs, options):
    """Compiles those that have no kernel, together, where kernels run; {program: why there is none}."""
    if options.host == "evaluate":
        return {}
    wanted = {p: {"te": p.te, "profile": p.profile, "file": "graph.te"} for p in programs
              if "kernel" not in vars(p)}
    with quiet():
        made = _default._compile_each(wanted, options.executor, options.progress)
    for p, kernel in made.items():
        if not isinstance(kernel, Exception):
            p.kernel = kernel
        elif not isinstance(kernel, Error):
            raise kernel
    calls = 0 if torch.are_deterministic_algorithms_enabled() else options.specialize
    for p in programs:
        if "kernel" in vars(p):
            p.kernel.specialize_after(calls)
    return {p: error for p, error in made.items() if isinstance(error, Exception)}


def why(error):
    """An exception as a reason in a list."""
    text = error.message if isinstance(error, Error) else str(error)
    return (text or type(error).__name__).split("\n")[0]

