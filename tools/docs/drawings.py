"""The drawings of the documentation, made from the data of the code where possible.

All other statements in a drawing name the function that they are about ("module: name"); a test checks that it exists.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.conf import settings

from apps.events.actions import handlers_of
from apps.graph.queries import ExactRelations
from apps.posts.models import OPEN, Visibility
from apps.posts.visibility import RULES, Audience, Standing, may_see
from runner.checkout import ROOT
from tools.docs.svg import LINE, Canvas, width_of

LEFT, GAP = 20, 12
IMPORTS = "Imports point down: web and api know requests, the domain does not"


class Step(NamedTuple):
    """A step of a journey: what happens, details, and the function that does it."""

    title: str
    details: Sequence[str]
    place: str

    @property
    def lines(self) -> list[str]:
        """The lines of the step's box."""
        return [self.title, *self.details, _short(self.place)]


def drawings() -> Mapping[str, Callable[[], str]]:
    """The function that makes each drawing, by path."""
    return {
        "docs/img/folders.svg": folders,
        "docs/img/visibility.svg": visibility,
        "docs/img/tiers.svg": tiers,
        "docs/img/post.svg": post,
        "docs/img/page.svg": page,
    }


# The folders and the one arrow


def layers() -> list[list[str]]:
    """The layers of apps/ from top to bottom, as import-linter checks them."""
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = configuration["tool"]["importlinter"]["contracts"]
    [contract] = [one for one in contracts if one["name"] == IMPORTS]
    return [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]


def folders() -> str:
    canvas = Canvas(
        "The folders and the one arrow",
        "The layers of the code from top to bottom. Every import points down; changes are reported upwards as events.",
    )
    right, y = 700, 16.0
    y = (
        canvas.box(
            LEFT, y, right - LEFT, ["feedsite", "settings, routes, servers: may import everything"]
        )
        + GAP
    )
    top = y
    for layer in layers():
        y = _band(canvas, layer, y, right) + 6
    bottom = y - 6
    y = canvas.box(
        LEFT,
        y + GAP,
        right - LEFT,
        ["feedcache", "a library for Memcached and Redis, without Django"],
    )
    canvas.arrow((right + 40, top), (right + 40, y))
    canvas.text(right + 52, (top + bottom) / 2 - 8, "imports", "bold")
    canvas.text(right + 52, (top + bottom) / 2 + 10, "point down", "small")
    canvas.arrow((right + 40 - 20, bottom), (right + 40 - 20, top))
    canvas.text(right + 52, (top + bottom) / 2 + 40, "events", "bold")
    canvas.text(right + 52, (top + bottom) / 2 + 58, "go up", "small")
    return canvas.svg()


def _band(canvas: Canvas, names: Sequence[str], y: float, right: float) -> float:
    """The boxes of a layer, in as many rows as they need; returns the lower edge."""
    x = LEFT + 8.0
    top, height = y, LINE + 10
    y += 5
    for name in names:
        width = width_of(name)
        if x + width > right - 8:
            x, y = LEFT + 8, y + height + 6
        optional = f"apps.{name}" in settings.POSSIBLE_APPS
        canvas.box(x, y, width, [name], "other" if optional else "ours")
        x += width + 8
    canvas.rectangle(LEFT, top, right - LEFT, y + height + 5 - top, "band")
    return y + height + 5


# Who sees what

AUTHOR, READER, CIRCLE, POST = 1, 2, 7, 9
VIEWERS: Mapping[str, Standing] = {
    "a visitor": Standing(None),
    "a member": Standing(READER),
    "a follower": Standing(READER, ExactRelations(following={AUTHOR})),
    "a friend": Standing(READER, ExactRelations(following={AUTHOR}, followed_by={AUTHOR})),
    "mentioned": Standing(READER, mentioned_in={POST}),
    "in the circle": Standing(READER, circles={CIRCLE: "Family"}),
    "blocked": Standing(READER, ExactRelations(blocked_by={AUTHOR})),
    "the author": Standing(AUTHOR),
}
AUDIENCES = {
    Audience.FOLLOWERS: "all followers",
    Audience.FRIENDS: "friends",
    Audience.MENTIONED: "mentioned followers",
    Audience.CIRCLE: "the circle",
}


@dataclass(frozen=True)
class AnyPost:
    """The fields of a post that the rules read."""

    visibility: str
    id: int = POST
    author_id: int = AUTHOR
    circle_id: int | None = CIRCLE
    is_hidden: bool = False


