"""The four pages after signing up: introduction, topics, people to follow, a first post.

Each page can be skipped, and `/welcome` can be opened again at any time.
"""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.actions import update_profile
from apps.errors import Invalid
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    login_required,
    next_url,
    require_get_or_post,
)
from apps.languages import WRITTEN, in_page_language, page_language
from apps.search.suggestions import follow_pack
from apps.tags.actions import follow_tag
from apps.tags.trends import trending_tags
from apps.web.forms.accounts import IntroductionForm, TopicsForm, add_errors, render_form
from apps.web.home_composer import home_composer_context
from apps.web.people.people_to_follow import people_to_follow_context

STEPS = ("welcome", "welcome_topics", "welcome_people", "welcome_post")
TOPICS = 12  # number of tags offered


@require_get_or_post
@login_required
def introduction(request: AuthenticatedRequest) -> HttpResponseBase:
    """The page for the picture, the name and a short bio."""
    user = request.user
    initial = {"display_name": user.display_name, "bio": user.bio}
    form = IntroductionForm(request.POST or None, request.FILES or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            update_profile(
                user,
                **{name: form.cleaned_data[name] for name in ("display_name", "bio", "avatar")},
            )
        except Invalid as error:
            add_errors(form, error)
        else:
            return SeeOther(reverse("welcome_topics"))
    return _step(request, 1, form)


@require_get_or_post
@login_required
def topics(request: AuthenticatedRequest) -> HttpResponseBase:
    """The page to choose tags to follow, and the reader's languages, which the next page uses to suggest people."""
    form = TopicsForm(
        request.POST or None,
        offered=_topics(),
        initial={"languages": [page_language()]},
    )
    if request.method == "POST" and form.is_valid():
        try:
            for name in form.names():
                follow_tag(request.user, name)
        except Invalid as error:
            add_errors(form, error, {"name": "others"})
        else:
            return SeeOther(_people_url(form.cleaned_data["languages"]))
    return _step(request, 2, form)


@require_safe
@login_required
def people(request: AuthenticatedRequest) -> HttpResponse:
    """The page with starter packs and suggestions, in the languages chosen on the previous page."""
    known = dict(WRITTEN)
    languages = [code for code in request.GET.getlist("read") if code in known]
    return _step(
        request, 3, **people_to_follow_context(request.user, languages or [page_language()])
    )


@require_POST
@login_required
def follow_everybody(request: AuthenticatedRequest, pack_id: int) -> HttpResponseBase:
    """Follow the accounts in a starter pack, except blocked and muted ones."""
    followed = follow_pack(request.user, pack_id)
    said = ngettext(
        "You follow %(count)d more account.", "You follow %(count)d more accounts.", followed
    )
    messages.success(request, said % {"count": followed})
    return SeeOther(next_url(request, reverse("welcome_people")))


@require_safe
@login_required
def first_post(request: AuthenticatedRequest) -> HttpResponse:
    return _step(request, 4, **home_composer_context(request.user))


def _topics() -> list[str]:
    """The trending tags; those written in the script of the page's language come first."""
    names = [tag.name for tag in trending_tags(maximum=TOPICS)]
    return sorted(names, key=lambda name: not in_page_language(name))


def _people_url(languages: list[str]) -> str:
    query = urlencode([("read", code) for code in languages])
    return f"{reverse('welcome_people')}?{query}" if query else reverse("welcome_people")


def _step(
    request: AuthenticatedRequest, number: int, form: Any = None, **context: Any
) -> HttpResponse:
    following = reverse(STEPS[number]) if number < len(STEPS) else "/"
    context |= {"number": number, "last": len(STEPS), "following_step": following}
    template = f"accounts/{STEPS[number - 1]}.html"
    if form is None:
        return render(request, template, context)
    return render_form(request, template, {"form": form, **context}, form)
