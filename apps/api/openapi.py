"""Changes to the OpenAPI document that drf-spectacular generates.

drf-spectacular inlines TypedDicts wherever they occur, without formats. Here each TypedDict becomes a
component, named after its class without "Json". Schemas follow OpenAPI 3.1, so null is a type.
"""

import json
from types import NoneType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from django.conf import settings
from django.db.models import Choices
from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import build_object_type, get_doc
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.serializers import Serializer

from apps.api.entities.base import Format, Object
from apps.api.entities.notification import NotificationGroupJson, NotificationJson
from apps.api.entities.status import StatusExtensionJson
from apps.api.hooks import notification_fields, status_fields
from apps.scopes import NAMES, needed_scopes

EMPTY_OBJECT = OpenApiResponse(OpenApiTypes.OBJECT, description="An empty object.")
BASIC: dict[Any, Object] = {
    Any: {},
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number", "format": "double"},
    bool: {"type": "boolean"},
}


class Entity(Serializer[Any]):
    """An entity as a response, for the document only: the JSON is made by the entity's builder, not by this class."""

    def __init__(self, entity: type[Any], **options: Any) -> None:
        super().__init__(**options)
        self.entity = entity


class EntityExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # the library is untyped here
    target_class = Entity
    target: Entity

    def get_name(self, auto_schema: AutoSchema, direction: str) -> str:
        del auto_schema, direction
        return self.target.entity.__name__.removesuffix("Json")

    def get_identity(self, auto_schema: AutoSchema, direction: str) -> type[Any]:
        del auto_schema, direction
        return self.target.entity

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> Object:
        del direction
        entity = self.target.entity
        hints, required = get_type_hints(entity, include_extras=True), set(entity.__required_keys__)
        if entity is StatusExtensionJson:  # optional apps add fields to it
            hints |= {field.name: field.kind for field in status_fields()}
            required |= {field.name for field in status_fields()}
        if entity in {NotificationJson, NotificationGroupJson}:
            hints |= {field.name: field.kind for field in notification_fields()}
        properties = {name: schema_of(hint, auto_schema) for name, hint in hints.items()}
        return build_object_type(properties, required, get_doc(entity))


def schema_of(hint: Any, auto_schema: AutoSchema) -> Object:
    """The OpenAPI 3.1 schema of a type; entities become components. Raises KeyError or ValueError if unsupported."""
    if is_typeddict(hint):
        return auto_schema.resolve_serializer(Entity(hint), "response").ref
    if get_origin(hint) is None:
        return dict(BASIC[hint])
    return _schema_of_parts(get_origin(hint), get_args(hint), auto_schema)


def _schema_of_parts(origin: Any, args: tuple[Any, ...], auto_schema: AutoSchema) -> Object:
    if origin is NotRequired:
        schema = schema_of(args[0], auto_schema)
    elif origin is Annotated:
        schema = _annotated(schema_of(args[0], auto_schema), args[1:])
    elif origin is Literal:
        schema = {**BASIC[type(args[0])], "enum": list(args)}
    elif origin is list:
        schema = {"type": "array", "items": schema_of(args[0], auto_schema)}
    elif origin is dict:
        schema = {"type": "object", "additionalProperties": schema_of(args[1], auto_schema)}
    else:  # a union: only `X | None` is supported
        (member,) = set(args) - {NoneType}
        schema = _nullable(schema_of(member, auto_schema))
    return schema


def _annotated(schema: Object, notes: tuple[Any, ...]) -> Object:
    """Apply the annotations of a type: a description, a format, the choices."""
    for note in notes:
        if isinstance(note, Format):
            schema["format"] = note.name
        elif isinstance(note, str):
            schema["description"] = note
        elif isinstance(note, list):
            schema["enum"] = note
        elif issubclass(note, Choices):
            schema["enum"] = note.values
    return schema


