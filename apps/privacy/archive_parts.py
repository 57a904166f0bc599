"""The parts of an archive: which rows belong to a user, and how each is written.

Only data the user wrote or chose: of others there are handles and URLs of posts, never their texts
(reliability: S41). Every part is read by primary key in batches, in bounded memory.
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
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # spreadsheets would evaluate these


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the archive: the rows of a user, and how a batch is
    written. `.csv` needs the same keys in every record.
    """

    file: str
    rows: Callable[[User], QuerySet[Any]]
    written: Callable[[Sequence[Any]], Iterable[Record]]


def address_of(handle: str) -> str:
    """As in Mastodon's files of follows: handle@host."""
    return f"{handle}@{settings.SITE_URL.partition('://')[2]}"


def post_addresses(post_ids: Iterable[int | None]) -> dict[int, str]:
    """URLs of posts by id: the author is in the id, so one query of handles is enough."""
    ids = {post_id for post_id in post_ids if post_id is not None}
    authors = User.objects.filter(pk__in={author_of(post_id) for post_id in ids})
    handles = dict(authors.values_list("pk", "handle"))
    return {
        post_id: f"{settings.SITE_URL}/@{handles[author_of(post_id)]}/{post_id}"
        for post_id in ids
        if author_of(post_id) in handles
    }


