"""Servers that some of the tests of the caches need beside the common one."""

import pytest

from tests import clusters


@pytest.fixture(scope="session")
def cluster_nodes(tmp_path_factory):
    with clusters.cluster(tmp_path_factory.mktemp("cluster")) as nodes:
        yield nodes


@pytest.fixture
def on_cluster(cluster_nodes, settings):
    """Timelines, relations and existence filters are on a cluster of three masters."""
    url = clusters.cluster_url(cluster_nodes)
    with clusters.addresses(settings, **dict.fromkeys(clusters.CLASSES, url)):
        for node in cluster_nodes:
            node.ask("FLUSHALL")
        yield cluster_nodes