def visibility() -> str:
    canvas = Canvas(
        "Who sees what",
        "The six visibilities of posts: which viewers may see a post, to whom it is delivered, and where it is kept.",
    )
    names, delivered, kept, y = LEFT, 600, 745, 34.0
    columns = {viewer: 150 + number * 56 for number, viewer in enumerate(VIEWERS)}
    for number, (viewer, x) in enumerate(columns.items()):
        canvas.text(x, y - (14 if number % 2 else 0), viewer, "small", anchor="middle")
    canvas.text(delivered, y, "delivered to", "small")
    canvas.text(kept, y, "kept in", "small")
    for name, rule in RULES.items():
        y += 30
        canvas.text(names, y, str(Visibility(name).name).lower(), "bold")
        for viewer, x in columns.items():
            canvas.dot(x, y - 4, is_full=may_see(AnyPost(name), VIEWERS[viewer]))
        canvas.text(delivered, y, AUDIENCES[rule.audience])
        canvas.text(kept, y, "home caches" if name in OPEN else "inboxes")
    canvas.text(
        LEFT,
        y + 34,
        "A full dot: may see it. Restricted posts are decided by PostgreSQL at each read.",
        "small",
    )
    return canvas.svg()


# The tiers of Memcached

MISS = (
    Step(
        "1 read one L1 group",
        ["chosen at random", "of equal small groups"],
        "feedcache/memcached_tiers.py: TieredCache.ask",
    ),
    Step(
        "2 read Main",
        ["only the keys that are", "still missing"],
        "feedcache/memcached_tiers.py: TieredCache._descend",
    ),
    Step(
        "3 read Backup",
        ["only the keys that are", "still missing"],
        "feedcache/memcached_tiers.py: TieredCache._descend",
    ),
)
LOAD = (
    Step(
        "4 become the loader of the key",
        ["one caller of many; the others wait for its value"],
        "feedcache/memcached_tiers.py: TieredCache.lease",
    ),
    Step(
        "5 load from PostgreSQL",
        ["one query for all callers that missed it"],
        "feedcache/single_flight.py: load_once",
    ),
    Step(
        "6 fill every tier that was read",
        ["unless something newer was stored; then release the lease"],
        "feedcache/memcached_tiers.py: TieredCache.fill",
    ),
)
WRITE = Step(
    "a write updates Main, then all others at once",
    ["if Main fails, Backup takes its place; if both fail, L1 gets tombstones"],
    "feedcache/memcached_tiers.py: TieredCache._store",
)


def tiers() -> str:
    canvas = Canvas(
        "The tiers of Memcached, and a miss",
        "A read asks one L1 group, then Main, then Backup, each for what is missing; one caller loads from PostgreSQL.",
    )
    width, y = 260, 16.0
    lower = y
    for number, step in enumerate(MISS):
        x = LEFT + number * (width + 20)
        lower = canvas.box(x, y, width, step.lines, "ours")
        if number:
            canvas.arrow((x - 20, y + 24), (x, y + 24))
    last = LEFT + 2 * (width + 20) + width / 2
    y = lower + 34
    canvas.arrow((last, lower), (last, y))
    canvas.text(last + 8, lower + 22, "miss", "small")
    for step in LOAD:
        lower = canvas.box(
            LEFT + 280, y, 540, step.lines, "other" if "PostgreSQL" in step.title else "box"
        )
        y = lower + (22 if step is not LOAD[-1] else GAP)
        if step is not LOAD[-1]:
            canvas.arrow((LEFT + 550, lower), (LEFT + 550, y))
    canvas.arrow(
        (LEFT + 280, lower - 30), (LEFT + 130, lower - 30), (LEFT + 130, 16 + 4 * LINE + 10)
    )
    canvas.text(LEFT + 138, lower - 38, "refill", "small")
    canvas.box(LEFT, y + 8, 820, WRITE.lines)
    return canvas.svg()


def _short(place: str) -> str:
    """A place as a drawing shows it, without the folders that all modules share."""
    return place.removeprefix("feedcache/").removeprefix("apps/").replace(".py: ", ": ")


# The journey of a post

PUBLISH = (
    Step("a page or an endpoint makes a draft", [], "apps/posts/actions/drafts.py: Draft"),
    Step(
        "publish", ["the entry point of all publications"], "apps/timeline/publishing.py: publish"
    ),
    Step(
        "one transaction in PostgreSQL",
        [
            "lock the author's counts, take the next id,",
            "write the post, its mentions and counts,",
            "and one event for each subscriber",
        ],
        "apps/posts/actions/publish.py: publish_post",
    ),
)
AT_ONCE = Step(
    "after the commit, at once",
    ["content, own outbox and home cache,", "the square"],
    "apps/timeline/publishing.py: _own_timelines",
)
DELIVERY = (
    Step(
        "an event per subscriber",
        ["a Celery message wakes a worker;", "a sweeper finds events without one"],
        "apps/events/actions.py: run_due",
    ),
    Step(
        "a job in the ledger",
        ["the list of followers is cut into chunks,", "which are rows"],
        "apps/timeline/fanout/dispatch.py: start_job",
    ),
    Step(
        "each chunk, perhaps twice",
        ["home caches of those online; inboxes for", "restricted posts; a receipt for each chunk"],
        "apps/timeline/tasks.py: deliver_chunk",
    ),
)


