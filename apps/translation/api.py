"""Mastodon's endpoints for translations."""

from typing import Annotated, TypedDict

from django.conf import settings
from django.urls import URLPattern, path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.base import LANGUAGE, Input
from apps.api.params import validated
from apps.posts.content.text import html
from apps.translation import service
from apps.translation.actions import translated


class TranslateInput(Input):
    """The language to translate into."""

    lang = serializers.RegexField(
        LANGUAGE, required=False, default="", help_text="By default your language."
    )


class TranslatedOptionJson(TypedDict):
    """An option of a poll."""

    title: str


class TranslatedPollJson(TypedDict):
    """The options of a poll, in their order."""

    id: str
    options: list[TranslatedOptionJson]


class TranslatedMediaJson(TypedDict):
    """The description of a picture."""

    id: str
    description: str


class StatusTranslationJson(TypedDict):
    """A status in another language."""

    content: Annotated[str, "HTML."]
    spoiler_text: str
    language: str
    detected_source_language: str
    provider: str
    poll: TranslatedPollJson | None
    media_attachments: list[TranslatedMediaJson]


@operation(
    "Translate a post",
    StatusTranslationJson,
    name="translate_status",
    tags=["statuses"],
    request=TranslateInput,
    errors=[400, 401, 403, 404, 422, 429, 503],
)
@endpoint(POST="read:statuses")
def translate(request: Request, status_id: int) -> Response:
    """Translate a public or unlisted status. Its texts are sent to the site's translation service."""
    fields = validated(TranslateInput(data=request.data))
    item, translation = translated(viewer_of(request), status_id, fields["lang"])
    post = item.post
    answer: StatusTranslationJson = {
        "content": html(translation.body, handles=post.mentions, origin=settings.SITE_URL),
        "spoiler_text": translation.content_warning,
        "language": translation.target,
        "detected_source_language": translation.source,
        "provider": service.NAME,
        "poll": {
            "id": str(post.id),
            "options": [{"title": title} for title in translation.options],
        }
        if post.poll
        else None,
        "media_attachments": [
            {"id": str(pk), "description": text} for pk, text in translation.descriptions
        ],
    }
    return Response(answer)


@operation(
    "The languages that can be translated, and into which ones",
    dict[str, list[str]],
    name="translation_languages",
    tags=["instance"],
    errors=[503],
)
@endpoint(GET="read", public=True)
def languages(_request: Request) -> Response:
    """The target languages for each language of statuses; empty if the site does not translate."""
    return Response(dict(service.languages()) if settings.TRANSLATE_URL else {})


urlpatterns: list[URLPattern] = [
    path("statuses/<int:status_id>/translate", translate),
    path("instance/translation_languages", languages),
]
