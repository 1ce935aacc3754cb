"""The package in the simulator: no GPU and no driver."""
import ast
import concurrent.futures
import copy
import ctypes
import gc
import importlib.util
import json
import multiprocessing
import os
import pathlib
import pickle
import signal
import sys
import tempfile
import threading
import unittest
import warnings

import numpy as np

import roller

MM = """param M = 16, N = 8, K = 12;
op mm(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] { C[m,n] += A[m,k] * B[k,n]; }
"""
ROWS = "param M = 1..40; op rows(A: f32[M,8], s: f32) -> Y: f32[M,8] { Y[m,k] = s * A[m,k]; }"
rng = np.random.default_rng(1)


def profile_text(name):
    for folder in os.environ["ROLLER_PROFILE_PATH"].split(":"):
        file = pathlib.Path(folder, name + ".json")
        if file.exists():
            return file.read_text()
    raise FileNotFoundError(name)


class Interrupted(Exception):
    """What a signal handler raises."""


class Imported:
    """An array that is known by DLPack alone."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **named):
        return self.x.__dlpack__(**named)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mm = roller.compile(MM, profile="h200", file="mm.te")
        cls.rows = roller.compile(ROWS, profile="h200")

    def refuses(self, kind, status, call, *args, **named):
        with self.assertRaises(kind) as caught:
            call(*args, **named)
        e = caught.exception
        self.assertEqual(e.status, status)
        self.assertIsInstance(e, roller.Error)
        return e

    def test_product(self):
        a, b = rng.random((16, 12), "f4"), rng.random((12, 8), "f4")
        c = np.empty((16, 8), "f4")
        self.assertIs(self.mm(a, b, out=c), c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)
        made = self.mm(Imported(a), b, out=Imported(d := np.zeros_like(c)))
        np.testing.assert_array_equal(c, d)
        self.assertIsInstance(made, Imported)
        bound = self.mm.bind(a, b)
        np.testing.assert_array_equal(bound(), c)

    def test_outputs_are_made(self):
        for m in 1, 7, 40:
            a = rng.random((m, 8), "f4")
            np.testing.assert_array_equal(self.rows(a, 2), 2 * a)
        many = roller.compile("op f(X: f32[4,6]) -> (S: f32[4], I: i32[4], A: f32) { "
                              "S[n] += X[n,c]; I[n] = argmax[c](X[n,c]); A[] max= X[n,c]; }",
                              profile="a100")
        x = rng.random((4, 6), "f4")
        s, i, m = many(x)
        np.testing.assert_allclose(s, x.sum(1), rtol=1e-6)
        np.testing.assert_array_equal(i, x.argmax(1))
        self.assertEqual((m.shape, m[()], i.dtype), ((), x.max(), np.int32))
        fill = roller.compile("op fill(v: f32) -> Y: f32[8] { Y[i] = v; }", profile="h200")
        e = self.refuses(roller.ArgumentError, "ARGS", fill, 2.5)
        self.assertIn("out=", e.hint)
        np.testing.assert_array_equal(fill(2.5, out=np.empty(8, "f4")), np.full(8, 2.5, "f4"))

    def test_types(self):
        k = roller.compile("op f(A: bf16[4], B: f16[4], c: bool[4], D: u8[4], e: i64) -> "
                           "(P: bf16[4], Q: f16[4], R: bool[4], S: i64[4]) { P[i] = A[i]; "
                           "Q[i] = B[i] + B[i]; R[i] = !c[i]; S[i] = i64(D[i]) * e; }",
                           profile="h200")
        a = np.array([0x3f80, 0xc000, 0x7f80, 1], "u2")           # 1, -2, inf, the least
        b, c = np.array([1, 2, 3, 4], "f2"), np.array([True, False, True, True])
        d = np.array([1, 2, 3, 255], "u1")
        d.flags.writeable = False
        p, q, r, s = k(a, b, c, d, 1 << 40)
        np.testing.assert_array_equal(p, a)
        np.testing.assert_array_equal(q, 2 * b)
        np.testing.assert_array_equal(r, ~c)
        np.testing.assert_array_equal(s, d.astype("i8") << 40)
        self.assertEqual(p.dtype, np.uint16)

    def test_arguments_that_do_not_fit(self):
        a, b, c = (np.zeros(s, "f4") for s in ((16, 12), (12, 8), (16, 8)))
        fails = lambda status, *args, **named: self.refuses(roller.ArgumentError, status, self.mm,
                                                            *args, **named)
        self.assertIn("A, B", str(fails("ARGS", a)))
        self.assertIn("'B' is f64, not f32", str(fails("DTYPE", a, b.astype("f8"))))
        self.assertIn("rank 1, not 2", str(fails("RANK", a, b[0])))
        self.assertIn("is 11, not 12", str(fails("SIZE", a, b[:11])))
        self.assertIn("dimension 1 of argument 'B' has stride 12, not 1", str(fails("STRIDE", a, np.zeros((8, 12), "f4").T)))
        self.assertIn("'C' has rank", str(fails("RANK", a, b, out=c[0])))
        self.assertIn("read-only", str(fails("ARGS", a, b, out=np.broadcast_to(c, c.shape))))
        fails("DTYPE", a.astype(">f4"), b)
        fails("DTYPE", a.astype("c8"), b)
        fails("STRIDE", np.zeros((16, 12), "f4,u1")["f0"], b)
        fails("ARGS", a, b, out=(c, c))
        with self.assertRaisesRegex(TypeError, "builtins.list is no array"):
            self.mm(a, [1, 2])
        with self.assertRaises(TypeError):
            self.rows(np.zeros((3, 8), "f4"), "2")
        e = self.refuses(roller.ArgumentError, "SIZE", self.rows, np.zeros((41, 8), "f4"), 1)
        self.assertIn("1..40", str(e))
        self.assertIn("wider range", e.hint)

    def test_errors_have_source_lines(self):
        te = "op f(A: f32[64,64], B: f32[60,64]) -> C: f32[64,64] {\n" \
             "  C[m,n] += A[m,k] * B[k,n];\n}"
        e = self.refuses(roller.ExpressionError, "TE", roller.compile, te, file="bad.te")
        self.assertEqual((e.file, e.line, e.column, e.tag), ("bad.te", 2, 24, "extent"))
        self.assertEqual(str(e).splitlines(), [
            "bad.te:2:24: error: index 'k' has extent 64 in 'A' and 60 in 'B' [extent]",
            "    C[m,n] += A[m,k] * B[k,n];",
            "                         ^",
            "bad.te:2:24: hint: to use a part, say so: where k in 0:60"])
        self.assertEqual(e.hint, "to use a part, say so: where k in 0:60")
        self.assertEqual(type(e).__module__, "roller")
        self.assertIsInstance(e, ValueError)
        e = self.refuses(roller.FileError, "IO", roller.compile, MM, profile="h20")
        self.assertIn("did you mean h200?", str(e))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            f.write("{}")
            f.flush()
            self.refuses(roller.ProfileError, "PROFILE", roller.compile, MM, profile=f.name)
        e = self.refuses(roller.PlanError, "PLAN_TEXT", roller.compile, MM, profile="h200",
                         plan="plan: nonsense")
        self.assertEqual((e.file, e.line), ("<plan>", 1))
        self.refuses(roller.ExpressionError, "TE", roller.compile, MM, sizes={"Q": 1})
        self.refuses(roller.NvrtcError, "NVRTC", roller.Compiler(nvrtc="/nowhere/x").compile, MM)
        back = pickle.loads(pickle.dumps(e))
        self.assertEqual((str(back), back.status), (str(e), "PLAN_TEXT"))

    def test_what_a_kernel_is(self):
        k = self.mm
        self.assertEqual((k.name, k.profile, k.arch), ("mm", "h200", "sm_90a"))
        self.assertEqual([(a.name, a.role, a.dtype, a.shape) for a in k.args],
                         [("A", "input", "f32", (16, 12)), ("B", "input", "f32", (12, 8)),
                          ("C", "output", "f32", (16, 8))])
        self.assertEqual(k.sizes, {"M": 16, "N": 8, "K": 12})
        self.assertIn('extern "C" __global__', k.cu)
        self.assertIn(".entry", k.ptx)
        self.assertEqual(k.cubin[:4], b"\x7fELF")
        self.assertEqual(json.loads(k.json)["te"], k.te)
        self.assertTrue(k.plan.startswith("roller-plan 1\n"))
        self.assertGreater(k.predicted.us, k.predicted.floor_us)
        self.assertIn(k.predicted.limiter, k.predicted.terms)
        self.assertGreaterEqual(self.rows.predicted.us, self.rows.predicted_at(M=1).us)
        self.refuses(roller.ArgumentError, "SIZE", self.rows.predicted_at, Q=1)
        self.assertEqual(len(k.launches), 1)
        self.assertEqual(k.launches[0].spill_bytes, 0)
        plain = roller.compile(k.te, profile="h200", plain_abi=True)
        self.assertEqual([l.tensor_maps for l in plain.launches], [0])
        self.assertIn("predicted", k.explain())
        self.assertIn("roller_mm_launch", k.artefact("c"))
        self.assertEqual(k.artefact("ptx"), k.ptx)
        with self.assertRaisesRegex(ValueError, "none of"):
            k.artefact("exe")
        self.assertIn("h200", roller.profiles())
        self.assertIn("sm_90a", roller.archs())

    def test_plan(self):
        plan = roller.plan(MM, profile="a100")
        kernel = roller.compile(MM, profile="a100", plan=plan.text)
        self.assertEqual(kernel.predicted, plan.predicted)
        self.assertEqual([g.makes for g in plan.groups], [["C"]])
        self.assertAlmostEqual(sum(g.us for g in plan.groups), plan.predicted.us)
        self.assertIn("runners-up", plan.explain())
        self.assertIn("`@tf32`", plan.groups[0].refusal)
        self.assertTrue(plan.picture.startswith("<svg") and plan.timeline.startswith("<svg"))

    def test_sheet(self):
        lines = repr(self.rows).splitlines()
        self.assertEqual(lines[0], "rows(A: f32[M,8], s: f32) -> Y: f32[M,8]")
        self.assertEqual(lines[1], "  for        h200 (sm_90a, datasheet profile)")
        self.assertIn("M = 1..40", repr(self.rows))
        self.assertIn("predicted ", repr(self.mm))
        self.assertIn("at the largest sizes", repr(self.rows))

    def test_notebook(self):
        import xml.etree.ElementTree as tree
        page = tree.fromstring(self.mm._repr_html_().replace("&nbsp;", " "))
        svg = page.find(".//{http://www.w3.org/2000/svg}svg")
        said = "".join(svg.itertext())
        self.assertIn("mm: ", said)
        self.assertIn("NVIDIA H200, datasheet profile", said)
        e = self.mm.predicted
        self.assertEqual((e.flops, e.bytes), (2 * 16 * 8 * 12, 4 * (16 * 12 + 12 * 8 + 16 * 8)))
        self.assertIn(f"{e.flops / e.bytes:.4g} FLOP per byte", said)
        whole = "".join(page.itertext())
        self.assertIn("mm(A: f32[16,12], B: f32[12,8]) -> C: f32[16,8]", whole)
        self.assertIn(self.mm.cu, whole)

    def test_einsum(self):
        """NumPy is the oracle."""
        extent = {"b": 2, "i": 3, "j": 4, "k": 5, "m": 3, "n": 6, "A": 2, "B": 3}
        for spec in ("bmk,bkn->bmn", "mk,nk", "ii->i", "ii", "ij->ji", "ij,j,jk->ik", ",i->i",
                     "i,j", "ij,ij", "bAi,Bi -> BA", "ij,jk,kn->in", "bij,ij,b->b"):
            operands = spec.partition("->")[0].replace(" ", "").split(",")
            arrays = [rng.integers(-4, 5, [extent[c] for c in o]).astype("f4") for o in operands]
            got = roller.einsum(spec, *arrays, profile="h200")
            np.testing.assert_array_equal(got, np.einsum(spec, *arrays), spec)
        a, b = rng.integers(-9, 9, (4, 8)).astype("i1"), rng.integers(-9, 9, (8, 4)).astype("i1")
        c = roller.einsum("mk,kn", a, b)
        np.testing.assert_array_equal(c, a.astype("i4") @ b)
        self.assertEqual(c.dtype, np.int32)
        h, d = a.astype("f2"), np.empty((4, 4), "f4")
        self.assertIs(roller.einsum("mk,kn->mn:f32", h, b.astype("f2"), out=d), d)
        np.testing.assert_array_equal(d, c)
        k = roller.einsum_kernel("mk:f16,nk:f16->mn", {"m": "1..9", "n": 4, "k": 8})
        np.testing.assert_array_equal(k(h, h).astype("f4"), h.astype("f4") @ h.T.astype("f4"))

    def test_einsum_ellipsis(self):
        a, b = rng.integers(-4, 5, (2, 3, 4)).astype("f4"), rng.integers(-4, 5, (2, 4, 5)).astype("f4")
        for spec in ("...mk,...kn->...mn", "...mk,...kn", "...k,...k->...", "b...,b...->b..."):
            x, y = (a, b) if "n" in spec else (a, a)
            np.testing.assert_array_equal(roller.einsum(spec, x, y, profile="h200"),
                                          np.einsum(spec, x, y), spec)
        self.refuses(roller.ArgumentError, "RANK", roller.einsum, "b...,b...->b", a, a)

    def test_evaluate_and_judge(self):
        """NumPy is the oracle of values by definition; a wrong result is told from a right one."""
        a, b = rng.standard_normal((5, 8)).astype("f4"), rng.standard_normal((8, 3)).astype("f4")
        te = "op f(A: f32[5,8], B: f32[8,3], s: f32) -> (C: f32[5,3], n: i64[]) { C[i,j] = s * sum[k](A[i,k] * B[k,j]); n[] = sum[i,k](A[i,k] > 0 ? 1 : 0); }"
        c, n = roller.evaluate(te, a, b, 2)
        np.testing.assert_array_equal(c, (2 * a.astype("f8") @ b).astype("f4"))
        self.assertEqual(int(n), (a > 0).sum())
        self.assertEqual(roller.judge(te, (a, b, 2), (2 * a @ b, n)).wrong, 0)
        bad = c.copy()
        bad[2, 1] *= 1.001
        said = roller.judge(te, (a, b, 2), (bad, n))
        self.assertEqual((said.compared, said.wrong), (16, 1))
        self.assertGreater(said.excess, 1)
        out = np.empty((5, 3), "f4"), np.empty((), "i8")
        roller.evaluate(te, a, b, 2, out=out)
        np.testing.assert_array_equal(out[0], c)
        self.refuses(roller.ArgumentError, "SIZE", roller.evaluate, te, b, b, 2)

    def test_names_of_arguments(self):
        a, b = rng.random((16, 12), "f4"), rng.random((12, 8), "f4")
        np.testing.assert_array_equal(self.mm(a, B=b), self.mm(a, b))
        np.testing.assert_array_equal(self.mm(B=b, A=a), self.mm(a, b))
        for named in ({"A": a}, {"X": b}, {}):
            self.refuses(roller.ArgumentError, "ARGS", self.mm, a, **named)

    def test_copies(self):
        """A pickled kernel has all that it needs; nothing is compiled again."""
        a, b = rng.random((16, 12), "f4"), rng.random((12, 8), "f4")
        for k in (pickle.loads(pickle.dumps(self.mm)), copy.deepcopy(self.mm)):
            self.assertEqual(k.cubin, self.mm.cubin)
            np.testing.assert_array_equal(k(a, b), self.mm(a, b))

    def test_other_plans(self):
        """Of a kernel, and of its copy, which has its files alone."""
        for k in (self.mm, copy.copy(self.mm)):
            first, *others = k.plans(3)
            self.assertTrue(others)
            self.assertEqual(first.predicted.us, k.predicted.us)
            other = roller.compile(k.te, profile=k.profile, plan=others[0].text)
            self.assertEqual(other.predicted.us, others[0].predicted.us)

    def test_hints(self):
        """They name what a Python program has."""
        op = " op f(A: f32[M]) -> C: f32[M] { C[i] = A[i]; }"
        for hint, call in (
                ('give one: sizes={"M": N}', lambda: roller.compile("param M;" + op)),
                ('sizes= stays within', lambda: roller.compile("param M = 1..8;" + op,
                                                                 sizes={"M": "3..9"})),
                ("ascontiguousarray", lambda: self.mm(np.zeros((12, 16), "f4").T,
                                                      np.zeros((12, 8), "f4"))),
                ("the inputs are A, B", lambda: self.mm(X=1))):
            with self.assertRaises(roller.Error) as caught:
                call()
            self.assertIn(hint, caught.exception.hint)
            self.assertIn(hint, str(caught.exception))
        with self.assertRaisesRegex(roller.Error, r'(?s)error: sizes\["N"\]: .*error: sizes\["K"\]: '):
            roller.compile("param M = 1;" + op, sizes={"N": 1, "K": 1})

    def test_many(self):
        """In processes and in threads; equal programs are one kernel."""
        texts = [f"op f(X: f32[{n}]) -> Y: f32[{n}] {{ Y[i] = X[i] + {n}; }}" for n in (3, 4, 3)]
        x = np.ones(3, "f4")
        processes = concurrent.futures.ProcessPoolExecutor(
            1, mp_context=multiprocessing.get_context("spawn"))
        self.addCleanup(processes.shutdown)
        for executor in (None, processes):
            made = roller.compile_many([*texts, {"te": MM, "profile": "a100"}], executor=executor,
                                       profile="h200")
            self.assertIs(made[0], made[2])
            np.testing.assert_array_equal(made[0](x), x + 3)
            self.assertEqual([k.profile for k in made], ["h200"] * 3 + ["a100"])
        with self.assertRaises(roller.ExpressionError):
            roller.compile_many(["op f("], executor=processes)

    def test_plans(self):
        plans = roller.plans(MM, profile="h200", top=4)
        self.assertEqual(len(plans), 4)
        times = [p.predicted.us for p in plans]
        self.assertEqual(times[0], roller.plan(MM, profile="h200").predicted.us)
        self.assertEqual(len({p.text for p in plans}), 4)
        a, b = rng.random((16, 12), "f4"), rng.random((12, 8), "f4")
        k = roller.compile(MM, profile="h200", plan=plans[3].text)
        np.testing.assert_allclose(k(a, b), a @ b, 1e-5)

    def test_gradient(self):
        """Of a product NumPy is the oracle; the text is one that can be derived again."""
        mm = "op mm(A: f32[4,8], B: f32[8,6], s: f32) -> C: f32[4,6] { C[m,n] = s * sum[k](A[m,k] * B[k,n]); }"
        text = roller.gradient_te(mm)
        k = roller.compile(text, profile="h200")
        self.assertEqual([a.name for a in k.args], ["A", "B", "s", "d_C", "d_A", "d_B"])
        a, b, c = (rng.integers(-4, 5, s).astype("f4") for s in ((4, 8), (8, 6), (4, 6)))
        da, db = k(a, b, 2, c)
        np.testing.assert_array_equal(da, 2 * c @ b.T)
        np.testing.assert_array_equal(db, 2 * a.T @ c)
        self.assertIn("-> d_d_C: ", roller.gradient_te(text, ["d_C"]))
        self.refuses(roller.ExpressionError, "TE", roller.gradient_te, mm, ["X"])

    def test_batch(self):
        mm = "param M = 1..9; op mm(A: f32[M,8], B: f32[8,6], s: f32) -> C: f32[M,6] { C[m,n] = s * sum[k](A[m,k] * B[k,n]); }"
        k = roller.compile(roller.batch_te(mm, [True, False, False], 3), profile="h200")
        a, b = rng.integers(-4, 5, (3, 4, 8)).astype("f4"), rng.integers(-4, 5, (8, 6)).astype("f4")
        np.testing.assert_array_equal(k(a, b, np.array(2, "f4")), 2 * a @ b)
        self.assertIn("s: f32[]", roller.batch_te(mm))

    def test_einsum_refusals(self):
        a = np.zeros((4, 8), "f4")
        e = self.refuses(roller.ExpressionError, "TE", roller.einsum_te, "m...,kn")
        self.assertEqual((e.file, e.line, e.column), ("<einsum>", 1, 2))
        self.assertIn("m...,kn\n   ^", str(e))
        self.assertIn("'n' of 'mn,kn' is 8, and 4 in operand 1", str(self.refuses(
            roller.ArgumentError, "SIZE", roller.einsum, "mn,kn", a, np.zeros((8, 4), "f4"))))
        self.refuses(roller.ArgumentError, "RANK", roller.einsum, "mn,k", a, a)
        self.refuses(roller.ExpressionError, "TE", roller.einsum, "mn,nk", a)
        self.refuses(roller.ExpressionError, "TE", roller.einsum, "mn,mn", a, a.astype("f2"))
        with self.assertRaisesRegex(TypeError, "builtins.int is no array"):
            roller.einsum("m,", a[0], 3)

    def test_check(self):
        report = self.mm.check(counters=True)
        self.assertTrue(report.ok)
        self.assertEqual((report.compared, report.where), (512, "simulator"))
        self.assertIn("512 of 512 outputs", report.text)
        self.assertIn("wavefronts", report.counters)
        self.assertEqual(self.rows.check(sizes={"M": 3}).outputs, 96)
        self.refuses(roller.DeviceError, "DRIVER", self.mm.check, device="0")

    def test_plans_and_files(self):
        again = roller.compile(MM, profile="h200", plan=self.mm.plan, check=True)
        self.assertEqual(again.cubin, self.mm.cubin)
        with tempfile.TemporaryDirectory() as folder:
            self.mm.save(folder)
            names = {"mm.cu", "mm.sm_90a.ptx", "mm.sm_90a.cubin", "mm.json"}
            self.assertEqual(set(os.listdir(folder)), names)
            path = pathlib.Path(folder, "mm.te")
            path.write_text(MM)
            read = roller.read(pathlib.Path(folder, "mm.json").read_text(),
                               pathlib.Path(folder, "mm.sm_90a.cubin").read_bytes(),
                               pathlib.Path(folder, "mm.sm_90a.ptx").read_text())
            small = roller.compile(path, sizes={"M": 4, "N": "1..4%2"}, profile="h200")
        a, b = rng.random((16, 12), "f4"), rng.random((12, 8), "f4")
        np.testing.assert_array_equal(read(a, b), self.mm(a, b))
        self.assertEqual((read.te, read.arch), (self.mm.te, "sm_90a"))
        self.assertIn("predicted", read.explain())
        self.assertIn("for        h200", repr(read))
        self.assertEqual(small.sizes["M"], 4)
        self.assertEqual(small.sizes["N"], {"min": 2, "max": 4, "multiple": 2})
        arch = roller.compile(MM, arch="sm_80")
        self.assertEqual((arch.arch, arch.profile[:4]), ("sm_80", "a100"))

    def test_a_wrong_kernel_is_told(self):
        ptx = self.mm.ptx.replace("fma.rn.f32", "mul.rn.f32 //", 1)
        self.assertNotEqual(ptx, self.mm.ptx)
        wrong = self.mm.ptx.replace("st.global.v", "// st.global.v").replace(
            "st.global.f32", "// st.global.f32").replace("st.global.b32", "// st.global.b32")
        self.assertNotEqual(wrong, self.mm.ptx)
        k = roller.read(self.mm.json, self.mm.cubin, wrong)
        e = self.refuses(roller.CheckError, "CHECK", k.check)
        self.assertFalse(e.report.ok)
        self.assertIn("check:", e.report.text)

    def test_cache(self):
        with tempfile.TemporaryDirectory() as folder:
            one = roller.Compiler(cache_dir=folder)
            first = one.compile(MM, profile="h200")
            self.assertTrue(os.listdir(folder))
            second = one.compile(MM, profile="h200")
            self.assertEqual(first.cubin, second.cubin)
            self.assertIn("predicted", second.explain())
            a, b = rng.random((16, 12), "f4"), rng.random((12, 8), "f4")
            np.testing.assert_array_equal(second(a, b), first(a, b))

    def test_a_profile_that_changes_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "own.json")
            own = json.loads(profile_text("h200"))
            pathlib.Path(file).write_text(json.dumps(own))
            before = roller.compile(MM, profile=file).predicted.us
            for what in "launch_stream", "launch_graph", "kernel_floor":
                own["overheads"][what]["value"] *= 10
            pathlib.Path(file).write_text(json.dumps(own))
            self.assertGreater(roller.compile(MM, profile=file).predicted.us, 2 * before)

    def test_warnings(self):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            roller.compile("op f(A: f32[4], B: f32[4]) -> C: f32[4] { C[i] = A[i]; }")
        self.assertEqual(len(seen), 1)
        self.assertIn("'B'", str(seen[0].message))
        self.assertEqual(seen[0].filename, __file__)

    def test_threads(self):
        a = rng.random((40, 8), "f4")
        wrong = []

        def work(i):
            try:
                k = roller.compile(ROWS.replace("s *", f"{i}.0 * s *"), profile="h200")
                for m in range(1, 6):
                    np.testing.assert_array_equal(k(a[:m], 2), np.float32(2 * i) * a[:m])
                    np.testing.assert_array_equal(self.rows(a[:m], i), np.float32(i) * a[:m])
            except BaseException as e:
                wrong.append(e)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 5)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_other_threads_run_meanwhile(self):
        """A call of the library holds no lock of Python's."""
        ticks, done = [], threading.Event()

        def tick():
            while not done.wait(0.001):
                ticks.append(1)

        counter = threading.Thread(target=tick)
        counter.start()
        during = 0
        for _ in range(100):              # a busy machine may not let the other thread run at once
            before = len(ticks)
            self.mm.check()
            during = max(during, len(ticks) - before)
            if during:
                break
        done.set()
        counter.join()
        self.assertGreater(during, 0)

    def test_interrupts(self):
        """What a signal handler raises ends a call that takes long, and the next one is as usual."""
        big = roller.compile("param N = 200; op mm(A: f32[N,N], B: f32[N,N]) -> C: f32[N,N] "
                             "{ C[m,n] += A[m,k] * B[k,n]; }", profile="tiny")
        a = np.zeros((200, 200), "f4")
        before = signal.signal(signal.SIGUSR1, lambda *_: (_ for _ in ()).throw(Interrupted()))
        sent = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
        sent.start()
        try:
            with self.assertRaises(Interrupted):
                for _ in range(10000):
                    big(a, a, out=a.copy())
        finally:
            sent.join()
            signal.signal(signal.SIGUSR1, before)
        self.test_product()

    def test_nothing_is_kept(self):
        """Arrays and capsules are given back."""
        a = Imported(np.zeros((16, 12), "f4"))
        b, c = np.zeros((12, 8), "f4"), np.zeros((16, 8), "f4")
        array = a.x
        before = sys.getrefcount(array), sys.getrefcount(b)
        for _ in range(20):
            self.mm(a, b, out=c)
        gc.collect()
        self.assertEqual((sys.getrefcount(array), sys.getrefcount(b)), before)


