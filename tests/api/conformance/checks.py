"""Asks what an expectation says, and compares the answer."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.api.conformance.expectations import ABSENT, Expectation, Like, Step, With, Without

_PLACE = re.compile(r"\{([\w.]+)\}")
Ask = Callable[[Step], Any]


def failure(expected: Expectation, ask: Ask, world: Mapping[str, Any]) -> str:
    """What the answer lacks; empty where it is as expected. AssertionError when a request before it fails."""
    answers: dict[str, Any] = {}
    for number, step in enumerate(expected.before, start=1):
        answer = ask(_filled(step, world, answers))
        assert answer.status_code in {200, 202}, (step, answer.status_code, answer.content[:300])
        answers[str(number)] = answer.json() if answer.content else {}
    answer = ask(_filled(expected.step, world, answers))
    if answer.status_code != expected.status:
        return f"{answer.status_code} {answer.content[:300].decode(errors='replace')}"
    is_json = "json" in answer.headers.get("Content-Type", "")
    body = answer.json() if is_json and answer.content else answer.content.decode()
    for path, wanted in expected.has.items():
        wanted = filled(wanted, world, answers)
        path = filled(path, world, answers)
        found = (
            answer.headers.get(path.removeprefix("header:"), ABSENT)
            if path.startswith("header:")
            else _member(body, path)
        )
        if not _is(found, wanted):
            shown = "absent" if found is ABSENT else repr(found)[:300]
            return f"{path or 'the answer'} is {shown}"
    return ""


def filled(value: Any, world: Mapping[str, Any], answers: Mapping[str, Any]) -> Any:
    """A value with what its places stand for."""
    if isinstance(value, str):
        whole = _PLACE.fullmatch(value)
        if whole:
            found = _named(whole[1], world, answers)
            return found if hasattr(found, "read") else str(found)
        return _PLACE.sub(lambda match: str(_named(match[1], world, answers)), value)
    if isinstance(value, dict):
        return {
            filled(key, world, answers): filled(item, world, answers) for key, item in value.items()
        }
    if isinstance(value, Like | With | Without):
        return type(value)(*(filled(part, world, answers) for part in value))
    if isinstance(value, list | tuple):
        return type(value)(filled(item, world, answers) for item in value)
    return value


def _filled(step: Step, world: Mapping[str, Any], answers: Mapping[str, Any]) -> Step:
    return step._replace(
        path=filled(step.path, world, answers), body=filled(step.body, world, answers)
    )


def _named(name: str, world: Mapping[str, Any], answers: Mapping[str, Any]) -> Any:
    first, _dot, rest = name.partition(".")
    if first in answers:
        return _member(answers[first], rest)
    value = world[name]
    return value() if callable(value) else value


def _member(value: Any, path: str) -> Any:
    first, _dot, rest = path.partition(".")
    if not first:
        return value
    if first == "*":
        return [_member(item, rest) for item in value]
    if isinstance(value, list) and first.isdigit():
        return _member(value[int(first)], rest) if int(first) < len(value) else ABSENT
    if isinstance(value, dict):
        if path in value:  # `posting:default:visibility` has no dots, but others may
            return value[path]
        return _member(value[first], rest) if first in value else ABSENT
    return ABSENT


def _is(found: Any, wanted: Any) -> bool:
    if found is ABSENT or wanted is ABSENT:
        return found is wanted
    if isinstance(wanted, type):
        return isinstance(found, wanted) and not (wanted is int and isinstance(found, bool))
    if isinstance(wanted, Like):
        return isinstance(found, str) and re.search(wanted.pattern, found) is not None
    if isinstance(wanted, With):
        return all(item in found for item in wanted.items)
    if isinstance(wanted, Without):
        return not any(item in found for item in wanted.items)
    return bool(found == wanted) and isinstance(found, bool) == isinstance(wanted, bool)
