"""A public post for those who show links: a picture of it, and how it is put into another page (oEmbed)."""

import re
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.utils.cache import get_conditional_response
from django.utils.html import format_html
from django.utils.http import quote_etag
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.addresses import absolute
from apps.errors import BadRequest, NotFound
from apps.http.requests import client_address
from apps.posts.models import Visibility
from apps.syndication.preview_image import Card, card_file
from apps.throttling import check_rate_limit
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.thread import visible_item
from feedcache.ids import parse_id

CACHE_CONTROL = "public, max-age=300"
EMBED_WIDTH, EMBED_HEIGHT, LEAST = 540, 400, 200  # pixels
URL_MAX_CHARACTERS = 500
NOT_IMPLEMENTED = 501
_POST = re.compile(r"@([A-Za-z0-9_]{1,30})/([0-9]{1,19})", re.ASCII)


@require_safe
def card(request: HttpRequest, handle: str, post_id: int) -> HttpResponseBase:
    """A public post as a picture; of one with a content warning only that."""
    shown = _public(post_id)
    if shown.author.handle != handle:
        return redirect(f"{shown.url}/card.png")
    text = shown.post.content_warning or shown.post.body
    wanted = Card(handle, shown.author.name, text, settings.SITE_NAME)
    tag = quote_etag(wanted.key)
    unchanged = get_conditional_response(request, etag=tag)
    if unchanged is not None:
        return unchanged
    address = client_address(request)
    made = card_file(
        wanted,
        shown.post.id,
        before_drawing=lambda: check_rate_limit("card", address),
        after_drawing=lambda: _require_unchanged(shown),
    )
    headers = {"ETag": tag, "Cache-Control": CACHE_CONTROL}
    return HttpResponse(made, content_type="image/png", headers=headers)


@require_safe
def oembed(request: HttpRequest) -> HttpResponse:
    """How a public post is put into another page: oEmbed 1.0, as JSON. BadRequest, NotFound."""
    if request.GET.get("format", "json") != "json":
        return HttpResponse(status=NOT_IMPLEMENTED)
    shown = _named(request.GET.get("url", ""))
    width = _side(request.GET.get("maxwidth", ""), EMBED_WIDTH)
    height = _side(request.GET.get("maxheight", ""), EMBED_HEIGHT)
    response = JsonResponse(_described(shown, width, height))
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Cache-Control"] = CACHE_CONTROL
    return response


def _described(shown: FeedItem, width: int, height: int) -> dict[str, Any]:
    title = f"{shown.author.name} (@{shown.author.handle})"
    frame = '<iframe src="{}" title="{}" width="{}" height="{}" loading="lazy"></iframe>'
    return {
        "type": "rich",
        "version": "1.0",
        "title": title,
        "author_name": shown.author.name,
        "author_url": absolute(shown.author.url),
        "provider_name": settings.SITE_NAME,
        "provider_url": absolute("/"),
        "cache_age": 300,
        "html": format_html(frame, absolute(f"{shown.url}/embed"), title, width, height),
        "width": width,
        "height": height,
    }


def _named(address: str) -> FeedItem:
    """The public post of an address of this site."""
    if not address or len(address) > URL_MAX_CHARACTERS:
        raise BadRequest(_("Say which post: url=its address."), code="bad_url")
    found = _POST.fullmatch(address.removeprefix(absolute("/")))
    if found is None:
        raise _not_here()
    try:
        shown = _public(parse_id(found[2]))
    except ValueError:
        raise _not_here() from None
    if shown.author.handle != found[1]:
        raise _not_here()
    return shown


def _require_unchanged(shown: FeedItem) -> None:
    """NotFound when a post is not what it was a moment ago."""
    now = _public(shown.post.id)
    if (now.post.version, now.author.name) != (shown.post.version, shown.author.name):
        raise _not_here()


def _public(post_id: int) -> FeedItem:
    """A post that is for everybody, as visitors see it."""
    shown = visible_item(None, post_id).shown
    if shown.post.visibility != Visibility.PUBLIC:
        raise _not_here()
    return shown


def _side(text: str, maximum: int) -> int:
    """A width or height that somebody asks for, in pixels, as far as it makes sense."""
    if not text:
        return maximum
    if not (text.isascii() and text.isdigit()):
        raise BadRequest(_("A width is a number of pixels."), code="bad_size")
    return max(LEAST, min(maximum, int(text[:6])))


def _not_here() -> NotFound:
    return NotFound(_("This post isn't here."))
