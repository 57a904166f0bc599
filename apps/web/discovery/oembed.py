"""oEmbed, with which other sites embed public posts."""

import re
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.addresses import absolute
from apps.errors import BadRequest, NotFound
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.thread import public_item
from feedcache.ids import parse_id

CACHE_CONTROL = "public, max-age=300"
EMBED_WIDTH, EMBED_HEIGHT, MIN_SIDE = 540, 400, 200  # pixels
URL_MAX_CHARACTERS = 500
NOT_IMPLEMENTED = 501
_POST = re.compile(r"@([A-Za-z0-9_]{1,30})/([0-9]{1,19})", re.ASCII)


@require_safe
def oembed(request: HttpRequest) -> HttpResponse:
    """The oEmbed 1.0 document of a public post, as JSON."""
    if request.GET.get("format", "json") != "json":
        return HttpResponse(status=NOT_IMPLEMENTED)
    item = _post_at(request.GET.get("url", ""))
    width = _side(request.GET.get("maxwidth", ""), EMBED_WIDTH)
    height = _side(request.GET.get("maxheight", ""), EMBED_HEIGHT)
    response = JsonResponse(_oembed_json(item, width, height))
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Cache-Control"] = CACHE_CONTROL
    return response


def _oembed_json(item: FeedItem, width: int, height: int) -> dict[str, Any]:
    title = f"{item.author.name} (@{item.author.handle})"
    frame = '<iframe src="{}" title="{}" width="{}" height="{}" loading="lazy"></iframe>'
    return {
        "type": "rich",
        "version": "1.0",
        "title": title,
        "author_name": item.author.name,
        "author_url": absolute(item.author.url),
        "provider_name": settings.SITE_NAME,
        "provider_url": absolute("/"),
        "cache_age": 300,
        "html": format_html(frame, absolute(f"{item.url}/embed"), title, width, height),
        "width": width,
        "height": height,
    }


def _post_at(address: str) -> FeedItem:
    """The public post at a URL of this site. Raises BadRequest or NotFound."""
    if not address or len(address) > URL_MAX_CHARACTERS:
        raise BadRequest(_("Specify the post: url=address."), code="bad_url")
    match = _POST.fullmatch(address.removeprefix(absolute("/")))
    if match is None:
        raise _not_found()
    try:
        item = public_item(parse_id(match[2]))
    except ValueError:
        raise _not_found() from None
    if item.author.handle != match[1]:
        raise _not_found()
    return item


def _side(text: str, maximum: int) -> int:
    """A requested width or height in pixels, from MIN_SIDE to `maximum`, which is the default. Raises BadRequest."""
    if not text:
        return maximum
    if not (text.isascii() and text.isdigit()):
        raise BadRequest(_("Width and height must be numbers of pixels."), code="bad_size")
    return max(MIN_SIDE, min(maximum, int(text[:6])))


def _not_found() -> NotFound:
    return NotFound(_("This post isn't here."))
