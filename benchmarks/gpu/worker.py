"""A process that times rows of the workload sets, one request per line of standard input.

A request is {"row", "top", "peers", "seconds", "compile_seconds"}, the answer one line with the
record of that row; the first line out says what the process found.  A request that ends the process
costs only itself: benchmarks/gpu/run starts another."""
import argparse
import contextlib
import hashlib
import json
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import driver
import library
import timing


class TooLong(Exception):
    pass


@contextlib.contextmanager
def within(seconds):
    """Raises TooLong in the main thread; what does not return to Python is the caller's to kill."""
    def on_alarm(number, frame):
        raise TooLong(f"not ready within {seconds:g} s")
    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ---- who owns the tensors ----
class PlainMemory:
    """Tensors in memory of the driver, filled with small integers; one made-up peer."""

    def __init__(self, cuda, lib):
        self.cuda, self.lib = cuda, lib
        self.stream = cuda.stream()
        self.held = []

    def alloc(self, size):
        self.held.append(self.cuda.alloc(size))
        return self.held[-1]

    def tensors(self, op, arguments, seed):
        address = {}
        for i, a in enumerate(arguments):
            if a.role == library.SCALAR:
                continue
            address[a.name] = self.alloc(a.bytes)
            if a.role == library.INPUT:
                self.cuda.write(address[a.name], self.lib.fill(op, i, seed, a.bytes))
        return address

    def poison(self, arguments, address):
        for a in arguments:
            if a.role == library.OUTPUT:
                self.cuda.fill(address[a.name], 0xff, a.bytes, self.stream)

    def peers(self, request, arguments, address):
        """A stand-in for a peer: it only writes the outputs."""
        if not any(name in request["peers"] for name in ("eager", "fake")):
            return []
        outputs = [a for a in arguments if a.role == library.OUTPUT]

        def run(stream):
            for a in outputs:
                self.cuda.fill(self.scratch(a.bytes), 0, a.bytes, stream)
        return [timing.Contender("fake", "peer", run)]

    def scratch(self, size):
        if not hasattr(self, "spare") or self.spare[1] < size:
            self.spare = (self.alloc(size), size)
        return self.spare[0]

    def reference(self, peers):
        return None

    def error(self, arguments, address, reference):
        """Unwritten outputs are found; values are the business of the check."""
        for a in arguments:
            if a.role == library.OUTPUT and a.bytes:
                data = self.cuda.read(address[a.name], a.bytes)
                if data == b"\xff" * a.bytes:
                    return float("nan")
        return None

    def release(self):
        for at in self.held:
            self.cuda.free(at)
        self.held = []
        if hasattr(self, "spare"):
            del self.spare


