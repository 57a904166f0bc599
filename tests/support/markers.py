"""Pytest plugin: a test that uses a fixture which starts more servers is marked `clusters`.

All other markers are set on the tests themselves. pyproject.toml explains each.
"""

import pytest

FIXTURES = {
    "cluster_nodes": "clusters",
    "on_cluster": "clusters",
    "other_server": "clusters",
    "pair": "clusters",
}


@pytest.hookimpl(tryfirst=True)  # before -m selects by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        used = getattr(item, "fixturenames", ())
        for name in sorted({FIXTURES[fixture] for fixture in used if fixture in FIXTURES}):
            item.add_marker(name)
