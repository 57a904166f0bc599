"""The library as a package: what is in it, that it needs nothing of the site, and that its example runs."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

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


@pytest.fixture
def installed(tmp_path):
    """A folder with the modules that the package has, and a Python start that finds no site."""
    for name in PROJECT["tool"]["setuptools"]["packages"]:
        source = LIBRARY.joinpath(*name.split(".")[1:])
        target = tmp_path.joinpath("modules", *name.split("."))
        target.mkdir(parents=True)
        for path in source.glob("*.py"):
            shutil.copy(path, target)
    modules = tmp_path / "modules"
    (modules / "sitecustomize.py").write_text(FORBIDDEN)
    return modules


def test_every_module_is_in_the_package_and_needs_nothing_of_the_site(installed):
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sorted(LIBRARY.rglob("*.py"))
        if "build" not in path.relative_to(LIBRARY).parts
    ]
    code = "".join(f"import {name.removesuffix('.__init__')}\n" for name in names)
    assert run(sys.executable, "-P", "-c", code, PYTHONPATH=str(installed)) == ""


def test_the_example_of_the_readme_runs(installed, tmp_path, memcached):
    program, printed = example(tmp_path)
    for _again in range(2):
        said = run(sys.executable, "-P", program, *addresses(), PYTHONPATH=str(installed))
        assert said == printed


def test_what_it_needs_is_what_it_imports():
    """As the names of packages, of which each has a range with an end."""
    found = set()
    for path in LIBRARY.rglob("*.py"):
        found |= set(re.findall(r"^(?:from|import) (\w+)", path.read_text(), re.MULTILINE))
    wanted = {
        re.fullmatch(r"(\w+)>=[\d.]+,<\d+", one).group(1)
        for one in PROJECT["project"]["dependencies"]
    }
    assert found - set(sys.stdlib_module_names) - {"feedcache"} == wanted


@pytest.mark.long
@pytest.mark.gate
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
    """Into one with nothing but pip, from a copy: what a build leaves behind stays out of the checkout."""
    source, home = tmp_path / "feedcache", tmp_path / "venv"
    shutil.copytree(LIBRARY, source, ignore=shutil.ignore_patterns("__pycache__"))
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    pip = [python, "-I", "-m", "pip", "install", "--quiet", source]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if "No matching distribution found" in done.stderr:
        pytest.skip("no package index answers")
    assert done.returncode == 0, done.stderr
    found = run(python, "-c", "from importlib.util import find_spec; print(find_spec('django'))")
    assert found == "None\n"
    program, printed = example(tmp_path)
    assert run(python, "-P", program, *addresses()) == printed
