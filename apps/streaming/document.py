"""Adds the streams to the API's OpenAPI document; they have no views, because a separate process serves them."""

from typing import Any

from django.conf import settings

from apps.streaming.server import ROOT
from apps.streaming.streams import NAMES, Stream

TAG = {
    "name": "streaming",
    "description": "Streams of events, served by a separate process.",
}
DESCRIPTIONS = {
    "user": "Home, notifications, and your changes on other devices",
    "user:notification": "Your notifications",
    "direct": "Your conversations",
    "public": "All public posts",
    "public:local": "The same: there are no other sites",
    "public:remote": "Nothing: there are no other sites",
    "hashtag": "Public posts with a tag",
    "hashtag:local": "The same: there are no other sites",
    "list": "The posts of one of your lists",
}
EVENTS = """Server-sent events. `data` is JSON; for `delete` it is the id of a status, and for `filters_changed` it is \
empty. Lines that begin with a colon show that the connection is alive. Send the last `id` as `Last-Event-ID` to \
continue."""
_RESUME = {
    "description": "The last `id` that you received, or the id of your newest status. The stream begins with the "
    "events that you missed, or with the event `feedsite.missed` if those are more than 400 posts or notifications (40 "
    "conversations), or posts of more than two days.",
    "schema": {"type": "string", "maxLength": 1600},
}
_ARGUMENTS = {"hashtag": "tag", "hashtag:local": "tag", "list": "list"}


def add_streams(result: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """A drf-spectacular hook that describes each stream."""
    for name in sorted(NAMES):
        if not name.endswith(":media"):  # the same stream as the one with `only_media`
            result["paths"][f"{ROOT}/{name.replace(':', '/')}"] = {"get": _operation(name)}
    result["tags"] = [*result.get("tags", []), TAG]
    return result


def _operation(name: str) -> dict[str, Any]:
    argument = _ARGUMENTS.get(name, "")
    parameters: list[dict[str, Any]] = [
        {"name": "Last-Event-ID", "in": "header", **_RESUME},
        {"name": "last_event_id", "in": "query", **_RESUME},
    ]
    if argument:
        schema = {"type": "string"}
        parameters.append({"name": argument, "in": "query", "required": True, "schema": schema})
    if name.startswith("public"):
        parameters.append({"name": "only_media", "in": "query", "schema": {"type": "boolean"}})
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    refusals = {"400": "A parameter is missing or wrong.", "401": "The access token is missing or invalid.",
                "403": "The token's scopes do not allow it.", "429": "Too many streams are open or are being resumed.",
                "503": "There are no live updates at the moment."}  # fmt: skip
    return {
        "operationId": f"stream_{name.replace(':', '_')}",
        "summary": DESCRIPTIONS[name],
        "description": EVENTS,
        "tags": [TAG["name"]],
        "servers": [{"url": settings.STREAMING_URL}],
        "security": [{"oauth2": list(Stream(name, "1").scopes)}],
        "parameters": parameters,
        "responses": {
            "200": {
                "description": "An endless stream of events.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            },
            **{code: {"description": text, "content": problem} for code, text in refusals.items()},
        },
    }
