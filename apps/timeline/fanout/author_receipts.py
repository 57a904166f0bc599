"""The delivery of a post as its author sees it: how many followers it reached, when, and how many are still waiting.

The numbers come from the rows of the job and its chunks; until the follower list is split, also from the author's
number of followers. The chunks of virtual followers (of a campaign) are left out: these readers are not followers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Exists, Q
from django.db.models.functions import Now
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from apps.accounts.models import User, UserCounts
from apps.engagement.actions import mark_post_read
from apps.errors import NotAllowed, NotFound
from apps.events.leases import State
from apps.events.queries import pending_events
from apps.graph.models import Follower
from apps.posts.models import Mention, Post, Visibility
from apps.posts.visibility import ADDRESSED
from apps.sql import database_time
from apps.timeline.fanout.lag import DELIVERY
from apps.timeline.models import FanoutChunk, FanoutJob, Mode
from apps.timeline.thread import visible_item
from feedcache.ids import author_of

MAX_POINTS = 60  # points on the curve
MIN_FOLLOWERS = 10  # authors with fewer do not see when a follower first read a post
UNDER_WAY = timedelta(minutes=1)  # a post younger than this may not have a job yet
VIEW_RECEIPTS = "timeline.view_fanoutjob"  # the permission that staff need to see receipts


@dataclass(frozen=True, slots=True)
class AuthorReceipt:
    """The delivery of a post, in numbers of readers: `expected = reached + dormant + pending + failed`.

    `dormant` readers have no home cache; one that contains the post is built when they return. `mode` is empty until
    there is a job, and for addressed posts until the job is done. `curve` contains pairs of seconds after
    publication and the number of readers reached by then; it is empty if PostgreSQL's clock was set back.
    `sent_to` contains the addressees' handles for the viewer's own post for mentioned people; None for other posts.
    """

    post_id: int
    is_own: bool
    is_addressed: bool  # whether the post is for mentioned people, a circle or friends
    mode: str = ""
    expected: int = 0
    reached: int = 0
    dormant: int = 0
    pending: int = 0
    failed: int = 0
    finished_at: datetime | None = None  # the time of the last receipt so far
    curve: tuple[tuple[float, int], ...] = ()
    sent_to: tuple[str, ...] | None = None
    # whether there is no job yet, or a pending one of an addressed post
    is_on_its_way: bool = False
    # whether the job of an addressed post failed, or the event that creates the job of any post
    has_failed: bool = False

    @property
    def seconds(self) -> float | None:
        """The number of seconds from publication to the last receipt so far."""
        return self.curve[-1][0] if self.curve else None

    @property
    def text(self) -> str:
        """A sentence such as "Reached 1,240 of 1,245 followers in 4 s; 5 will get it when they come back"."""
        if self.sent_to is not None:
            return _sent_to(self.sent_to)
        if without_numbers := _without_numbers(self):
            return without_numbers
        parts = [_reached(self)]
        for number, words in (
            (self.dormant, _("%(count)s will get it when they come back")),
            (self.pending, _("delivery to %(count)s is under way")),
            (
                self.failed,
                _("delivery to %(count)s failed, and the people who run the site can see it"),
            ),
        ):
            if number:
                parts.append(words % {"count": exact(number)})
        sentence = pgettext("between parts of a sentence", "; ").join(parts)
        return _("%(sentence)s.") % {"sentence": sentence}


class ChunkRow(NamedTuple):
    """The columns of a chunk that are needed for the author's view. After a claim, `due_at` is the end of the lease."""

    first_edge: int
    number: int
    state: str
    attempts: int
    last_error: str
    expected: int
    delivered: int
    dormant: int
    lost: int
    created_at: datetime
    due_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Delivery:
    """A post with its job, the chunks of its followers (oldest receipt first), and the sums of both."""

    post: Post
    job: FanoutJob | None
    chunks: Sequence[ChunkRow]
    receipt: AuthorReceipt


def receipt_of(viewer: User, post_id: int, *, as_staff: bool = False) -> AuthorReceipt:
    """The receipt of a post, for its author and for staff. Raises the errors of `delivery_of`."""
    return delivery_of(viewer, post_id, as_staff=as_staff).receipt


def delivery_of(viewer: User, post_id: int, *, as_staff: bool = False) -> Delivery:
    """The delivery of a post, for its author and for staff.

    Raises NotFound if the post is deleted. Without `as_staff`, also raises NotFound if the viewer may not see the post,
    and NotAllowed if they may, but are not its author.
    """
    if not as_staff and visible_item(viewer.pk, post_id).author.pk != viewer.pk:
        raise NotAllowed(_("Only the author of a post can see its delivery."))
    post = Post.objects.filter(pk=post_id, deleted_at=None).first()
    if post is None:
        raise NotFound(_("This post isn't here."))
    job = FanoutJob.objects.filter(pk=post_id).first()
    rows = FanoutChunk.objects.filter(job=post_id, is_virtual=False).order_by("finished_at", "pk")
    chunks = [ChunkRow(*row) for row in rows.values_list(*ChunkRow._fields)]
    found = _added_up(post, job, chunks, is_own=post.author_id == viewer.pk)
    if found.is_own and post.visibility == Visibility.MENTIONED:
        # addressees get the post in notifications and conversations, whether or not it is on their home pages
        found = replace(found, sent_to=_recipients(post))
    return Delivery(post, job, chunks, found)


