"""Plans: what is predicted of kernels before there is code."""
from collections import namedtuple
from ctypes import byref

from . import _abi
from ._errors import text
from ._kernel import defines, estimate_of
from ._library import lib, read_text, struct

Group = namedtuple("Group", "us limiter skeleton makes refusal")


def groups_of(contexts, plan):
    """The kernel groups of a RollerPlan."""
    context, found = contexts.get(), []
    for i in range(lib.roller_plan_groups(plan)):
        g = struct(_abi.RollerGroup)
        context.call(lib.roller_plan_group, plan, i, byref(g))
        found.append(Group(g.us, text(g.limiter), text(g.skeleton), text(g.makes).split(),
                           text(g.refusal)))
    return found


def plans_of(contexts, op, profile, options):
    """The plans of a parsed expression; options.top is how many at most."""
    made = contexts.get().make(lib.roller_plan, lib.roller_plans_destroy, op.at, profile.at,
                               byref(options))
    return [Plan(contexts, made, k) for k in range(lib.roller_plans_count(made.at))]


class Plan:
    """A way to compute an op, made by plan and plans."""

    def __init__(self, contexts, handle, rank=0):
        self._contexts, self._handle = contexts, handle
        self._plan = lib.roller_plans_get(handle.at, rank)

    @property
    def text(self):
        """Its text form, for compile(plan=...)."""
        return (read_text(lib.roller_plan_text, self._plan, _abi.ROLLER_PLAN) or b"").decode()

    def __repr__(self):
        said = read_text(lib.roller_plan_text, self._plan, _abi.ROLLER_PLAN_SUMMARY) or b""
        e = self.predicted
        return f"{said.decode().strip()}\npredicted {e.us:.1f} us, limited by {e.limiter}"

    @property
    def predicted(self):
        """As of a Kernel."""
        e = struct(_abi.RollerEstimate)
        lib.roller_plan_estimate(self._plan, byref(e))
        return estimate_of(e)

    def predicted_at(self, **sizes):
        """The same at values of run-time sizes: p.predicted_at(M=64)."""
        e, (at, n) = struct(_abi.RollerEstimate), defines(sizes)
        self._contexts.get().call(lib.roller_plan_estimate_at, self._plan, at, n, byref(e))
        return estimate_of(e)

    @property
    def groups(self):
        """Its kernels in order: time in us, what limits it, skeleton, the tensors that it makes,
        and why a product takes no matrix unit."""
        return tuple(groups_of(self._contexts, self._plan))

    @property
    def picture(self):
        """The tiles of the first product, as SVG; "" if there is none."""
        return (read_text(lib.roller_plan_text, self._plan, _abi.ROLLER_PLAN_PICTURE) or b"").decode()

    @property
    def timeline(self):
        """What a block of the first product does over time, by the model, as SVG; "" if there is none."""
        return (read_text(lib.roller_plan_text, self._plan, _abi.ROLLER_PLAN_TIMELINE) or b"").decode()

    def explain(self):
        """Why this plan: rules, terms, what limits it, runners-up, what was rejected."""
        return (read_text(lib.roller_plans_explain, self._handle.at) or b"").decode()
