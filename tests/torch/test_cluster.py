"""Many programs on a cluster of this machine, by what is an executor of concurrent.futures there."""
import concurrent.futures
import importlib.util
import unittest

import numpy as np
from distributed import Client, LocalCluster

import roller


class Cluster(unittest.TestCase):
    def compiles(self, executor):
        texts = [f"op f(X: f32[{n}]) -> Y: f32[{n}] {{ Y[i] = X[i] + {n}; }}" for n in (5, 6, 5)]
        made = roller.compile_many(texts, executor=executor, profile="l4")
        self.assertIs(made[0], made[2])
        for k, n in zip(made, (5, 6)):
            np.testing.assert_array_equal(k(np.ones(n, "f4")), np.full(n, n + 1))

    def test_dask(self):
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            with Client(cluster) as client:
                self.compiles(client.get_executor())

    @unittest.skipUnless(importlib.util.find_spec("ray"), "Ray is not installed")
    def test_ray(self):
        import ray

        class Ray(concurrent.futures.Executor):         # as docs/python.md has it
            def submit(self, function, *args):
                return ray.remote(function).remote(*args).future()

        ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
        try:
            self.compiles(Ray())
        finally:
            ray.shutdown()