def read_post(reader: User, post_id: int) -> None:
    """Mark a post as read, and record the time if the reader is the first follower to read it.

    The time is not recorded for addressed posts or for authors with few followers, who could guess the reader.
    """
    if not mark_post_read(reader, post_id):
        return
    author_id = author_of(post_id)
    jobs = FanoutJob.objects.filter(pk=post_id, first_read_at=None)
    jobs.filter(
        ~Q(post__visibility__in=ADDRESSED),
        Exists(Follower.objects.filter(owner=author_id, follower=reader.pk)),
        post__author__counts__followers__gte=MIN_FOLLOWERS,
    ).update(first_read_at=Now())


def _added_up(
    post: Post, job: FanoutJob | None, chunks: Sequence[ChunkRow], *, is_own: bool
) -> AuthorReceipt:
    """The sums of a job and its chunks, as a receipt."""
    post_id, is_addressed = post.pk, post.visibility in ADDRESSED
    if job is None or (is_addressed and job.state != State.DONE):
        # nobody has counted its readers yet
        state = job.state if job else _state_of_event(post)
        return AuthorReceipt(
            post_id,
            is_own,
            is_addressed,
            is_on_its_way=state == State.PENDING,
            has_failed=state == State.DEAD,
        )
    numbers = {state.value: 0 for state in State}
    reached = dormant = given_up = 0
    finished_at, points = None, list[tuple[float, int]]()
    for chunk in chunks:
        numbers[chunk.state] += chunk.expected
        if chunk.state == State.DONE and chunk.finished_at is not None:
            reached, dormant = reached + chunk.delivered, dormant + chunk.dormant
            given_up += chunk.expected - chunk.delivered - chunk.dormant
            finished_at = chunk.finished_at
            points.append(((finished_at - post.created_at).total_seconds(), reached))
    unsplit = 0
    if job.state != State.DONE:
        counts = UserCounts.objects.get(pk=post.author_id)
        unsplit = max(0, counts.followers - sum(numbers.values()))
    has_failed = job.state == State.DEAD
    return AuthorReceipt(
        post_id,
        is_own,
        is_addressed,
        job.mode,
        expected=sum(numbers.values()) + unsplit + job.lost,
        reached=reached,
        dormant=dormant,
        pending=numbers[State.PENDING] + (0 if has_failed else unsplit),
        failed=numbers[State.DEAD] + given_up + job.lost + (unsplit if has_failed else 0),
        finished_at=finished_at,
        # a negative time means that PostgreSQL's clock was set back, so the durations are unknown
        curve=() if any(at < 0 for at, _reached in points) else tuple(_thinned(points)),
    )


def _state_of_event(post: Post) -> str | None:
    """The state of the event that creates the job of a post: pending if the post is new, None if there is no event."""
    if post.created_at > database_time() - UNDER_WAY:
        return State.PENDING
    events = pending_events(["post_published"], DELIVERY).filter(payload__post_id=post.pk)
    return next(iter(events.values_list("state", flat=True)), None)


def _recipients(post: Post) -> tuple[str, ...]:
    """The handles of the mentioned people, except the author and suspended accounts."""
    mentions = Mention.objects.filter(post=post, user__suspended_at=None).exclude(
        user=post.author_id
    )
    return tuple(mentions.order_by("pk").values_list("user__handle", flat=True))


def _sent_to(handles: Sequence[str]) -> str:
    if not handles:
        return _("It mentions nobody, so nobody else can read it.")
    separator = pgettext("between the names of a list", ", ")
    return _("Sent to %(people)s.") % {"people": separator.join(f"@{one}" for one in handles)}


def _thinned(points: Sequence[tuple[float, int]]) -> list[Any]:
    """At most `MAX_POINTS` of the points, including the last one."""
    step = -(-len(points) // MAX_POINTS) or 1
    return list(points[::-1][::step][::-1])


def _without_numbers(receipt: AuthorReceipt) -> str:
    """The sentence about a delivery that has no numbers; "" if it has some."""
    sentences = (
        (receipt.has_failed, _("Its delivery failed, and the people who run the site can see it.")),
        (receipt.is_on_its_way, _("It is on its way.")),
        (not receipt.mode, _("There is no record of its delivery.")),
        (
            receipt.mode == Mode.PULL,
            _("Followers read it straight from the profile when they open their home page."),
        ),
        (not receipt.expected, _("There was nobody to deliver it to.")),
    )
    return next((sentence for applies, sentence in sentences if applies), "")


def _reached(receipt: AuthorReceipt) -> str:
    facts = {"reached": exact(receipt.reached), "expected": exact(receipt.expected)}
    if receipt.is_addressed:
        words = ngettext(
            "Reached the home page of %(reached)s of %(expected)s person",
            "Reached the home pages of %(reached)s of %(expected)s people",
            receipt.expected,
        )
    else:
        words = ngettext(
            "Reached %(reached)s of %(expected)s follower",
            "Reached %(reached)s of %(expected)s followers",
            receipt.expected,
        )
    text = words % facts
    if not receipt.reached or receipt.seconds is None:
        return text
    return _("%(reached)s in %(time)s") % {"reached": text, "time": duration(receipt.seconds)}


def duration(seconds: float) -> str:
    """A duration such as "0.3 s", "42 s", "5 min" or "3 h"."""
    if seconds < 10:
        return _("%(number)s s") % {"number": number_format(max(seconds, 0.1), 1)}
    if seconds < 120:
        return _("%(number)s s") % {"number": round(seconds)}
    if seconds < 7200:
        return _("%(number)s min") % {"number": round(seconds / 60)}
    return _("%(number)s h") % {"number": round(seconds / 3600)}


def exact(number: int) -> str:
    return str(number_format(number, use_l10n=True, force_grouping=True))