def escape_formula(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets a leading quote (reliability: S42)."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def post_records(posts: Sequence[Post]) -> Iterable[Record]:
    urls = post_addresses(
        post_id for post in posts for post_id in (post.pk, post.reply_to_id, post.source_id)
    )
    for post in posts:
        yield {
            "id": str(post.pk),
            "address": urls.get(post.pk),
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
            "reply_to": urls.get(post.reply_to_id or 0),
            "shares": urls.get(post.source_id or 0),
            "pictures": [
                {"file": picture_name(attachment), "description": attachment.alt}
                for attachment in sorted(
                    post.attachments.all(), key=lambda attachment: attachment.position
                )
            ],
            "poll": _poll(post),
            "earlier_versions": [
                {
                    "text": revision.body,
                    "content_warning": revision.content_warning,
                    "since": revision.created_at.isoformat(),
                }
                for revision in sorted(post.revisions.all(), key=lambda revision: revision.version)
            ],
        }


def picture_name(attachment: Any) -> str:
    """The path of a picture in the archive; built from
    numbers and a type that the site writes itself.
    """
    extension = str(attachment.file.name).rpartition(".")[2]
    return f"pictures/{attachment.pk}.{extension if extension.isalnum() else 'bin'}"


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
    urls = post_addresses(mark.post_id for mark in marks)
    for mark in marks:
        if mark.post_id in urls:
            yield {"post": urls[mark.post_id], "since": mark.created_at.isoformat()}


def _votes(votes: Sequence[Vote]) -> Iterable[Record]:
    urls = post_addresses(vote.poll_id for vote in votes)
    for vote in votes:
        yield {
            "post": urls.get(vote.poll_id, ""),
            "choice": vote.choice + 1,
            "at": vote.created_at.isoformat(),
        }


def _threads(mutes: Sequence[ThreadMute]) -> Iterable[Record]:
    urls = post_addresses(mute.thread_id for mute in mutes)
    return [{"thread": urls[mute.thread_id]} for mute in mutes if mute.thread_id in urls]


def _people(model: Any, mine: str, other: str, **more: str) -> Callable[[User], QuerySet[Any]]:
    return lambda user: model.objects.filter(**{mine: user}, **more).select_related(other)


def _each(record: Callable[[Any], Record]) -> Callable[[Sequence[Any]], Iterable[Record]]:
    return lambda rows: map(record, rows)


def _of(model: Any, owner: str, *related: str) -> Callable[[User], QuerySet[Any]]:
    return lambda user: model.objects.filter(**{owner: user}).select_related(*related)


PARTS = [
    Part("posts.jsonl", _posts, post_records),
    Part("scheduled_posts.jsonl", lambda user: ScheduledPost.objects.filter(author=user, post=None),
         _each(lambda row: {"for": row.scheduled_at.isoformat(), "draft": row.draft})),
    Part("likes.csv", lambda user: Like.objects.filter(user=user, post__deleted_at=None), _marks),
    Part("bookmarks.csv", lambda user: Bookmark.objects.filter(user=user, post__deleted_at=None), _marks),
    Part("votes.csv", _of(Vote, "user"), _votes),
    Part("muted_threads.csv", _of(ThreadMute, "user"), _threads),
    # Mastodon's own columns: other sites can read these
    Part("following_accounts.csv", _people(Followee, "owner", "followee"),
         _each(lambda row: {"Account address": address_of(row.followee.handle), "Show boosts": str(row.shows_reposts).lower(),
                            "Notify on new posts": str(row.notifies).lower(), "Languages": ", ".join(row.languages or ())})),
    Part("followers.csv", _people(Follower, "owner", "follower"),
         _each(lambda row: {"Account address": address_of(row.follower.handle), "Since": row.created_at.isoformat()})),
    Part("follow_requests.csv", _people(FollowRequest, "requester", "owner"),
         _each(lambda row: {"Account address": address_of(row.owner.handle), "Since": row.created_at.isoformat()})),
    Part("blocked_accounts.csv", _people(Block, "owner", "blocked"),
         _each(lambda row: {"Account address": address_of(row.blocked.handle)})),
    Part("muted_accounts.csv", _people(Mute, "owner", "muted"),
         _each(lambda row: {"Account address": address_of(row.muted.handle), "Hide notifications": str(row.hides_notifications).lower()})),
    Part("notes.csv", _people(AccountNote, "owner", "about"),
         _each(lambda row: {"Account address": address_of(row.about.handle), "Note": row.text})),
    Part("recommended_accounts.csv", _people(Endorsement, "owner", "other"),
         _each(lambda row: {"Account address": address_of(row.other.handle)})),
    Part("lists.csv", _of(UserList, "owner"),
         _each(lambda row: {"List": row.title, "Replies": row.replies_policy, "Read by itself": row.is_exclusive})),
    Part("list_members.csv", _of(ListMember, "user_list__owner", "user_list", "member"),
         _each(lambda row: {"List": row.user_list.title, "Account address": address_of(row.member.handle)})),
    Part("circles.csv", lambda user: Circle.objects.filter(owner=user, deleted_at=None),
         _each(lambda row: {"Circle": row.name, "Members may post": row.is_shared})),
    Part("circle_members.csv", _of(CircleMember, "circle__owner", "circle", "member"),
         _each(lambda row: {"Circle": row.circle.name, "Account address": address_of(row.member.handle)})),
    Part("followed_tags.csv", _of(TagFollow, "user", "tag"), _each(lambda row: {"Tag": f"#{row.tag.name}"})),
    Part("filters.jsonl", lambda user: Filter.objects.filter(owner=user).prefetch_related("keywords"),
         _each(lambda row: {"title": row.title, "places": row.places, "act": row.act,
                            "until": row.expires_at and row.expires_at.isoformat(),
                            "words": [{"word": word.keyword, "whole_word": word.whole_word} for word in row.keywords.all()]})),
    Part("unwanted_notifications.csv", _of(UnwantedKind, "user"), _each(lambda row: {"Kind": row.kind})),
    Part("notification_policy.jsonl", _of(NotificationPolicy, "user"),
         _each(lambda row: {name: getattr(row, name) for name in CONDITIONS})),
    Part("accepted_notifications.csv", _people(NotificationPermission, "user", "actor"),
         _each(lambda row: {"Account address": address_of(row.actor.handle)})),
    Part("reports.jsonl", _of(Report, "reporter", "target"),
         _each(lambda row: {"about": address_of(row.target.handle), "category": row.category, "comment": row.comment,
                            "at": row.created_at.isoformat()})),
    Part("logins.csv", _of(Login, "user"), _each(lambda row: {"Device": row.device, "Since": row.created_at.isoformat()})),
    # never a key or a code
    Part("authenticator_apps.csv", lambda user: TOTPDevice.objects.filter(user=user, confirmed=True),
         _each(lambda row: {"Since": row.created_at.isoformat(), "Last used": row.last_used_at and row.last_used_at.isoformat()})),
    Part("passkeys.csv", _of(WebAuthnCredential, "user"),
         _each(lambda row: {"Name": row.name, "Since": row.created_at.isoformat(),
                            "Last used": row.last_used_at and row.last_used_at.isoformat()})),
    Part("access_tokens.csv", _of(AccessToken, "user"),
         _each(lambda row: {"Name": row.name, "May": row.scopes, "Made": row.created_at.isoformat()})),
    Part("applications.csv", lambda user: ApplicationToken.objects.filter(user=user).exclude(application=None).select_related("application"),
         _each(lambda row: {"Name": row.application.name, "May": row.scope, "Since": row.created.isoformat()})),
]  # fmt: skip