class Stub(unittest.TestCase):
    def test_named_tuples_have_their_fields(self):
        stub = pathlib.Path(roller.__file__).with_name("__init__.pyi").read_text()
        tuples = [node for node in ast.parse(stub).body if isinstance(node, ast.ClassDef) and
                  any(isinstance(b, ast.Name) and b.id == "NamedTuple" for b in node.bases)]
        self.assertGreater(len(tuples), 1)
        for node in tuples:
            fields = tuple(x.target.id for x in node.body if isinstance(x, ast.AnnAssign))
            self.assertEqual(fields, getattr(roller, node.name)._fields)


@unittest.skipUnless(importlib.util.find_spec("torch"), "no PyTorch here")
class Torch(unittest.TestCase):
    def test_cpu_tensors(self):
        import torch
        k = roller.compile("op f(A: bf16[4,8], B: f32[8]) -> C: bf16[4,8] "
                           "{ C[i,j] = A[i,j] + B[j]; }", profile="h200")
        a = torch.arange(32).reshape(4, 8).to(torch.bfloat16)
        b = torch.ones(8)
        c = k(a, b)
        self.assertIsInstance(c, torch.Tensor)
        self.assertEqual(c.dtype, torch.bfloat16)
        self.assertTrue(torch.equal(c, a + 1))
