"""Clusters: threads for what is the same on any cluster, processes for what is about processes."""

import os

import pytest
from dask.distributed import Client, LocalCluster


@pytest.fixture(scope="module")
def client():
    """Give a client of a cluster of two workers, which are threads of this process."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def processes():
    """Give a client of a cluster of two workers, which are processes."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        client.run(os.getpid)
        yield client
