"""The parts of benchmarks/gpu that need no device: units.py KIT.  Prints TAP."""
import ctypes
import json
import os
import sys
import tempfile
import time
import types

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(TREE, "benchmarks", "gpu")
KIT = sys.argv[1]
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import cases
import client
import cublaslt
import library
import report
import session
import timing
from journal import Journal

rows = cases.rows(KIT)


def near(a, b):
    assert abs(a - b) < 1e-9 * max(1, abs(b)), (a, b)


# ---- journal ----
def journal_resumes():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "journal.jsonl")
        j = Journal(path)
        j.add("core", "a", {"x": 1})
        j.add("core", "b", {"x": 2})
        j.add("check", "a", {"x": 3})
        again = Journal(path)
        assert ("core", "a") in again and ("check", "b") not in again
        assert again.of("core") == {"a": {"x": 1}, "b": {"x": 2}}


def journal_mends_what_a_kill_left():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "journal.jsonl")
        Journal(path).add("core", "a", {"x": 1})
        whole = os.path.getsize(path)
        for rest in ('{"part": "core", "key": "b", "rec', '{"part": "core"}\n', "\0\0\n", "{}",
                     '{"part": "core", "key": "b", "record": {}}'):
            with open(path, "a", encoding="utf-8") as f:
                f.write(rest)
            j = Journal(path)
            assert list(j.records) == [("core", "a")], rest
            assert os.path.getsize(path) == whole, rest
        j.add("core", "c", {})
        assert list(Journal(path).records) == [("core", "a"), ("core", "c")]


def journal_forgets():
    with tempfile.TemporaryDirectory() as d:
        host = types.SimpleNamespace(folder=d, journal=Journal(os.path.join(d, "journal.jsonl")))
        open(os.path.join(d, "complete"), "w").close()
        j = host.journal
        for part, key, record in (("core", "a", {"failed": "x"}), ("core", "b", {}),
                                  ("check", "a", {"end": "ok", "exact": True, "same": False}),
                                  ("check", "b", {"end": "status 5"}),
                                  ("check", "c", {"end": "ok", "exact": False, "same": False})):
            j.add(part, key, record)
        session.Session.forget(host, ["check"], "failed")
        assert sorted(j.records) == [("check", "c"), ("core", "a"), ("core", "b")]
        session.Session.forget(host, ["core"], "all")
        assert list(Journal(j.path).records) == [("check", "c")]
        assert not os.path.exists(os.path.join(d, "complete"))


# ---- lists ----
def every_row_is_timed_once():
    core, rest = cases.core(rows), cases.rest(rows)
    ids = [r["id"] for r in core + rest]
    assert len(ids) == len(set(ids)) == len(rows) >= 1200
    families = set(cases.families(rows))
    assert {(r["set"], r["op"], r["dtype"]) for r in core} == families
    first = [r["set"] for r in core[:6]]
    assert sorted(first) == sorted(cases.SETS)       # a run that is cut short has some of each
    assert [r["id"] for r in cases.shuffled(rows)] == \
        [r["id"] for r in cases.shuffled(reversed(rows))]


def small_instances_are_small_and_parse():
    lib = library.Library(os.path.join(KIT, "lib", "libroller.so.0"))
    found = cases.small_instances(rows)
    assert len(found) > 200 and len({w["key"] for w in found}) == len(found)
    seen = set()
    for w in found:
        op = lib.parse(w["te"])
        size = sum(a.bytes for a in lib.arguments(op))
        assert size < 4 << 20, (w["key"], size)
        lib.free("op", op)
        seen.add(w["te"])
    assert len(seen) == len(found)
    kinds = {(r["op"], r["dtype"]) for r in rows}
    have = {(r["op"], r["dtype"]) for r in rows for w in found if w["key"] == "small:" + r["id"]}
    assert have == kinds, kinds - have


def small_sizes_keep_their_alignment():
    row = {"op": "matmul", "params": {"M": "4097", "N": "1000", "K": "7"},
           "te": "param M = 4097;\nparam N = 1000;\nparam K = 7;\n"}
    got = cases.small(row)
    assert got == {"M": 96 + 1, "N": 96 + 8}, got


