"""roller.torch.export: a model as C and weights, in a program without Python on the simulated driver."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import torch
from torch import nn

import models
import roller.torch

HERE = pathlib.Path(__file__).parent
SIMULATED = pathlib.Path(roller.__file__).parents[2] / "simdriver"


class Steps(nn.Module):
    """Two programs' worth: what lies between them is kept on the device."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.norm = nn.BatchNorm1d(8)
        self.register_buffer("scale", torch.rand(8, 2).T, persistent=False)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh().to(x.device)
        return self.norm(x)[:, :2] * self.scale.sum() + self.scale[0, :2]


class Export(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "made"

    def exported(self, model, x, **more):
        batch = torch.export.Dim("batch", min=1, max=32)
        program = torch.export.export(model, (x,), dynamic_shapes=({0: batch},))
        return roller.torch.export(program, self.folder, profile="h200", **more)

    def built(self, said, wide, narrow):
        program = self.folder / "host"
        sources = [f for f in said.files if f.endswith(".c")]
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", f"-DIN={wide}",
                        f"-DOUT={narrow}", f"-I{self.folder}", HERE / "host.c", *sources,
                        f"-L{SIMULATED}", "-lcuda", "-ldl", "-o", program], check=True)
        return program

    def run_built(self, program, x):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(SIMULATED), "ROLLER_SIM_PROFILE": "h200"}
        return subprocess.run([program, self.folder / "model.bin", str(len(x))], env=environment,
                              input=x.numpy().tobytes(), capture_output=True)

    def alike(self, model, x, wide, narrow, batches):
        model = model.eval()
        program = self.built(self.exported(model, x), wide, narrow)
        for n in batches:
            x = torch.randn(n, wide)
            done = self.run_built(program, x)
            self.assertEqual(done.returncode, 0, done.stderr)
            got = torch.frombuffer(bytearray(done.stdout), dtype=torch.float32).view(n, narrow)
            torch.testing.assert_close(got, model(x).detach(), rtol=1e-4, atol=1e-5)
        done = self.run_built(program, torch.randn(33, wide))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"sizes disagree", done.stderr)

    def test_model(self):
        self.alike(Steps(), torch.randn(4, 8), 8, 2, (1, 5, 32))

    def test_programs(self):
        """A model of several programs, equal ones once."""
        from roller.torch import partition
        self.addCleanup(setattr, partition, "MOST_NODES", partition.MOST_NODES)
        partition.MOST_NODES = 4
        self.alike(Steps(), torch.randn(4, 8), 8, 2, (3, 7))

    def test_shared(self):
        """One library, with what an installed compiler makes."""
        said = self.exported(models.MLP().eval(), torch.randn(4, 16), shared=True)
        self.assertIn("in[0] x: f32[n0, 16]", said.inputs)
        self.assertEqual(said.sizes, ["n0 in 1..32"])
        names = subprocess.run(["nm", "-D", said.files[-1]], capture_output=True, text=True).stdout
        for name in ("model_load", "model_run", "model_unload", "model_status_text"):
            self.assertIn(f" T {name}", names)

    def test_refusals(self):
        """The list of what has no program, and buffers that change."""
        with self.assertRaises(roller.torch.ExportError) as caught:
            self.exported(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)), torch.randn(4, 4))
        self.assertIn("random numbers", str(caught.exception))
        self.assertTrue(caught.exception.fallbacks)
        with self.assertRaisesRegex(roller.torch.ExportError, "eval"):
            self.exported(nn.BatchNorm1d(4).train(), torch.randn(4, 4))
        with self.assertRaisesRegex(ValueError, "no name in C"):
            self.exported(nn.Linear(4, 4), torch.randn(4, 4), name="2x")
