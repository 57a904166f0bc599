"""Requests the preview of a post's link once the post is committed."""

from django.conf import settings

from apps.events.actions import Payload, handles
from apps.previews.actions import ask_for, withdraw


def is_on() -> bool:
    return bool(settings.LINK_PREVIEWS)


@handles("post_published", when=is_on)
@handles("post_edited", when=is_on)
@handles("post_hidden", when=is_on)
def ask_for_preview(payload: Payload) -> None:
    """Request the preview of an open post; withdraw the preview of any other post, such as a hidden one."""
    ask_for(payload["post_id"])


@handles("post_deleted")
def withdraw_preview(payload: Payload) -> None:
    withdraw(payload["post_id"])
