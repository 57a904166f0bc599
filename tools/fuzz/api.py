"""Requests to the API, made from its OpenAPI document by schemathesis: some as it says, some as it does not."""

import random
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import hypothesis
import requests
import schemathesis
from hypothesis import HealthCheck, Phase
from schemathesis.generation import GenerationMode

from tools.fuzz.cases import Case, any_text
from tools.fuzz.population import Population

ENDS = (
    "/block",
    "/clear",
    "/dismiss",
    "/unfollow",
    "/remove_from_followers",
    "/revoke",
)  # asked last: they end what others need
GOOD_IDS = 0.7  # of the addresses name something that is there
MADE_AT_LEAST = 10  # of a batch are made by schemathesis, and as many as...
MADE_SHARE = 0.4  # ...this share of it; the rest are changes of those
ORIGIN = "http://site"


class ApiCases:
    """All operations of the document, each with what makes its requests."""

    def __init__(self, document: dict[str, Any], seed: int) -> None:
        parsed: list[Any] = list(schemathesis.openapi.from_dict(document).get_all_operations())
        found = [one.ok() for one in parsed]
        self.operations = sorted(found, key=_is_an_end)
        self._seed = seed
        self._strategies = {one.label: _both(one) for one in self.operations}

    def of_round(self, number: int, each: int, people: Population) -> Iterator[Case]:
        """`each` requests to every operation."""
        chance = random.Random(f"{self._seed}/api/{number}")
        for operation in self.operations:
            made = self._made(
                operation, number, max(MADE_AT_LEAST, int(each * MADE_SHARE)), people, chance
            )
            for place in range(each):
                case = made[place] if place < len(made) else changed(chance.choice(made), chance)
                yield _asked_by(case, people, chance)

    def _made(
        self, operation: Any, number: int, many: int, people: Population, chance: random.Random
    ) -> Sequence[Case]:
        made: list[Case] = []

        @hypothesis.seed(self._seed * 1_000_003 + number)
        @hypothesis.settings(
            max_examples=many,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(case=self._strategies[operation.label])
        def make(case: Any) -> None:
            for name in case.path_parameters or {}:
                good = people.good(name, chance)
                if good is not None and chance.random() < GOOD_IDS:
                    case.path_parameters[name] = good
            made.append(_plain(operation.label, case))

        make()
        return made or [Case(operation.label, operation.method.upper(), operation.path)]


def _both(operation: Any) -> Any:
    good = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    return good | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)


def _is_an_end(operation: Any) -> bool:
    return bool(operation.method.upper() == "DELETE" or operation.path.endswith(ENDS))


def _plain(label: str, case: Any) -> Case:
    prepared = requests.Request(**case.as_transport_kwargs(base_url=ORIGIN)).prepare()
    address = urlsplit(prepared.url or "")
    path = address.path + (f"?{address.query}" if address.query else "")
    body = prepared.body or b""
    sent = body if isinstance(body, bytes) else str(body).encode("utf-8", "surrogatepass")
    dropped = {
        "content-length",
        "user-agent",
        "x-schemathesis-testcaseid",
        "connection",
        "accept-encoding",
        "host",
        "transfer-encoding",
    }
    headers = tuple(
        (name, str(value))
        for name, value in prepared.headers.items()
        if name.lower() not in dropped
    )
    return Case(label, str(prepared.method), path or "/", headers, sent)


def changed(case: Case, chance: random.Random) -> Case:
    """Another one like it: a parameter more, other bytes in the body, another type of it."""
    what = chance.randrange(5)
    if what == 0:
        joined = "&" if "?" in case.path else "?"
        name = chance.choice(
            (
                "max_id",
                "min_id",
                "since_id",
                "limit",
                "offset",
                "q",
                "id[]",
                "types[]",
                "timeline[]",
                "resolve",
            )
        )
        more = f"{joined}{quote(name)}={quote(any_text(chance), safe='')}"
        return Case(case.label, case.method, case.path + more[:4000], case.headers, case.body)
    if what == 1 and case.body:
        at = chance.randrange(len(case.body))
        new = chance.choice(
            (b"\x00", b"\xff", b'"', b"{", b"9" * 400, b"[" * 500, b"\\ud800", b"null")
        )
        return Case(
            case.label,
            case.method,
            case.path,
            case.headers,
            case.body[:at] + new + case.body[at + 1 :],
        )
    if what == 2:
        kind = chance.choice(
            (
                "application/json",
                "application/x-www-form-urlencoded",
                "multipart/form-data; boundary=x",
                "text/plain",
                "",
            )
        )
        return case.with_headers(("Content-Type", kind))
    if what == 3:
        head, sep, tail = case.path.partition("?")
        parts = head.split("/")
        parts[chance.randrange(3, max(4, len(parts))) % len(parts)] = quote(
            any_text(chance)[:300], safe=""
        )
        return Case(case.label, case.method, "/".join(parts) + sep + tail, case.headers, case.body)
    return case.with_headers(
        (
            chance.choice(
                ("If-None-Match", "Idempotency-Key", "Accept", "Accept-Language", "Range")
            ),
            _header(chance),
        )
    )


def _header(chance: random.Random) -> str:
    return (
        any_text(chance)
        .encode("ascii", "ignore")
        .decode()
        .replace("\n", "")
        .replace("\r", "")
        .replace("\x00", "")[:200]
    )


def _asked_by(case: Case, people: Population, chance: random.Random) -> Case:
    """With a good token most of the time, with another's, with none, or with nonsense."""
    who = chance.random()
    if who < 0.1:
        return Case(
            case.label,
            case.method,
            case.path,
            tuple(h for h in case.headers if h[0].lower() != "authorization"),
            case.body,
        )
    token = people.token if who < 0.88 else people.other_token if who < 0.96 else _header(chance)
    return case.with_headers(("Authorization", f"Bearer {token}"))
