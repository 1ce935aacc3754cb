"""What is refused of a model, and how; what becomes of sizes."""
import os
import tempfile
import unittest

import numpy as np
import onnx
import onnx.parser

import models
from roller.onnx import Unsupported, load, lower, read
from roller.onnx.extents import Extent, quotient


def parsed(body, head="float[N,32] x) => (float[N,32] y"):
    return onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17]> g ({head}) {{ {body} }}')


class Reader(unittest.TestCase):
    def refuses(self, words, f, *args, **named):
        with self.assertRaises(Unsupported) as caught:
            f(*args, **named)
        self.assertIn(words, str(caught.exception))

    def test_hostile_files(self):
        good = models.mnist(2).SerializeToString()
        random = np.random.default_rng(0)
        for k in range(300):
            bytes_ = bytearray(good[:random.integers(1, len(good))] if k % 2 else good)
            for at in random.integers(0, len(bytes_), 4):
                bytes_[at] = random.integers(0, 256)
            try:
                lower(read(bytes(bytes_)), {})
            except Unsupported:
                pass

    def test_no_model(self):
        self.refuses("this is no ONNX model", read, b"\xff" * 64)
        self.refuses("checker", read, b"")

    def test_data_elsewhere(self):
        proto = models.mnist(2)
        with tempfile.TemporaryDirectory() as folder:
            inner = os.path.join(folder, "inner")
            os.mkdir(inner)
            path = os.path.join(inner, "m.onnx")
            onnx.save(proto, path, save_as_external_data=True, location="w", size_threshold=0)
            self.assertTrue(lower(read(path), {}).te)
            with open(path, "rb") as file:
                self.refuses("by its path", read, file.read())
            outside = onnx.load(path, load_external_data=False)
            for tensor in outside.graph.initializer:
                tensor.external_data[0].value = "../w"
            os.rename(os.path.join(inner, "w"), os.path.join(folder, "w"))
            with open(path, "wb") as file:
                file.write(outside.SerializeToString())
            self.refuses("outside of the model's folder", read, path)

    def test_reasons(self):
        self.refuses("give its size", lower, read(parsed("y = Relu(x)")), {})
        self.refuses("node 'NonZero_0'", load,
                     parsed("y = NonZero(x)", "float[2,3] x) => (int64[2,n] y"), sizes={})
        self.refuses("more than 64 steps", load, parsed(
            "a, y = GRU <hidden_size = 4> (x, w, r)",
            "float[70,1,2] x, float[1,12,2] w, float[1,12,4] r) => (float[1,1,4] y"))

    def test_sizes(self):
        n, m = Extent.symbol("N"), Extent.symbol("M")
        self.assertEqual(n * 12 - n * 4, n * 8)
        self.assertEqual(quotient(n * m * 6, n * 2), m * 3)
        self.assertIsNone(quotient(n * 3, 2))
        self.assertEqual((n + 4) - n, 4)
        self.assertEqual(str((n + 1) // 2), "((N + 1) / (2))")

    def test_run_time_sizes(self):
        body = """s = Shape(x) one = Constant <value = int64[1] {1}> ()
                  first = Constant <value = int64 {0}> () zero = Constant <value = int64[1] {0}> ()
                  n = Gather(s, first) n1 = Unsqueeze(n, zero)
                  rest = Constant <value = int64[2] {4, 8}> () to = Concat <axis = 0> (n1, rest)
                  z = Reshape(x, to) y = Transpose <perm = [0, 2, 1]> (z)"""
        model = load(parsed(body, "float[N,32] x) => (float[N,8,4] y"), sizes={"N": "1..16"},
                     profile="a100")
        for n in (1, 5, 16):
            x = np.arange(n * 32, dtype=np.float32).reshape(n, 32)
            y, = model(x)
            self.assertTrue((y == x.reshape(n, 4, 8).transpose(0, 2, 1)).all())


if __name__ == "__main__":
    unittest.main()
