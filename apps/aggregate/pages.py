"""The page of the aggregate feed. The same action by several people on the same object is shown as one line."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.aggregate.queries import Action, ActionCursor, aggregate_page
from apps.http.requests import AuthenticatedRequest, login_required

MAX_FACES = 5


@dataclass(frozen=True, slots=True)
class Line:
    """Actions with the same verb and object. `newest` is the latest of them; `actors` starts with the latest actor."""

    newest: Action
    actors: list[User] = field(default_factory=list)

    @property
    def faces(self) -> list[User]:
        return self.actors[:MAX_FACES]


@require_safe
@login_required
def aggregate(request: AuthenticatedRequest) -> HttpResponse:
    page = aggregate_page(request.user, ActionCursor.from_query(request.GET))
    context = {"page": page, "lines": grouped(page.items), "here": "home"}
    template = "aggregate/_page.html" if request.htmx else "aggregate/aggregate.html"
    return render(request, template, context)


def grouped(actions: Sequence[Action]) -> list[Line]:
    """Group actions by `group_key`; each line is placed where its newest action was."""
    lines: dict[str, Line] = {}
    for action in actions:
        lines.setdefault(action.group_key, Line(action)).actors.append(action.actor)
    return list(lines.values())


urlpatterns: list[URLPattern] = [path("aggregate", aggregate, name="aggregate")]
