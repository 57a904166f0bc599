"""The library as a package: what is in it, that it needs nothing of the site, and that its example runs."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "feedcache"
README = (LIBRARY / "README.md").read_text()
PROJECT = tomllib.loads((LIBRARY / "pyproject.toml").read_text())

FORBIDDEN = """
import sys
class Refuses:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {"django", "rest_framework", "celery", "apps", "feedsite", "runner", "tests"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuses())
"""


def example(directory):
    """The program of the README, and what it is said to print."""
    [program] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    [printed] = re.findall(r"It prints:\n\n```\n(.*?)```", README, re.DOTALL)
    path = directory / "example.py"
    path.write_text(program)
    return path, printed


def addresses():
    return [os.environ["REDIS_URL"], *os.environ["MEMCACHED_URLS"].split(",")]


def run(*command, **environment):
    """What a program prints, in an environment of its own; it must not fail."""
    own = {"PATH": os.environ["PATH"], **environment}
    done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def modules():
    return [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted(LIBRARY.rglob("*.py"))
    ]


IMPORTS = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"


@pytest.fixture
def installed(tmp_path):
    """A folder with the library alone, and a Python start that finds no site."""
    shutil.copytree(
        LIBRARY, tmp_path / "modules/feedcache", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "modules/sitecustomize.py").write_text(FORBIDDEN)
    return tmp_path / "modules"


@pytest.mark.slow
def test_no_module_needs_anything_of_the_site(installed):
    assert run(sys.executable, "-P", "-c", IMPORTS, *modules(), PYTHONPATH=str(installed)) == ""


@pytest.mark.long
def test_the_example_of_the_readme_runs(installed, tmp_path, memcached):
    program, printed = example(tmp_path)
    for _again in range(2):
        said = run(sys.executable, "-P", program, *addresses(), PYTHONPATH=str(installed))
        assert said == printed


def test_what_it_needs_is_what_it_imports():
    """Within ranges that end, and in which the versions of this run are."""
    found = set()
    for path in LIBRARY.rglob("*.py"):
        found |= set(re.findall(r"^(?:from|import) (\w+)", path.read_text(), re.MULTILINE))
    wanted = {one.name: one for one in map(Requirement, PROJECT["project"]["dependencies"])}
    assert found - set(sys.stdlib_module_names) - {"feedcache"} == set(wanted)
    for name, requirement in wanted.items():
        assert {one.operator for one in requirement.specifier} == {">=", "<"}
        assert requirement.specifier.contains(version(name)), requirement


@pytest.mark.long
def test_its_tests_run_without_the_site():
    """All are collected; those of some modules run."""
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "-n", "0",
               "-k", "test_readthrough or test_vector or test_tiers"]  # fmt: skip
    environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        command, cwd=LIBRARY, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


@pytest.mark.long
def test_it_is_installed_into_an_empty_environment(tmp_path, memcached):
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    pip = [python, "-I", "-m", "pip", "install", "--quiet", LIBRARY]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if "No matching distribution found" in done.stderr:
        pytest.skip("no package index answers")
    assert done.returncode == 0, done.stderr
    found = run(python, "-c", "from importlib.util import find_spec; print(find_spec('django'))")
    assert found == "None\n"
    assert run(python, "-P", "-c", IMPORTS, *modules()) == ""
    program, printed = example(tmp_path)
    assert run(python, "-P", program, *addresses()) == printed
