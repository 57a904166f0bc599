"""Who subscribes to which event: filled by the `handlers` modules of the apps when Django starts."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

Payload = dict[str, Any]
Handler = Callable[[Payload], None]

# name -> what its payload holds. Payloads carry ids only, never texts.
EVENTS = {
    "post_published": "post_id",
    "post_edited": "post_id",
    "post_pinned": "post_id (or unpinned: only its place on the profile changed)",
    "poll_ended": "post_id",
    "post_deleted": "post_id",
    "followed": "follower_id, followee_id",
    "unfollowed": "follower_id, followee_id",
    "follow_requested": "requester_id, owner_id (who is asked)",
    "follow_request_ended": "requester_id, owner_id",
    "account_unlocked": "user_id",
    "blocked": "owner_id, blocked_id",
    "circle_changed": "circle_id, user_ids (those who came or went, at most 1,001)",
    "post_liked": "user_id, post_id",
    "mark_missed": "kind, user_id, post_id",
    "filter_outdated": "kind",
    "relations_moved": "user_ids (whose graph revision grew by something that is no event of its own)",
    "account_changed": "user_id",
    "graph_loaded": "user_ids (at most as many as a batch has lines)",
    "counts_missed": "kind, ids",
}

_handlers: dict[str, dict[str, Handler]] = defaultdict(dict)


def handles(name: str, *, first: bool = False) -> Callable[[Handler], Handler]:
    """Subscribe a function to an event. It may run more than once for one event and must not mind.

    `first`: somebody waits for it, so it comes before the other subscribers of the event.
    """
    if name not in EVENTS:
        raise ValueError(f"there is no event {name!r}")

    def subscribe(handler: Handler) -> Handler:
        mine, others = {f"{handler.__module__}.{handler.__name__}": handler}, _handlers[name]
        _handlers[name] = {**mine, **others} if first else {**others, **mine}
        return handler

    return subscribe


def subscribers(name: str) -> list[str]:
    """The dotted names of the functions subscribed to an event."""
    if name not in EVENTS:
        raise ValueError(f"there is no event {name!r}")
    return list(_handlers[name])


def handler(name: str, subscriber: str) -> Handler:
    """The function behind a subscription; KeyError when the code no longer has it."""
    return _handlers[name][subscriber]
