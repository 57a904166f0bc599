"""What every endpoint may answer besides what it says itself, added to the OpenAPI document in one place."""

from typing import Any

_SCHEMA = {"schema": {"$ref": "#/components/schemas/Problem"}}
PROBLEM = {"content": {"application/json": _SCHEMA, "application/problem+json": _SCHEMA}}
EVERYWHERE = {
    "400": "The request cannot be understood.",
    "401": "The access token is missing, or it is not good.",
    "403": "The token's scopes, or the person asked, do not allow it.",
    "429": "Too many requests: see X-RateLimit-Reset and Retry-After.",
    "503": "It cannot be served just now; Retry-After says when.",
}
WITH_A_BODY = {
    "415": "The body is in a form that is not taken.",
    "422": "The content breaks a rule; `errors` names the fields.",
}
METHODS = ("get", "post", "put", "patch", "delete")


def add_common_answers(result: dict[str, Any], **_more: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: refusals that may come from any endpoint, where it has not said more itself."""
    if "Problem" not in result.get("components", {}).get("schemas", {}):
        return result
    for path, operations in result["paths"].items():
        for method in METHODS:
            if method in operations:
                _complete(operations[method], has_id="{" in path)
    return result


def _complete(operation: dict[str, Any], *, has_id: bool) -> None:
    answers = operation["responses"]
    common = dict(EVERYWHERE)
    if "requestBody" in operation:
        common |= WITH_A_BODY
    if has_id:
        common["404"] = "It does not exist, or is not for who asks: the same answer for both."
    for status, description in common.items():
        answers.setdefault(status, {**PROBLEM, "description": description})
    for answer in answers.values():
        if answer.get("content") == {"application/json": _SCHEMA}:
            answer["content"] = PROBLEM["content"]
