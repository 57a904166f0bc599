"""Why a post is on a home page, or why it is not, in plain words.

Viewers who may not see a post get the same error as on every page, whether it is absent, deleted, restricted, or of a blocked
or suspended account (reliability: S32). Serving pages records nothing for this: the reason is read on demand from the
ledger, from the follow that the post was delivered over, and from the home cache.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.audit.oracle import Row, rows
from apps.dates import full_time
from apps.graph.queries import Relations, chosen_languages, exact_relations
from apps.lists.queries import kept_off_home
from apps.paging import Cursor, Page
from apps.posts.models import Visibility
from apps.tags.queries import followed_names
from apps.timeline.home import home_timeline, is_unwanted_language
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.sources.home_cache import HOME, INBOX
from apps.timeline.thread import visible_item
from feedcache.redis_servers.connections import RedisError

# The job of a post, and the chunk of the viewer's follow; for addressed posts the only chunk (edge 0).
_DELIVERIES = """
SELECT p.id, e.id AS edge, j.mode, j.state AS job, c.id AS chunk, c.state, c.attempts, c.due_at, c.finished_at, c.delivered
FROM posts_post p
LEFT JOIN graph_follower e ON e.owner_id = p.author_id AND e.follower_id = %(viewer)s
LEFT JOIN timeline_fanoutjob j ON j.post_id = p.id
LEFT JOIN timeline_fanoutchunk c ON c.job_id = p.id AND (c.first_edge = 0 OR e.id BETWEEN c.first_edge AND c.last_edge)
WHERE p.id = ANY(%(posts)s)
"""


class Source(TextChoices):
    """How a post arrived on a page, or what kept it away."""

    OWN = "own", gettext_lazy("You wrote it.")
    CIRCLE = "circle", gettext_lazy("It is for a circle that you belong to.")
    PUSH = "push", gettext_lazy("You follow @%(who)s. It was delivered to your page: %(when)s.")
    BACKFILL = (
        "backfill",
        gettext_lazy(
            "You follow @%(who)s since after it was published; it was brought to your page then."
        ),
    )
    REBUILT = (
        "rebuilt",
        gettext_lazy(
            "You follow @%(who)s. Your page was put together anew when you came back, with this on it."
        ),
    )
    PULL = (
        "pull",
        gettext_lazy("You follow @%(who)s, whose posts are fetched when you open the page."),
    )
    STORAGE = (
        "storage",
        gettext_lazy(
            "You follow @%(who)s. It is older than what is kept ready for you, and was fetched from storage."
        ),
    )
    NOT_FOLLOWED = "not_followed", gettext_lazy("You do not follow @%(who)s.")
    TAG = "tag", gettext_lazy("You follow #%(who)s.")
    LISTED = "listed", gettext_lazy("@%(who)s is in a list of yours that is read by itself.")
    MUTED = "muted", gettext_lazy("You mute @%(who)s.")
    UNSHARED = "unshared", gettext_lazy("You hide what @%(who)s reposts.")
    LANGUAGE = "language", gettext_lazy("You read @%(who)s in other languages only.")
    WAITING = "waiting", gettext_lazy("It is on its way to you; the next try: %(when)s.")
    FAILED = "failed", gettext_lazy("Its delivery failed, and has to be started again.")
    LOST = "lost", gettext_lazy("It belongs there and is missing. The next check brings it back.")

    @property
    def short(self) -> str:
        """A word or two; one and the same for every reason that keeps a post away."""
        return str(_SHORT.get(self, gettext_lazy("not there")))


_SHORT = {
    Source.OWN: gettext_lazy("yours"),
    Source.CIRCLE: gettext_lazy("circle"),
    Source.PUSH: gettext_lazy("delivered"),
    Source.BACKFILL: gettext_lazy("brought when you followed"),
    Source.REBUILT: gettext_lazy("put together on return"),
    Source.PULL: gettext_lazy("fetched on opening"),
    Source.STORAGE: gettext_lazy("from storage"),
    Source.TAG: gettext_lazy("tag"),
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one post is on a viewer's home page or not. `when`: delivered, or due for the next try."""

    item: FeedItem
    on_home: bool
    way: Source
    who: str = ""  # the handle, or the tag, in the text
    when: datetime | None = None
    policy: str = ""  # how the post was delivered: push, online, pull
    chunk: int | None = None  # of the ledger
    attempts: int = 0

    @property
    def text(self) -> str:
        """The reason as a sentence, in the reader's language."""
        when = full_time(self.when) if self.when else _("soon")
        return str(self.way.label) % {"who": self.who, "when": when}


