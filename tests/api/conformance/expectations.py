"""How an expectation of Mastodon's API is written down: who asks for what, and what the answer holds."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

ABSENT = object()  # as a value: the answer lacks the member
Body = dict[str, Any]


class Step(NamedTuple):
    """A request: `alice GET accounts/{bob}`. `read:statuses` in brackets are the scopes of the token."""

    who: str
    scopes: str
    method: str
    path: str
    body: Body | None
    form: bool  # whether the body is sent as multipart, with files

    @classmethod
    def of(cls, text: str, body: Body | None = None, *, form: bool = False) -> "Step":
        match = re.fullmatch(r"(\w+)(?:\[([^\]]+)\])? ([A-Z]+) (\S+)", text)
        if match is None:
            raise ValueError(f"not a request: {text}")
        return cls(match[1], match[2] or "", match[3], _address(match[4]), body, form)


class Like(NamedTuple):
    """A text with a match of a regular expression."""

    pattern: str


class With(NamedTuple):
    """A list, or a text, that has these among others."""

    items: tuple[Any, ...]


class Without(NamedTuple):
    """A list, or a text, that has none of these."""

    items: tuple[Any, ...]


def has(*items: Any) -> With:
    return With(items)


def lacks(*items: Any) -> Without:
    return Without(items)


@dataclass(frozen=True)
class Expectation:
    """What Mastodon does. `differs`: why this site does something else; then the expectation must fail.

    `has`: members of the answer, by their paths (`source.privacy`, `*.id` for a list of them, "" for all of it,
    `header:Link`), each with a value, a type, or one of the classes above. Texts may name parts of the world (`{bob}`)
    and members of the answers to `before` (`{1.id}`).
    """

    says: str
    step: Step
    status: int
    has: dict[str, Any] = field(default_factory=dict)
    before: tuple[Step, ...] = ()
    differs: str = ""


def expect(
    says: str,
    request: str,
    status: int = 200,
    members: dict[str, Any] | None = None,
    *,
    body: Body | None = None,
    form: bool = False,
    before: Sequence[str | tuple[str, Body]] = (),
    differs: str = "",
) -> Expectation:
    earlier = tuple(Step.of(*((one,) if isinstance(one, str) else one)) for one in before)
    step = Step.of(request, body, form=form)
    return Expectation(says, step, status, members or {}, earlier, differs)


def _address(path: str) -> str:
    if path.startswith("/"):
        return path
    return f"/api/{path}" if path.startswith("v2/") else f"/api/v1/{path}"
