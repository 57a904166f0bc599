"""What a device says of a notification: the words of its page, in the language of its owner."""

from typing import NamedTuple

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import override

from apps.accounts.models import User
from apps.addresses import absolute, picture_address
from apps.notifications.grouping import GROUP_KEY_PREFIXES, group_key
from apps.notifications.kinds import TOLD, NotificationKind
from apps.notifications.queries import NotificationItem, unread_count
from apps.push.models import Subscription, Texts
from apps.timeline.pipeline.items import FeedItem

TITLE_MAX_CHARACTERS = 100
BODY_MAX_CHARACTERS = (
    240  # at most 4 bytes each: push services take 4096 bytes with everything around them
)


class Told(NamedTuple):
    """The message; `group` is the same for all that a device shows as one line."""

    text: dict[str, str | int]
    group: str
    is_urgent: bool


# People wait for an answer, or asked to be told at once; the rest can wait until the device is awake anyhow.
URGENT = {
    NotificationKind.MENTION,
    NotificationKind.REPLY,
    NotificationKind.QUOTE,
    NotificationKind.REQUEST,
    NotificationKind.POST,
}


def told(subscription: Subscription, item: NotificationItem, *, token: str, texts: str) -> Told:
    """As Mastodon writes it; for browsers also where a press leads, and how much is unread."""
    user = subscription.user
    language = user.interface_language or subscription.language or settings.LANGUAGE_CODE
    kind = TOLD[item.kind]
    with override(language):
        text: dict[str, str | int] = {
            "preferred_locale": language,
            "notification_id": item.id,
            "notification_type": kind.type,
            "icon": icon_of(item.actor),
            "title": shortened(f"{item.actor.name} {kind.line}", TITLE_MAX_CHARACTERS),
            "body": body_of(item.item.shown, texts) if item.item else "",
        }
    group = group_key(item, GROUP_KEY_PREFIXES)
    if subscription.login_id is None:
        text["access_token"] = token
    else:
        text |= {"url": page_of(item), "tag": group, "unread": unread_count(user)}
    return Told(text, group if kind.group else "", item.kind in URGENT)


def body_of(item: FeedItem, texts: str) -> str:
    """What the preview on the page of notifications says, as far as its owner wants it on the screen."""
    if texts == Texts.NONE or (texts == Texts.OPEN and not item.post.is_open):
        return ""
    if item.warnings:
        titles = ", ".join(item.warnings)
        return shortened(_("Filtered: %(titles)s") % {"titles": titles}, BODY_MAX_CHARACTERS)
    said = item.post.content_warning or item.post.body or _("Picture")
    return shortened(said, BODY_MAX_CHARACTERS)


def shortened(text: str, length: int) -> str:
    """In one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


def icon_of(actor: User) -> str:
    return absolute(actor.avatar_url) if actor.avatar_url else picture_address("img/icon-192.png")


def page_of(item: NotificationItem) -> str:
    """Where the notification leads: the post, the requests, or who did it."""
    if item.item is not None:
        return item.item.shown.url
    return "/follow_requests" if item.kind == NotificationKind.REQUEST else item.actor.url
