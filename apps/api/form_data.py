"""Forms sent to the API, in the shape that JSON would have had: `a[]=1`, `a[b]=2`, `a[0][b]=3`.

Clients send whichever form their library likes, so every endpoint takes all of them and sees one shape.
"""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

from django.http import QueryDict
from django.utils.http import parse_header_parameters
from rest_framework.exceptions import ParseError
from rest_framework.parsers import FormParser, MultiPartParser

from apps.http.text import is_malformed

MAX_DEPTH = 5
_NAME = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)")


class NestedFormParser(FormParser):
    """`application/x-www-form-urlencoded`, as JSON would have been."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The fields; ParseError for names that contradict each other, texts that are none, and other charsets than UTF-8."""
        charset = parse_header_parameters(media_type or "")[1].get("charset", "utf-8")
        if charset.lower() not in {"utf-8", "utf8"}:
            raise ParseError("Forms are written in UTF-8.")
        body = stream.read()
        try:
            fields = QueryDict(body, encoding="utf-8")
            list(fields.lists())
            unquote_to_bytes(body).decode()  # QueryDict would put replacement characters
        except UnicodeDecodeError:
            raise ParseError("The form contains characters that are not text.") from None
        return nested((name, value) for name, values in fields.lists() for value in values)


class NestedMultiPartParser(MultiPartParser):
    """`multipart/form-data`, files among the fields, as JSON would have been."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The fields and files; ParseError as for plain forms."""
        parsed = super().parse(stream, media_type, parser_context)
        lists = (*parsed.data.lists(), *parsed.files.lists())
        return nested((name, value) for name, values in lists for value in values)


def nested(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Named values as nested objects and lists; of a name that is given twice the last value counts."""
    found: dict[str, Any] = {}
    for name, value in fields:
        if is_malformed(text for text in (name, value) if isinstance(text, str)):
            raise ParseError("The form contains characters that are not text.")
        _put(found, _steps(name), value)
    return {name: _lists(value) for name, value in found.items()}


def _steps(name: str) -> list[str]:
    """`a[b][]` is a, b and nothing; a name in no such form stands for itself."""
    match = _NAME.fullmatch(name)
    if match is None:
        return [name]
    steps = [match[1], *re.findall(r"\[([^\[\]]*)\]", match[2])]
    if len(steps) > MAX_DEPTH:
        raise ParseError("The form is nested too deeply.")
    return steps


def _put(into: Any, steps: list[str], value: Any) -> None:
    """Put a value where its steps lead, making objects and lists on the way."""
    *way, last = steps
    for step, after in zip(way, steps[1:], strict=True):
        into = _entered(into, step, list if after == "" else dict, after=steps[-1])
    if isinstance(into, list):
        into.append(value)
    else:
        into[last] = value


def _entered(into: Any, step: str, kind: type[Any], *, after: str) -> Any:
    if isinstance(into, list):  # a list of objects: a name that comes again begins the next one
        if not into or not isinstance(into[-1], kind) or (kind is dict and after in into[-1]):
            into.append(kind())
        return into[-1]
    inner = into.setdefault(step, kind())
    if not isinstance(inner, kind):
        raise ParseError("The names of the form contradict each other.")
    return inner


def _lists(value: Any) -> Any:
    """Objects with numbers for names are lists, in the order of the numbers."""
    if isinstance(value, list):
        return [_lists(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value and all(name.isascii() and name.isdigit() and len(name) < 10 for name in value):
        return [_lists(value[name]) for name in sorted(value, key=int)]
    return {name: _lists(one) for name, one in value.items()}
