"""The kinds of notifications. Each is declared only here, with its texts on pages and in settings, and its API name."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


class NotificationKind(models.TextChoices):
    FOLLOW = "follow", _("follow")
    LIKE = "like", _("like")
    REPOST = "repost", _("repost")
    REACT = "react", _("reaction")
    REPLY = "reply", _("reply")
    MENTION = "mention", _("mention")
    QUOTE = "quote", _("quote")
    REQUEST = "request", _("follow request")
    POST = "post", _("new post")
    EDIT = "edit", _("edit")
    QUOTED_EDIT = "q_edit", _("edit to a quoted post")
    POLL = "poll", _("end of a poll")
    STRIKE = "strike", _("moderation decision")
    COLLECTED = "collect", _("added to a collection")
    COLLECTION = "coll_upd", _("change to a collection you are in")


def choices() -> list[tuple[str, "StrPromise"]]:
    """The choices of model fields. This is a function, so that a new kind needs no migration."""
    return NotificationKind.choices


@dataclass(frozen=True)
class Told:
    """The texts and the icon of a kind. `type` is the API's name for it, `setting` completes "Notify me when".

    `line` follows the name of the actor, who is the recipient if nobody acted. If the kind has a `group`, several
    notifications can share a line, in which `line_of_several` follows the name of the first actor. The keys of these
    groups begin with `group`.
    """

    type: str
    setting: "StrPromise"
    icon: str
    line: "StrPromise"
    line_of_several: "StrPromise | None" = None
    group: str = ""


# In the order in which the settings page lists the kinds.
TOLD: dict[str, Told] = {
    NotificationKind.FOLLOW: Told(
        "follow",
        _("Somebody follows you"),
        "user-plus",
        _("followed you"),
        ngettext_lazy("and %(n)s other followed you", "and %(n)s others followed you", "n"),
        group="follow",
    ),
    # the line of this kind has a link to the requests
    NotificationKind.REQUEST: Told(
        "follow_request", _("Somebody asks to follow you"), "user-plus", _("asks to follow you")
    ),
    NotificationKind.MENTION: Told(
        "mention", _("Somebody mentions you"), "at-sign", _("mentioned you")
    ),
    NotificationKind.REPLY: Told(
        "mention", _("Somebody replies to you"), "message-circle", _("replied to you")
    ),
    NotificationKind.QUOTE: Told("quote", _("Somebody quotes you"), "quote", _("quoted your post")),
    NotificationKind.REPOST: Told(
        "reblog",
        _("Somebody reposts your post"),
        "repeat-2",
        _("reposted your post"),
        ngettext_lazy(
            "and %(n)s other reposted your post", "and %(n)s others reposted your post", "n"
        ),
        group="reblog",
    ),
    NotificationKind.LIKE: Told(
        "favourite",
        _("Somebody likes your post"),
        "heart",
        _("liked your post"),
        ngettext_lazy("and %(n)s other liked your post", "and %(n)s others liked your post", "n"),
        group="favourite",
    ),
    NotificationKind.REACT: Told(
        "reaction",
        _("Somebody reacts to your post"),
        "heart",
        _("reacted to your post"),
        ngettext_lazy(
            "and %(n)s other reacted to your post", "and %(n)s others reacted to your post", "n"
        ),
        group="reaction",
    ),
    NotificationKind.POST: Told(
        "status",
        _("Somebody you asked to be notified about publishes a post"),
        "bell",
        _("published a post"),
    ),
    NotificationKind.EDIT: Told(
        "update",
        _("A post that you reposted was edited"),
        "pencil",
        _("edited a post that you reposted"),
    ),
    NotificationKind.QUOTED_EDIT: Told(
        "quoted_update",
        _("A post that you quoted was edited"),
        "pencil",
        _("edited a post that you quoted"),
    ),
    NotificationKind.POLL: Told(
        "poll",
        _("A poll that you started or voted in has ended"),
        "info",
        _("published a poll that has ended"),
    ),
    # the actor is the recipient; the page of strikes shows the details
    NotificationKind.STRIKE: Told(
        "moderation_warning",
        _("The moderators make a decision about you"),
        "triangle-alert",
        _("has a message from the moderators"),
    ),
    NotificationKind.COLLECTED: Told(
        "added_to_collection",
        _("Somebody adds you to a collection"),
        "users",
        _("added you to a collection"),
    ),
    NotificationKind.COLLECTION: Told(
        "collection_update",
        _("A collection you are in changes"),
        "users",
        _("changed a collection that you are in"),
    ),
}
if untold := set(NotificationKind) - TOLD.keys():
    raise TypeError(f"TOLD lacks {', '.join(untold)}")