def explain(viewer: User, post_id: int) -> Explanation:
    """Why a post is on a viewer's home page or not; NotFound when the viewer may not see it."""
    item = visible_item(viewer.pk, post_id)
    cursor = Cursor(max_id=post_id + 1, since_id=post_id - 1, limit=1)
    on_home = bool(home_timeline(viewer, cursor).items)
    return explained(viewer, [item], on_home=on_home)[0]


def explain_home(viewer: User, cursor: Cursor) -> Page[Explanation]:
    """A page of a viewer's home as explanations."""
    page = home_timeline(viewer, cursor)
    return page.mapped(explained(viewer, page.items, on_home=True))


def explained(viewer: User, items: list[FeedItem], *, on_home: bool) -> list[Explanation]:
    """Explain each of these posts, all on the viewer's home page or none, in a fixed number of queries."""
    if not items:
        return []
    post_ids = [item.id for item in items]
    delivery_rows = rows(_DELIVERIES, {"viewer": viewer.pk, "posts": post_ids})
    deliveries = {row["id"]: row for row in delivery_rows}
    author_ids = {item.author.pk for item in items} | {item.shown.author.pk for item in items}
    relations = exact_relations(viewer.pk, author_ids)
    cached, tags = _cached_ids(viewer.pk), followed_names(viewer)
    return [
        _why_present(item, viewer.pk, deliveries[item.id], cached, _tag_of(item, relations, tags))
        if on_home
        else _why_absent(item, viewer, deliveries[item.id], relations)
        for item in items
    ]


def _cached_ids(viewer_id: int) -> Collection[int]:
    """The ids in the viewer's home cache."""
    try:
        ranges = [windows.whole(viewer_id) for windows in (HOME, INBOX)]
    except RedisError:
        return ()
    return {post_id for part in ranges if part for post_id in part.ids}


def _tag_of(item: FeedItem, relations: Relations, followed: Collection[str]) -> str:
    """The followed tag of a post whose author the viewer does not follow; else empty."""
    if item.author.pk in relations.following:
        return ""
    return next((name for name in item.post.tags if name in followed), "")


def _why_present(
    item: FeedItem, viewer_id: int, delivery: Row, cached: Collection[int], tag: str
) -> Explanation:
    if item.author.pk == viewer_id:
        way = Source.OWN
    elif item.post.visibility == Visibility.CIRCLE:
        way = Source.CIRCLE
    elif tag:
        return _explanation(item, Source.TAG, tag, delivery, on_home=True, when=None)
    elif delivery["mode"] == "pull":
        way = Source.PULL
    elif item.id not in cached:
        way = Source.STORAGE
    else:
        way = _why_cached(delivery)
    when = delivery["finished_at"] if way in {Source.PUSH, Source.CIRCLE} else None
    return _explanation(item, way, item.author.handle, delivery, on_home=True, when=when)


def _why_cached(delivery: Row) -> Source:
    if delivery["chunk"] is None and delivery["job"] == "done":
        return Source.BACKFILL  # the viewer followed after the follower list was split
    return Source.PUSH if delivery["state"] == "done" and delivery["delivered"] else Source.REBUILT


def _why_absent(item: FeedItem, viewer: User, delivery: Row, relations: Relations) -> Explanation:
    author, in_circle = item.author, item.post.visibility == Visibility.CIRCLE
    muted = [user for user in (author, item.shown.author) if user.pk in relations.muting]
    who, when = author.handle, None
    if author.pk not in relations.following and author.pk != viewer.pk and not in_circle:
        way = Source.NOT_FOLLOWED
    elif author.pk in kept_off_home(viewer):
        way = Source.LISTED
    elif muted:
        way, who = Source.MUTED, muted[0].handle
    elif item.is_repost and author.pk in relations.hiding_reposts:
        way = Source.UNSHARED
    elif is_unwanted_language(item, chosen_languages(viewer)):
        way = Source.LANGUAGE
    elif "dead" in (delivery["state"], delivery["job"]):
        way = Source.FAILED
    elif delivery["job"] != "done" or delivery["state"] == "pending":
        way, when = Source.WAITING, delivery["due_at"]
    else:
        way = Source.LOST
    return _explanation(item, way, who, delivery, on_home=False, when=when)


def _explanation(
    item: FeedItem, way: Source, who: str, delivery: Row, *, on_home: bool, when: datetime | None
) -> Explanation:
    return Explanation(
        item=item,
        on_home=on_home,
        way=way,
        who=who,
        when=when,
        policy=delivery["mode"] or "",
        chunk=delivery["chunk"],
        attempts=delivery["attempts"] or 0,
    )
