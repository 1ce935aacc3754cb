"""torch.compile(backend="roller"): what it does with sizes, views, mutation, types and fallbacks."""
import concurrent.futures
import multiprocessing
import unittest

import torch
import torch._dynamo
from torch._guards import TracingContext, tracing
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import models
import roller.torch
from roller.torch.backend import Compiled, backend
from roller.torch.decompositions import UNPAIRED, packet_name, table
from roller.torch.program import Options
from roller.torch.values import LOWERINGS


class Inverse(torch.nn.Module):
    """Between programs."""

    def forward(self, x):
        return torch.linalg.inv(x.tanh() + 9 * torch.eye(len(x)))


class Counting(concurrent.futures.ProcessPoolExecutor):
    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.jobs = []

    def submit(self, function, options, job):
        self.jobs.append(job)
        return super().submit(function, options, job)


class Backend(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)

    def compiled(self, function, host="evaluate", random="torch", **more):
        self.seen = []
        options = Options(profile="a100", host=host, random=random)
        return torch.compile(function, backend=lambda gm, given: backend(
            gm, given, options=options, seen=self.seen.append), **more)

    def alike(self, function, *args, host="evaluate", fallbacks=(), programs=None):
        got, want = self.compiled(function, host)(*args), function(*args)
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
        fell = {f.operator for p in self.seen for f in p.fallbacks}
        self.assertEqual(fell, set(fallbacks))
        if programs is not None:
            self.assertEqual(sum(len(p.regions) for p in self.seen), programs)

    def test_lstm(self):
        """On the CPU it is taken apart as on a GPU, in training too."""
        model, x = torch.nn.LSTM(6, 5, bidirectional=True), torch.randn(3, 2, 6)

        def gradients(call):
            y, (h, c) = call(x)
            return torch.autograd.grad(y.sum() + h.sum() + 2 * c.sum(), list(model.parameters()))
        with torch._dynamo.config.patch(allow_rnn=True):
            with torch.no_grad():
                self.alike(model, x, programs=1)
            torch.testing.assert_close(gradients(self.compiled(model)), gradients(model))
            self.assertFalse([f for p in self.seen for f in p.fallbacks])

    def test_one_program(self):
        """Attention, norms and a loss are one program."""
        q = torch.randn(2, 2, 4, 8)
        self.alike(lambda q: torch.nn.functional.scaled_dot_product_attention(
            q, q + 1, q * 2, is_causal=True).sum(), q, programs=1)
        self.alike(lambda x, y: torch.nn.functional.cross_entropy(
            torch.nn.functional.layer_norm(x, (8,)), y), torch.randn(3, 8),
            torch.tensor([1, 7, 0]), programs=1)

    def test_around_what_falls_back(self):
        """An operator without an expression parts the graph in two programs."""
        self.alike(lambda x: torch.linalg.inv_ex(x.exp() + 9 * torch.eye(4))[0] * 2 + x,
                   torch.randn(4, 4), fallbacks=("linalg_inv_ex",), programs=2)

    def test_views_and_strides(self):
        x = torch.randn(4, 6)
        self.alike(lambda x: (x.T + 1, x.T.reshape(3, 8)[:, ::2], x.view(2, 2, 6).permute(2, 0, 1)
                              * 2), x, host="simulate")
        self.alike(lambda x: x.T.contiguous() + x.T, x.T, host="simulate")
        got = self.compiled(lambda x: x + 1)(torch.randn(1, 3, 4, 4).to(
            memory_format=torch.channels_last))
        self.assertTrue(got.is_contiguous(memory_format=torch.channels_last))
        self.alike(lambda x: x.expand(3, 4, 6) + x[0], x)
        self.alike(lambda x: (x * 3).as_strided((4, 1, 6), (6, 9, 1)) * 2, x, programs=1)
        for call in (lambda x: x.T.as_strided((3, 8), (8, 1)) * 2,
                     lambda x: (x[1:] * 3).as_strided((2, 6), (6, 1), 3) * 2):
            self.alike(call, x, fallbacks=("as_strided",))

    def test_mutation(self):
        """What is written in place is written in the caller's tensor."""
        def step(x, y):
            x.add_(y)
            x[1:] *= 2
            return x.sum()
        a, b = torch.randn(3, 4), torch.randn(4)
        c = a.clone()
        torch.testing.assert_close(self.compiled(step)(a, b), step(c, b))
        torch.testing.assert_close(a, c)

    def lengths(self, function, give, sizes, mark=None, compiled=None, **more):
        """Values and derivatives at sizes that follow each other."""
        call = compiled or self.compiled(function, **more)
        for n in sizes:
            x = give(n)
            if mark:
                mark(x)
            got, want = call(x), function(x)
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
            by = [x] * x.requires_grad + list(getattr(function, "parameters", list)())
            if by:
                grads = (torch.autograd.grad(y.sum(), by, allow_unused=True) for y in (got, want))
                torch.testing.assert_close(*grads, rtol=1e-3, atol=1e-4)
        self.assertEqual([f.reason for p in self.seen for f in p.fallbacks], [])
        return call

    def test_sizes(self):
        """One program forward and one backward serve all sizes of the range that is marked."""
        layer = torch.nn.Linear(8, 4)
        for host in ("evaluate", "simulate"):
            torch._dynamo.reset()
            self.lengths(lambda x: layer(x).relu().mean(1),
                         lambda n: torch.randn(3, n, 8, requires_grad=True), (6, 9, 2, 64),
                         lambda x: torch._dynamo.mark_dynamic(x, 1, min=2, max=64), host=host)
            self.assertEqual(len(self.seen), 2)
            for p in self.seen:
                self.assertIn("param n0 = 2..64;", p.regions[0].program.te)

    def test_sizes_of_models(self):
        """Batches of blocks with attention, norms and convolutions, without a range."""
        for name, programs in (("llama", 2), ("vit", 2), ("resnet", 2)):
            torch._dynamo.reset()
            make, give, _ = models.MODELS[name]
            x = torch.cat([give()] * 4)
            self.lengths(make(), lambda n: x[:n], (5, 6, 7, 2), dynamic=True)
            self.assertEqual(len(self.seen), programs, name)

    def test_sizes_beyond(self):
        """Beyond a program's range is another one, with room for more."""
        self.lengths(lambda x: x.softmax(0) * 2, torch.randn, (3, 16, 17, 60), dynamic=True)
        ends = [p.sizes.ranges[p.sizes.order[0]].upper for p in self.seen]
        self.assertEqual(ends, [16, 128])

    def test_sizes_that_are_numbers(self):
        """What needs a number has a program for it alone; a guess that fails has another program."""
        self.lengths(lambda x: torch.stack(x.unbind(0)).sum(0), lambda n: torch.randn(n, 4), (3, 3, 2),
                     lambda x: torch._dynamo.maybe_mark_dynamic(x, 0))
        torch._dynamo.reset()
        self.lengths(lambda x: x.flip(0) + x.shape[0] / 2, torch.randn, (3, 5, 7), dynamic=True)

    def test_told_sizes(self):
        """A size that no tensor of a program has by itself."""
        for host in ("evaluate", "simulate"):
            torch._dynamo.reset()
            call = self.compiled(lambda x: torch.linalg.inv_ex(torch.cat([x, x]))[0] * x.shape[0],
                                 host, dynamic=True)
            for n in (3, 5, 7):
                x = torch.randn(n, 2, 2) + 4 * torch.eye(2)
                want = torch.cat([x, x]).inverse() * n
                torch.testing.assert_close(call(x), want, rtol=1e-4, atol=1e-5)
            self.assertEqual(len(self.seen), 1)
            self.assertIn("of_n0: bool[n0] strides(0)", self.seen[0].regions[-1].program.te)

    def test_types(self):
        """Integers as PyTorch divides and wraps them; narrow reals rounded where it rounds them."""
        i = torch.tensor([-7, 7, 5], dtype=torch.int32)
        self.alike(lambda i: (i // 2, torch.div(i, 2, rounding_mode="trunc"), i % 3, i / 2,
                              (i * 40).to(torch.int8), i & 3, i | 8, i ^ -2, ~i, i.to(torch.uint8) * 90, i > 0), i,
                   host="simulate")
        h = torch.randn(8, 8).bfloat16()
        got = self.compiled(lambda h: (h * 3.1 + 0.3) @ h)(h)
        self.assertEqual(got.dtype, torch.bfloat16)
        torch.testing.assert_close(got, (h * 3.1 + 0.3) @ h, rtol=2e-2, atol=2e-2)
        self.alike(lambda z: z.real * 2 + (z * z).abs(), torch.randn(3, dtype=torch.complex64),
                   fallbacks=("mul", "view_as_real", "abs"))

    def test_narrow_norms(self):
        """Of f16, though its powers are beyond it."""
        large = torch.full((3, 4), 300.0, dtype=torch.float16)
        for order in (2, 3, 6):
            self.alike(lambda h: torch.linalg.vector_norm(h, order, -1), large)

    def test_ends(self):
        """Zeros of both signs, infinities and NaN; shifts by more bits than there are."""
        ends = torch.tensor([0.0, -0.0, 1e-30, -1.5, 3.0, torch.inf, -torch.inf, torch.nan])
        y, x = (t.flatten() for t in torch.meshgrid(ends, ends, indexing="ij"))
        i = torch.tensor([-128, -1, 0, 1, 127], dtype=torch.int8)
        by = torch.tensor([-1, 0, 3, 7, 8, 100], dtype=torch.int8)[:, None]

        def call(y, x, i, by):
            return (torch.atan2(y, x), y.atan(), (y / 4).asin(), (y / 4).acos(), i << by, i >> by,
                    i.to(torch.uint8) >> by.to(torch.uint8))
        for host in ("evaluate", "simulate"):
            torch._dynamo.reset()
            made, want = self.compiled(call, host)(y, x, i, by), call(y, x, i, by)
            self.assertEqual([f.operator for p in self.seen for f in p.fallbacks], [])
            torch.testing.assert_close(made, want, equal_nan=True)
            for got, true in zip(made[:2], want):
                self.assertTrue(torch.equal(got.signbit()[~true.isnan()], true.signbit()[~true.isnan()]))

    def test_random(self):
        """Masks are PyTorch's: the same as eager's after the same seed."""
        model = models.MLP()
        x, call = torch.randn(8, 16), self.compiled(model)
        call(x)
        results = []
        for f in (call, model):
            torch.manual_seed(3)
            results.append(f(x))
        torch.testing.assert_close(*results)

    def test_own_random(self):
        """Dropout in the program: as many as it says, others each time, the same by a seed, and a
        gradient by the mask of its forward pass."""
        for host in ("evaluate", "simulate"):
            call = self.compiled(lambda x: torch.nn.functional.dropout(x * 2, 0.25), host, "program")
            x = torch.ones(64, 64, requires_grad=True)
            torch.manual_seed(5)
            y, z = call(x), call(x)
            self.assertEqual([f for p in self.seen for f in p.fallbacks], [])
            self.assertEqual(len(self.seen[0].regions), 1)
            self.assertTrue((y == 0).logical_or((y - 2 / 0.75).abs() < 1e-6).all())
            self.assertLess(abs((y == 0).double().mean() - 0.25), 0.04)     # six deviations
            self.assertFalse(torch.equal(y, z))
            torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], y.detach())
            torch.manual_seed(5)
            torch.testing.assert_close(call(x), y)

    def test_pairs(self):
        """No operator of UNPAIRED is taken apart, and attention's gradients are right."""
        self.assertFalse({packet_name(op) for op in table()} & set(UNPAIRED))
        q, k, v = (torch.randn(2, 2, 6, 8, requires_grad=True) for _ in range(3))
        attend = torch.nn.functional.scaled_dot_product_attention
        grads = [torch.autograd.grad(f(q, k, v).pow(2).sum(), (q, k, v)) for f in (
            self.compiled(lambda q, k, v: attend(q, k, v, is_causal=True)),
            lambda q, k, v: attend(q, k, v, is_causal=True))]
        torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-5)

    def test_attention(self):
        """One kernel by itself, causal, with heads that share keys, or a mask, and beside the
        logarithms that its derivative wants; other layouts are other subscripts."""
        attend, half = torch.nn.functional.scaled_dot_product_attention, torch.bfloat16
        q, k = torch.randn(2, 4, 64, 32, dtype=half), torch.randn(2, 2, 64, 32, dtype=half)
        mask = torch.randn(64, 64, dtype=half)
        for call, given in (
                (attend, (q, q, q)), (lambda q, k: attend(q, k, k, is_causal=True), (q, q)),
                (lambda q, k: attend(q, k, k, is_causal=True, enable_gqa=True), (q, k)),
                (lambda q, m: attend(q, q, q, m), (q, mask)),
                (lambda q: attend(q.mT, q.mT, q.mT).mT.flatten(1), (q.mT.contiguous(),))):
            for grad in (False, True):
                torch._dynamo.reset()
                given = [x.detach().clone().requires_grad_(grad and x.dim() == 4) for x in given]
                got, want = self.compiled(call)(*given), call(*given)
                torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2)
                self.assertEqual([f.operator for p in self.seen for f in p.fallbacks], [])
                plan = self.seen[0].regions[0].program.plan("h100")
                self.assertEqual([x.skeleton for x in plan.groups], ["chain"], call)

    def test_attention_of_cuda_tensors(self):
        """The same programs, forward and backward, for tensors that say that they lie on a device.
        None has memory, so nothing is launched."""
        attend, half = torch.nn.functional.scaled_dot_product_attention, torch.bfloat16
        back = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
        options = Options(profile="h100", host="evaluate")
        with FakeTensorMode() as mode, torch.no_grad(), tracing(TracingContext(mode)):
            q, k = (torch.empty(2, h, 64, 32, dtype=half, device="cuda") for h in (4, 2))
            total = torch.empty(2, 4, 64, device="cuda")
            for causal in (False, True):
                seen = []
                gm = torch.fx.symbolic_trace(
                    lambda q, k: (attend(q, k, k, is_causal=causal, enable_gqa=True),))
                for node, tensor in zip(gm.graph.nodes, (q, k)):
                    node.meta["val"] = tensor
                backend(gm, [q, k], options=options, seen=seen.append)
                Compiled(make_fx(lambda q, k, total: back(q, q, k, k, q, total, 0.0, causal))(
                    q, k, total), options, seen.append)
                self.assertEqual([f.operator for p in seen for f in p.fallbacks], [])
                regions = [r for p in seen for r in p.regions]
                self.assertEqual({n.meta["val"].device.type for r in regions for n in r.outputs},
                                 {"cuda"})
                self.assertEqual([g.skeleton for g in regions[0].program.plan().groups], ["chain"])
                self.assertEqual(len(regions), 2)

    def test_attention_with_shared_keys(self):
        """Their derivative is a sum over the heads that share them."""
        q, k, v = (torch.randn(2, h, 6, 8, requires_grad=True) for h in (4, 2, 2))
        def call(q, k, v):
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=True, enable_gqa=True)
        for fallbacks in (0, 2):                 # as a program, and as PyTorch runs the pair
            torch._dynamo.reset()
            grads = [torch.autograd.grad(f(q, k, v).pow(2).sum(), (q, k, v)) for f in (
                self.compiled(call), call)]
            torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-5)
            self.assertEqual(sum(len(p.fallbacks) for p in self.seen), fallbacks)
            for name in [n for n in LOWERINGS if "scaled_dot_product" in n]:
                self.addCleanup(LOWERINGS.setdefault, name, LOWERINGS.pop(name))

    def test_equal_programs(self):
        """Equal layers are one program: planned and compiled once."""
        layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))

        def call(x):
            for layer in layers:
                x = torch.linalg.inv(layer(x).tanh() + 9 * torch.eye(8))
            return x
        self.compiled(call)(torch.randn(8, 8))
        programs = [r.program for p in self.seen for r in p.regions]
        self.assertGreater(len(programs), len(set(map(id, programs))))

    def test_plannings(self):
        """As many as there are distinct programs on each GPU, however many layers; none again."""
        plan, planned = roller._default.plan, []
        self.addCleanup(setattr, roller._default, "plan", plan)
        roller._default.plan = lambda te, **more: planned.append(te) or plan(te, **more)
        width = 11                              # of no other test, whose programs are known
        for layers in (2, 6):
            model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(width, width), Inverse())
                                          for _ in range(layers)))
            said = roller.torch.explain(model, (torch.randn(width, width),), profiles=["h100", "l4"])
            programs = {p.te for p in said.programs}
            self.assertGreater(sum(p.count for p in said.programs), layers)
            self.assertEqual(len(planned), len(set(planned)) * 2)
            self.assertLessEqual(programs, set(planned))
            self.assertTrue(all(p.plan_ms > 0 for p in said.programs))
        self.assertLess(len(set(planned)), 8)

    def test_compiled_elsewhere(self):
        """Programs go to an executor once each, and what they become is counted."""
        counted, told = Counting(2, mp_context=multiprocessing.get_context("spawn")), []
        with counted:
            options = Options(profile="a100", executor=counted, progress=lambda *n: told.append(n))
            model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(13, 13), Inverse())
                                          for _ in range(3)))
            x = torch.randn(13, 13)
            for _ in range(2):
                torch._dynamo.reset()
                got = torch.compile(model, backend=lambda gm, given: backend(
                    gm, given, options=options))(x)
                torch.testing.assert_close(got, model(x), rtol=1e-4, atol=1e-5)
        texts = [job["te"] for job in counted.jobs]
        self.assertEqual(len(texts), len(set(texts)))
        self.assertEqual(told[-1][0], told[-1][1])
        self.assertEqual(len(told), len(texts))

    def test_specialize(self):
        """Programs of run-time sizes are made for those that come again, unless that is chance."""
        self.addCleanup(torch.use_deterministic_algorithms, False)
        for deterministic, calls in ((False, 5), (True, 0)):
            torch._dynamo.reset()
            torch.use_deterministic_algorithms(deterministic)
            seen, options = [], Options(profile="a100", specialize=5)
            torch.compile(lambda x: x.softmax(0) * 2, dynamic=True, backend=lambda gm, given: backend(
                gm, given, options=options, seen=seen.append))(torch.randn(3, 8))
            self.assertEqual({r.program.kernel._again.calls for p in seen for r in p.regions}, {calls})

    def test_explain(self):
        said = roller.torch.explain(models.MLP(), torch.randn(4, 16), profiles=["h100", "l4"])
        self.assertEqual([f.operator for f in said.fallbacks], ["native_dropout"])
        self.assertIn("random numbers are PyTorch's own", str(said))
        self.assertTrue(0 < said.total("h100") and said.total("h100") != said.total("l4"))
        self.assertIn("<table", said.html)
        self.assertGreater(said.plan_ms, 0)
        self.assertRegex(str(said), r"planning: \d+ ms of the processor for \d+ distinct programs")
        self.assertEqual({p.graph for p in said.programs}, {"forward", "backward"})
        self.assertEqual(said.graph_breaks, 0)

    def test_explain_exported(self):
        """A program of torch.export, which stays as it is; convolutions alone in tf32."""
        model = torch.nn.Sequential(torch.nn.Conv2d(2, 2, 3), torch.nn.Linear(6, 4)).eval()
        x = torch.ones(1, 2, 8, 8)
        program = torch.export.export(model, (x,))
        before = str(program.graph)
        said = roller.torch.explain(program, profiles=["h100"], tf32="convolutions")
        self.assertEqual([p.te.count("@tf32") for p in said.programs], [1])
        self.assertEqual(str(program.graph), before)
        self.assertEqual(said.fallbacks, [])

    def test_options(self):
        with self.assertRaisesRegex(Exception, "none of simulate evaluate"):
            torch.compile(lambda x: x + 1, backend="roller", options={"host": "cpu"})(torch.ones(2))