class TorchMemory:
    """Tensors of PyTorch, filled with random normal numbers, and the peers that it brings."""

    def __init__(self, cuda, lib):
        import torch
        import peers
        self.torch, self.rules, self.cuda = torch, peers, cuda
        peers.use_plain_arithmetic()
        self.torch_stream = torch.cuda.Stream()
        torch.cuda.set_stream(self.torch_stream)
        self.stream = self.torch_stream.cuda_stream
        self.held, self.lt = [], None

    def alloc(self, size):
        t = self.torch.empty(max(size, 1), dtype=self.torch.uint8, device="cuda")
        self.held.append(t)
        return t.data_ptr()

    def tensors(self, op, arguments, seed):
        generator = self.torch.Generator(device="cuda").manual_seed(seed)
        self.tensor, address = {}, {}
        for a in arguments:
            if a.role == library.SCALAR:
                continue
            if a.role == library.INPUT:
                t = self.rules.fill(a, generator)
            else:
                t = self.torch.empty(a.shape, dtype=self.rules.TORCH[a.dtype], device="cuda")
            self.tensor[a.name], address[a.name] = t, t.data_ptr()
        self.torch.cuda.synchronize()
        return address

    def poison(self, arguments, address):
        for a in arguments:
            if a.role == library.OUTPUT:
                self.cuda.fill(address[a.name], 0xff, a.bytes, self.stream)

    # -- peers --
    def peers(self, request, arguments, address):
        row, wanted = request["row"], request["peers"]
        given = {a.name: self.tensor[a.name] for a in arguments if a.role == library.INPUT}
        outputs = [self.tensor[a.name] for a in arguments if a.role == library.OUTPUT]
        found, self.results = [], {}
        eager = self.rules.eager(row, given)
        for name, (run, read) in eager.items():
            if "eager" in wanted:
                found.append(self.torch_peer(name, run, read))
        for name, make in (("cublaslt", self.cublaslt), ("triton", self.triton)):
            if name in wanted:
                found += self.guarded(name, 60, make, row, given, outputs)
        if "compile" in wanted:
            for name, (run, read) in eager.items():
                if name in ("eager", "channels_last"):
                    found += self.guarded(f"compile:{name}", request["compile_seconds"],
                                          self.compiled, run, read, f"compile:{name}")
        return found

    def guarded(self, name, seconds, make, *arguments):
        try:
            with within(seconds):
                return make(*arguments)
        except Exception as e:
            failed = timing.Contender(name, "peer", None)
            failed.failed = f"{type(e).__name__}: {e}"[:300]
            return [failed]

    def torch_peer(self, name, run, read):
        def launch(stream):
            self.results[name] = run()
        c = timing.Contender(name, "peer", launch)
        c.read = lambda: read(self.results[name])
        return c

    def compiled(self, run, read, name):
        fast = self.rules.compiled(run)
        fast()
        self.torch.cuda.synchronize()
        return [self.torch_peer(name, fast, read)]

    def triton(self, row, given, outputs):
        import triton_peers
        run = triton_peers.peer(row, given, lambda: self.torch.empty_like(outputs[0]))
        if not run:
            return []
        run()
        self.torch.cuda.synchronize()
        return [self.torch_peer("triton", run, lambda y: y)]

    def cublaslt(self, row, given, outputs):
        """Tries every algorithm of the heuristic and keeps the fastest."""
        import cublaslt
        shape = cublaslt.shape_of(row)
        if not shape:
            return []
        self.lt = self.lt or cublaslt.CublasLt()
        first, second = ("X", "Y") if row["op"] == "bmm" else ("A", "B")
        out = self.torch.empty_like(outputs[0])
        space = self.alloc(cublaslt.WORKSPACE_BYTES)
        one = self.torch.ones(1, device="cuda")
        self.held += [out, one]
        names = {v: k for k, v in self.rules.TORCH.items()}
        bias = given.get("bias")
        epilogue = None
        if row["op"] == "gemm_bias_act":
            epilogue = cublaslt.EPILOGUES[row["params"].get("act", "none")]
        p = cublaslt.Product(self.lt, shape, (row["dtype"], names[out.dtype]),
                             {"A": given[first].data_ptr(), "B": given[second].data_ptr(),
                              "C": out.data_ptr()}, space,
                             bias=bias.data_ptr() if bias is not None else None,
                             epilogue=epilogue,
                             scales=one.data_ptr() if row["dtype"] == "f8e4m3" else None)
        best = self.fastest(p)
        c = timing.Contender("cublaslt", "peer", lambda stream: p.launch(best, stream),
                             algorithms=len(p.algorithms))
        c.read = lambda: out
        return [c]

    def fastest(self, p):
        begin, end = self.cuda.event(), self.cuda.event()
        best = None
        for i in range(len(p.algorithms)):
            try:
                p.launch(i, self.stream)
                times = []
                for _ in range(3):
                    self.clock.flush()
                    self.cuda.record(begin, self.stream)
                    p.launch(i, self.stream)
                    self.cuda.record(end, self.stream)
                    times.append(self.cuda.elapsed_us(begin, end))
            except Exception as e:
                if "Cuda" in type(e).__name__:
                    raise
                continue
            if best is None or min(times) < best[0]:
                best = (min(times), i)
        if best is None:
            raise RuntimeError("no algorithm of the heuristic runs")
        return best[1]

    # -- what is right --
    def reference(self, peers):
        for c in peers:
            if c.failed or not hasattr(c, "read"):
                continue
            try:
                c.run(self.stream)
                self.torch.cuda.synchronize()
                y = c.read()
                return c.name, [x.clone() for x in (y if isinstance(y, tuple) else (y,))]
            except Exception as e:
                c.failed = f"{type(e).__name__}: {e}"[:300]
                if "CUDA error" in str(e) or "Cuda" in type(e).__name__:
                    raise
        return None

    def error(self, arguments, address, reference):
        if reference is None:
            return None
        worst = 0.0
        outputs = [a for a in arguments if a.role == library.OUTPUT]
        for a, want in zip(outputs, reference[1]):
            e = self.rules.difference(self.tensor[a.name], want.reshape(a.shape).to(
                self.rules.TORCH[a.dtype]))
            if not e <= worst:
                worst = e
        return worst

    def tolerance(self, row, arguments):
        kinds = [row["dtype"]] + [a.dtype for a in arguments if a.role == library.OUTPUT]
        return max(self.rules.TOLERANCE.get(k, 0.0) for k in kinds)

    def release(self):
        self.held, self.tensor, self.results = [], {}, {}
        self.torch.cuda.empty_cache()


