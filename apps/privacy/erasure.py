"""Deletes accounts: they are hidden immediately, and erased within minutes, even if processes are killed.

The request anonymizes the account's row (`accounts.actions.close_account`) and adds an Erasure, in one transaction. A
task then works in rounds: each erases a batch of rows of every kind, until a whole round finds nothing.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from oauth2_provider.models import AccessToken, DeviceGrant, Grant, IDToken, RefreshToken

from apps.accounts.actions import clear_profile, close_account
from apps.accounts.authentication.second_factor import erase_second_factor
from apps.accounts.models import Login, User
from apps.engagement.actions import remove_mark, withdraw_vote
from apps.engagement.marks import ROW_MARKS, RowMark
from apps.engagement.models import Vote
from apps.errors import NotFound
from apps.events import leases
from apps.events.actions import enqueue
from apps.events.leases import State
from apps.filters.models import Filter
from apps.graph import models as graph
from apps.graph.actions import (
    reject_request,
    remove_follower,
    unblock_user,
    unfollow_user,
    unmute_user,
)
from apps.graph.groups.actions import delete_group, leave_circle, remove_from_lists
from apps.graph.groups.queries import joined_circle_ids
from apps.moderation.models import Report
from apps.notifications.models import (
    AnnouncementReaction,
    AnnouncementRead,
    Conversation,
    Notification,
    NotificationPermission,
    NotificationPolicy,
    ReadMarker,
    UnwantedKind,
)
from apps.oauth.models import Application
from apps.posts.actions.attachments import discard
from apps.posts.models import (
    Attachment,
    IdempotencyKey,
    Mention,
    Poll,
    Post,
    SavedDraft,
    ScheduledPost,
    ThreadMute,
)
from apps.privacy.export import discard_exports
from apps.privacy.hooks import ERASURE, Step
from apps.privacy.models import Erasure
from apps.privacy.moving.imports import discard_imports
from apps.search.models import Dismissal, PersonEntry, PostEntry, StarterPack
from apps.tags.models import FeaturedTag, PastTagFollow, TagFollow
from apps.throttling import Origin
from apps.timeline import publishing
from apps.timeline.models import TimelineEntry, TimelineSpan
from apps.timeline.sources.home_cache import HOME, INBOX

TASK = "apps.privacy.tasks.erase"
BATCH = 100  # rows of one kind; the time limit is checked after each batch
TASK_SECONDS = 12.0  # well below the lease
CHECKED_AGAIN_FOR = timedelta(hours=2)


def delete_account(user: User, *, password: str, origin: Origin | None = None) -> Erasure:
    """Delete an account permanently. Raises Invalid for a wrong password, NotAllowed for staff, or TooMany."""
    with transaction.atomic():
        close_account(user, password=password, origin=origin)
        # a second request at the same time finds the row of the first
        row, _is_new = Erasure.objects.get_or_create(user_id=user.pk)
        transaction.on_commit(partial(enqueue, TASK, row.pk))
    return row


def run_due(*, limit: int, only: list[int] | None = None) -> int:
    """Continue erasures that are due; returns the number of claimed rows."""
    return leases.run_due(Erasure, _erase, limit=limit, only=only)


def recheck() -> None:
    """Erase rows that were added by requests still running when the account was deleted; such rows are rare."""
    since = timezone.now() - CHECKED_AGAIN_FOR
    recent = Erasure.objects.filter(state=State.DONE, finished_at__gt=since)
    for row in recent.order_by("?")[:BATCH]:
        _round(User.objects.get(pk=row.user_id), {}, time.monotonic() + TASK_SECONDS)


def _erase(row: Erasure) -> leases.Outcome:
    user = User.objects.get(pk=row.user_id)
    removed, deadline = dict(row.removed), time.monotonic() + TASK_SECONDS
    while _round(user, removed, deadline):
        Erasure.objects.filter(pk=row.pk).update(removed=removed)
        if time.monotonic() > deadline:
            raise leases.RetryLater("there is more to erase")
    return {"removed": removed}


def _round(user: User, removed: dict[str, int], deadline: float) -> bool:
    """Erase one batch of rows of each kind, or fewer kinds if time is up; returns whether there may be more."""
    is_found = False
    for name, step in (STEPS | _named(*ERASURE)).items():
        count = step(user, BATCH)
        removed[name] = removed.get(name, 0) + count
        is_found = is_found or count > 0
        if time.monotonic() > deadline:
            return True
    return is_found


def sessions(user: User, limit: int) -> int:
    """Delete sessions with their data. Nobody can log in any more, so no new sessions appear."""
    logins = list(Login.objects.filter(user=user)[:limit])
    store = import_module(settings.SESSION_ENGINE).SessionStore
    for login in logins:
        store(login.session_key).delete()
        login.delete()
    return len(logins)


def second_factor(user: User, limit: int) -> int:
    """Delete the authenticator app, the recovery codes and the passkeys, which are only a few rows."""
    del limit
    return erase_second_factor(user)


def profile(user: User, limit: int) -> int:
    """Clear the account's row again, which a request that was under way may have written to."""
    del limit
    return clear_profile(user.pk)


