"""The API's parsers for strict JSON, and for forms with nested data in field names: `a[]=1`, `a[b]=2`, `a[0][b]=3`.

Clients send the format that their library prefers, so every endpoint accepts all formats and gets the same nested
data. Control characters are removed from all values (`apps.texts.without_control_characters`).
"""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

import orjson
from django.http import QueryDict
from django.utils.http import parse_header_parameters
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, FormParser, MultiPartParser

from apps.http.requests import is_malformed
from apps.texts import without_control_characters

MAX_DEPTH = 5
# of JSON: some code calls itself for each level, and Python limits the depth of calls
MAX_NESTING = 50
_NAME = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)")


class NestedFormParser(FormParser):
    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The nested data. Raises ParseError for contradictory or too deep names, bad text, or non-UTF-8 charsets."""
        charset = parse_header_parameters(media_type or "")[1].get("charset", "utf-8")
        if charset.lower() not in {"utf-8", "utf8"}:
            raise ParseError("Forms must be encoded in UTF-8.")
        body = stream.read()
        try:
            fields = QueryDict(body, encoding="utf-8")
            unquote_to_bytes(body).decode()  # QueryDict would insert replacement characters
        except UnicodeDecodeError:
            raise ParseError("The form contains invalid characters.") from None
        return nested((name, value) for name, values in fields.lists() for value in values)


class NestedMultiPartParser(MultiPartParser):
    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The fields and files as nested data. Raises ParseError as for plain forms, but accepts charsets other than
        UTF-8, and decodes invalid bytes as replacement characters.
        """
        parsed = super().parse(stream, media_type, parser_context)
        lists = (*parsed.data.lists(), *parsed.files.lists())
        return nested((name, value) for name, values in lists for value in values)


def nested(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Turn named values into nested objects and lists. If a name without `[]` is repeated, its last value counts."""
    result: dict[str, Any] = {}
    for name, value in fields:
        if is_malformed([name]):
            raise ParseError("The form contains invalid characters.")
        if isinstance(value, str) and is_malformed([value]):
            raise ParseError(f"The field {name} is not text. To send a file, give it a filename.")
        _put(
            result,
            _path(name),
            without_control_characters(value) if isinstance(value, str) else value,
        )
    return {name: _lists(value) for name, value in result.items()}


def _path(name: str) -> list[str]:
    """The steps of a name: `a[b][]` has the steps a, b and an empty one; a malformed name such as `a[b` is one step."""
    match = _NAME.fullmatch(name)
    if match is None:
        return [name]
    steps = [match[1], *re.findall(r"\[([^\[\]]*)\]", match[2])]
    if len(steps) > MAX_DEPTH:
        raise ParseError("The form is nested too deeply.")
    return steps


def _put(container: Any, path: list[str], value: Any) -> None:
    """Put a value at a path, creating the objects and lists that lead to it."""
    *parents, last = path
    for step, after in zip(parents, path[1:], strict=True):
        container = _child(container, step, list if after == "" else dict, name=path[-1])
    if isinstance(container, list):
        container.append(value)
    elif isinstance(container.get(last), dict | list):
        raise ParseError("The field names of the form contradict each other.")
    else:
        container[last] = value


def _child(container: Any, step: str, kind: type[Any], *, name: str) -> Any:
    # a list of objects: a repeated name begins the next object (`a[][b]=1&a[][c]=2&a[][b]=3`)
    if isinstance(container, list):
        if (
            not container
            or not isinstance(container[-1], kind)
            or (kind is dict and name in container[-1])
        ):
            container.append(kind())
        return container[-1]
    inner = container.setdefault(step, kind())
    if not isinstance(inner, kind):
        raise ParseError("The field names of the form contradict each other.")
    return inner


def _lists(value: Any) -> Any:
    """Turn objects whose keys are numbers into lists, in the order of the numbers."""
    if isinstance(value, list):
        return [_lists(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value and all(name.isascii() and name.isdigit() and len(name) < 10 for name in value):
        return [_lists(value[name]) for name in sorted(value, key=int)]
    return {name: _lists(item) for name, item in value.items()}


MAX_BYTES = 1024 * 1024


class StrictJSONParser(BaseParser):
    """Parses JSON of bounded size; NaN, lone surrogates and NUL are refused (400).

    MAX_NESTING limits the depth of the JSON itself, and MAX_DEPTH that in names with brackets.
    """

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The decoded object. Raises ParseError."""
        del media_type, parser_context
        body = stream.read(MAX_BYTES + 1)
        if len(body) > MAX_BYTES:
            raise ParseError("The body is too large.")
        try:
            data = orjson.loads(body)
        except orjson.JSONDecodeError:
            raise ParseError("The body is not JSON.") from None
        if not isinstance(data, dict):
            raise ParseError("The body must be an object.")
        if is_malformed(_texts(data)):
            raise ParseError("The body contains invalid characters.")
        _remove_control_characters(data)
        return without_brackets(data)


def without_brackets(data: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """Nest JSON whose keys are written like the names of a form: `media_ids[]`, `poll[options]`.

    Objects in lists, and those more than MAX_DEPTH levels down, stay unchanged. Raises ParseError.
    """
    if depth < MAX_DEPTH:
        data = {
            name: without_brackets(value, depth + 1) if isinstance(value, dict) else value
            for name, value in data.items()
        }
    if not any("[" in name for name in data):
        return data
    pairs: list[tuple[str, Any]] = []
    for name, value in data.items():
        if not (name.endswith("[]") and isinstance(value, list)):
            pairs.append((name, value))
        elif value:
            pairs += [(name, item) for item in value]
        else:
            pairs.append((name.removesuffix("[]"), value))  # `nested` cannot make an empty list
    return nested(pairs)


def _texts(data: Any) -> list[str]:
    """The texts in a body, with the names of fields. Raises ParseError if it has more than MAX_NESTING levels."""
    texts: list[str] = []
    level: list[Any] = [data]
    for _depth in range(MAX_NESTING):
        below: list[Any] = []
        for value in level:
            if isinstance(value, str):
                texts.append(value)
            elif isinstance(value, dict):
                below += [*value.keys(), *value.values()]
            elif isinstance(value, list):
                below += value
        if not below:
            return texts
        level = below
    raise ParseError("The body is nested too deeply.")


def _remove_control_characters(data: dict[str, Any]) -> None:
    """Remove control characters from all string values in a body, in place."""
    stack: list[dict[Any, Any] | list[Any]] = [data]
    while stack:
        container = stack.pop()
        items = container.items() if isinstance(container, dict) else enumerate(container)
        for key, value in list(items):
            if isinstance(value, str):
                container[key] = without_control_characters(value)
            elif isinstance(value, dict | list):
                stack.append(value)