def post() -> str:
    canvas = Canvas(
        "The journey of a post",
        "One transaction writes a post with its events; caches follow after the commit, followers by a ledger.",
    )
    width, y = 330, 16.0
    centre = LEFT + width / 2
    upper = lower = y
    for step in PUBLISH:
        upper = y
        lower = canvas.box(LEFT, y, width, step.lines, "other" if step is PUBLISH[-1] else "ours")
        y = lower + 24
        canvas.arrow((centre, lower), (centre, y))
    recorded = (upper + lower) / 2  # the events of the transaction
    lower = canvas.box(LEFT, y, width, AT_ONCE.lines)
    subscribers = [name.removeprefix("apps.") for name in handlers_of("post_published")]
    canvas.text(
        LEFT, lower + 30, f"the {len(subscribers)} subscribers of post_published, in order", "bold"
    )
    for number, name in enumerate(subscribers):
        canvas.text(LEFT, lower + 50 + number * LINE, f"{number + 1}  {name}", "small")
    x, y = 450, upper
    canvas.arrow((LEFT + width, recorded), (x, recorded))
    for step in DELIVERY:
        lower = canvas.box(x, y, 390, step.lines, "other" if step is DELIVERY[0] else "ours")
        y = lower + 24
        if step is not DELIVERY[-1]:
            canvas.arrow((x + 195, lower), (x + 195, y))
    return canvas.svg()


# The journey of a home page

TRIPS = (
    Step(
        "who asks?",
        ["the account behind the token"],
        "apps/api/authentication.py: BearerAuthentication",
    ),
    Step("are there too many requests?", ["the rate limit"], "apps/api/throttling.py: ApiThrottle"),
    Step(
        "which posts?",
        ["home cache and inbox in one script; the reader's facts at the same time"],
        "apps/timeline/sources/home.py: queue_ranges",
    ),
    Step(
        "what is in them?",
        ["one multi-get of posts and authors;", "relations, counts and marks in one pipeline each"],
        "apps/timeline/pipeline/hydrate.py: hydrate",
    ),
)
AFTER = (
    Step(
        "rules",
        ["the first rule that a post breaks decides"],
        "apps/timeline/pipeline/rulebook.py: HOME_RULES",
    ),
    Step(
        "is the page too short? repeat",
        ["at most eight rounds, including the first"],
        "apps/timeline/pipeline/page.py: fill_page",
    ),
    Step("JSON, or HTML of cached cards", [], "apps/api/entities/status.py: status_json"),
)


def page() -> str:
    canvas = Canvas(
        "The journey of a home page",
        f"A warm home page of the API takes {len(TRIPS)} round trips to Redis and Memcached, and no SQL.",
    )
    left, middle, right, y = LEFT, 560, 700, 40.0
    canvas.text(left, 24, "web process", "bold")
    canvas.text(middle, 24, "Redis, Memcached", "bold")
    canvas.text(right + 20, 24, "PostgreSQL", "bold")
    for number, trip in enumerate(TRIPS, start=1):
        lower = canvas.box(left, y, 470, [f"{number}  {trip.title}", *trip.lines[1:]], "ours")
        canvas.arrow((left + 470, (y + lower) / 2), (middle + 60, (y + lower) / 2), both=True)
        y = lower + GAP
    canvas.rectangle(middle + 60, 40, 60, y - GAP - 40, "box")
    canvas.rectangle(right + 50, 40, 60, y - GAP - 40, "band")
    canvas.text(right + 80, (y + 28) / 2, "not", "small", anchor="middle")
    canvas.text(right + 80, (y + 28) / 2 + 16, "queried", "small", anchor="middle")
    for step in AFTER:
        y = canvas.box(left, y, 470, step.lines) + GAP
    return canvas.svg()


def places() -> list[str]:
    """Every "module: name" in a drawing."""
    steps = [*MISS, *LOAD, WRITE, *PUBLISH, AT_ONCE, *DELIVERY, *TRIPS, *AFTER]
    return [step.place for step in steps]
