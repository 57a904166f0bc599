"""Writes the text of a message to a device: the words of the notifications page, in the owner's language."""

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
# A character takes up to 4 bytes, and push services accept 4096 bytes for the whole message.
BODY_MAX_CHARACTERS = 240


class DeviceMessage(NamedTuple):
    """The text of a message. A new message replaces an older one with the same `group`; "" for no group."""

    text: dict[str, str | int]
    group: str
    is_urgent: bool


# The pages that notifications of these kinds open instead of the profile of the person who acted.
OWN_PAGES: dict[str, str] = {
    NotificationKind.REQUEST: "/follow_requests",
}
# Kinds for which somebody waits for an answer, or which the member has asked to get immediately. The messages of other
# kinds may be delayed to save the device's battery.
URGENT = {
    NotificationKind.MENTION,
    NotificationKind.REPLY,
    NotificationKind.QUOTE,
    NotificationKind.REQUEST,
    NotificationKind.POST,
}


def device_message(
    subscription: Subscription, item: NotificationItem, *, token: str, texts: str
) -> DeviceMessage:
    """Write a message in Mastodon's format; for browsers, with the page to open, the group and the unread count."""
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
    return DeviceMessage(text, group if kind.group else "", item.kind in URGENT)


def body_of(item: FeedItem, texts: str) -> str:
    """The post's text as on the notifications page, if the owner wants it to be shown on the device."""
    if texts == Texts.NONE or (texts == Texts.OPEN and not item.post.is_open):
        return ""
    if item.warnings:
        titles = ", ".join(item.warnings)
        return shortened(_("Filtered: %(titles)s") % {"titles": titles}, BODY_MAX_CHARACTERS)
    said = item.post.content_warning or item.post.body or _("Picture")
    return shortened(said, BODY_MAX_CHARACTERS)


def shortened(text: str, length: int) -> str:
    """The text on one line, cut to a length."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


def icon_of(actor: User) -> str:
    return absolute(actor.avatar_url) if actor.avatar_url else picture_address("img/icon-192.png")


def page_of(item: NotificationItem) -> str:
    """The page to open: that of the post, of the notification's `about`, of its kind, or of the person who acted."""
    if item.item is not None:
        return item.item.shown.url
    if item.about is not None:
        return str(item.about.url)
    return OWN_PAGES.get(item.kind, item.actor.url)
