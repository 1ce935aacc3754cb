"""Contenders timed in turns: same data, same clocks, cold L2.

Before each sample a buffer of more than twice the L2 is written and another one read, so that nothing
that has yet to be written to memory is left in the cache.  The device is busy with that while the
host submits what is timed, so no gap of the host counts; a contender whose submission takes longer
gets more passes over the buffers.  One sample of each contender after another, round after
round, so that a drift of the clocks meets all alike."""
import ctypes
import os
import time

FEWEST, MOST = 5, 31          # rounds
LEAST_FLUSH = 64 << 20
STEADY, HOPELESS = 0.005, 5.0
SLACK, MOST_PASSES = 1.5, 64
READER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "hal",
                      "flush.ptx")
BLOCKS_PER_SM, THREADS, VECTOR = 16, 64, 16          # of the reader


def quantile(ordered, q):
    at = q * (len(ordered) - 1)
    i = int(at)
    if i + 1 >= len(ordered):
        return ordered[-1]
    return ordered[i] + (at - i) * (ordered[i + 1] - ordered[i])


def median(samples):
    return quantile(sorted(samples), 0.5)


def spread(samples):
    """Interquartile range over median."""
    ordered = sorted(samples)
    middle = quantile(ordered, 0.5)
    return (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / middle if middle > 0 else 0.0


class Contender:
    """`run(stream)` submits everything; kind is "ours" or "peer"."""

    def __init__(self, name, kind, run, **facts):
        self.name, self.kind, self.run, self.facts = name, kind, run, facts
        self.samples, self.host_us, self.passes, self.failed = [], 0.0, 1, None
        self.given_up = False

    def record(self):
        found = {"name": self.name, "kind": self.kind, **self.facts}
        if self.failed:
            found["failed"] = self.failed
        if self.samples:
            found.update(us=round(median(self.samples), 4), spread=round(spread(self.samples), 5),
                         host_us=round(self.host_us, 2), given_up=self.given_up,
                         samples=[round(x, 4) for x in self.samples])
        return found


class Clock:
    """Times on one stream of one device."""

    def __init__(self, cuda, stream, l2_bytes):
        self.cuda, self.stream = cuda, stream
        self.bytes = max(2 * l2_bytes + (8 << 20), LEAST_FLUSH)
        if cuda.simulated:
            self.bytes = 2 * l2_bytes + (1 << 20)
        self.buffer = cuda.alloc(self.bytes)
        self.reader = None                # the simulator writes nothing behind
        if not cuda.simulated:
            self._open_reader()
        self.begin, self.end = cuda.event(), cuda.event()
        self.value = 0
        self.flush_us = self._flush_us()

    def _open_reader(self):
        with open(READER, "rb") as f:
            self.reader = self.cuda.kernel(f.read(), "roller_flush")
        self.clean = self.cuda.alloc(self.bytes)
        self.blocks = BLOCKS_PER_SM * self.cuda.info()["sms"]

    def flush(self, passes=1):
        for _ in range(passes):
            self.value = self.value % 255 + 1
            self.cuda.fill(self.buffer, self.value, self.bytes, self.stream)
            if self.reader:
                self.cuda.launch(self.reader, self.blocks, THREADS, self.stream,
                                 ctypes.c_uint64(self.clean),
                                 ctypes.c_uint32(self.bytes // VECTOR))

    def _flush_us(self):
        self.flush()
        self.cuda.record(self.begin, self.stream)
        self.flush(4)
        self.cuda.record(self.end, self.stream)
        return max(self.cuda.elapsed_us(self.begin, self.end) / 4, 1e-3)

    def warm_up(self, contender):
        """Two runs; how long the host takes to submit one."""
        contender.run(self.stream)
        self.cuda.synchronize()
        self.flush(8)
        begun = time.perf_counter()
        contender.run(self.stream)
        contender.host_us = (time.perf_counter() - begun) * 1e6
        self.cuda.synchronize()
        want = int(contender.host_us * SLACK / self.flush_us) + 1
        contender.passes = 1 if self.cuda.simulated else min(want, MOST_PASSES)

    def sample(self, contender):
        self.flush(contender.passes)
        self.cuda.record(self.begin, self.stream)
        contender.run(self.stream)
        self.cuda.record(self.end, self.stream)
        return self.cuda.elapsed_us(self.begin, self.end)


def settled(contenders):
    return all(c.given_up or spread(c.samples) <= STEADY for c in contenders)


def alternate(clock, contenders, budget_s):
    """Rounds until all spreads are small, there are enough, or the time is over."""
    alive = []
    for c in contenders:
        if c.failed:
            continue
        try:
            clock.warm_up(c)
            alive.append(c)
        except Exception as e:               # one contender's failure is no other's
            c.failed = f"{type(e).__name__}: {e}"[:300]
            if "Cuda" in type(e).__name__:   # the context is lost
                raise
    begun = time.monotonic()
    for turn in range(MOST):
        for c in alive:
            if not c.given_up:
                c.samples.append(clock.sample(c))
        if turn + 1 < 2:
            continue
        best = min((min(c.samples) for c in alive), default=0.0)
        for c in alive:
            c.given_up = c.given_up or (turn + 1 >= FEWEST and min(c.samples) > HOPELESS * best)
        over = time.monotonic() - begun
        if turn + 1 >= FEWEST and (over > budget_s or settled(alive)):
            break
        if over > 4 * budget_s and not clock.cuda.simulated:   # there the host's time says nothing
            break
