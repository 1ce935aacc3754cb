"""Models in training through torch.compile(backend="roller"): every program is judged on the inputs
that it gets, and the losses are as near to an f64 run as eager's."""
import os
import unittest

import torch
import torch._dynamo
from torch._dynamo.utils import counters

import models
from roller.torch.program import Program

STEPS, HOST = 10, os.environ.get("HOST", "simulate")


def steps(name, dtype, compiled=None, training=True):
    """The losses of ten steps, and the model."""
    torch.manual_seed(0)
    make, give, loss_of = models.MODELS[name]
    model = make().train(training).to(dtype)
    batches = [give() for _ in range(2)]
    batches = [b.to(dtype) if b.is_floating_point() else b for b in batches]
    train = torch.optim.SGD(model.parameters(), 0.1)
    call, losses = model if compiled is None else compiled(model), []
    torch.manual_seed(1)
    for k in range(STEPS):
        loss = loss_of(call(batches[k % 2]))
        train.zero_grad()
        loss.backward()
        train.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64), model


def roller_backend(model):
    torch._dynamo.reset()
    return torch.compile(model, backend="roller", options={"profile": "h100", "host": HOST})


class Models(unittest.TestCase):
    def setUp(self):
        self.wrong, self.programs, run = [], set(), Program.run
        self.addCleanup(setattr, Program, "run", run)

        def judged(program, inputs, outputs, host):
            run(program, inputs, outputs, host)
            if program.te not in self.programs or host == "simulate":
                self.programs.add(program.te)
                found = program.op.judge(inputs, outputs)
                if found.wrong:
                    self.wrong.append((found, program.te))
        Program.run = judged

    def breaks(self, name, backend, **options):
        torch._dynamo.reset()
        counters.clear()
        make, give, _ = models.MODELS[name]
        torch.compile(make(), backend=backend, **options)(give())
        return sum(counters["graph_break"].values())

    def train(self, name):
        true, _ = steps(name, torch.float64)
        eager, _ = steps(name, torch.float32)
        ours, _ = steps(name, torch.float32, roller_backend)
        self.assertEqual(self.wrong, [])
        self.assertTrue(self.programs)
        allowed = 2 * (eager - true).abs().max() + 4 * torch.finfo(torch.float32).eps * true.abs()
        self.assertTrue(((ours - true).abs() <= allowed).all(), (ours - true, eager - true))
        self.assertEqual(self.breaks(name, "roller", options={"host": "evaluate"}),
                         self.breaks(name, "eager"))

    def test_eval(self):
        """Running statistics in the place of a batch's; nothing is drawn."""
        for name in ("resnet", "mlp"):
            torch.manual_seed(0)
            make, give, _ = models.MODELS[name]
            model, x = make().eval(), give()
            with torch.no_grad():
                got, want = roller_backend(model)(x), model(x)
            torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
        self.assertEqual(self.wrong, [])

    def test_statistics(self):
        """Batch norm keeps its running statistics as eager does."""
        eager, ours = (steps("resnet", torch.float32, how)[1] for how in (None, roller_backend))
        for x, y in zip(ours.buffers(), eager.buffers(), strict=True):
            torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5)


for each in models.MODELS:
    setattr(Models, f"test_{each}", lambda self, name=each: self.train(name))
