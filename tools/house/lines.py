"""Classifies the lines of Python files: code, imports, docstrings, comments or blank."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

GENERATED = ("_pb2.py", "_pb2.pyi")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Lines:
    code: int = 0
    imports: int = 0
    docstrings: int = 0
    comments: int = 0
    blank: int = 0

    @property
    def total(self) -> int:
        return sum(astuple(self))

    def __add__(self, other: "Lines") -> "Lines":
        return Lines(*(map(sum, zip(astuple(self), astuple(other), strict=True))))


def count_lines(source: str) -> Lines:
    """Classify the lines of a module. A blank line or a # within a string belongs to the string."""
    nodes = list(ast.walk(ast.parse(source)))
    kinds = dict.fromkeys(_lines_of(_strings(nodes)), "code")
    kinds |= dict.fromkeys(_lines_of(_docstrings(nodes)), "docstrings")
    kinds |= dict.fromkeys(_lines_of(_imports(nodes)), "imports")
    counts = dict.fromkeys(("code", "imports", "docstrings", "comments", "blank"), 0)
    for number, line in enumerate(source.splitlines(), start=1):
        counts[kinds.get(number) or _kind_of(line.strip())] += 1
    return Lines(**counts)


def count_files(paths: Iterable[Path]) -> Lines:
    return sum((count_lines(path.read_text("utf-8")) for path in paths), Lines())


def python_files(folder: Path, *, migrations: bool = False) -> list[Path]:
    """The hand-written files of a folder, or only its migrations."""
    return sorted(
        path
        for path in folder.rglob("*.py")
        if not path.name.endswith(GENERATED) and ("migrations" in path.parts) == migrations
    )


def _kind_of(line: str) -> str:
    if not line:
        return "blank"
    return "comments" if line.startswith("#") else "code"


def _lines_of(nodes: Iterable[ast.stmt | ast.expr]) -> Iterator[int]:
    for node in nodes:
        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _strings(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    for node in nodes:
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        ):
            yield node


def _docstrings(nodes: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    for node in nodes:
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            yield node.body[0]


def _imports(nodes: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
