"""Examines posts after they are published or edited."""

from django.conf import settings

from apps.events.actions import Payload, handles
from apps.spam.actions import examine


def is_on() -> bool:
    return bool(settings.SPAM_HEURISTICS)


@handles("post_published", when=is_on)
@handles("post_edited", when=is_on)
def examine_post(payload: Payload) -> None:
    examine(payload["post_id"])
