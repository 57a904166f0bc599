"""The steps that erase an account, kind by kind. Each removes up to `limit` rows and may run twice.

What others count or list (follows, likes, votes) is taken back by the actions of its app, so that
counts, caches and timelines follow; what only its owner saw is deleted as rows.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from oauth2_provider.models import AccessToken, DeviceGrant, Grant, IDToken, RefreshToken

from apps.accounts.authentication.second_factor import erase_second_factor
from apps.accounts.models import Login, User
from apps.announcements.models import AnnouncementReaction, AnnouncementRead
from apps.conversations.models import Conversation
from apps.engagement.actions import unbookmark_post, unlike_post
from apps.engagement.models import Bookmark, Like, Vote
from apps.engagement.voting import withdraw_vote
from apps.errors import NotFound
from apps.filters.models import Filter
from apps.graph.actions import remove_follower, unblock_user, unfollow_user, unmute_user
from apps.graph.circle_actions import delete_circle, leave_circle
from apps.graph.models import (
    AccountNote,
    Block,
    Circle,
    CircleMember,
    Endorsement,
    Followee,
    Follower,
    FollowRequest,
    Mute,
)
from apps.graph.request_actions import reject_request
from apps.lists.actions import tidy_lists
from apps.lists.models import ListMember, UserList
from apps.moderation.models import Report
from apps.notifications.models import (
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
    ScheduledPost,
    ThreadMute,
)
from apps.privacy.export import discard_exports
from apps.search.models import Dismissal, PersonEntry, PostEntry
from apps.tags.models import TagFollow
from apps.timeline import publishing
from apps.timeline.models import TimelineEntry, TimelineSpan
from apps.timeline.ranking.models import RankingChoice, RankSession
from apps.timeline.sources.home_cache import HOME, INBOX

Step = Callable[[User, int], int]


def sessions(user: User, limit: int) -> int:
    """All sessions. Nobody can log in any more; this is for the data the sessions hold."""
    logins = list(Login.objects.filter(user=user)[:limit])
    store = import_module(settings.SESSION_ENGINE).SessionStore
    for login in logins:
        store(login.session_key).delete()
        login.delete()
    return len(logins)


def second_factor(user: User, limit: int) -> int:
    """Authenticator app, recovery codes and passkeys: a few rows."""
    del limit
    return erase_second_factor(user)


def posts(user: User, limit: int) -> int:
    """Posts and reposts, deleted as by their author: pictures, counts, timelines and search follow."""
    ids = Post.objects.filter(author=user, deleted_at=None).order_by("-pk")
    return _each(
        ids.values_list("pk", flat=True)[:limit], lambda pk: publishing.delete(pk, by=user)
    )


def tombstones(user: User, limit: int) -> int:
    """What the rows of deleted posts hold besides numbers and times."""
    rows = Post.objects.filter(author=user).exclude(application="", website="", language="")
    ids = list(rows.exclude(deleted_at=None).values_list("pk", flat=True)[:limit])
    Post.objects.filter(pk__in=ids).update(application="", website="", language="")
    return len(ids)


def pictures(user: User, limit: int) -> int:
    """Uploads without a post."""
    rows = list(Attachment.objects.filter(owner=user)[:limit])
    discard(rows)
    return len(rows)


def likes(user: User, limit: int) -> int:
    return _marks(Like, unlike_post, user, limit)


def bookmarks(user: User, limit: int) -> int:
    return _marks(Bookmark, unbookmark_post, user, limit)


def votes(user: User, limit: int) -> int:
    polls = Vote.objects.filter(user=user).values_list("poll", flat=True).distinct()
    return _each(polls[:limit], lambda poll: withdraw_vote(user, poll))


def follows(user: User, limit: int) -> int:
    """Follows and follow requests, in both directions."""
    count = 0
    for model, mine, other, end in (
        (Followee, "owner", "followee", lambda other_user: unfollow_user(user, other_user)),
        (FollowRequest, "requester", "owner", lambda other_user: unfollow_user(user, other_user)),
        (Follower, "owner", "follower", lambda other_user: remove_follower(user, other_user)),
        (FollowRequest, "owner", "requester", lambda other_user: reject_request(user, other_user)),
    ):
        count += _each(_others(model, mine, other, user, limit - count), end)
    return count


def blocks_and_mutes(user: User, limit: int) -> int:
    """In both directions."""
    count = 0
    for model, mine, other, end in (
        (Block, "owner", "blocked", lambda other_user: unblock_user(user, other_user)),
        (Block, "blocked", "owner", lambda other_user: unblock_user(other_user, user)),
        (Mute, "owner", "muted", lambda other_user: unmute_user(user, other_user)),
        (Mute, "muted", "owner", lambda other_user: unmute_user(other_user, user)),
    ):
        count += _each(_others(model, mine, other, user, limit - count), end)
    return count


def circles(user: User, limit: int) -> int:
    """The account's circles that no post is for, and its membership in those of others."""
    own = Circle.objects.filter(owner=user, deleted_at=None).values_list("pk", flat=True)
    count = _each(own[:limit], lambda pk: delete_circle(user, pk))
    memberships = CircleMember.objects.filter(member=user).values_list("circle", flat=True)
    count += _each(memberships[: limit - count], lambda pk: leave_circle(user, pk))
    owned = Circle.objects.filter(owner=user).exclude(deleted_at=None).exclude(name="")
    # posts of others may be for a circle that was shared: its row stays, without the name
    return count + _rename(owned, limit - count)


