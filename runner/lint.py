"""`./run lint`: checks that need neither the running site nor servers.

Two steps run at a time, the quick ones first. The output of a failed step is printed at once, with advice.
"""

import compileall
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from runner import testing
from runner.checkout import ROOT
from runner.terminal import LaunchError, say

TYPED_FOLDERS = ("apps", "feedcache", "feedsite", "runner", "tools")
FOLDERS = (*TYPED_FOLDERS, "tests")  # tests are not type-checked: they are run instead
MODULES = ("manage.py", "serve.py", "healthcheck.py")
SETTINGS = {"DJANGO_SETTINGS_MODULE": "tools.lint.settings"}
SIDE_BY_SIDE = 2


@dataclass(frozen=True)
class Step:
    """A program that exits with 0 if it finds nothing."""

    name: str
    command: Sequence[str]
    advice: str = ""  # how to fix the findings, if the program does not say so
    repair: Sequence[str] = ()  # the command of --fix
    environment: dict[str, str] = field(default_factory=dict)


def refuse_syntax_errors() -> None:
    """Raise LaunchError for modules that cannot be compiled."""
    if errors := syntax_errors():
        raise LaunchError("\n".join(errors))


def syntax_errors() -> list[str]:
    """File, line and reason of each invalid Python module. Needs no packages; writes bytecode as a side effect."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", SyntaxWarning)  # such as "perhaps you missed a comma?"
        folders = [
            compileall.compile_dir(ROOT / name, quiet=2, workers=0, maxlevels=20)
            for name in FOLDERS
        ]
        modules = [compileall.compile_file(ROOT / name, quiet=2) for name in MODULES]
        if all([*folders, *modules]):
            return []
        paths = [path for name in FOLDERS for path in sorted((ROOT / name).rglob("*.py"))]
        found = map(_wrong, [*paths, *map(ROOT.joinpath, MODULES)])
        return [reason for reason in found if reason]


def _wrong(path: Path) -> str:
    try:
        compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        text = (getattr(error, "text", None) or "").strip()
        reason = getattr(error, "msg", None) or error
        return f"{path.relative_to(ROOT)}:{line}: {reason}" + (f": {text}" if text else "")
    return ""


QUICK = (
    "format",
    "lint",
    "imports",
    "generated",
    "templates",
    "translations",
    "waits",
    "documents",
)
SLOW = ("types", "schema", "migrations", "system")
NAMES = (*QUICK, *SLOW)


def steps(names: Iterable[str] = NAMES) -> list[Step]:
    """The steps with these names, in the order in which they start. Call it inside the development environment."""
    chosen = set(names)
    return [step for step in _every_step() if step.name in chosen]


def _every_step() -> list[Step]:
    templates = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("templates/**/*.html"))
    djade = [str(Path(sys.executable).parent / "djade"), "--target-version", "5.2"]
    manage = [sys.executable, "-P", str(ROOT / "manage.py")]
    return [
        Step(
            "format",
            [*testing.module("ruff"), "format", "--check"],
            "Format it with: ./run lint --fix",
            [*testing.module("ruff"), "format"],
        ),
        Step(
            "lint",
            [*testing.module("ruff"), "check"],
            repair=[*testing.module("ruff"), "check", "--fix"],
        ),
        Step("imports", testing.module("tools.lint.imports")),
        Step(
            "generated",
            [*testing.module("runner.protobuf"), "--check"],
            repair=testing.module("runner.protobuf"),
        ),
        Step(
            "templates",
            [*djade, "--check", *templates],
            "Format them with: ./run lint --fix",
            [*djade, *templates],
        ),
        Step(
            "translations",
            testing.module("tools.lint.translations"),
            repair=[*testing.module("tools.lint.translations"), "--write"],
        ),
        Step("waits", testing.module("tools.lint.waits")),
        Step(
            "documents",
            testing.module("tools.docs.generated"),
            "Write them with: ./run lint --fix documents",
            [*testing.module("tools.docs.generated"), "--write"],
            environment=SETTINGS,
        ),
        Step("types", [*testing.module("mypy"), *TYPED_FOLDERS, *MODULES[1:]]),
        Step(
            "schema",
            [*manage, "spectacular", "--validate", "--fail-on-warn", "--file", os.devnull],
            "Describe the endpoint with @extend_schema, or give its serializer the missing type (docs/api.md).",
            environment=SETTINGS,
        ),
        Step(
            "migrations",
            testing.module("tools.lint.migrations"),
            "./run manage makemigrations writes a missing migration; --merge joins two branches.",
            environment=SETTINGS,
        ),
        Step("system", [*manage, "check", "--fail-level", "WARNING"], environment=SETTINGS),
    ]


def lint(names: Sequence[str], *, quick: bool, fix: bool) -> int:
    """Run the named steps, or else the quick ones or all; `fix` first repairs what it can. Returns 0 if all passed."""
    chosen = steps(names or (QUICK if quick else NAMES))
    if fix:
        for step in chosen:
            if step.repair:
                subprocess.run(
                    step.repair,
                    cwd=ROOT,
                    env={**testing.environment(), **step.environment},
                    check=False,
                )
    failed = run(chosen)
    say(f"Failed: {', '.join(failed)}" if failed else "All passed")
    return 1 if failed else 0


def run(chosen: Sequence[Step], *, side_by_side: int = SIDE_BY_SIDE) -> list[str]:
    """Run steps, started in order. Returns the names of failed ones; prints each result when the step has ended."""
    telling = threading.Lock()

    def passes(step: Step) -> bool:
        started = time.monotonic()
        result = subprocess.run(
            step.command, cwd=ROOT, env={**testing.environment(), **step.environment}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
        )  # fmt: skip
        outcome = "failed" if result.returncode else "ok"
        with telling:
            say(f"{step.name:<24} {outcome:<7} {time.monotonic() - started:5.1f} s")
            if result.returncode:
                say(_what_it_said(result.stdout.rstrip(), step))
        return result.returncode == 0

    with ThreadPoolExecutor(side_by_side) as pool:
        passed = list(pool.map(passes, chosen))
    return [step.name for step, is_right in zip(chosen, passed, strict=True) if not is_right]


def _what_it_said(output: str, step: Step) -> str:
    """The output of a step and its advice; without the advice, which is about findings, if the program crashed."""
    advice = "" if "Traceback (most recent call last)" in output else step.advice
    return "\n".join(filter(None, [output, advice])) or "no output"
