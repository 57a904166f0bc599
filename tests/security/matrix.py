"""Asks for everything as everybody, and compares:
whoever may not see a post gets what they get for one that never was.
"""

import re
import zipfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import orjson
from django.test import Client, RequestFactory
from django.test.client import ClientHandler
from django.utils import timezone

from apps.privacy.archive import private_storage, write_archive
from apps.streaming.queries import events_of_delete, events_of_post
from apps.streaming.streams import Stream
from feedcache.ids import to_base36
from tests.security import oracle
from tests.security.surfaces import LISTS, OF_POSTS, OF_WORDS, WRITES, Surface
from tests.security.world import GHOST_MARK, MARK, VIEWERS, Made, World

ID = re.compile(r"(?<![0-9])[0-9]{17,19}(?![0-9])")
PICTURE = re.compile(r"(?:pictures|restricted)/[0-9a-f]{32}\.\w+")
_CHANGING = (
    re.compile(r'(name="csrfmiddlewaretoken" value=")[^"]*'),
    re.compile(r"(X-CSRFToken[^A-Za-z0-9]+)[A-Za-z0-9]{64}"),
    re.compile(r'(name="idempotency_key" value=")[^"]*'),
    re.compile(r'(nonce[-=]"?)[A-Za-z0-9+/_-]+={0,2}'),
    re.compile(r"(last_id=\d+-)\d+"),  # until when the page was read
    re.compile(r"(put together in )\d+"),
    re.compile(r'(<svg class="bar").*?</svg>', re.DOTALL),  # how long each stage took
    re.compile(r'(<ul class="times coloured">).*?</ul>', re.DOTALL),
    re.compile(r"(<time [^>]*>)[^<]*"),  # an age; the moment itself is in the attribute
    re.compile(r"(<(?:updated|lastBuildDate)>)[^<]*"),  # of an empty feed: now
)
_HEADERS_NOT_COMPARED = {
    "X-Request-Id", "Server-Timing", "Date", "ETag", "Set-Cookie", "Content-Length", "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
}  # fmt: skip
HELD = 200
_STREAMS = ("user", "public", "public:local", "public:media", "direct", "user:notification")
_MUST_SHOW = {"/api/v1/statuses/{id}", "/@{handle}/{id}"}  # to whoever may see the post


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: str

    @cached_property
    def constant(self) -> str:
        """All of it without what differs from request to request."""
        text = repr((self.status, self.headers)) + self.body
        for pattern in _CHANGING:
            text = pattern.sub(r"\1*", text)
        return text

    def without(self, names: Iterable[str]) -> str:
        """That without what the requests themselves named."""
        text = self.constant
        for name in names:
            text = text.replace(name, "*")
        return text


@dataclass
class Tally:
    """What was looked at, and what came out that should not have."""

    cells: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    leaks: list[str] = field(default_factory=list)
    shown: set[tuple[str, str]] = field(
        default_factory=set
    )  # (surface, post) that somebody saw, as they may
    failures: list[str] = field(default_factory=list)

    def leak(self, *where: object) -> None:
        """One cell that should have been as if the post had never been."""
        self.leaks.append(" | ".join(map(str, where)))


class Asker:
    """One viewer, with a browser and a program."""

    _handler = ClientHandler(enforce_csrf_checks=False)
    _factory = RequestFactory()

    def __init__(self, world: World, viewer: str, tally: Tally) -> None:
        self.viewer, self._tally = viewer, tally
        self._cookie = ""
        if viewer in world.people:
            client = Client()
            client.force_login(world.people[viewer])
            self._cookie = f"sessionid={client.cookies['sessionid'].value}"
        self._token = world.tokens.get(viewer, "")

    def ask(self, surface: Surface, **places: Any) -> Answer:
        """The answer at a surface."""
        path = filled(surface.path, places)
        data = {
            key: filled(value, places) if isinstance(value, str) else value
            for key, value in surface.data.items()
        }
        who = self._token if surface.is_api else self._cookie
        extra: dict[str, Any] = (
            {("HTTP_AUTHORIZATION" if surface.is_api else "HTTP_COOKIE"): who} if who else {}
        )
        if surface.is_api and who:
            extra["HTTP_AUTHORIZATION"] = f"Bearer {who}"
        kind = "application/json" if surface.is_api else "application/x-www-form-urlencoded"
        body = orjson.dumps(data) if surface.is_api else urlencode(data).encode()
        sent = body if surface.method != "GET" else b""
        request = self._factory.generic(surface.method, path, sent, kind, **extra)
        response: Any = self._handler(request.environ)
        content = b"".join(response.streaming_content) if response.streaming else response.content
        self._tally.requests += 1
        if response.status_code >= 500 and response.status_code != 501:
            self._tally.failures.append(
                f"{self.viewer} {surface.method} {path}: {response.status_code}"
            )
        text = content.decode("utf-8", "replace").replace(
            response.headers.get("X-Request-Id", "-"), "*"
        )
        headers = sorted(
            (k, v) for k, v in response.headers.items() if k not in _HEADERS_NOT_COMPARED
        )
        return Answer(response.status_code, tuple(headers), text)


