"""Every page of the URLconf, and requests from the forms on them, with fields that no browser would send."""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import quote, urlencode, urljoin, urlsplit

from django.urls import URLPattern, URLResolver, get_resolver

from tools.fuzz.cases import Case, any_text
from tools.fuzz.population import PASSWORD, Population, picture

NOT_PAGES = ("api/", "admin/", "media/", "oauth/token", "oauth/revoke")
ENDS = (
    "/settings/delete",
    "/logout",
    "/end",
    "/revoke",
    "/password/change",
    "/delete",
    "/block",
)  # sent last
PLACE = re.compile(r"<(?:\w+:)?(\w+)>")
PAGE_SHARE = 0.3  # of the requests only open a page, with odd parameters
BOUNDARY = "----fuzz7d1b"

Fetch = Callable[[Case], bytes]


@dataclass
class Form:
    page: str
    action: str
    method: str = "GET"
    multipart: bool = False
    fields: list[tuple[str, str, str]] = field(default_factory=list)  # name, type, value

    @property
    def label(self) -> str:
        """The method and the path, without its variable parts."""
        path = re.sub(r"[0-9]+", "N", urlsplit(self.action).path)
        return f"{self.method} {re.sub(r'@[^/]+', '@H', path)}"

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        """Forms with the same key are the same form on several pages."""
        return self.label, tuple(sorted({name for name, _kind, _value in self.fields}))


class _Forms(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Form] = []
        self.links: set[str] = set()
        self._page = page
        self._open: Form | None = None
        self._named: dict[str, Form] = {}
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = Form(
                self._page,
                urljoin(self._page, given.get("action", "")),
                given.get("method", "get").upper(),
                "multipart" in given.get("enctype", ""),
            )
            self.found.append(self._open)
            self._named[given.get("id", "")] = self._open
        elif (form := self._named.get(given.get("form", "-"), self._open)) is not None:
            self._field(form, tag, given)

    def _field(self, form: Form, tag: str, given: dict[str, str]) -> None:
        if tag == "select":
            self._select = given.get("name", "")
        if tag == "option" and self._select:
            form.fields.append((self._select, "option", given.get("value", "")))
            return
        fields = []
        if tag in {"input", "textarea", "button", "select"} and given.get("name"):
            fields = [(given["name"], given.get("type", tag), given.get("value", ""))]
        if tag == "button" and given.get("formaction"):
            action = urljoin(form.page, given["formaction"])
            self.found.append(
                Form(form.page, action, form.method, form.multipart, [*form.fields, *fields])
            )
        else:
            form.fields += fields

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        if tag == "select":
            self._select = ""


def page_routes() -> list[str]:
    """The routes of all pages: everything except the API, the admin, media files and the endpoints for tokens."""
    return sorted(
        {one for one in _walk(get_resolver().url_patterns, "") if not one.startswith(NOT_PAGES)}
    )


def _walk(patterns: Sequence[URLPattern | URLResolver], before: str) -> Iterator[str]:
    for one in patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from _walk(one.url_patterns, route)
        else:
            yield route


