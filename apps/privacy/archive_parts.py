"""The parts of an archive: which rows belong to a person, and how each is written.

Only what the person wrote or chose: of others there are handles and the addresses of posts, never a word of theirs
(reliability: S41). Every part is read by primary key in batches, so memory stays the same however much there is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django_otp.plugins.otp_totp.models import TOTPDevice
from django_otp_webauthn.models import WebAuthnCredential
from oauth2_provider.models import AccessToken as ApplicationToken

from apps.accounts.models import AccessToken, Login, User
from apps.engagement.models import Bookmark, Like, Vote
from apps.filters.models import Filter
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
from apps.lists.models import ListMember, UserList
from apps.moderation.models import Report
from apps.notifications.held import CONDITIONS
from apps.notifications.models import NotificationPermission, NotificationPolicy, UnwantedKind
from apps.posts.models import Post, ScheduledPost, ThreadMute
from apps.tags.models import TagFollow
from feedcache.ids import author_of

Record = dict[str, Any]
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets would run instead of showing


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the archive: the rows of a person, and how a batch of them is written. `.csv` parts need the same keys in every record."""

    file: str
    rows: Callable[[User], QuerySet[Any]]
    written: Callable[[Sequence[Any]], Iterable[Record]]


def address_of(handle: str) -> str:
    """An account as programs name it: Mastodon's files of follows have the same form."""
    return f"{handle}@{settings.SITE_URL.partition('://')[2]}"


def post_addresses(post_ids: Iterable[int | None]) -> dict[int, str]:
    """Where posts are, by id: the author is in the id, so one query of handles is enough."""
    ids = {one for one in post_ids if one is not None}
    authors = User.objects.filter(pk__in={author_of(one) for one in ids})
    handles = dict(authors.values_list("pk", "handle"))
    return {
        one: f"{settings.SITE_URL}/@{handles[author_of(one)]}/{one}"
        for one in ids
        if author_of(one) in handles
    }


