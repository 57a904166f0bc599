"""What users do with their notifications. `handlers` creates most notifications."""

from collections.abc import Collection
from datetime import timedelta
from time import monotonic

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.cache import viewer_changed
from apps.accounts.models import User, UserCounts
from apps.errors import NotFound, invalid
from apps.events.live import announce
from apps.notifications.grouping import notifications_of_group
from apps.notifications.hooks import CREATED
from apps.notifications.kinds import NotificationKind
from apps.notifications.models import (
    Notification,
    NotificationPermission,
    NotificationPolicy,
    ReadMarker,
    Treatment,
    UnwantedKind,
)
from apps.notifications.policy import CONDITIONS
from apps.notifications.queries import latest_notification_id
from apps.pagination import id_after
from apps.sql import PURGE_SECONDS, rows_of

_MARK = """
INSERT INTO notifications_readmarker (user_id, timeline, last_read_id, version, updated_at)
VALUES (%(user)s, %(timeline)s, %(id)s, 1, now())
ON CONFLICT (user_id, timeline) DO UPDATE
SET last_read_id = excluded.last_read_id, version = notifications_readmarker.version + 1,
    updated_at = excluded.updated_at
WHERE notifications_readmarker.last_read_id < excluded.last_read_id
"""

_STRIKE = """
INSERT INTO notifications_notification (user_id, kind, actor_id, created_at)
VALUES (%(user)s, %(kind)s, %(user)s, now()) ON CONFLICT DO NOTHING RETURNING id
"""

DELETE_BATCH_SIZE = 5000
CLOCK_SKEW = timedelta(minutes=1)  # the maximum difference between the clocks of the web servers

Timeline = ReadMarker.Timeline


def mark_read(viewer: User, up_to_id: int, *, timeline: Timeline = Timeline.NOTIFICATIONS) -> None:
    """Move a read marker to a higher id (never a lower one), and announce it. Raises Invalid for a future post id.

    The marker of notifications does not move beyond the newest: later ones would count as read.
    """
    if timeline == Timeline.HOME and up_to_id >= id_after(timezone.now() + CLOCK_SKEW):
        # with such a marker, new posts would count as read
        raise invalid("last_read_id", _("There is no such post yet."))
    if timeline == Timeline.NOTIFICATIONS:
        up_to_id = min(up_to_id, latest_notification_id(viewer))
    with connection.cursor() as sql:
        sql.execute(_MARK, {"user": viewer.pk, "timeline": timeline.value, "id": up_to_id})
        if sql.rowcount:
            announce("marked", user_id=viewer.pk)


def choose_notification_kinds(user: User, kinds: Collection[str]) -> None:
    """From now on, create only notifications of these kinds; existing ones stay."""
    unwanted = set(NotificationKind.values) - set(kinds)
    with transaction.atomic():
        UnwantedKind.objects.filter(user=user).exclude(kind__in=unwanted).delete()
        UnwantedKind.objects.bulk_create(
            (UnwantedKind(user=user, kind=kind) for kind in sorted(unwanted)), ignore_conflicts=True
        )


def chosen_notification_kinds(user: User) -> list[str]:
    """The kinds of notifications that a user has chosen, by default all."""
    unwanted = set(UnwantedKind.objects.filter(user=user).values_list("kind", flat=True))
    return [kind for kind in NotificationKind.values if kind not in unwanted]


@transaction.atomic
def tell_of_moderation(user: User) -> None:
    """Notify a user of a decision by staff about them, unless this kind is unwanted. The notification of an earlier
    decision is deleted, so there is at most one, even after concurrent decisions.
    """
    kind = NotificationKind.STRIKE
    Notification.objects.filter(user=user, kind=kind).delete()
    if not UnwantedKind.objects.filter(user=user, kind=kind).exists():
        if created := rows_of(_STRIKE, {"user": user.pk, "kind": kind.value}):
            for tell in CREATED:
                tell([pk for (pk,) in created])
        announce("notified", user_id=user.pk)


@transaction.atomic
def change_policy(viewer: User, **verdicts: str) -> None:
    """Change the given fields of the viewer's `NotificationPolicy`. They apply only to new notifications."""
    policy, _is_new = NotificationPolicy.objects.update_or_create(user=viewer, defaults=verdicts)
    # True if notifications are held back now, or the new policy holds back or drops some.
    holds = (
        any(getattr(policy, name) != Treatment.ACCEPT for name in CONDITIONS)
        or _held_back(viewer).exists()
    )
    UserCounts.objects.filter(pk=viewer.pk).update(holds_notifications=holds)
    viewer_changed(viewer.pk)
    viewer.counts.holds_notifications = holds


@transaction.atomic
def accept_notifications_from(viewer: User, actor_ids: Collection[int]) -> None:
    """Exempt accounts from the viewer's policy, and release the held-back notifications by them."""
    permissions = [NotificationPermission(user=viewer, actor_id=actor_id) for actor_id in actor_ids]
    NotificationPermission.objects.bulk_create(permissions, ignore_conflicts=True)
    _held_back(viewer).filter(actor__in=actor_ids).update(is_held_back=False)
    announce("notified", user_id=viewer.pk)


def dismiss_notifications_from(viewer: User, actor_ids: Collection[int]) -> None:
    """Delete the held-back notifications by these accounts. The policy still applies to later ones."""
    _delete(_held_back(viewer).filter(actor__in=actor_ids))


def _held_back(viewer: User) -> QuerySet[Notification]:
    return Notification.objects.filter(user=viewer, is_held_back=True)


def dismiss(viewer: User, number: int) -> None:
    """Delete one of the viewer's notifications. Raises NotFound."""
    deleted, _by_model = Notification.objects.filter(user=viewer, pk=number).delete()
    if not deleted:
        raise NotFound(_("There is no such notification."))


def dismiss_group(viewer: User, key: str) -> None:
    """Delete a group of notifications. Raises NotFound for a malformed key."""
    _delete(notifications_of_group(viewer, key))


def clear(viewer: User) -> None:
    """Delete all notifications that the viewer has now, in batches."""
    newest = Notification.objects.filter(user=viewer).order_by("-pk").first()
    if newest is not None:
        _delete(Notification.objects.filter(user=viewer, pk__lte=newest.pk))


def purge(*, seconds: float = PURGE_SECONDS) -> int:
    """Delete notifications older than `NOTIFICATION_DAYS` in batches, oldest first; no batch begins after `seconds`.

    Returns the number of deleted rows. They are read in the order of their ids, because ids are indexed and have nearly
    the same order as `created_at`.
    """
    if not settings.NOTIFICATION_DAYS:
        return 0
    horizon = timezone.now() - timedelta(days=settings.NOTIFICATION_DAYS)
    until, total = monotonic() + seconds, 0
    while True:
        oldest = Notification.objects.order_by("pk").values_list("pk", "created_at")
        rows = list(oldest[:DELETE_BATCH_SIZE])
        old = [number for number, created_at in rows if created_at < horizon]
        Notification.objects.filter(pk__in=old).delete()
        total += len(old)
        if len(old) < DELETE_BATCH_SIZE or monotonic() >= until:
            return total


def _delete(rows: QuerySet[Notification]) -> None:
    while ids := list(rows.values_list("pk", flat=True)[:DELETE_BATCH_SIZE]):
        Notification.objects.filter(pk__in=ids).delete()
