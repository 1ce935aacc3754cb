"""CUDA arrays, on whatever driver is there: the simulated one in the tests."""
import concurrent.futures
import copy
import multiprocessing
import pathlib
import pickle
import tempfile
import threading
import time
import unittest
import unittest.mock
import weakref

import numpy as np

import gpu
import roller
from roller._library import lib
from roller._measure import shared_out
from test_package import profile_text

ROWS = "param M = 0..40; op rows(A: f32[M,8], s: f32) -> Y: f32[M,8] { Y[m,k] = s * A[m,k]; }"
SPLIT = "op mm(A: f32[16,2048], B: f32[2048,16]) -> C: f32[16,16] { C[m,n] += A[m,k] * B[k,n]; }"

LAYERS = ("param M = 8..40; op layers(X: f32[M,16], W0: f32[16,16], W1: f32[16,16], s: f32, "
          "W2: f32[16,16], W3: f32[16,16]) -> (Y: f32[M,16], Z: f32[M,16]) { "
          "a[m,n] = sum[k](X[m,k] * W0[k,n]) * s; b[m,n] = sum[k](a[m,k] * W1[k,n]) * s; "
          "Z[m,n] = sum[k](b[m,k] * W2[k,n]) * s; Y[m,n] = sum[k](Z[m,k] * W3[k,n]) * s; }")


