"""Many programs on a local Dask cluster: the executor that it gives is one of concurrent.futures."""
import unittest

import numpy as np
from distributed import Client, LocalCluster

import roller


class Cluster(unittest.TestCase):
    def test_dask(self):
        texts = [f"op f(X: f32[{n}]) -> Y: f32[{n}] {{ Y[i] = X[i] + {n}; }}" for n in (5, 6, 5)]
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            with Client(cluster) as client:
                made = roller.compile_many(texts, executor=client.get_executor(), profile="l4")
        self.assertIs(made[0], made[2])
        for k, n in zip(made, (5, 6)):
            np.testing.assert_array_equal(k(np.ones(n, "f4")), np.full(n, n + 1))
