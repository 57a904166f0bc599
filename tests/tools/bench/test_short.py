"""The small numbers of `--short` are those of constants that are there."""

from importlib import import_module

import pytest

from tools.bench import short
from tools.bench.__main__ import SUITES


@pytest.mark.parametrize("suite", SUITES)
def test_every_module_has_the_constants_that_become_small(suite, monkeypatch):
    modules = {}

    def module(name):
        return modules.setdefault(name, importing(name))

    importing = import_module
    monkeypatch.setattr(short, "import_module", module)
    for name, numbers in short.SMALL.items():
        there = importing(f"tools.bench.{name}")
        for constant in numbers:
            monkeypatch.setattr(there, constant, getattr(there, constant))  # put back at the end
    short.use_small_numbers(suite)
    own = {suite, *short.SHARED.get(suite, ())}
    assert {name.split(".")[2] for name in modules} == {"measure", *own}


def test_a_constant_that_is_gone_is_an_error(monkeypatch):
    monkeypatch.setattr(short, "SMALL", {"measure": {"ROUNDZ": 1}})
    with pytest.raises(AttributeError, match=r"tools\.bench\.measure has no ROUNDZ to make small"):
        short.use_small_numbers("caches")
