"""Tells the accounts that can sign in what happened to them, as the handlers of events would have done."""

from collections.abc import Iterator

from apps.accounts.models import User
from apps.demo.seeding.rows import moment_of
from apps.demo.seeding.world import Entry, Member, World
from apps.notifications.models import Notification, NotificationKind, ReadMarker
from apps.posts.content.text import mentioned_handles
from apps.posts.models import OPEN

UNREAD = 3


def make_notifications(world: World) -> None:
    """Insert the notifications, oldest first; all but the newest few of each account are read."""
    for entry in world.entries:
        if entry.is_new and entry.visibility in OPEN:
            for user, kind, post_pk in _told_of(world, entry):
                world.notify(entry.second, user, kind, entry.author, post_pk)
    world.news.sort(key=lambda one: (one[0], one[1].pk, one[3].pk))
    made = Notification.objects.bulk_create(
        Notification(
            user_id=user.pk,
            kind=kind,
            actor_id=actor.pk,
            post_id=post_pk,
            created_at=moment_of(second),
        )
        for second, user, kind, actor, post_pk in world.news
    )
    if world.makes_cast:
        _mark_read(made)


def _told_of(world: World, entry: Entry) -> Iterator[tuple[Member, NotificationKind, int]]:
    if entry.is_repost and entry.source:
        yield entry.source.author, NotificationKind.REPOST, entry.source.pk
        return
    told: dict[str, NotificationKind] = {}  # one news a post: the closest reason wins
    if "@" in entry.text:
        told |= dict.fromkeys(mentioned_handles(entry.text), NotificationKind.MENTION)
    if entry.source:
        told[entry.source.author.handle] = NotificationKind.QUOTE
    if entry.reply_to:
        told[entry.reply_to.author.handle] = NotificationKind.REPLY
    for handle, kind in told.items():
        if handle in world.cast:
            yield world.cast[handle], kind, entry.pk


def _mark_read(made: list[Notification]) -> None:
    for user in User.objects.filter(pk__in={one.user_id for one in made}):
        ids = [one.pk for one in made if one.user_id == user.pk]
        if len(ids) > UNREAD:
            ReadMarker.objects.update_or_create(
                user=user,
                timeline=ReadMarker.Timeline.NOTIFICATIONS,
                defaults={"last_read_id": ids[-UNREAD - 1]},
            )