def posts(user: User, limit: int) -> int:
    """Delete posts and reposts as their author would, with their pictures, counts, timeline and search entries."""
    ids = Post.objects.filter(author=user, deleted_at=None).order_by("-pk")
    return _each(
        ids.values_list("pk", flat=True)[:limit], lambda pk: publishing.delete(pk, by=user)
    )


def tombstones(user: User, limit: int) -> int:
    """Clear the application, its website and the language in the rows of deleted posts."""
    rows = Post.objects.filter(author=user).exclude(application="", website="", language="")
    ids = list(rows.exclude(deleted_at=None).values_list("pk", flat=True)[:limit])
    Post.objects.filter(pk__in=ids).update(application="", website="", language="")
    return len(ids)


def pictures(user: User, limit: int) -> int:
    """Delete uploads, whether a post uses them or not."""
    rows = list(Attachment.objects.filter(owner=user)[:limit])
    discard(rows)
    return len(rows)


def votes(user: User, limit: int) -> int:
    polls = Vote.objects.filter(user=user).values_list("poll", flat=True).distinct()
    return _each(polls[:limit], lambda poll: withdraw_vote(user, poll))


def follows(user: User, limit: int) -> int:
    """End follows and follow requests in both directions."""
    return _relations(user, limit, (
        (graph.Followee, "owner", "followee", lambda other: unfollow_user(user, other)),
        (graph.FollowRequest, "requester", "owner", lambda other: unfollow_user(user, other)),
        (graph.Follower, "owner", "follower", lambda other: remove_follower(user, other)),
        (graph.FollowRequest, "owner", "requester", lambda other: reject_request(user, other)),
    ))  # fmt: skip


def blocks_and_mutes(user: User, limit: int) -> int:
    """End blocks and mutes in both directions."""
    return _relations(user, limit, (
        (graph.Block, "owner", "blocked", lambda other: unblock_user(user, other)),
        (graph.Block, "blocked", "owner", lambda other: unblock_user(other, user)),
        (graph.Mute, "owner", "muted", lambda other: unmute_user(user, other)),
        (graph.Mute, "muted", "owner", lambda other: unmute_user(other, user)),
    ))  # fmt: skip


def circles(user: User, limit: int) -> int:
    """Delete the account's circles, and its memberships in other people's circles."""
    own = graph.Circle.of(user).values_list("pk", flat=True)
    count = _each(own[:limit], lambda pk: delete_group(graph.Circle, user, pk))
    joined = joined_circle_ids(user.pk)
    count += _each(joined[: limit - count], lambda pk: leave_circle(user, pk))
    owned = graph.Circle.objects.filter(owner=user).exclude(deleted_at=None).exclude(name="")
    # the row of a circle stays, without the name, because other people may have posts in a shared circle
    return count + _rename(owned, limit - count)


def lists(user: User, limit: int) -> int:
    """Delete the account's lists, and its memberships in other people's lists."""
    owners = graph.ListMember.objects.filter(member=user).values_list("group__owner", flat=True)
    count = _each(owners.distinct()[:limit], lambda owner: remove_from_lists(owner, user.pk))
    return count + _rows(graph.UserList.of(user), limit - count)