class Device(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        gpu.begin()
        cls.rows = roller.compile(ROWS, profile="h200")

    def test_launch(self):
        host = np.arange(56, dtype="f4").reshape(7, 8)
        a, y = gpu.Array(host), gpu.Array(np.zeros((7, 8), "f4"))
        self.assertIs(self.rows(a, 3, out=y), y)
        np.testing.assert_array_equal(y.numpy(), 3 * host)
        self.assertEqual(a.asked, [-1])                  # the exporter was not to wait
        z = gpu.Array(np.zeros((7, 8), "f4"))
        self.rows(gpu.Interface(a), 5, out=gpu.Interface(z), stream=gpu.stream())
        np.testing.assert_array_equal(z.numpy(), 5 * host)
        self.rows.load(0)

    def test_bound(self):
        host = np.ones((4, 8), "f4")
        a, y = gpu.Array(host), gpu.Array(np.zeros((4, 8), "f4"))
        bound = self.rows.bind(a, 2, out=y)
        self.assertIs(bound(), y)
        np.testing.assert_array_equal(y.numpy(), 2 * host)
        gpu.call("cuMemsetD8_v2", gpu.ctypes.c_uint64(a.at), 0, gpu.ctypes.c_size_t(128))
        bound(gpu.stream())
        np.testing.assert_array_equal(y.numpy(), 0 * host)

    def test_host_arrays_go_there_and_back(self):
        """By a worker, beside the driver that is open here."""
        host = np.arange(16, dtype="f4").reshape(2, 8)
        np.testing.assert_array_equal(self.rows(host, 2, device="0"), 2 * host)
        self.assertNotEqual(self.rows.check(device="0", sizes={"M": 2}).where, "simulator")

    def test_equal_layers(self):
        """One kernel, launched for each with tensors of its own: at once, captured, elsewhere."""
        k = roller.compile(LAYERS, profile="h200")
        self.assertEqual(len(k.launches), 4)
        self.assertLess(len({l.symbol for l in k.launches}), 4)
        draw = np.random.default_rng(1).integers
        x, *w = (draw(-2, 3, shape).astype("f4") for shape in [(24, 16)] + 4 * [(16, 16)])
        z = x @ w[0] @ w[1] @ w[2] * 8
        want = z @ w[3] * 2, z
        given = [gpu.Array(a) for a in (x, *w)]
        args = (*given[:3], 2, *given[3:])
        room = gpu.Array(np.zeros(k.workspace_bytes, "u1"))
        made = [gpu.Array(np.zeros((24, 16), "f4")) for _ in range(4)]
        k(*args, out=made[:2], workspace=room)
        with gpu.Captured() as graph:
            k(*args, out=made[2:], workspace=room, stream=graph.stream)
        np.testing.assert_array_equal(made[2].numpy(), 0)
        graph.launch()
        for got, right in zip(made, 2 * want):
            np.testing.assert_array_equal(got.numpy(), right)
        for where in "0", "sim":
            for got, right in zip(k(x, w[0], w[1], 2, *w[2:], device=where), want):
                np.testing.assert_array_equal(got, right)
        self.assertTrue(k.check(sizes={"M": 24}))

    def test_measure(self):
        """A kernel's time, at sizes of its own, also of a copy; slower where there is more to do."""
        few, many = (self.rows.measure(sizes={"M": m}) for m in (1, 40))
        self.assertTrue(0 < few.warm_us <= many.warm_us and few.samples)
        self.assertIn("simulated", few.where)
        self.assertEqual(copy.copy(self.rows).measure(sizes={"M": 1}).us, few.us)

    def test_fastest(self):
        k = roller.fastest(ROWS, top=3, at={"M": 40}, profile="h200")
        right = [t.us for t in k.trials if not t.rejected]
        self.assertTrue(right and len(k.trials) <= 3)
        self.assertEqual(k.measure(sizes={"M": 40}).us, min(right))
        self.assertEqual(pickle.loads(pickle.dumps(k)).trials, k.trials)

    def test_measure_many(self):
        """Here and in processes: programs in their order."""
        texts = [f"op g{n}(X: f32[{n}]) -> Y: f32[{n}] {{ Y[i] = X[i] + 1; }}" for n in (8, 16, 24)]
        processes = concurrent.futures.ProcessPoolExecutor(
            1, mp_context=multiprocessing.get_context("spawn"))
        self.addCleanup(processes.shutdown)
        for executor in (None, processes):
            made = roller.measure_many(texts, executor=executor, profile="h200", top=1)
            self.assertEqual([k.name for k in made], ["g8", "g16", "g24"])
            self.assertTrue(all(k.trials[0].samples for k in made))

    def test_shared_trials(self):
        """Two trials of four programs go to the long one, which comes twice; others are made."""
        text = "op g(X: f32[{0}]) -> Y: f32[{0}] {{ Y[i] = X[i] + 1; }}".format
        made = roller.measure_many([text(n) for n in (40, 2**20, 48, 2**20)], trials=2, top=3,
                                   profile="h200")
        timed = [[bool(t.samples) for t in k.trials] for k in made]
        self.assertEqual([sum(t) for t in timed], [0, 2, 0, 2])
        self.assertEqual(made[1].trials, made[3].trials)
        self.assertTrue(all(k.check() for k in made[:2]))

    def test_shares(self):
        """Devices have all jobs and trials among them, and none more."""
        for devices, trials in ((1, 5), (3, 7), (3, 2), (8, 3), (3, None)):
            asked = []

            def run(device, jobs, share):
                asked.append(share)
                return jobs
            jobs = list(range(5))
            self.assertEqual(shared_out(list(range(devices)), jobs, trials, run), jobs)
            self.assertTrue(trials is None or (sum(asked) == trials and min(asked) > 0))

    def test_bench(self):
        x = np.ones((40, 8), "f4")
        said = roller.bench(self.rows, x, 2.0, beside={"numpy": np.multiply})
        self.assertEqual(said.us, self.rows.measure(sizes={"M": 40}).warm_us)
        self.assertAlmostEqual(said.gbs, 2 * 40 * 8 * 4 / said.us / 1e3)
        self.assertTrue(0 < said.of_floor <= 1 and said.others["numpy"] > 0)
        self.assertRegex(str(said), r"(?s)rows, warm L2 .*%.*numpy +\d+\.\d\d us\n.*simulated")

    def run_rows(self, k, m):
        host = np.arange(8 * m, dtype="f4").reshape(m, 8)
        a, y = gpu.Array(host), gpu.Array(np.zeros((m, 8), "f4"))
        k(a, 2, out=y)
        np.testing.assert_array_equal(y.numpy(), 2 * host)

    def test_specialize(self):
        """Taken at its sizes, on devices where it was loaded before and after."""
        k = roller.compile(ROWS, profile="h200")
        self.run_rows(k, 7)
        made = k.specialize(M=7)
        self.assertEqual(made.sizes, {"M": 7})
        for m in (7, 8, 7):
            self.run_rows(k, m)
        later = roller.compile(ROWS, profile="h200")
        later.specialize(M=7)
        self.run_rows(later, 7)
        self.assertEqual([t.launches for t in k.taken], [2, 2])
        self.assertEqual([t.launches for t in later.taken], [0, 1])
        self.assertEqual(k.taken[1].sizes, {"M": 7})
        with self.assertRaisesRegex(roller.ArgumentError, "M is 8|is 8, not 7"):
            self.run_rows(made, 8)
        with self.assertRaisesRegex(roller.ArgumentError, "not for M = 41"):
            k.specialize(M=41)
        for value in (-1, 2 ** 64 + 7):
            with self.assertRaisesRegex(roller.ArgumentError, f"M = {value} is no size"):
                k.specialize(M=value)
        with self.assertRaisesRegex(roller.ArgumentError, "no run-time size 'N'"):
            k.specialize(N=1)

    def test_specialize_too_often(self):
        """Sizes that are asked for again take no place, and what finds none breaks nothing."""
        k = roller.compile(ROWS, profile="h200")
        with unittest.mock.patch.object(roller._abi, "ROLLER_MOST_ADDED", 2):
            for m in (7, 8, 7, 8):
                self.assertEqual(k.specialize(M=m).sizes, {"M": m})
            with self.assertRaisesRegex(roller.UsageError, "no room for another"):
                k.specialize(M=9)
        self.run_rows(k, 7)
        self.assertEqual([t.launches for t in k.taken], [0, 1, 0])

    def test_specialized_of_a_file(self):
        """It is explained by the profile and the options that it was planned with."""
        with tempfile.TemporaryDirectory() as folder:
            own = pathlib.Path(folder, "own.json")
            own.write_text(profile_text("h200").replace('"h200"', '"own"', 1))
            k = roller.compile(ROWS.replace("[M,8]", "[M,4096]"), profile=str(own), align=4)
            k = k.specialize(M=40)
        self.assertIn("stream", k.explain())
        self.assertEqual(k.plans(1)[0].text, k.plan)

    def until(self, holds):
        end = time.monotonic() + 60
        while not holds() and time.monotonic() < end:
            time.sleep(0.01)
        self.assertTrue(holds())

    def test_specialize_after(self):
        """Sizes that come again get a kernel, as many as there may be; a kernel may go meanwhile."""
        k = roller.compile(ROWS, profile="h200")
        k.specialize_after(3, most=2)
        for m in (0, 5, 6, 5, 6):
            self.run_rows(k, m)
        self.assertEqual(len(k.taken), 1)
        self.run_rows(k, 5)
        self.until(lambda: len(k.taken) == 2)
        self.run_rows(k, 5)
        self.assertEqual(k.taken[1], ({"M": 5}, 1, None))
        a, y = gpu.Array(np.ones((9, 8), "f4")), gpu.Array(np.zeros((9, 8), "f4"))
        bound = k.bind(a, 2, out=y)
        self.until(lambda: len(k.taken) == 3)
        bound()
        self.assertEqual(k.taken[2], ({"M": 9}, 1, None))
        for _ in range(4):
            self.run_rows(k, 6)
        self.assertEqual(len(k.taken), 3)
        k.specialize_after(1)
        self.run_rows(k, 11)
        gone = weakref.ref(k)
        del k, bound
        self.until(lambda: gone() is None)

    def test_specialize_no_more(self):
        """What waits for its turn is not made once it is not wanted, and nothing is there twice."""
        k, other = (roller.compile(ROWS, profile="h200") for _ in range(2))
        begun, go_on = threading.Event(), threading.Event()
        make = lib.roller_specialize

        def wait(*args):
            if threading.current_thread() is not threading.main_thread():
                begun.set()
                go_on.wait(60)
            return make(*args)
        with unittest.mock.patch.object(lib, "roller_specialize", wait):
            for x in (other, k):
                x.specialize_after(1)
                self.run_rows(x, 11)
            self.assertTrue(begun.wait(60))
            k.specialize_after(0)
            other.specialize(M=11)
            self.run_rows(other, 11)
            go_on.set()
            for _ in range(2):                      # the first is not looked at
                self.run_rows(other, 12)
            self.until(lambda: len(other.taken) == 3)
        self.assertEqual(len(k.taken), 1)
        self.assertEqual([t.launches for t in other.taken], [3, 1, 0])

    def test_specialize_fails(self):
        """What cannot be made is told, and nothing changes."""
        k = roller.compile(ROWS, profile="h200")
        k.specialize_after(1)
        with unittest.mock.patch.object(lib, "roller_specialize", lambda *args: 20):
            self.run_rows(k, 5)
            self.until(lambda: len(k.taken) == 2)
        self.assertEqual(k.taken[1].sizes, {"M": 5})
        self.assertIsInstance(k.taken[1].error, roller.Error)
        self.run_rows(k, 5)
        self.assertEqual(k.taken[0].launches, 2)

    def test_specialize_goes_on(self):
        """Whatever ends the making of one, calls go on, and others are made."""
        k = roller.compile(ROWS, profile="h200")
        k.specialize_after(1)
        with unittest.mock.patch.object(lib, "roller_specialize", side_effect=MemoryError):
            self.run_rows(k, 5)
            self.until(lambda: len(k.taken) == 2)
        maker = roller._again._Maker()
        with unittest.mock.patch.object(roller._again, "_maker", maker):
            with unittest.mock.patch.object(threading.Thread, "start", side_effect=RuntimeError):
                self.run_rows(k, 6)
            self.run_rows(k, 7)
            self.until(lambda: len(k.taken) == 4)
            maker.end()
        self.assertEqual([type(t.error) for t in k.taken],
                         [type(None), type(None), MemoryError, RuntimeError])
        self.assertEqual([t.sizes["M"] for t in k.taken[1:]], [7, 5, 6])

    def test_specialize_workspace(self):
        """What is bound has room for the kernel that is made for it; one that wants none gets none."""
        k = roller.compile("param M = 1..64;" + SPLIT.replace("[16,", "[M,"), profile="h200",
                           programs=1)
        a, b, c = (gpu.Array(np.ones(s, "f4")) for s in ((16, 2048), (2048, 16), (16, 16)))
        k.specialize_after(1)
        with unittest.mock.patch.object(roller._kernel, "empty_like",
                                        lambda x, shape, dtype: gpu.Array(np.zeros(shape, "u1"))):
            bound = k.bind(a, b, out=c)
        self.until(lambda: len(k.taken) == 2)
        bound()
        np.testing.assert_array_equal(c.numpy(), np.full((16, 16), 2048))
        self.assertEqual(k.taken[1].launches, 1)
        k.specialize(M=1)
        a, c = (gpu.Array(np.ones((1, n), "f4")) for n in (2048, 16))
        k(a, b, out=c, stream=0)
        np.testing.assert_array_equal(c.numpy(), np.full((1, 16), 2048))

    def test_specialize_looks(self):
        """It looks at ever fewer calls of sizes that have a kernel, and still finds others."""
        k = roller.compile(ROWS, profile="h200")
        k.specialize(M=7)
        k.specialize_after(2)
        with unittest.mock.patch.object(lib, "roller_sizes_of", wraps=lib.roller_sizes_of) as looks:
            for _ in range(20):
                self.run_rows(k, 7)
        self.assertEqual(looks.call_count, 4)       # at calls 1, 3, 7 and 15
        for _ in range(100):
            self.run_rows(k, 8)
        self.until(lambda: len(k.taken) == 3)

    def test_nothing_to_do(self):
        a, y = (gpu.Array(np.zeros((0, 8), "f4")) for _ in range(2))
        self.rows(a, 1, out=y)

    def test_refusals(self):
        a, y = (gpu.Array(np.zeros((4, 8), "f4")) for _ in range(2))
        with self.assertRaisesRegex(roller.ArgumentError, "'A' is on device 0 of type 1"):
            self.rows(np.zeros((4, 8), "f4"), 1, out=y)
        with self.assertRaisesRegex(TypeError, "out="):
            self.rows(a, 1)
        with self.assertRaisesRegex(roller.ArgumentError, "host memory"):
            self.rows(a, 1, out=y, device="0")

    def test_workspace(self):
        k = roller.compile(SPLIT, profile="h200")
        self.assertGreater(k.workspace_bytes, 0)
        a, b, c = (gpu.Array(np.ones(s, "f4")) for s in ((16, 2048), (2048, 16), (16, 16)))
        with self.assertRaisesRegex(TypeError, "cannot make arrays"):
            k(a, b, out=c)
        with self.assertRaises(roller.ArgumentError) as caught:
            k(a, b, out=c, stream=0)
        self.assertEqual(caught.exception.status, "WORKSPACE")
        room = gpu.Array(np.zeros(k.workspace_bytes, "u1"))
        k(a, b, out=c, workspace=room)
        np.testing.assert_array_equal(c.numpy(), np.full((16, 16), 2048))
        with self.assertRaises(roller.ArgumentError) as caught:
            k(a, b, out=c, workspace=gpu.Array(np.zeros(1, "u1")))
        self.assertEqual(caught.exception.status, "WORKSPACE")
