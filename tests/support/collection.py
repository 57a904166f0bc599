"""Pytest plugin: each process of a parallel run begins to collect at another place.

In a fresh checkout every test module is compiled when it is first imported, with its assertions rewritten, which takes
ten seconds of a core for all of them. Processes that begin at the same place would each compile all of them; so each
finds most of what it needs done by the others.
"""

from collections.abc import Generator
from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    worker = getattr(config, "workerinput", None)
    if worker is None or config.args != config.getini("testpaths"):
        return
    [folder] = config.args
    # pytest ignores nothing that it is told to collect by name
    ignored = {Path(config.rootpath, name) for name in config.getoption("ignore") or ()}
    places = sorted(
        str(path)
        for path in Path(config.rootpath, folder).iterdir()
        if _has_tests(path) and path not in ignored
    )
    begin = len(places) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    config.args = places[begin:] + places[:begin]


def _has_tests(path: Path) -> bool:
    return path.match("test_*.py") or any(path.rglob("test_*.py"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """All processes must have the same items in the same order, before other plugins choose among and order them."""
    items.sort(key=lambda item: item.path)
    return (yield)