class FormCases:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._routes = page_routes()
        self.pages, self.forms = len(self._routes), 0

    def of_round(self, number: int, many: int, people: Population, fetch: Fetch) -> Iterator[Case]:
        """About `many` requests: the unchanged pages first, then pages and forms with odd fields."""
        chance = random.Random(f"{self._seed}/forms/{number}")
        paths = [self._path(route, people, chance) for route in self._routes]
        forms: dict[object, Form] = {}
        for path in paths:
            for one in _forms_of(path, fetch(_page(path, people))):
                forms.setdefault(one.key, one)
        self.forms = max(self.forms, len(forms))
        ordered = sorted(forms.values(), key=lambda one: urlsplit(one.action).path.endswith(ENDS))
        looks = int(many * PAGE_SHARE)
        for _one in range(looks):
            yield self._odd_page(chance.choice(self._routes), people, chance)
        each = max(1, (many - looks) // max(1, len(ordered)))
        for form in ordered:
            for _one in range(each):
                yield _sent(form, people, chance)

    def _path(self, route: str, people: Population, chance: random.Random) -> str:
        def value(match: re.Match[str]) -> str:
            return quote(people.good(match[1], chance) or "1", safe="")

        return "/" + PLACE.sub(value, route)

    def _odd_page(self, route: str, people: Population, chance: random.Random) -> Case:
        def value(match: re.Match[str]) -> str:
            good = people.good(match[1], chance) or "1"
            return quote(good if chance.random() < 0.6 else any_text(chance)[:300], safe="")

        names = (
            "q",
            "type",
            "max_id",
            "min_id",
            "after",
            "reply_to",
            "quote",
            "next",
            "tab",
            "url",
            "format",
            "maxwidth",
            "to",
            "text",
            "page",
            "lang",
        )
        odd = [
            (chance.choice(names), any_text(chance)[:2000]) for _one in range(chance.randrange(3))
        ]
        path = "/" + PLACE.sub(value, route) + (f"?{_encoded(odd)}" if odd else "")
        method = chance.choices(
            ("GET", "HEAD", "POST", "PUT", "OPTIONS", "DELETE"), (12, 1, 2, 1, 1, 1)
        )[0]
        return _by(Case(f"page /{route}", method, path), people, chance)


def _forms_of(path: str, text: bytes) -> list[Form]:
    parser = _Forms(path)
    parser.feed(text.decode("utf-8", "replace"))
    return [one for one in parser.found if not urlsplit(one.action).netloc]


def _page(path: str, people: Population) -> Case:
    return Case("page", "GET", path, (("Cookie", _cookies(people)),))


def _cookies(people: Population) -> str:
    return f"sessionid={people.session}; csrftoken={'c' * 32}"


def _by(case: Case, people: Population, chance: random.Random) -> Case:
    """A request, mostly by a member; else by a visitor, or with an invalid cookie. A quarter come from htmx."""
    who = chance.random()
    cookies = _cookies(people) if who < 0.8 else f"csrftoken={'c' * 32}"
    if who > 0.95:
        cookies = f"sessionid={'x' * 32}; {cookies}; messages=%22; theme=%00"
    case = case.with_headers(("Cookie", cookies))
    if case.method not in {"GET", "HEAD"} and chance.random() < 0.97:
        case = case.with_headers(("X-CSRFToken", "c" * 32))
    if chance.random() < 0.25:
        target = chance.choice(("feed", "home-composer", "reply1", "a1", "x" * 300, ""))
        case = case.with_headers(
            ("HX-Request", "true"),
            ("HX-Target", target),
            ("HX-Current-URL", "http://127.0.0.1/home"),
        )
    return case


def _sent(form: Form, people: Population, chance: random.Random) -> Case:
    """A form with some of its fields changed, left out, sent twice, or sent as another type."""
    pairs = [
        (name, _usual(name, kind, value, people, chance))
        for name, kind, value in form.fields
        if kind != "file" and (kind != "option" or chance.random() < 0.5)
    ]
    files = [name for name, kind, _value in form.fields if kind == "file"]
    for _one in range(chance.randrange(4)):
        pairs = _changed(pairs, chance)
    path = urlsplit(form.action).path or "/"
    query = urlsplit(form.action).query
    if form.method == "GET":
        return _by(Case(form.label, "GET", f"{path}?{_encoded(pairs)}"[:6000]), people, chance)
    whole = path + (f"?{query}" if query else "")
    case = Case(form.label, "POST", whole)
    if form.multipart or files or chance.random() < 0.1:
        return _by(_multipart(case, pairs, files, chance), people, chance)
    body = _encoded(pairs).encode()
    if chance.random() < 0.05:
        body = body.replace(b"=", chance.choice((b"=%ff%fe", b"=%00", b"%", b"=%u0041")), 1)
    kind = ("Content-Type", "application/x-www-form-urlencoded")
    return _by(Case(form.label, "POST", whole, (kind,), body), people, chance)


def _usual(name: str, kind: str, value: str, people: Population, chance: random.Random) -> str:
    if value or kind in {"hidden", "checkbox", "radio", "submit", "option"}:
        return value
    if kind == "password":
        return PASSWORD if chance.random() < 0.3 else any_text(chance)
    return people.good(name, chance) or chance.choice(
        ("Something to say. #river", "1", "2026-12-01T10:00", "a@example.org")
    )


def _changed(pairs: list[tuple[str, str]], chance: random.Random) -> list[tuple[str, str]]:
    """The fields with one added, left out, sent twice, lengthened, renamed, or replaced."""
    if not pairs or chance.random() < 0.1:
        return [*pairs, (any_text(chance)[:100], any_text(chance))]
    at = chance.randrange(len(pairs))
    name, value = pairs[at]
    instead: Sequence[list[tuple[str, str]]] = (
        [],
        [(name, value), (name, any_text(chance))],
        [(name, value + any_text(chance))],
        [(name + chance.choice(("[]", "\x00", " ", "-0", "__in")), value)],
        [(name, any_text(chance))],
        [(name, any_text(chance))],
    )
    return [*pairs[:at], *chance.choice(instead), *pairs[at + 1 :]]


def _encoded(pairs: Sequence[tuple[str, str]]) -> str:
    return urlencode(pairs, errors="surrogatepass")


def _multipart(
    case: Case, pairs: Sequence[tuple[str, str]], files: Sequence[str], chance: random.Random
) -> Case:
    parts = []
    for name, value in pairs:
        head = f'Content-Disposition: form-data; name="{_quoted(name)}"\r\n\r\n'
        parts.append(head.encode() + value.encode("utf-8", "surrogatepass"))
    for name in [*files, *(["avatar", "file", "body"] if chance.random() < 0.2 else [])]:
        filename = _quoted(chance.choice(("a.png", "", "../a.svg", "\x00.png", "x" * 400, "ü.gif")))
        head = f'Content-Disposition: form-data; name="{_quoted(name)}"; filename="{filename}"\r\n'
        head += "Content-Type: image/png\r\n\r\n"
        parts.append(head.encode() + _file(chance))
    body = (
        b"".join(b"--" + BOUNDARY.encode() + b"\r\n" + part + b"\r\n" for part in parts)
        + b"--"
        + BOUNDARY.encode()
        + b"--\r\n"
    )
    if chance.random() < 0.1:
        body = body[: chance.randrange(len(body))]
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    return Case(case.label, case.method, case.path, (("Content-Type", kind),), body)


def _quoted(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")[:500]


def _file(chance: random.Random) -> bytes:
    good = picture()
    some = bytes(chance.randrange(256) for _one in range(200))
    return chance.choice(
        (
            good,
            good,
            b"",
            good[:60],
            some,
            b"GIF89a" + some,
            b"<svg onload='alert(1)'/>",
            b"\xff\xd8\xff\xe0" + some,
        )
    )