def _nullable(schema: Object) -> Object:
    if "$ref" in schema:
        return {"oneOf": [schema, {"type": "null"}]}
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    return {**schema, "type": [schema["type"], "null"]}


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the library is untyped here
    """OAuth bearer tokens in the document, with the scopes of each endpoint, one of which is enough."""

    target_class = "apps.api.authentication.BearerAuthentication"
    name = "oauth2"

    def get_security_definition(self, auto_schema: AutoSchema) -> Object:
        del auto_schema
        token = f"{settings.SITE_URL}/oauth/token"
        scopes = {name: _scope_text(name) for name in sorted(NAMES)}
        people = {"authorizationUrl": f"{settings.SITE_URL}/oauth/authorize", "tokenUrl": token}
        flows = {
            "authorizationCode": {**people, "scopes": scopes},
            "clientCredentials": {"tokenUrl": token, "scopes": scopes},
        }
        return {"type": "oauth2", "description": "A bearer token.", "flows": flows}

    def get_security_requirement(self, auto_schema: AutoSchema) -> list[Object]:
        scopes = needed_scopes(auto_schema.view, auto_schema.method)
        return [{"oauth2": [scope]} for scope in scopes] if scopes else [{"oauth2": []}]


def _scope_text(name: str) -> str:
    access, _colon, what = name.partition(":")
    return f"{access.capitalize()} {what or 'everything'}."


_PROBLEM_SCHEMA = {"schema": {"$ref": "#/components/schemas/Problem"}}
PROBLEM = {
    "content": {"application/json": _PROBLEM_SCHEMA, "application/problem+json": _PROBLEM_SCHEMA}
}
EVERYWHERE = {
    "400": "The request cannot be understood.",
    "401": "The access token is missing or invalid.",
    "403": "The token's scopes, or the other account's block or settings, do not allow it.",
    "429": "Too many requests: see X-RateLimit-Reset and Retry-After.",
    "503": "The request cannot be served at the moment; see Retry-After.",
}
WITH_A_BODY = {
    "415": "The body has a content type that is not accepted.",
    "422": "The content breaks a rule; `errors` names the fields.",
}
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"  # for files
METHODS = ("get", "post", "put", "patch", "delete")
TAGS = {
    "accounts": "Accounts and their posts; your own profile and preferences.",
    "api": "Timelines in other orders, groups of actions, translations.",
    "apps": "Applications that people log in with.",
    "circles": "Circles that you can post to.",
    "explain": "Why a post is or is not on a timeline.",
    "feeds": "Feeds defined by rules.",
    "filters": "Filters for words and statuses.",
    "instance": "The site: its limits, rules, languages and announcements.",
    "collections": "Collections of accounts, which people publish.",
    "lists": "Lists of accounts.",
    "media": "Pictures, videos and sounds, uploaded before the status that they are attached to.",
    "notifications": "Notifications, one by one and in groups, and those that are held back.",
    "oauth": "OAuth 2 tokens.",
    "operations": "The running site, for staff.",
    "polls": "Polls, which have the ids of their statuses.",
    "push": "Push notifications to devices.",
    "admin": "Information and decisions for staff.",
    "relationships": "Follows, blocks, mutes, and requests to follow.",
    "reports": "Reports to staff.",
    "search": "Search and suggestions.",
    "statuses": "Statuses, and actions on them.",
    "tags": "Hashtags that you follow or feature.",
    "timelines": "Timelines, conversations, and how far you have read them.",
    "trends": "Trending posts and tags.",
    "webhooks": "Webhooks, which notify your server of events in your account.",
}
_STRING: Object = {"type": "string"}
HEADERS: dict[str, Object] = {
    "Link": {
        "description": 'The next and previous pages: `<address>; rel="next"` and `rel="prev"`.',
        "schema": _STRING,
    },
    "ETag": {
        "description": "Send it as `If-None-Match` to get a 304 if nothing has changed.",
        "schema": _STRING,
    },
    "X-RateLimit-Limit": {
        "description": "How many requests of this kind are allowed in five minutes.",
        "schema": {"type": "integer"},
    },
    "X-RateLimit-Remaining": {"description": "How many remain.", "schema": {"type": "integer"}},
    "X-RateLimit-Reset": {
        "description": "When the count is reset.",
        "schema": {"type": "string", "format": "date-time"},
    },
    "Retry-After": {
        "description": "The number of seconds after which to try again.",
        "schema": {"type": "integer"},
    },
}
_LIMITS = [name for name in HEADERS if name.startswith("X-RateLimit")]