def outputs_are_found():
    assert cases.outputs("second(X: f32[32], a: f32) -> (Y: f32[32], Z: i8[4])") == \
        ("second", ["Y", "Z"])
    assert cases.outputs("m(A: f16[M,K]) -> C: f16[M,N] ") == ("m", ["C"])


# ---- figures ----
def contender(name, us, rank=0, predicted=0.0, **more):
    kind = "ours" if rank else "peer"
    return {"name": name, "kind": kind, "us": us, "spread": 0.01, "rank": rank,
            "predicted_us": predicted, "limiter": "dram", "skeleton": "row", "floor_us": 1.0,
            "samples": [us], **more}


def figures_of_a_row():
    f = report.figures({"contenders": [
        contender("roller#1", 4.0, 1, 3.0), contender("roller#2", 2.0, 2, 3.5),
        contender("roller#3", 5.0, 3, 3.9), contender("eager", 8.0), contender("triton", 2.5)]})
    near(f["ratio1"], 1.6)
    near(f["ratio10"], 0.8)
    near(f["error"], -0.25)
    near(f["regret"], 1.0)
    near(f["floor"], 0.25)
    near(f["tau"], 1 / 3)
    assert f["peer"] == "triton" and f["best_rank"] == 2 and f["plans"] == 3
    assert report.figures({"contenders": [contender("eager", 1.0)]}) is None
    assert report.figures({"failed": "timeout"}) is None
    ours, other = contender("roller#1", 4.0, 1, 3.0), {"name": "shipped#1", "kind": "shipped"}
    assert report.figures({"contenders": [ours, dict(other, us=5.0)]})["shipped_us"] == 5.0
    assert report.figures({"contenders": [ours, dict(
        other, failed="same machine code as roller#1")]})["shipped_us"] == 4.0
    assert report.figures({"contenders": [ours, dict(other, failed="x")]})["shipped_us"] is None
    alone = report.figures({"contenders": [contender("roller#1", 4.0, 1, 3.0)]})
    assert "ratio1" not in alone and alone["tau"] is None
    near(report.geomean([1, 4, None]), 2)
    assert report.geomean([]) is None and report.middle([]) is None
    near(report.middle([4, 1, 3]), 3)


def rank_correlation():
    def order(*pairs):
        return report.kendall([contender("x", us, 1, p) for p, us in pairs])
    near(order((1, 1), (2, 2), (3, 3)), 1)
    near(order((1, 3), (2, 2), (3, 1)), -1)
    assert order((1, 1)) is None and order((1, 2), (1, 3)) is None


def profiles_compared():
    one = {"limits": {"sm": {"value": 10, "unit": "1"}}, "units": [
        {"name": "ffma", "rate": {"value": 100.0, "unit": "x"}}],
        "memory": [{"level": "dram", "read": {"value": 50}, "curves": [
            {"of": "read", "points": [[1, 2.0], [2, 4.0]]}]}]}
    two = json.loads(json.dumps(one))
    two["units"][0]["rate"]["value"] = 90.0
    two["memory"][0]["curves"][0]["points"][1][1] = 4.1
    found = report.compare_profiles(one, two)
    assert found["figures"] == 5 and found["agree"] == 4, found
    assert found["worst"][0][0] == "units[ffma].rate"
    near(found["worst"][0][3], 0.1)


