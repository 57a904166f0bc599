"""The streams in the OpenAPI document of the API: another process serves them, so no view describes them."""

from typing import Any

from django.conf import settings

from apps.streaming.server import ROOT
from apps.streaming.streams import NAMES, Stream

TAG = {
    "name": "streaming",
    "description": "Streams of events, which a process of their own serves.",
}
DESCRIPTIONS = {
    "user": "Home, notifications, and what you do on other devices",
    "user:notification": "Your notifications",
    "direct": "Your conversations",
    "public": "All public posts",
    "public:local": "The same: there are no other sites",
    "public:remote": "Nothing: there are no other sites",
    "hashtag": "Public posts with a tag",
    "hashtag:local": "The same: there are no other sites",
    "list": "The posts of one of your lists",
}
EVENTS = """Server-sent events. `data` is JSON, but for `delete` the id of a status, and empty for `filters_changed`. \
Lines that begin with a colon show that the connection is alive. Give the last `id` as `Last-Event-ID` to continue."""
_RESUME = {
    "description": "The last `id` that came, or the id of the newest status that you have: the stream begins with "
    "what you missed, or with the event `feedsite.missed` if that is more than 400 posts or notifications (40 "
    "conversations), or posts of more than two days.",
    "schema": {"type": "string", "maxLength": 1600},
}
_ARGUMENTS = {"hashtag": "tag", "hashtag:local": "tag", "list": "list"}


def add_streams(result: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: describe each stream."""
    for name in sorted(NAMES):
        if not name.endswith(":media"):  # the same with a parameter
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
                "403": "The token's scopes do not allow it.", "429": "Too many streams are open, or are continued.",
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
                "description": "Events, without an end.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            },
            **{code: {"description": text, "content": problem} for code, text in refusals.items()},
        },
    }