def lists(user: User, limit: int) -> int:
    """Lists, and the account's membership in those of others."""
    owners = ListMember.objects.filter(member=user).values_list("user_list__owner", flat=True)
    count = _each(owners.distinct()[:limit], lambda owner: tidy_lists(owner, user.pk))
    return count + _rows(UserList.objects.filter(owner=user), limit - count)


def mine(user: User, limit: int) -> int:
    """Rows that only the owner saw, and those that show others the account."""
    count = discard_exports(user.pk)
    for rows in (
        Notification.objects.filter(Q(user=user) | Q(actor=user)),
        Mention.objects.filter(Q(user=user) | Q(post__author=user)),
        Poll.objects.filter(post__author=user),
        ScheduledPost.objects.filter(author=user),
        IdempotencyKey.objects.filter(user=user),
        ThreadMute.objects.filter(user=user),
        TagFollow.objects.filter(user=user),
        Filter.objects.filter(owner=user),
        AccountNote.objects.filter(Q(owner=user) | Q(about=user)),
        Endorsement.objects.filter(Q(owner=user) | Q(other=user)),
        Conversation.objects.filter(user=user),
        ReadMarker.objects.filter(user=user),
        UnwantedKind.objects.filter(user=user),
        NotificationPolicy.objects.filter(user=user),
        NotificationPermission.objects.filter(Q(user=user) | Q(actor=user)),
        Report.objects.filter(reporter=user),
        AnnouncementRead.objects.filter(user=user),
        AnnouncementReaction.objects.filter(user=user),
        Dismissal.objects.filter(Q(owner=user) | Q(other=user)),
        PersonEntry.objects.filter(user_id=user.pk),
        PostEntry.objects.filter(author_id=user.pk),
        TimelineEntry.objects.filter(reader=user),
        TimelineSpan.objects.filter(reader=user),
        RankSession.objects.filter(viewer=user),
        RankingChoice.objects.filter(user=user),
    ):
        count += _rows(rows, limit - count)
    return count


def access(user: User, limit: int) -> int:
    """Codes and tokens of applications: codes first, then refresh tokens."""
    rows = [model.objects.filter(user=user) for model in (Grant, RefreshToken, AccessToken, IDToken, DeviceGrant)]  # fmt: skip
    return sum(
        _rows(queryset, limit) for queryset in [*rows, Application.objects.filter(user=user)]
    )


def windows(user: User, limit: int) -> int:
    """Home cache and inbox in Redis."""
    del limit
    existing = [window for window in (HOME, INBOX) if window.exists(user.pk)]
    for window in existing:
        window.drop(user.pk)
    return len(existing)


# First what gives access, then what others see.
STEPS: dict[str, Step] = {
    step.__name__: step
    for step in (
        access, sessions, second_factor, posts, tombstones, pictures, likes, bookmarks, votes, follows, blocks_and_mutes, circles, lists,
        mine, windows,
    )
}  # fmt: skip


def _each(items: Iterable[Any], end: Callable[[Any], Any]) -> int:
    count = 0
    for item in list(items):
        with suppress(NotFound):  # removed meanwhile
            end(item)
        count += 1
    return count


def _marks(model: Any, undo: Callable[[User, int], None], user: User, limit: int) -> int:
    ids = model.objects.filter(user=user).values_list("post", flat=True)[:limit]
    return _each(ids, lambda post_id: undo(user, post_id))


def _others(model: Any, mine: str, other: str, user: User, limit: int) -> list[User]:
    if limit <= 0:
        return []
    rows = model.objects.filter(**{mine: user}).select_related(other)
    return [getattr(row, other) for row in rows.order_by("pk")[:limit]]


def _rows(rows: QuerySet[Any], limit: int) -> int:
    if limit <= 0:
        return 0
    ids = list(rows.values_list("pk", flat=True)[:limit])
    if ids:
        rows.model._default_manager.filter(pk__in=ids).delete()  # noqa: SLF001 -- Django's documented name
    return len(ids)


def _rename(rows: QuerySet[Circle], limit: int) -> int:
    ids = list(rows.values_list("pk", flat=True)[: max(limit, 0)])
    return Circle.objects.filter(pk__in=ids).update(name="")