def pages_of_anything():
    with tempfile.TemporaryDirectory() as d:
        j = Journal(os.path.join(d, "journal.jsonl"))
        report.write_all(d, j, {})
        row = {"id": "x", "set": "llm", "op": "matmul", "dtype": "f16"}
        j.add("core", "x", {**row, "contenders": [contender("roller#1", 4.0, 1, 3.0),
                                                  contender("eager", 8.0)]})
        j.add("core", "y", {**row, "id": "y", "failed": "no answer within 9 s"})
        j.add("sweep", "z", {**row, "id": "z", "contenders": [
            {"name": "roller#1", "kind": "ours", "failed": "wrong: relative error 1"},
            {"name": "roller#2", "kind": "ours", "failed": "spill"}]})
        j.add("check", "a.te:a", {"end": "ok", "exact": True, "same": True})
        j.add("check", "b.te:b", {"end": "status 5", "text": "C[0] is 1 | 2\nmore"})
        j.add("check", "c.te:c", {"end": "ok", "exact": True, "same": False})
        report.write_all(d, j, {"device": {"name": "NVIDIA X"}, "roller": "0.1.0"})
        with open(os.path.join(d, "README.md"), encoding="utf-8") as f:
            page = f.read()
        assert "2 of 3 cases are right" in page and "b.te:b" in page and "C[0] is 1 / 2" in page
        assert "| core | llm | 2 | 1 | 1 | 0.50 |" in page, page
        assert "y: no answer within 9 s" in page and "relative error 1" in page
        assert "#2: spill" not in page
        widths = {line.count("|") for line in page.splitlines() if line.startswith("| core")}
        assert len(widths) == 1
        with open(os.path.join(d, "llm.json"), encoding="utf-8") as f:
            data = json.load(f)
        assert [r["id"] for r in data["rows"]] == ["x", "y", "z"]
        assert data["rows"][0]["contenders"][0]["samples"] == [4.0]


# ---- timing ----
class FakeCuda:
    """A device whose clock advances by what is run on it."""
    simulated = False

    def __init__(self):
        self.now, self.log, self.at, self.events, self.reads = 0.0, [], {}, 0, 0

    def alloc(self, size):
        return 4096

    def fill(self, at, byte, size, stream):
        self.now += 50.0
        self.log.append("flush")

    def info(self):
        return {"sms": 4}

    def kernel(self, ptx, name):
        assert b".entry " + name.encode() in ptx
        return name

    def launch(self, kernel, blocks, threads, stream, at, n):
        assert self.log[-1] == "flush" and n.value * 16 >= 2 << 20     # all of another buffer
        self.reads += 1

    def event(self):
        self.events += 1
        return self.events

    def record(self, event, stream):
        self.at[event] = self.now

    def elapsed_us(self, begin, end):
        return self.at[end] - self.at[begin]

    def synchronize(self):
        pass


def fake(cuda, name, us):
    def go(stream):
        cuda.now += us
        cuda.log.append(name)
    return timing.Contender(name, "peer", go)


def contenders_take_turns_behind_a_flush():
    cuda = FakeCuda()
    clock = timing.Clock(cuda, None, 1 << 20)
    a, b = fake(cuda, "a", 10.0), fake(cuda, "b", 12.0)
    cuda.log.clear()
    cuda.reads = 0
    timing.alternate(clock, [a, b], 1.0)
    assert cuda.reads == cuda.log.count("flush") > 0
    assert a.samples == [10.0] * 5 and b.samples == [12.0] * 5
    runs = [x for x in cuda.log if x != "flush"]
    assert runs == ["a", "a", "b", "b"] + ["a", "b"] * 5
    timed = cuda.log[-20:]
    assert all(timed[i - 1] == "flush" for i, x in enumerate(timed) if x != "flush" and i)
    near(clock.flush_us, 50.0)


def a_slow_submission_gets_a_longer_flush():
    host = types.SimpleNamespace(now=0.0)
    timing.time = types.SimpleNamespace(perf_counter=lambda: host.now, monotonic=lambda: host.now)
    try:
        cuda = FakeCuda()
        clock = timing.Clock(cuda, None, 1 << 20)
        slow, quick = fake(cuda, "slow", 1.0), fake(cuda, "quick", 1.0)
        launch = slow.run

        def slowly(stream):
            host.now += 0.001
            launch(stream)
        slow.run = slowly
        timing.alternate(clock, [slow, quick], 0.1)
    finally:
        timing.time = time
    near(slow.host_us, 1000.0)
    assert (slow.passes, quick.passes) == (31, 1)      # of 50 us each, half as much again
    at = cuda.log.index("slow", len(cuda.log) - 40)
    assert cuda.log[at - 31:at] == ["flush"] * 31