def complete_document(result: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """A drf-spectacular hook that adds to every operation the details that client generators need.

    A document without the component `Problem` stays unchanged.
    """
    schemas = result.get("components", {}).get("schemas", {})
    if "Problem" not in schemas:
        return result
    tags = set[str]()
    for path, operations in result["paths"].items():
        for method in METHODS:
            if method in operations:
                operation = operations[method]
                tags.update(operation["tags"])
                _ids_as_strings(operation)
                _keep_one_content_type(operation, schemas, is_of_oauth=path.startswith("/oauth/"))
                _add_common_answers(operation, has_id="{" in path)
                _add_headers(operation, method, is_of_api=path.startswith("/api/"))
                operation.setdefault("description", operation["summary"])
    for schema in schemas.values():
        for field in schema.get("properties", {}).values():
            _say_default(field)
    result["components"]["headers"] = HEADERS
    result["tags"] = [{"name": tag, "description": TAGS.get(tag, "")} for tag in sorted(tags)]
    return result


def _say_default(field: Object) -> None:
    """Move the default into the description, or drop it if it is null, 0 or empty.

    openapi-typescript would mark a field that has a default as required.
    """
    default = field.pop("default", None)
    if default or default is False:
        said = f"By default {json.dumps(default)}."
        field["description"] = f"{field.get('description', '')} {said}".strip()


def _add_headers(operation: dict[str, Any], method: str, *, is_of_api: bool) -> None:
    parameters = {one["name"] for one in operation.get("parameters", [])}
    for status, response in operation["responses"].items():
        names = list(_LIMITS) if is_of_api and status in {"200", "429"} else []
        if status in {"429", "503"}:
            names.append("Retry-After")
        if is_of_api and status == "200" and method == "get":
            names += ["ETag", "Link"] if "max_id" in parameters else ["ETag"]
        if names:
            refs = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
            response["headers"] = response.get("headers", {}) | refs


def _ids_as_strings(operation: dict[str, Any]) -> None:
    """Make ids in paths strings, as they are in responses: JavaScript would round the numbers."""
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path" and parameter["schema"].get("type") == "integer":
            parameter["schema"] = {"type": "string", "pattern": "^[0-9]+$"}


def _keep_one_content_type(
    operation: dict[str, Any], schemas: dict[str, Any], *, is_of_oauth: bool
) -> None:
    """Keep one content type: multipart for files, forms for /oauth, otherwise JSON.

    Endpoints accept JSON and forms, but generated clients would handle every content type that the document lists.
    """
    content = operation.get("requestBody", {}).get("content", {})
    if len(content) < 2:
        return
    name = content[JSON]["schema"].get("$ref", "").rpartition("/")[2]
    properties = schemas.get(name, {}).get("properties", {}).values()
    has_file = any(schema.get("format") == "binary" for schema in properties)
    form = MULTIPART if has_file else FORM if is_of_oauth else JSON
    operation["requestBody"]["content"] = {form: content[form]}


def _add_common_answers(operation: dict[str, Any], *, has_id: bool) -> None:
    responses = operation["responses"]
    common = dict(EVERYWHERE)
    if "requestBody" in operation:
        common |= WITH_A_BODY
    if has_id:
        common["404"] = "It does not exist, or the caller may not see it; the response is the same."
    for status, description in common.items():
        responses.setdefault(status, {**PROBLEM, "description": description})
    for response in responses.values():
        if response.get("content") == {"application/json": _PROBLEM_SCHEMA}:
            response["content"] = PROBLEM["content"]
