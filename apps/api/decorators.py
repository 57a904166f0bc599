"""The two decorators of an endpoint: the requests that it accepts, and its description in the OpenAPI document."""

from collections.abc import Callable, Iterable
from typing import Any, get_args, get_origin, is_typeddict

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.openapi import Entity
from apps.http.errors import ProblemJson
from apps.scopes import NAMES

Endpoint = Callable[..., Response]


def endpoint(
    *, public: bool = False, limit: str = "", **scopes: str | tuple[str, ...]
) -> Callable[[Endpoint], Endpoint]:
    """DRF's `api_view`, with the scopes that a token needs for each method; one of several scopes suffices.

    `public`: requests without a token are accepted too. `limit`: the rate limit that the action of a POST checks; if
    this process remembers the token, one round trip counts both the request and the action. Raises ValueError for an
    unknown scope.
    """
    needed = {
        method: (names,) if isinstance(names, str) else names for method, names in scopes.items()
    }
    unknown = {name for names in needed.values() for name in names} - NAMES
    if unknown:
        raise ValueError(f"no such scope: {', '.join(sorted(unknown))}")

    def to_view(function: Endpoint) -> Any:
        if public:
            permission_classes([AllowAny])(function)
        view: Any = api_view([*needed, "HEAD"] if "GET" in needed else list(needed))(function)
        if "GET" in needed:
            view.cls.head = _head
        view.cls.needed_scopes = needed
        view.cls.action_limit = limit
        return view

    return to_view


def _head(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
    """Respond as to GET; the server omits the body. The view sees GET, but `params.shows_its_answer` is False."""
    request.method = "GET"
    answer: Response = view.get(request, *args, **kwargs)
    return answer


def operation(
    summary: str,
    response: Any,
    *,
    name: str = "",
    method: str = "",
    errors: Iterable[int] | None = None,
    **schema: Any,
) -> Callable[[Endpoint], Endpoint]:
    """Describe an endpoint, or one of its methods, as `extend_schema` does. Apply it above `endpoint`.

    `response` is an entity, a list of entities, or anything that `extend_schema` accepts. `errors` are the statuses
    whose body is a Problem, in addition to those that `openapi.complete_document` adds; the default is for endpoints
    of the viewer's own objects. The function's docstring is the description. `name` and `tags` default to the names of
    the function and its module.
    """
    if get_origin(response) is list and is_typeddict(get_args(response)[0]):
        response = Entity(get_args(response)[0], many=True)
    elif is_typeddict(response):
        response = Entity(response)
    if errors is None:
        errors = [400, 401, 404, 422] if "request" in schema else [401, 404]
    responses = {200: response, **{status: Entity(ProblemJson) for status in errors}}
    responses |= schema.pop("responses", {})

    def describe(view: Any) -> Any:
        options = {"tags": [view.cls.__module__.rpartition(".")[2]], "request": None, **schema}
        return extend_schema(
            methods=[method] if method else None,
            operation_id=name or view.cls.__name__,
            summary=summary,
            responses=responses,
            **options,
        )(view)

    return describe
