"""A fused program: the text of one op, and what runs it where its tensors lie."""
import functools
import time
import warnings

import torch

from .. import _default
from .._errors import Error
from .._op import Op

HOSTS, RANDOM = ("simulate", "evaluate"), ("torch", "program")


class Options:
    """profile: the GPU that is planned for (that of the tensors, or the default one).  host: what
    tensors in host memory are for: `simulate` runs the compiled code in the simulator, `evaluate`
    the definition of the expression, which needs no NVRTC and is faster.  tf32: of f32 products;
    None: as PyTorch's switches say.  random: `torch` leaves random numbers to PyTorch, `program`
    draws them where they are used, by seeds of PyTorch's generator."""

    def __init__(self, *, profile=None, host="simulate", tf32=None, random="torch"):
        if random not in RANDOM:
            raise ValueError(f"random is {random!r}, which is none of {' '.join(RANDOM)}")
        self.random = random
        if host not in HOSTS:
            raise ValueError(f"host is {host!r}, which is none of {' '.join(HOSTS)}")
        self.profile, self.host, self.tf32 = profile, host, tf32


class Program:
    """te: its text; inputs: one node's value for each of its arguments."""

    def __init__(self, te, profile):
        self.te, self.profile = te, profile
        self.op = Op(_default, te, file="graph.te")
        self.plans, self.plan_ms = {}, 0.0          # by profile; of the processor
        self.draws = any(a.role == "scalar" for a in self.op.ins)

    @functools.cached_property
    def kernel(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _default.compile(self.te, profile=self.profile, file="graph.te")

    def plan(self, profile=None):
        """The plan, for this profile or another one, made once; no code is made."""
        profile = profile or self.profile
        if profile not in self.plans:
            begun = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _program(te, profile)


def why(error):
    """An exception as a reason in a list."""
    text = getattr(error, "message", None) if isinstance(error, Error) else None
    return (text or f"{type(error).__name__}: {error}").split("\n")[0]

