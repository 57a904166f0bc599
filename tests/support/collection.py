"""Pytest plugin: each process of a parallel run starts collecting at a different folder or module.

In a fresh checkout every test module is compiled when it is first imported, with its assertions rewritten, which takes
ten seconds of a core for all of them. Processes that started at the same place would each compile all modules; this way
each finds most of them already compiled by the others.
"""

import gc
from collections.abc import Generator
from pathlib import Path

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, which would traverse the growing tree of tests again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    worker = getattr(config, "workerinput", None)
    if worker is None or config.args != config.getini("testpaths"):
        return
    [folder] = config.args
    # pytest collects a path that is named as an argument even if it is ignored
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
    """Give all processes the same items in the same order, before other plugins select and reorder them."""
    items.sort(key=lambda item: item.path)
    return (yield)