def filled(template: str, places: dict[str, Any]) -> str:
    """A template with its places filled in; `[]` and the like stay."""
    for name, value in places.items():
        template = template.replace("{" + name + "}", str(value))
    return template


class Matrix:
    """One walk over viewers, posts and surfaces; `share` of the single addresses are asked, each in its turn."""

    def __init__(self, world: World, *, share: int = 1) -> None:
        self.world, self.tally, self._share = world, Tally(), share
        self.askers = {name: Asker(world, name, self.tally) for name in VIEWERS}
        self._turn = 0
        self._allowed: dict[str, set[str]] = {}

    # --- what everybody may see, by the rows ------------------------------------------------------

    def may_see(self, viewer: str, *, anybody: bool = False) -> set[str]:
        """The names of the posts that may stand in an answer to a viewer."""
        asked = "anonymous" if anybody else viewer
        if asked not in self._allowed:
            self._allowed[asked] = oracle.visible(self.world, asked)
        return self._allowed[asked]

    def rights_changed(self) -> None:
        """Ask the rows again who may see what."""
        self._allowed.clear()

    @cached_property
    def _by_trace(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, one in self.world.posts.items():
            for trace in (one.mark, str(one.id), *one.pictures):
                if trace != "q998z":  # a repost has no words
                    found.setdefault(trace, []).append(name)
        return found

    def traces(self, text: str) -> set[str]:
        """The names of the posts of which anything stands in a text."""
        words = {*MARK.findall(text), *ID.findall(text), *PICTURE.findall(text)}
        words -= {f"t{self.world.posts[name].mark}" for name in self.may_see("anonymous")}
        return {name for word in words for name in self._by_trace.get(word.removeprefix("t"), ())}

    @staticmethod
    def _own_left_out(surface: Surface, text: str) -> str:
        """Filters hold the ids that their owners gave them: that is no news to them."""
        return ID.sub("*", text) if "/filters" in surface.path else text

    # --- addresses that show many posts --------------------------------------------------------------

    def lists(self, viewer: str, phase: str, *, share: int = 1) -> None:
        """Every list, page, feed and count, or a share of them: one cell for each post."""
        allowed = {flag: self.may_see(viewer, anybody=flag) for flag in (False, True)}
        asker = self.askers[viewer]
        for surface in LISTS:
            if not self._is_due(share):
                continue
            answer = asker.ask(surface, **self._places(viewer))
            self._judge_text(viewer, surface, answer, allowed[surface.anybody], phase)
            for follow in self._followed(surface, answer):
                self._judge_text(viewer, follow, asker.ask(follow), allowed[False], phase)

    def _judge_text(
        self, viewer: str, surface: Surface, answer: Answer, allowed: set[str], phase: str
    ) -> None:
        self.tally.cells[surface.kind] += len(self.world.posts)
        found = self.traces(self._own_left_out(surface, answer.body) + repr(answer.headers))
        self.tally.shown |= {(surface.name, name) for name in found & allowed}
        for name in sorted(found - allowed):
            self.tally.leak(phase, viewer, name, surface.name, self._around(answer, name))

    def _around(self, answer: Answer, name: str) -> str:
        one, text = self.world.posts[name], answer.body + repr(answer.headers)
        for trace in (one.mark, str(one.id), *one.pictures):
            if (place := text.find(trace)) >= 0:
                return text[max(0, place - 60) : place + len(trace) + 20].replace("\n", " ")
        return ""

    def _followed(self, surface: Surface, answer: Answer) -> Iterable[Surface]:
        """The addresses of single rows that a list names."""
        if answer.status != HELD:
            return
        rows = {
            "/api/v1/notifications?limit=80": "/api/v1/notifications/",
            "/api/v1/conversations": "/api/v1/conversations/",
        }
        if surface.path in rows:
            for row in orjson.loads(answer.body)[:3]:
                yield Surface(f"{rows[surface.path]}{row['id']}", "notifications")
        if surface.path in {"/conversations", "/conversations/requests"}:
            for number in re.findall(r'href="/conversations/([0-9]+)#', answer.body)[:3]:
                yield Surface(f"/conversations/{number}", "page of notifications")

    def _places(self, viewer: str) -> dict[str, Any]:
        world = self.world
        ids = [one.id for one in world.posts.values()]
        many = ["&".join(f"id[]={one}" for one in part) for part in (ids[:40], ids[40:80])]
        return {
            "author_id": world.people["author"].pk, "friend_id": world.people["friend"].pk, "root": world.root,
            "feed": world.feeds.get(viewer, 1), "own_feed": f"@v{viewer}/feeds/mine",
            "list": world.lists.get(viewer, 1), "filter": world.filters.get(viewer, 1), "circle": world.circle.pk,
            "today": timezone.now().date().isoformat(), "now": timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            "many": many[0], "more": many[1],
        }  # fmt: skip

    # --- addresses of one post -------------------------------------------------------------------------

    def singles(self, viewer: str, phase: str, *, surfaces: tuple[Surface, ...] = OF_POSTS) -> None:
        """The addresses of each post: what may be seen holds nothing else, what may not is as if it had never been."""
        allowed = {flag: self.may_see(viewer, anybody=flag) for flag in (False, True)}
        ghosts: dict[tuple[str, str], Answer] = {}
        for surface in surfaces:
            for one in self.world.posts.values():
                if self._is_due(self._share):
                    self._single(viewer, surface, one, allowed[surface.anybody], ghosts, phase)

    def _is_due(self, share: int) -> bool:
        self._turn += 1
        return self._turn % share == 0

    def _single(
        self, viewer: str, surface: Surface, one: Made, allowed: set[str],
        ghosts: dict[tuple[str, str], Answer], phase: str,
    ) -> None:  # fmt: skip
        may = one.name in allowed or (
            "t{mark}" in surface.path and one.name in self.may_see("anonymous")
        )
        if may and surface.method != "GET":
            return  # what comes of it is for other tests
        asker, places = self.askers[viewer], self._named(viewer, one)
        answer = asker.ask(surface, **places)
        if may:
            self._judge_text(viewer, surface, answer, allowed, phase)
            if (
                surface.path in _MUST_SHOW
                and answer.status not in {200, 301, 302}
                and not self._is_suspended(viewer)
            ):
                self.tally.leak(
                    phase,
                    viewer,
                    one.name,
                    surface.name,
                    f"hidden from who may see it: {answer.status}",
                )
            return
        self.tally.cells[surface.kind] += 1
        key = surface.name + repr(surface.data), one.author
        absent = self.world.ghost(one.author)
        ghost = {**places, "id": absent, "short": to_base36(absent), "mark": GHOST_MARK}
        if key not in ghosts:
            ghosts[key] = asker.ask(surface, **ghost)
        names = (str(one.id), places["short"], one.mark, str(absent), ghost["short"], GHOST_MARK)
        seen, expected = answer.without(names), ghosts[key].without(names)
        if seen != expected:
            self.tally.leak(
                phase,
                viewer,
                one.name,
                surface.name,
                f"not as a ghost: {_difference(seen, expected)}",
            )

    def _is_suspended(self, viewer: str) -> bool:
        """Whose token is refused, also for what visitors see."""
        return viewer in self.world.people and self.world.user(viewer).suspended_at is not None

    def _named(self, viewer: str, one: Made) -> dict[str, Any]:
        handle = self.world.people[one.author].handle
        return {
            "id": one.id,
            "short": to_base36(one.id),
            "handle": handle,
            "mark": one.mark,
            "filter": self.world.filters.get(viewer, 1),
        }

    def words(self, viewer: str, phase: str) -> None:
        """The addresses of what each post says: its words and its tag."""
        self.singles(viewer, phase, surfaces=OF_WORDS)

    def writes(self, viewer: str, phase: str) -> None:
        """What a viewer tries to do to posts that they may not see."""
        self.singles(viewer, phase, surfaces=WRITES)

    # --- files, streams, archives ------------------------------------------------------------------------

    def files(self, phase: str) -> None:
        """The files of pictures at their plain addresses: those of posts that visitors may see, and no others."""
        allowed = self.may_see("anonymous", anybody=True)
        for viewer in ("anonymous", "follower", "author"):
            ghost = None
            for one in self.world.posts.values():
                for name in one.pictures:
                    answer = self.askers[viewer].ask(Surface(f"/media/{name}", "file"))
                    self.tally.cells["file"] += 1
                    if one.name in allowed:
                        continue
                    missing = f"restricted/{'0' * 32}.webp"
                    if ghost is None:
                        ghost = self.askers[viewer].ask(Surface(f"/media/{missing}", "file"))
                    if answer.without([name]) != ghost.without([missing]):
                        self.tally.leak(
                            phase,
                            viewer,
                            one.name,
                            "GET /media/",
                            f"{answer.status} for a file that is nobody's",
                        )

    def _heard(self) -> dict[Stream, list[int]]:
        """Everybody listens to everything; but streams of the suspended end with the suspension."""
        here = {name: self.world.user(name) for name in VIEWERS[1:]}
        ids = {name: user.pk for name, user in here.items() if user.suspended_at is None}
        heard = {Stream(name): list(ids.values()) for name in _STREAMS}
        heard[Stream("hashtag", "river")] = list(ids.values())
        mine = {Stream("list", str(self.world.lists[name])): [pk] for name, pk in ids.items()}
        return heard | mine

    def streams(self, phase: str) -> None:
        """What those who listen to everything hear of every post."""
        ids = {one.pk: name for name, one in self.world.people.items()}
        heard = self._heard()
        listeners = sum(map(len, heard.values()))
        allowed = {name: self.may_see(name) for name in VIEWERS}
        could = {name: oracle.visible(self.world, name, gone=True) for name in VIEWERS}
        for one in self.world.posts.values():
            for event in ("update", "status.update"):
                self.tally.cells["stream"] += listeners
                for news in events_of_post(one.id, event, heard):
                    viewer = ids[news.listener_id]
                    for name in sorted(self.traces(news.payload) - allowed[viewer]):
                        self.tally.leak(phase, viewer, name, f"stream {event}", news.payload[:80])
            self.tally.cells["stream"] += listeners
            for news in events_of_delete(one.id, heard):
                viewer = ids[news.listener_id]
                if one.name not in could[viewer]:
                    self.tally.leak(phase, viewer, one.name, "stream delete", news.payload)

    def archives(self, phase: str) -> None:
        """What people take along: nobody else's words, pictures or tags."""
        for viewer in VIEWERS[1:]:
            own = {name for name, one in self.world.posts.items() if one.author == viewer}
            allowed = {name for name in own if not name.startswith("deleted")}
            name = f"exports/matrix-{viewer}.zip"
            write_archive(self.world.user(viewer), name, lambda _done: None)
            with private_storage().open(name) as file, zipfile.ZipFile(file) as archive:
                text = "".join(
                    archive.read(one).decode("utf-8", "replace")
                    for one in archive.namelist()
                    if one.endswith(("json", "jsonl", "csv"))
                )
            private_storage().delete(name)
            self.tally.cells["archive"] += len(self.world.posts)
            marks = {post for word in MARK.findall(text) for post in self._by_trace.get(word, ())}
            for post in sorted(marks - allowed):
                self.tally.leak(phase, viewer, post, "archive", "")


def _difference(one: str, other: str) -> str:
    pairs = enumerate(zip(one, other, strict=False))
    place = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    part = slice(max(0, place - 40), place + 60)
    return f"...{one[part]!r} instead of ...{other[part]!r}"