def what_fails_or_is_hopeless_costs_only_itself():
    cuda = FakeCuda()
    clock = timing.Clock(cuda, None, 1 << 20)
    good, slow, bad = fake(cuda, "good", 1.0), fake(cuda, "slow", 100.0), fake(cuda, "bad", 1.0)
    noise = iter(range(10 ** 6))

    def noisy(stream):
        cuda.now += 1.0 + next(noise) % 3
    good.run = noisy

    def refuse(stream):
        raise ValueError("no")
    bad.run = refuse
    timing.alternate(clock, [good, slow, bad], 30.0)
    assert bad.failed == "ValueError: no" and not bad.samples
    assert slow.given_up and len(slow.samples) == timing.FEWEST
    assert len(good.samples) == timing.MOST
    assert good.record()["us"] == timing.median(good.samples)
    near(timing.spread([1.0, 2.0, 3.0, 4.0, 5.0]), 2 / 3)


# ---- cuBLASLt ----
class FakeLt:
    """Multiplies on the host as cuBLAS would: by columns, with leading dimensions and batches."""

    def __init__(self):
        self.things, self.calls = {}, []

    def new(self, out, **what):
        self.things[len(self.things) + 1] = types.SimpleNamespace(attribute={}, **what)
        out._obj.value = len(self.things)
        return 0

    def cublasLtCreate(self, out):
        return self.new(out)

    def cublasLtMatmulDescCreate(self, out, compute, scale):
        return self.new(out, compute=compute.value, scale=scale.value)

    def cublasLtMatrixLayoutCreate(self, out, kind, n_rows, columns, ld):
        return self.new(out, kind=kind.value, rows=n_rows.value, columns=columns.value, ld=ld.value)

    def cublasLtMatmulPreferenceCreate(self, out):
        return self.new(out)

    def cublasLtMatmulPreferenceDestroy(self, p):
        return 0

    def set(self, of, which, value, size):
        assert size.value == ctypes.sizeof(value._obj)
        self.things[of.value].attribute[which.value] = value._obj.value
        return 0
    cublasLtMatrixLayoutSetAttribute = cublasLtMatmulDescSetAttribute = set
    cublasLtMatmulPreferenceSetAttribute = set

    def cublasLtMatmulAlgoGetHeuristic(self, handle, desc, a, b, c, d, preference, most, results,
                                       found):
        assert self.things[preference.value].attribute[1] == cublaslt.WORKSPACE_BYTES
        results[0].state, results[1].state = 7, 0
        found._obj.value = 2
        return 0

    def cublasLtMatmul(self, handle, desc, one, first, a, second, b, zero, c, cd, d, dd, algo,
                       space, size, stream):
        x, y, z = (self.things[k.value] for k in (a, b, dd))
        turn = self.things[desc.value].attribute
        batches = z.attribute.get(cublaslt.BATCH_COUNT, 1)
        ta, tb = turn[cublaslt.TRANSA], turn[cublaslt.TRANSB]
        k = x.rows if ta else x.columns
        assert k == (y.columns if tb else y.rows)
        f = [ctypes.cast(p, ctypes.POINTER(ctypes.c_float)) for p in (first, second, d)]
        for n in range(batches):
            at = [t.attribute.get(cublaslt.BATCH_STRIDE, 0) * n for t in (x, y, z)]
            for i in range(z.rows):
                for j in range(z.columns):
                    f[2][at[2] + i + j * z.ld] = sum(
                        f[0][at[0] + (l + i * x.ld if ta else i + l * x.ld)] *
                        f[1][at[1] + (j + l * y.ld if tb else l + j * y.ld)] for l in range(k))
        return 0


def cublaslt_multiplies_rows():
    m, n, k = 3, 4, 5
    for case in range(8):
        ta, tb, batch = case & 1, case >> 1 & 1, 1 + (case >> 2)
        a = (ctypes.c_float * (batch * m * k))(*[(i * 7) % 11 - 5 for i in range(batch * m * k)])
        b = (ctypes.c_float * (batch * k * n))(*[(i * 5) % 13 - 6 for i in range(batch * k * n)])
        c = (ctypes.c_float * (batch * m * n))()
        p = cublaslt.Product(cublaslt.CublasLt(FakeLt()), (m, n, k, batch, ta, tb),
                             ("f32", "f32"), {"A": ctypes.addressof(a), "B": ctypes.addressof(b),
                                              "C": ctypes.addressof(c)}, None)
        assert len(p.algorithms) == 1                # the one with a bad state is left out
        p.launch(0, None)
        for q in range(batch):
            for i in range(m):
                for j in range(n):
                    want = sum(a[q * m * k + (l * m + i if ta else i * k + l)] *
                               b[q * k * n + (j * k + l if tb else l * n + j)] for l in range(k))
                    assert c[(q * m + i) * n + j] == want, (ta, tb, batch)