# ---- ours ----
class Built:
    """A plan of ours: what the model says of it, and its kernel or why there is none.  `kind` is
    "ours", or "shipped" for the first plan of the profile that was not measured here."""

    def __init__(self, lib, plan, rank, kind="ours"):
        self.plan, self.rank, self.kernel, self.exec, self.why = plan, rank, None, None, None
        self.kind, self.name = kind, f"{'roller' if kind == 'ours' else kind}#{rank + 1}"
        self.facts = {"rank": rank + 1, **lib.estimate(plan),
                      "plan": lib.plan_text(plan, library.PLAN_SUMMARY).split("\n")[0]}
        self.facts["predicted_us"] = self.facts.pop("us")

    def build(self, lib, ctx):
        try:
            self.kernel = lib.build(ctx, self.plan)
            self.facts["kernels"] = lib.launches(self.kernel)
            self.spills = any(k["spill_bytes"] for k in self.facts["kernels"])
            cubin = lib.cubin(self.kernel)
            for k in self.facts["kernels"]:
                cubin = cubin.replace(k["symbol"].split("_")[1].encode(), b"0" * 16)
            self.hash = hashlib.sha256(cubin).hexdigest()
        except library.RollerError as e:
            self.why = f"build: {e}"


class Worker:
    def __init__(self, o):
        self.o = o
        self.torch = not o.plain and self.have("torch")
        if self.torch:
            import torch
            torch.cuda.set_device(o.device)
            torch.zeros(1, device="cuda")
        self.cuda = driver.Cuda(o.device)
        self.info = self.cuda.info()
        self.nvml = driver.Nvml(self.cuda.uuid)
        self.lib = library.Library(os.path.join(o.kit, "lib", "libroller.so.0"), o.profile_path)
        self.profile = self.lib.profile(o.profile)
        self.shipped = self.lib.profile(o.shipped) if o.shipped else None
        self.threads = [self.lib.context() for _ in range(min(os.cpu_count() or 1, 16))]
        self.memory = (TorchMemory if self.torch else PlainMemory)(self.cuda, self.lib)
        self.clock = timing.Clock(self.cuda, self.memory.stream, self.info["l2_bytes"])
        self.memory.clock = self.clock

    @staticmethod
    def have(name):
        import importlib.util
        return importlib.util.find_spec(name) is not None

    def hello(self):
        return {"hello": True, "torch": self.torch, "device": self.info,
                "flush_us": self.clock.flush_us, "flush_bytes": self.clock.bytes}

    def build(self, built):
        todo, lock = list(built), threading.Lock()

        def work(ctx):
            while True:
                with lock:
                    if not todo:
                        return
                    b = todo.pop(0)
                b.build(self.lib, ctx)
        threads = [threading.Thread(target=work, args=(ctx,)) for ctx in self.threads]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    def ours(self, arguments, built, address):
        """A contender per plan that was built, has machine code of its own and does not spill
        where another does not."""
        sound = any(b.kernel and not b.spills for b in built)
        found, seen = [], {}
        for b in built:
            if not b.why and b.spills and sound:
                b.why = "spill"
            if not b.why and b.hash in seen:
                b.why = f"same machine code as {seen[b.hash]}"
            c = timing.Contender(b.name, b.kind, None, **b.facts)
            found.append(c)
            if b.why:
                c.failed = b.why
                continue
            seen[b.hash] = b.name
            try:
                b.exec = self.lib.load(b.kernel, self.o.device)
                c.run = library.Launch(self.lib, b.exec, arguments, address, self.o.device,
                                       self.memory.alloc, library.scalar)
            except library.RollerError as e:
                c.failed = f"load: {e}"
        return found

    def prove(self, row, contenders, arguments, address, reference):
        """Each plan computes what the first peer does, or is out."""
        limit = self.memory.tolerance(row, arguments) if reference else None
        for c in contenders:
            if c.failed:
                continue
            self.memory.poison(arguments, address)
            try:
                c.run(self.memory.stream)
            except library.RollerError as e:     # refused before it began
                c.failed = f"launch: {e}"
                continue
            try:
                self.cuda.synchronize()
            except Exception as e:
                c.failed = f"fault: {e}"[:300]
                raise
            error = self.memory.error(arguments, address, reference)
            if error is None:
                continue
            c.facts["error"] = error if error == error else "nan"
            if not error <= (limit or 0.0):
                c.failed = f"wrong: relative error {error:.3g}, at most {limit or 0.0:g}"

    def do(self, request):
        row = request["row"]
        record = {"id": row["id"], "set": row["set"], "op": row["op"], "dtype": row["dtype"],
                  "clocks_before": self.nvml.state()}
        begun, built, plans, op, contenders = time.monotonic(), [], [], None, []
        try:
            op = self.lib.parse(row["te"])
            plans.append(self.lib.plan(op, self.profile, request["top"]))
            built = [Built(self.lib, p, i) for i, p in enumerate(self.lib.plans(plans[0]))]
            if self.shipped:
                plans.append(self.lib.plan(op, self.shipped, 1))
                built += [Built(self.lib, p, i, "shipped")
                          for i, p in enumerate(self.lib.plans(plans[1]))]
            self.build(built)
            record["build_s"] = round(time.monotonic() - begun, 3)
            arguments = self.lib.arguments(op)
            address = self.memory.tensors(op, arguments, request.get("seed", 1))
            peers = self.memory.peers(request, arguments, address)
            reference = self.memory.reference(peers)
            record["reference"] = reference[0] if reference else None
            contenders = self.ours(arguments, built, address)
            self.prove(row, contenders, arguments, address, reference)
            contenders += peers
            timing.alternate(self.clock, contenders, request["seconds"])
        except Exception as e:
            record["failed"] = f"{type(e).__name__}: {e}"[:500]
        finally:
            record["contenders"] = [c.record() for c in contenders]
            record["clocks_after"] = self.nvml.state()
            record["seconds"] = round(time.monotonic() - begun, 3)
            self.drop(built, plans, op, record)
        return record

    def drop(self, built, plans, op, record):
        try:
            self.cuda.synchronize()
            for b in built:
                self.lib.free("exec", b.exec)
                self.lib.free("kernel", b.kernel)
            for p in plans:
                self.lib.free("plans", p)
            self.lib.free("op", op)
            self.memory.release()
        except Exception as e:               # the context is lost; so is this process
            record.setdefault("failed", f"{type(e).__name__}: {e}"[:500])
            record["lost"] = True


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--kit", required=True)
    p.add_argument("--device", type=int, default=0)
    p.add_argument("--profile", required=True)
    p.add_argument("--shipped", help="another profile, whose first plan is timed beside")
    p.add_argument("--profile-path")
    p.add_argument("--plain", action="store_true", help="no framework")
    o = p.parse_args()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)                            # what frameworks print is no answer
    worker = Worker(o)

    def answer(record):
        out.write(json.dumps(record) + "\n")
        out.flush()
    answer(worker.hello())
    for line in sys.stdin:
        record = worker.do(json.loads(line))
        answer(record)
        if record.get("lost"):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