def mine(user: User, limit: int) -> int:
    """Delete archives, imports, other rows of the account, and other people's rows about it, such as notifications."""
    count = discard_exports(user.pk) + discard_imports(user, limit=limit)
    for rows in (
        Notification.objects.filter(Q(user=user) | Q(actor=user)),
        Mention.objects.filter(Q(user=user) | Q(post__author=user)),
        Poll.objects.filter(post__author=user),
        ScheduledPost.objects.filter(author=user),
        SavedDraft.objects.filter(author=user),
        IdempotencyKey.objects.filter(user=user),
        ThreadMute.objects.filter(user=user),
        TagFollow.objects.filter(user=user),
        PastTagFollow.objects.filter(user=user),
        FeaturedTag.objects.filter(user=user),
        graph.PastRelation.objects.filter(Q(owner=user) | Q(other=user)),
        Filter.objects.filter(owner=user),
        graph.AccountNote.objects.filter(Q(owner=user) | Q(about=user)),
        graph.Endorsement.objects.filter(Q(owner=user) | Q(other=user)),
        Conversation.objects.filter(user=user),
        ReadMarker.objects.filter(user=user),
        UnwantedKind.objects.filter(user=user),
        NotificationPolicy.objects.filter(user=user),
        NotificationPermission.objects.filter(Q(user=user) | Q(actor=user)),
        Report.objects.filter(reporter=user),
        AnnouncementRead.objects.filter(user=user),
        AnnouncementReaction.objects.filter(user=user),
        Dismissal.objects.filter(Q(owner=user) | Q(other=user)),
        StarterPack.members.through.objects.filter(user=user),
        PersonEntry.objects.filter(user_id=user.pk),
        PostEntry.objects.filter(author_id=user.pk),
        TimelineEntry.objects.filter(reader=user),
        TimelineSpan.objects.filter(reader=user),
    ):
        count += _rows(rows, limit - count)
    return count


def access(user: User, limit: int) -> int:
    """Delete codes, tokens and applications; first authorization codes and refresh tokens, which give new tokens."""
    models = (Grant, RefreshToken, AccessToken, IDToken, DeviceGrant, Application)
    return sum(_rows(model.objects.filter(user=user), limit) for model in models)


def windows(user: User, limit: int) -> int:
    """Delete the home cache and the inbox in Redis."""
    del limit
    existing = [window for window in (HOME, INBOX) if window.exists(user.pk)]
    for window in existing:
        window.drop(user.pk)
    return len(existing)


def _unmark(mark: RowMark, user: User, limit: int) -> int:
    ids = mark.model._default_manager.filter(user=user).values_list("post", flat=True)[:limit]
    return _each(ids, lambda post_id: remove_mark(mark, user, post_id))


def _named(*steps: Step) -> dict[str, Step]:
    return {step.__name__: step for step in steps}


# Access first, then data that others can see. Optional apps add steps.
STEPS: dict[str, Step] = {
    **_named(access, sessions, second_factor, profile, posts, tombstones, pictures),
    **{mark.erasure: partial(_unmark, mark) for mark in ROW_MARKS},
    **_named(votes, follows, blocks_and_mutes, circles, lists, mine, windows),
}


def _each(items: Iterable[Any], end: Callable[[Any], Any]) -> int:
    count = 0
    for item in list(items):
        with suppress(NotFound):  # it was removed in the meantime
            end(item)
        count += 1
    return count


def _relations(user: User, limit: int, ends: Iterable[Any]) -> int:
    """End relations. `ends` has models, their fields for the user and the other account, and the action to call."""
    count = 0
    for model, mine, other, end in ends:
        rows = model.objects.filter(**{mine: user}).select_related(other).order_by("pk")
        count += _each([getattr(row, other) for row in rows[: max(limit - count, 0)]], end)
    return count


def _rows(rows: QuerySet[Any], limit: int) -> int:
    if limit <= 0:
        return 0
    ids = list(rows.values_list("pk", flat=True)[:limit])
    if ids:
        rows.model._default_manager.filter(pk__in=ids).delete()
    return len(ids)


def _rename(rows: QuerySet[graph.Circle], limit: int) -> int:
    ids = list(rows.values_list("pk", flat=True)[: max(limit, 0)])
    return graph.Circle.objects.filter(pk__in=ids).update(name="")
