"""A real Ray cluster of several nodes on this machine, each with processes of its own, on loopback."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
"""Has whoever joins look for its node there."""


@contextmanager
def ray_cluster(monkeypatch: pytest.MonkeyPatch, *cpus: int) -> Iterator[Any]:
    """Start a head without a CPU, which the tests join, and a node for each of `cpus`; end all of them
    afterwards. Gives a `ray.cluster_utils.Cluster`. Skips where Ray is not installed."""
    for name, text in LOOPBACK.items():
        monkeypatch.setenv(name, text)
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    # Not below the test's own folder: paths of sockets have 107 characters at most.
    folder = tempfile.mkdtemp(prefix="arena-ray-", dir="/tmp")
    cluster = Cluster(shutdown_at_exit=True)  # so that they end with the tests, even killed ones
    # Others on this machine who look for a Ray shall not find this one.
    monkeypatch.setattr("ray._private.utils.write_ray_address", lambda *address: None)
    try:
        for count in (0, *cpus):
            cluster.add_node(
                num_cpus=count, node_ip_address="127.0.0.1", include_dashboard=False, temp_dir=folder
            )
        yield cluster
    finally:
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
