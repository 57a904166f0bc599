"""Writes the tables of docs/api.md: each endpoint of Mastodon, as the expectations have found it.

    python -P -m tests.api.conformance.document

An endpoint is as Mastodon's where all expectations of it hold, and differs where one does not; so is a parameter.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.api.conformance.expectations import Expectation, Step
from tests.api.conformance.tables import AREAS

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "api.md"
ENDPOINTS = Path(__file__).with_name("endpoints.toml")
BEGIN, END = "<!-- The next tables are generated. -->", "<!-- Here they end. -->"


@dataclass
class Endpoint:
    """An endpoint of Mastodon's documentation, with the expectations about it."""

    method: str
    path: str
    takes: list[str] = field(default_factory=list)
    note: str = ""
    refused: str = ""
    held_by: str = ""
    expectations: list[Expectation] = field(default_factory=list)
    is_taken_on_the_way: bool = False  # by a request before that of an expectation

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def is_asked(self) -> bool:
        return bool(self.refused or self.held_by or self.expectations or self.is_taken_on_the_way)

    @property
    def differences(self) -> list[str]:
        """What Mastodon does, and what this site does instead."""
        return [f"*{one.says}*: {one.differs}" for one in self.expectations if one.differs]

    @property
    def state(self) -> str:
        if self.refused:
            return "refused"
        return "differs" if self.differences else "as Mastodon"

    def parameters(self, *, hold: bool) -> list[str]:
        """Those of which an expectation holds, or those that occur only in expectations that differ."""
        good = {name for one in self.expectations if not one.differs for name in names(one.step)}
        asked = {name for one in self.expectations for name in names(one.step)}
        found = good if hold else asked - good
        return [name for name in self.takes if _occurs(name, found)]

    def unasked(self) -> list[str]:
        known = {*self.parameters(hold=True), *self.parameters(hold=False)}
        return [] if self.refused or self.held_by else [n for n in self.takes if n not in known]


def sections() -> dict[str, list[Endpoint]]:
    found: dict[str, list[Endpoint]] = {}
    for title, rows in tomllib.loads(ENDPOINTS.read_text()).items():
        found[title] = []
        for name, row in rows.items():
            method, _blank, path = name.partition(" ")
            said: dict[str, str] = {"takes": row} if isinstance(row, str) else row
            endpoint = Endpoint(method, path, said.get("takes", "").split())
            endpoint.note, endpoint.refused = said.get("note", ""), said.get("refused", "")
            endpoint.held_by = said.get("held_by", "")
            found[title].append(endpoint)
    endpoints = [one for rows in found.values() for one in rows]
    for expected in (one for rows in AREAS.values() for one in rows):
        if (asked := endpoint_of(expected.step, endpoints)) is not None:
            asked.expectations.append(expected)
        for step in expected.before:
            if (earlier := endpoint_of(step, endpoints)) is not None:
                earlier.is_taken_on_the_way = True
    return found


def endpoint_of(step: Step, endpoints: list[Endpoint]) -> Endpoint | None:
    """The endpoint that a request is for: of several that fit, the one with the fewest places."""
    path = step.path.partition("?")[0]
    fitting = [
        one
        for one in endpoints
        if one.method == step.method
        and re.fullmatch(re.sub(r":\w+", r"[^/]+", one.path.replace(".", r"\.")), path)
    ]
    return min(fitting, key=lambda one: one.path.count(":"), default=None)


def names(step: Step) -> set[str]:
    """The names of a request's parameters, without brackets: `poll.options`."""
    query = step.path.partition("?")[2]
    found = {_plain(pair.partition("=")[0]) for pair in query.split("&") if pair}
    return found | set(_names_in(step.body or {}))


def _names_in(value: Any, prefix: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            step = "" if name.isdigit() else name
            yield from _names_in(item, ".".join(filter(None, (prefix, step))))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for item in value:
            yield from _names_in(item, prefix)
    else:
        yield prefix
    if prefix:
        yield prefix


def _plain(name: str) -> str:
    return ".".join(filter(None, re.split(r"\[:?\w*index\]|\[\]|[\[\]]+", name)))


def _occurs(name: str, found: set[str]) -> bool:
    return _plain(name) in found


def tables() -> str:
    """The generated part of the document."""
    all_rows = [one for rows in AREAS.values() for one in rows]
    differing = sum(1 for one in all_rows if one.differs)
    parts = [
        BEGIN,
        "",
        f"`tests/api/conformance` has {len(all_rows):,} expectations from the documentation and tests of Mastodon's",
        f"API: {len(all_rows) - differing:,} are met, and {differing} are not, for the reasons below.",
        "",
    ]
    for title, endpoints in sections().items():
        rows = "\n".join(map(_row, endpoints))
        parts.append(f"### {title}\n\n| endpoint | | |\n|---|---|---|\n{rows}\n")
    return "\n".join([*parts, END])


def _row(endpoint: Endpoint) -> str:
    said = [endpoint.refused, *endpoint.differences, endpoint.note]
    if takes := endpoint.parameters(hold=True):
        said.append(f"takes {_quoted(takes)}")
    if differing := endpoint.parameters(hold=False):
        said.append(f"{_quoted(differing)}: see above")
    text = "; ".join(filter(None, said)) if not endpoint.refused else endpoint.refused
    return f"| {endpoint.method} `{_shown(endpoint.path)}` | {endpoint.state} | {text} |"


def _shown(path: str) -> str:
    return re.sub(r":\w+", ":id", path)


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def document() -> str:
    """The whole document as it should be."""
    text = DOCUMENT.read_text()
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    return before + tables() + after


if __name__ == "__main__":
    DOCUMENT.write_text(document())
