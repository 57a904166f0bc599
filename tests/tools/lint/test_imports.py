"""What is said about a broken import contract."""

import tomllib
from pathlib import Path

from tools.lint import imports

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def test_every_contract_says_what_to_do_instead():
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert set(imports.INSTEAD) == {one["name"] for one in tools["importlinter"]["contracts"]}


def test_broken_contracts_are_found_in_the_output():
    output = "Imports point down BROKEN (3 ignored imports)\nfeedcache is a library KEPT\nInside BROKEN\n"
    assert imports.broken(output) == ["Imports point down", "Inside"]
