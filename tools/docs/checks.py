"""The messages of the system checks that are about settings, read from their source."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.checkout import ROOT

FOLDERS = ("feedsite", "apps")
_HAS_CODE = re.compile(r"id=\"\w+\.[EW]\d+\"")
_GAP = "\0"
_TLS_FILES = ("CA_FILE", "CERT_FILE", "KEY_FILE")


@dataclass(frozen=True)
class Refusal:
    """A message of a system check: an error or a warning. `names` has the settings that it is about."""

    code: str
    text: str
    hint: str
    is_for_production: bool
    names: tuple[str, ...]


def refusals(variables: Mapping[str, Sequence[str]], names: set[str]) -> list[Refusal]:
    """All messages about the settings `names`, by code. `variables` maps attributes of Django's settings to them."""
    found: dict[tuple[str, str], Refusal] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if _HAS_CODE.search(path.read_text()):
                for one in _Checks(path, variables, names).refusals():
                    found.setdefault((one.code, one.text), one)
    about_settings = [one for one in found.values() if one.names]
    return sorted(about_settings, key=lambda one: (one.code.partition(".")[0], one.code))


class _Checks:
    """The checks of one module."""

    def __init__(self, path: Path, variables: Mapping[str, Sequence[str]], names: set[str]) -> None:
        self.variables, self.names = variables, names
        body = ast.parse(path.read_text()).body
        self.functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        self.constants = {
            target.id: node.value
            for node in body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def refusals(self) -> Iterator[Refusal]:
        for function in self.functions.values():
            for call, around in _messages(function, []):
                given = {one.arg: one.value for one in call.keywords}
                text = self._text(call.args[0], call, function)
                hint = self._text(given["hint"], call, function) if "hint" in given else ""
                yield Refusal(
                    str(getattr(given["id"], "value", "")),
                    text.replace(_GAP, "…"),
                    hint.replace(_GAP, "…"),
                    _is_for_production(function, around),
                    tuple(sorted(self._about(text, hint, list(_loops(around))))),
                )

    def _text(self, node: ast.expr, call: ast.Call, function: ast.FunctionDef) -> str:
        """A message, with `_GAP` in place of each value that is only known when the check runs."""
        match node:
            case ast.Constant(str() as text):
                return text
            case ast.JoinedStr(parts):
                return "".join(
                    str(one.value) if isinstance(one, ast.Constant) else _GAP for one in parts
                )
            case ast.Name(name) if name in self.constants:
                return self._text(self.constants[name], call, function)
            case ast.Name(name):
                values = {
                    one.lineno: one.value
                    for one in ast.walk(function)
                    if isinstance(one, ast.Assign)
                    and one.lineno < call.lineno
                    and any(isinstance(at, ast.Name) and at.id == name for at in one.targets)
                }
                return self._text(values[max(values)], call, function) if values else _GAP
        return _GAP

    def _about(self, text: str, hint: str, loops: Sequence[ast.expr]) -> set[str]:
        """The settings that a message names, directly or by the variable of a loop; otherwise those in its hint."""
        found = self.names.intersection(re.findall(r"[A-Z][A-Z_0-9]+", text))
        if _GAP in text:
            found |= {name for loop in loops for name in self._in_loop(loop)}
        return found or self.names.intersection(re.findall(r"[A-Z][A-Z_0-9]+", hint))

    def _in_loop(self, node: ast.AST) -> Iterator[str]:
        """The settings in an expression, and in the constants and functions of the module that it names."""
        for one in ast.walk(node):
            match one:
                case ast.Constant(str() as text):
                    files = (f"{text}_{suffix}" for suffix in _TLS_FILES)
                    yield from self.names.intersection({text, *files})
                case ast.Attribute(ast.Name("settings"), name):
                    yield from self.variables.get(name, ())
                case ast.Name(name) if name in self.constants:
                    yield from self._in_loop(self.constants[name])
                case ast.Name(name) if name in self.functions:
                    yield from self._in_loop(self.functions[name])


def _messages(node: ast.AST, around: list[ast.AST]) -> Iterator[tuple[ast.Call, list[ast.AST]]]:
    """Each Error and Warning, with the nodes around it."""
    if isinstance(node, ast.Call) and any(one.arg == "id" for one in node.keywords):
        yield node, around
    for child in ast.iter_child_nodes(node):
        yield from _messages(child, [*around, node])


def _loops(around: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """The expressions that the loops among these nodes iterate over."""
    for node in around:
        if isinstance(node, ast.For):
            yield node.iter
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            yield from (one.iter for one in node.generators)


def _is_for_production(function: ast.FunctionDef, around: Sequence[ast.AST]) -> bool:
    """Whether a message is for production only: by a decorator, an early return, or a condition around it."""
    decorators = [ast.unparse(one) for one in function.decorator_list]
    returns = [one for one in function.body if isinstance(one, ast.If)]
    if "in_production" in decorators or any(
        "not settings.PRODUCTION" in ast.unparse(one.test) for one in returns
    ):
        return True
    tests = [ast.unparse(one.test) for one in around if isinstance(one, ast.If)]
    return any("settings.PRODUCTION" in test for test in tests)
