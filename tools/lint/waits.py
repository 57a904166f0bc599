"""Tests that sleep, and tests that assert how long something took: `python -m tools.lint.waits`.

Both fail on a busy machine and hide races on an idle one. A test that needs real time has a marker with the reason:
`@pytest.mark.waits("reason")`, on the test, its class, or as the module's `pytestmark`.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MAX_SECONDS = 0.05  # one polling interval
SLEEPS = {"time.sleep", "asyncio.sleep"}
CLOCKS = {
    f"time.{name}{unit}"
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time")
    for unit in ("", "_ns")
}
WORDS = re.compile(
    r"\b(sleep|mark\.waits|time\.time|monotonic|perf_counter|process_time|thread_time)"
)
INSTEAD_OF_SLEEP = (
    "wait for what the test needs: wait_until() of tests.support.waiting, or an Event or a Barrier between threads; "
    "or set the clock that the code reads"
)
INSTEAD_OF_DURATION = (
    "assert what makes it quick: how often something was tried, which timeout was set, what was not called; "
    "or set the clock that the code reads"
)
MARK = "where only real time will do: @pytest.mark.waits('reason')"


class Finding(NamedTuple):
    """`what` was found in a line; `instead` is the advice."""

    path: str
    line: int
    what: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}; {self.instead}"


def findings_in(source: str, path: str) -> list[Finding]:
    """The findings in one module."""
    if not WORDS.search(source):
        return []
    module = _Module(ast.parse(source, path), path)
    return sorted(module.findings())


@dataclass
class _Module:
    tree: ast.Module
    path: str
    imported: dict[str, str] = field(default_factory=dict)  # local name -> time.sleep
    constants: dict[str, float] = field(default_factory=dict)
    timers: set[str] = field(default_factory=set)  # functions that return a duration

    def __post_init__(self) -> None:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                self.imported |= {one.asname or one.name: one.name for one in node.names}
            elif isinstance(node, ast.ImportFrom):
                of = f"{node.module}."
                self.imported |= {one.asname or one.name: of + one.name for one in node.names}
        for statement in self.tree.body:
            match statement:
                case ast.Assign([ast.Name(name)], ast.Constant(int() | float() as value)):
                    self.constants[name] = value
        for function in ast.walk(self.tree):
            if isinstance(function, ast.FunctionDef) and self._is_timer(function):
                self.timers.add(function.name)

    def _is_timer(self, function: ast.FunctionDef) -> bool:
        times = _Times(self, function)
        returned = (node.value for node in ast.walk(function) if isinstance(node, ast.Return))
        return any(value and times.is_duration(value) for value in returned)

    def findings(self) -> Iterator[Finding]:
        yield from self._reasons()
        yield from self._within(self.tree, _Times(self, self.tree))

    def called(self, node: ast.AST) -> str:
        """The full name of the function that an expression calls; "" if it is not a call."""
        match node:
            case ast.Call(ast.Name(name)):
                return self.imported.get(name, name)
            case ast.Call(ast.Attribute(ast.Name(module), name)):
                return f"{self.imported.get(module, module)}.{name}"
        return ""

    def _within(self, scope: ast.AST, times: "_Times") -> Iterator[Finding]:
        for node in ast.iter_child_nodes(scope):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if any(_is_marker(one) for one in node.decorator_list):
                    continue
                inner = times if isinstance(node, ast.ClassDef) else times.inside(node)
                yield from self._within(node, inner)
                continue
            if isinstance(node, ast.Assign) and scope is self.tree and _marks(node):
                return
            if self.called(node) in SLEEPS and not self._is_short(node):
                what = f"sleeps: {ast.unparse(node)}"
                yield Finding(self.path, _line(node), what, f"{INSTEAD_OF_SLEEP}; {MARK}")
            if isinstance(node, ast.Assert) and times.bounds(node.test):
                what = f"asserts how long something took: {ast.unparse(node.test)}"
                yield Finding(self.path, node.lineno, what, f"{INSTEAD_OF_DURATION}; {MARK}")
            yield from self._within(node, times)

    def _is_short(self, call: ast.AST) -> bool:
        match call:
            case ast.Call(args=[ast.Constant(int() | float() as seconds), *_]):
                return seconds <= MAX_SECONDS
            case ast.Call(args=[ast.Name(name), *_]):
                return self.constants.get(name, MAX_SECONDS + 1) <= MAX_SECONDS
        return False

    def _reasons(self) -> Iterator[Finding]:
        nodes = list(ast.walk(self.tree))
        good = [node.func for node in nodes if isinstance(node, ast.Call) and _has_reason(node)]
        for node in nodes:
            if _is_waits(node) and node not in good:
                yield Finding(self.path, _line(node), "has a marker without a reason", MARK)


class _Times:
    """The local names of a function that hold readings of a clock, or durations."""

    def __init__(self, module: _Module, function: ast.AST, outer: "_Times | None" = None) -> None:
        self.module = module
        self.readings: set[str] = set(outer.readings) if outer else set()
        self.durations: set[str] = set(outer.durations) if outer else set()
        for node in _own_nodes(function):
            match node:
                case ast.Assign(targets, value):
                    for name in (one.id for one in targets if isinstance(one, ast.Name)):
                        self._learn(name, value)
                case ast.Call(ast.Attribute(ast.Name(name), "append"), [value]):
                    self._learn(name, value)

    def inside(self, function: ast.AST) -> "_Times":
        return _Times(self.module, function, self)

    def bounds(self, test: ast.AST) -> bool:
        """Whether an assertion compares a duration, or reads a clock."""
        compared = [node for node in ast.walk(test) if isinstance(node, ast.Compare)]
        return any(
            self.is_duration(node) or self.module.called(node) in CLOCKS
            for comparison in compared
            for node in ast.walk(comparison)
        )

    def is_duration(self, node: ast.AST) -> bool:
        """Whether an expression is a difference with a reading of a clock."""
        match node:
            case ast.BinOp(left, ast.Sub(), right):
                return self._is_reading(left) or self._is_reading(right)
            case ast.Name(name):
                return name in self.durations
        return self.module.called(node) in self.module.timers

    def _is_reading(self, node: ast.AST) -> bool:
        return self.module.called(node) in CLOCKS or (
            isinstance(node, ast.Name) and node.id in self.readings
        )

    def _learn(self, name: str, value: ast.AST) -> None:
        if self.is_duration(value):
            self.durations.add(name)
        elif self._is_reading(value):
            self.readings.add(name)


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope in order, without those of nested functions."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from _own_nodes(node)


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _is_waits(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.mark.waits"


def _has_reason(call: ast.Call) -> bool:
    match call:
        case ast.Call(args=[ast.Constant(str() as reason)], keywords=[]):
            return bool(reason.strip())
    return False


def _is_marker(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _is_waits(node.func)


def _marks(assignment: ast.Assign) -> bool:
    """Whether an assignment marks all tests of the module."""
    names = [one.id for one in assignment.targets if isinstance(one, ast.Name)]
    return names == ["pytestmark"] and any(map(_is_marker, ast.walk(assignment.value)))


def main() -> int:
    """Print the findings in tests/. Exit status 1 if there are any."""
    found = [
        finding
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for finding in findings_in(path.read_text(), str(path.relative_to(ROOT)))
    ]
    for finding in found:
        sys.stdout.write(f"{finding}\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
