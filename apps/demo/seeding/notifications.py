"""Makes the notifications of the accounts that can log in, as the event handlers would have made them."""

from collections.abc import Iterator

from apps.accounts.models import User
from apps.demo.seeding.world import Entry, Member, World, moment_of
from apps.notifications.kinds import NotificationKind
from apps.notifications.models import Notification, ReadMarker
from apps.posts.content.text import mentioned_handles
from apps.posts.models import OPEN

UNREAD = 3  # the number of unread notifications per account


def make_notifications(world: World) -> None:
    """Insert the notifications, oldest first; on the first run, mark all but the newest few per account as read."""
    for entry in world.entries:
        if entry.is_new and entry.visibility in OPEN:
            for user, kind, post_pk in _recipients(world, entry):
                world.notify(entry.second, user, kind, entry.author, post_pk)
    world.news.sort(key=lambda row: (row[0], row[1].pk, row[3].pk))
    notifications = Notification.objects.bulk_create(
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
        _mark_read(notifications)


def _recipients(world: World, entry: Entry) -> Iterator[tuple[Member, NotificationKind, int]]:
    if entry.is_repost and entry.source:
        yield entry.source.author, NotificationKind.REPOST, entry.source.pk
        return
    # one notification for each handle: a reply outranks a quote, and a quote outranks a mention
    kinds: dict[str, NotificationKind] = {}
    if "@" in entry.text:
        kinds |= dict.fromkeys(mentioned_handles(entry.text), NotificationKind.MENTION)
    if entry.source:
        kinds[entry.source.author.handle] = NotificationKind.QUOTE
    if entry.reply_to:
        kinds[entry.reply_to.author.handle] = NotificationKind.REPLY
    for handle, kind in kinds.items():
        if handle in world.cast:
            yield world.cast[handle], kind, entry.pk


def _mark_read(notifications: list[Notification]) -> None:
    for user in User.objects.filter(
        pk__in={notification.user_id for notification in notifications}
    ):
        ids = [notification.pk for notification in notifications if notification.user_id == user.pk]
        if len(ids) > UNREAD:
            ReadMarker.objects.update_or_create(
                user=user,
                timeline=ReadMarker.Timeline.NOTIFICATIONS,
                defaults={"last_read_id": ids[-UNREAD - 1]},
            )
