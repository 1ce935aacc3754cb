"""A share of PyTorch's own samples of its operators; SEED chooses it, LONG=1 makes the whole table."""
import os
import types
import unittest

import opinfo

SHARE = 60


class OpInfo(unittest.TestCase):
    def right(self, first, every, **more):
        given = types.SimpleNamespace(**{**vars(opinfo.parser().parse_args([])), "every": every,
                                         "first": first, "samples": 2, **more})
        made = list(opinfo.rows(given))
        self.assertTrue(sum(r.get("right", 0) for r in made))
        for r in made:
            self.assertEqual((r["op"], r["wrong"]), (r["op"], []))

    def test_share(self):
        self.right(int(os.environ.get("SEED", 1)) % SHARE, SHARE)

    def test_compiled_share(self):
        """Fewer, by the compiled code in the simulator."""
        self.right(int(os.environ.get("SEED", 1)) % (3 * SHARE), 3 * SHARE, host="simulate",
                   samples=1)

    def test_claims(self):
        """Operators of which nothing falls back, one of each kind."""
        for name in ("add", "cumsum", "gather", "nn.functional.conv2d", "nn.functional.cross_entropy",
                     "nn.functional.max_pool2d", "nn.functional.layer_norm", "topk", "var_mean"):
            for row in opinfo.rows(types.SimpleNamespace(**{
                    **vars(opinfo.parser().parse_args([])), "match": name, "samples": 1})):
                self.assertEqual((row["op"], row["whole"], row["right"]), (row["op"], 1, 1))