def harmless(value: Any) -> Any:
    """A value for a table: a text that a spreadsheet would take for a formula is marked as a text (reliability: S42)."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def post_records(posts: Sequence[Post]) -> Iterable[Record]:
    """Posts, with their pictures, polls and earlier versions."""
    where = post_addresses(
        one for post in posts for one in (post.pk, post.reply_to_id, post.source_id)
    )
    for post in posts:
        yield {
            "id": str(post.pk),
            "address": where.get(post.pk),
            "published": post.created_at.isoformat(),
            "edited": post.edited_at and post.edited_at.isoformat(),
            "pinned": post.pinned_at is not None,
            "kind": post.kind,
            "for": post.visibility,
            "circle": post.circle.name if post.circle else None,
            "text": post.body,
            "content_warning": post.content_warning,
            "sensitive": post.sensitive,
            "language": post.language,
            "reply_to": where.get(post.reply_to_id or 0),
            "shares": where.get(post.source_id or 0),
            "pictures": [
                {"file": picture_name(one), "description": one.alt}
                for one in sorted(post.attachments.all(), key=lambda one: one.position)
            ],
            "poll": _poll(post),
            "earlier_versions": [
                {
                    "text": one.body,
                    "content_warning": one.content_warning,
                    "since": one.created_at.isoformat(),
                }
                for one in sorted(post.revisions.all(), key=lambda one: one.version)
            ],
        }


def picture_name(attachment: Any) -> str:
    """Where a picture lies in the archive; made of numbers and the ending of a type we write ourselves."""
    ending = str(attachment.file.name).rpartition(".")[2]
    return f"pictures/{attachment.pk}.{ending if ending.isalnum() else 'bin'}"


def _poll(post: Post) -> Record | None:
    if not post.has_poll:
        return None
    poll = post.poll
    return {
        "options": poll.options,
        "votes": poll.votes,
        "ends": poll.expires_at.isoformat(),
        "several_choices": poll.multiple,
    }


def _posts(user: User) -> QuerySet[Any]:
    return (
        Post.objects.filter(author=user, deleted_at=None)
        .select_related("circle", "poll")
        .prefetch_related("attachments", "revisions")
    )


def _marks(marks: Sequence[Like | Bookmark]) -> Iterable[Record]:
    where = post_addresses(mark.post_id for mark in marks)
    for mark in marks:
        if mark.post_id in where:
            yield {"post": where[mark.post_id], "since": mark.created_at.isoformat()}


def _votes(votes: Sequence[Vote]) -> Iterable[Record]:
    where = post_addresses(vote.poll_id for vote in votes)
    for vote in votes:
        yield {
            "post": where.get(vote.poll_id, ""),
            "choice": vote.choice + 1,
            "at": vote.created_at.isoformat(),
        }


def _threads(mutes: Sequence[ThreadMute]) -> Iterable[Record]:
    where = post_addresses(mute.thread_id for mute in mutes)
    return [{"thread": where[mute.thread_id]} for mute in mutes if mute.thread_id in where]


def _people(model: Any, mine: str, other: str, **more: str) -> Callable[[User], QuerySet[Any]]:
    return lambda user: model.objects.filter(**{mine: user}, **more).select_related(other)


def _each(record: Callable[[Any], Record]) -> Callable[[Sequence[Any]], Iterable[Record]]:
    return lambda rows: map(record, rows)


def _of(model: Any, owner: str, *related: str) -> Callable[[User], QuerySet[Any]]:
    return lambda user: model.objects.filter(**{owner: user}).select_related(*related)


PARTS = [
    Part("posts.jsonl", _posts, post_records),
    Part("scheduled_posts.jsonl", lambda user: ScheduledPost.objects.filter(author=user, post=None),
         _each(lambda one: {"for": one.scheduled_at.isoformat(), "draft": one.draft})),
    Part("likes.csv", lambda user: Like.objects.filter(user=user, post__deleted_at=None), _marks),
    Part("bookmarks.csv", lambda user: Bookmark.objects.filter(user=user, post__deleted_at=None), _marks),
    Part("votes.csv", _of(Vote, "user"), _votes),
    Part("muted_threads.csv", _of(ThreadMute, "user"), _threads),
    # Mastodon's own columns: other sites can read these
    Part("following_accounts.csv", _people(Followee, "owner", "followee"),
         _each(lambda one: {"Account address": address_of(one.followee.handle), "Show boosts": str(one.shows_reposts).lower(),
                            "Notify on new posts": str(one.notifies).lower(), "Languages": ", ".join(one.languages or ())})),
    Part("followers.csv", _people(Follower, "owner", "follower"),
         _each(lambda one: {"Account address": address_of(one.follower.handle), "Since": one.created_at.isoformat()})),
    Part("follow_requests.csv", _people(FollowRequest, "requester", "owner"),
         _each(lambda one: {"Account address": address_of(one.owner.handle), "Since": one.created_at.isoformat()})),
    Part("blocked_accounts.csv", _people(Block, "owner", "blocked"),
         _each(lambda one: {"Account address": address_of(one.blocked.handle)})),
    Part("muted_accounts.csv", _people(Mute, "owner", "muted"),
         _each(lambda one: {"Account address": address_of(one.muted.handle), "Hide notifications": str(one.hides_notifications).lower()})),
    Part("notes.csv", _people(AccountNote, "owner", "about"),
         _each(lambda one: {"Account address": address_of(one.about.handle), "Note": one.text})),
    Part("recommended_accounts.csv", _people(Endorsement, "owner", "other"),
         _each(lambda one: {"Account address": address_of(one.other.handle)})),
    Part("lists.csv", _of(UserList, "owner"),
         _each(lambda one: {"List": one.title, "Replies": one.replies_policy, "Read by itself": one.is_exclusive})),
    Part("list_members.csv", _of(ListMember, "user_list__owner", "user_list", "member"),
         _each(lambda one: {"List": one.user_list.title, "Account address": address_of(one.member.handle)})),
    Part("circles.csv", lambda user: Circle.objects.filter(owner=user, deleted_at=None),
         _each(lambda one: {"Circle": one.name, "Members may post": one.is_shared})),
    Part("circle_members.csv", _of(CircleMember, "circle__owner", "circle", "member"),
         _each(lambda one: {"Circle": one.circle.name, "Account address": address_of(one.member.handle)})),
    Part("followed_tags.csv", _of(TagFollow, "user", "tag"), _each(lambda one: {"Tag": f"#{one.tag.name}"})),
    Part("filters.jsonl", lambda user: Filter.objects.filter(owner=user).prefetch_related("keywords"),
         _each(lambda one: {"title": one.title, "places": one.places, "act": one.act,
                            "until": one.expires_at and one.expires_at.isoformat(),
                            "words": [{"word": word.keyword, "whole_word": word.whole_word} for word in one.keywords.all()]})),
    Part("unwanted_notifications.csv", _of(UnwantedKind, "user"), _each(lambda one: {"Kind": one.kind})),
    Part("notification_policy.jsonl", _of(NotificationPolicy, "user"),
         _each(lambda one: {name: getattr(one, name) for name in CONDITIONS})),
    Part("accepted_notifications.csv", _people(NotificationPermission, "user", "actor"),
         _each(lambda one: {"Account address": address_of(one.actor.handle)})),
    Part("reports.jsonl", _of(Report, "reporter", "target"),
         _each(lambda one: {"about": address_of(one.target.handle), "category": one.category, "comment": one.comment,
                            "at": one.created_at.isoformat()})),
    Part("logins.csv", _of(Login, "user"), _each(lambda one: {"Device": one.device, "Since": one.created_at.isoformat()})),
    # never a key or a code
    Part("authenticator_apps.csv", lambda user: TOTPDevice.objects.filter(user=user, confirmed=True),
         _each(lambda one: {"Since": one.created_at.isoformat(), "Last used": one.last_used_at and one.last_used_at.isoformat()})),
    Part("passkeys.csv", _of(WebAuthnCredential, "user"),
         _each(lambda one: {"Name": one.name, "Since": one.created_at.isoformat(),
                            "Last used": one.last_used_at and one.last_used_at.isoformat()})),
    Part("access_tokens.csv", _of(AccessToken, "user"),
         _each(lambda one: {"Name": one.name, "May": one.scopes, "Made": one.created_at.isoformat()})),
    Part("applications.csv", lambda user: ApplicationToken.objects.filter(user=user).exclude(application=None).select_related("application"),
         _each(lambda one: {"Name": one.application.name, "May": one.scope, "Since": one.created.isoformat()})),
]  # fmt: skip
