"""Feeds of accounts, of tags, and of all public posts; the preview image of a post."""

import hashlib
from collections.abc import Callable
from functools import partial

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.errors import NotFound
from apps.http.requests import client_address
from apps.pagination import Cursor
from apps.syndication.feeds import FORMS, Feed, Source, entries, of_account, of_everybody, of_tag
from apps.syndication.preview_image import Card, card_file
from apps.tags.queries import tag_named
from apps.throttling import check_rate_limit
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.thread import public_item

CACHE_CONTROL = "public, max-age=60"
CARD_CACHE_CONTROL = "public, max-age=300"
VERSION = 1  # part of the ETag; raise it when a format changes


@require_safe
def account(request: HttpRequest, handle: str, form: str) -> HttpResponseBase:
    """A feed of an account's public posts; answers 304 without reading posts if nothing has changed."""
    owner = user_by_handle(handle)
    if handle != owner.handle:
        return redirect(f"{owner.url}.{form}", permanent=True)
    etag = quote_etag(_digest(request, form, *_facts(owner)))
    unchanged = get_conditional_response(request, etag=etag)
    return unchanged or feed_response(request, partial(of_account, owner), form, etag=etag)


@require_safe
def tag(request: HttpRequest, name: str, form: str) -> HttpResponseBase:
    return feed_response(request, partial(of_tag, tag_named(name)), form)


@require_safe
def everybody(request: HttpRequest, form: str) -> HttpResponseBase:
    return feed_response(request, of_everybody, form)


def feed_response(
    request: HttpRequest, make: Callable[[], Source], form: str, *, etag: str = ""
) -> HttpResponseBase:
    """Respond with a feed, in the site's language, because all readers share it."""
    with override(settings.LANGUAGE_CODE):
        source = make()
        page = source.posts(Cursor.from_query(request.GET))
        body = FORMS[form].write(Feed(source, entries(page), page.older, form))
    etag = etag or quote_etag(_digest(request, form, body.decode()))
    headers = {"ETag": etag, "Cache-Control": CACHE_CONTROL, "Access-Control-Allow-Origin": "*"}
    kind = f"{FORMS[form].media_type}; charset=utf-8"
    response = HttpResponse(body, content_type=kind, headers=headers)
    return get_conditional_response(request, etag=etag, response=response) or response


@require_safe
def card(request: HttpRequest, handle: str, post_id: int) -> HttpResponseBase:
    """The preview image of a public post. A content warning is drawn instead of the text."""
    item = public_item(post_id)
    if item.author.handle != handle:
        return redirect(f"{item.url}/card.png")
    text = item.post.content_warning or item.post.body
    preview = Card(handle, item.author.name, text, settings.SITE_NAME)
    etag = quote_etag(preview.key)
    unchanged = get_conditional_response(request, etag=etag)
    if unchanged is not None:
        return unchanged
    address = client_address(request)
    file = card_file(
        preview,
        item.post.id,
        before_drawing=lambda: check_rate_limit("card", address),
        after_drawing=lambda: _require_unchanged(item),
    )
    headers = {"ETag": etag, "Cache-Control": CARD_CACHE_CONTROL}
    return HttpResponse(file, content_type="image/png", headers=headers)


def _require_unchanged(item: FeedItem) -> None:
    """Raise NotFound if the post or its author's name has changed since it was read."""
    current = public_item(item.post.id)
    if (current.post.version, current.author.name) != (item.post.version, item.author.name):
        raise NotFound(_("This post isn't here."))


def _facts(owner: User) -> tuple[object, ...]:
    """Everything that an account's feed depends on: the revision of its open posts, and its profile."""
    return (
        owner.counts.outbox_revision,
        owner.handle,
        owner.display_name,
        owner.bio,
        owner.avatar.name,
    )


def _digest(request: HttpRequest, *facts: object) -> str:
    query = request.META.get("QUERY_STRING", "")
    return hashlib.blake2b(repr((VERSION, query, *facts)).encode(), digest_size=16).hexdigest()


urlpatterns: list[URLPattern] = [
    *[path(f"@<str:handle>.{form}", account, {"form": form}) for form in FORMS],
    *[path(f"tags/<str:name>.{form}", tag, {"form": form}) for form in FORMS],
    *[path(f"public.{form}", everybody, {"form": form}) for form in FORMS],
    path("@<str:handle>/<post:post_id>/card.png", card, name="card"),
]