def cublaslt_takes_single_products():
    def shape(op, **params):
        return cublaslt.shape_of({"op": op, "params": {k: str(v) for k, v in params.items()}})
    assert shape("matmul", M=1, N=2, K=3, ta=0, tb=1) == (1, 2, 3, 1, 0, 1)
    assert shape("bmm", B=5, M=1, N=2, K=3, ta=1, tb=0) == (1, 2, 3, 5, 1, 0)
    assert shape("gemm_bias_act", M=1, N=2, K=3, bias=1, act="relu") == (1, 2, 3, 1, 0, 0)
    assert shape("gemm_bias_act", M=1, N=2, K=3, bias=1, act="gelu") is None
    assert shape("gemm_bias_act", M=1, N=2, K=3, bias=1, res=1, act="relu") is None
    assert shape("softmax", ROWS=1, COLS=2) is None
    assert ctypes.sizeof(cublaslt.Result) == 96


# ---- run ----
def names_of_devices():
    for name, want in (("NVIDIA H200", "h200"), ("NVIDIA GeForce RTX 4090", "rtx4090"),
                       ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"), ("", "gpu")):
        assert session.slug(name) == want, session.slug(name)


def the_newest_unfinished_folder_goes_on():
    with tempfile.TemporaryDirectory() as d:
        for day, done in (("2026-01-01", False), ("2026-01-02", True), ("2026-01-03", True)):
            os.makedirs(os.path.join(d, day))
            open(os.path.join(d, day, "journal.jsonl"), "w").close()
            if done:
                open(os.path.join(d, day, "complete"), "w").close()
        assert session.Session.unfinished(d).endswith("2026-01-01")
        open(os.path.join(d, "2026-01-01", "complete"), "w").close()
        assert session.Session.unfinished(d) is None


STUB = """import json, sys, time
print(json.dumps({"hello": True}), flush=True)
for line in sys.stdin:
    what = json.loads(line)["row"]
    if what == "die": sys.exit(9)
    if what == "hang": time.sleep(600)
    print("noise" if what == "noise" else json.dumps({"did": what, "lost": what == "lost"}),
          flush=True)
"""


def a_worker_that_dies_or_hangs_is_noticed():
    with tempfile.TemporaryDirectory() as d:
        script = os.path.join(d, "stub.py")
        with open(script, "w", encoding="utf-8") as f:
            f.write(STUB)
        host = types.SimpleNamespace(
            kit=KIT, folder=d, left=lambda: 60, shipped=lambda: "s", env=dict(os.environ, ROLLER_PROFILE_PATH="x"), profile=lambda: "p",
            o=types.SimpleNamespace(device=0, simulated=None, no_peers=False))
        for what, answer, why in (("row", "row", None), ("lost", "lost", "context"),
                                  ("die", None, "status 9"), ("noise", None, "noise"),
                                  ("hang", None, "no answer within 0 s")):
            w = client.Client(host, script)
            record, lost = w.ask({"row": what}, 0.3 if what == "hang" else 30)
            assert (record or {}).get("did") == answer, what
            assert (lost is None) if why is None else why in lost, (what, lost)
            w.close()
            assert w.p.returncode is not None


def main():
    tests = [f for f in globals().values() if callable(f) and
             getattr(f, "__module__", "") == "__main__" and isinstance(f, types.FunctionType) and
             f.__name__ not in ("main", "near", "contender", "fake")]
    bad = 0
    for t in tests:
        try:
            t()
            print(f"ok - {t.__name__.replace('_', ' ')}", flush=True)
        except Exception as e:
            import traceback
            print("# " + traceback.format_exc().replace("\n", "\n# "))
            print(f"not ok - {t.__name__.replace('_', ' ')}: {e}", flush=True)
            bad = 1
    return bad


sys.exit(main())
