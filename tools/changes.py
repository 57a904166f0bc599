"""Test folders that no change since a commit can affect: `python -m tools.changes COMMIT`.

Only a change to the launcher, the tools or the cache library, or to a module that these import, can break their tests.
All other code can be reached through a page, so its tests always run.
"""

import subprocess
import sys
from collections.abc import Iterable

import grimp

from runner.checkout import ROOT

PACKAGES = ("apps", "feedcache", "feedsite", "runner", "tools")
# A package, and the tests that are skipped if the package and its imports have not changed.
TESTED_ALONE = {
    "feedcache": "tests/feedcache",
    "runner": "tests/runner",
    "tools": "tests/tools",
}
# Files that every test depends on.
SHARED = {"requirements.txt", "requirements-dev.txt", "pyproject.toml", "run", "tests/conftest.py"}
SUPPORT = "tests/support/"


def untouched(changed: Iterable[str]) -> list[str]:
    """The test folders that no changed file can break. Files are paths as git prints them."""
    files = list(changed)
    if not files:
        return list(TESTED_ALONE.values())
    if any(file in SHARED or file.startswith(SUPPORT) for file in files):
        return []
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    modules = {_module_of(file) for file in files if file.endswith(".py")}
    packages = {file.partition("/")[0] for file in files}  # also of files other than modules
    folders = []
    for package, folder in TESTED_ALONE.items():
        imported = graph.find_upstream_modules(package, as_package=True)
        own_tests = any(file.startswith(f"{folder}/") for file in files)
        if not (package in packages or modules & imported or own_tests):
            folders.append(folder)
    return folders


def _module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def changed_since(commit: str) -> list[str]:
    """The files that differ from a commit, including those not yet committed."""
    differ = _git("diff", "--name-only", "--no-renames", commit, "--")
    return [*differ, *_git("ls-files", "--others", "--exclude-standard")]


def _git(*arguments: str) -> list[str]:
    """The lines that git prints; CalledProcessError if it fails."""
    command = ["git", "-C", str(ROOT), *arguments]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 -- git
    return answer.stdout.splitlines()


if __name__ == "__main__":
    sys.stdout.write("\n".join(untouched(changed_since(sys.argv[1]))) + "\n")
