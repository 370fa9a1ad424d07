"""Samples, and clusters: threads for what is the same on any cluster, processes for what is about processes."""

import os

import numpy as np
import pytest


@pytest.fixture(scope="module")
def client():
    """Give a client of a cluster of two workers, which are threads of this process."""
    distributed = pytest.importorskip("dask.distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def processes():
    """Give a client of a cluster of two workers, which are processes."""
    distributed = pytest.importorskip("dask.distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(os.getpid)
        yield client


@pytest.fixture(scope="module")
def samples():
    """Give samples with ties and missing values, three classes of text, and weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 5)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.array(["a", "b", "c"])[(np.nan_to_num(X[:, 0]) > 0).astype(int) + (rng.random(250) < 0.3)]
    return X, y, rng.random(250)
