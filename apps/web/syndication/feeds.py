"""Feeds of accounts, tags and of everybody."""

import hashlib
from collections.abc import Callable
from functools import partial

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.utils.translation import override
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.paging import Cursor
from apps.syndication.entries import Source, entries, of_account, of_everybody, of_tag
from apps.syndication.formats import FORMS, Feed
from apps.tags.queries import tag_named

CACHE_CONTROL = "public, max-age=60"
VERSION = 1  # of the forms: another one is another tag


@require_safe
def account(request: HttpRequest, handle: str, form: str) -> HttpResponseBase:
    """What an account says to everybody; 304 without reading a post when nothing of it has changed."""
    owner = user_by_handle(handle)
    if handle != owner.handle:
        return redirect(f"{owner.url}.{form}", permanent=True)
    known = quote_etag(_digest(request, form, *_facts(owner)))
    unchanged = get_conditional_response(request, etag=known)
    return unchanged or _answer(request, partial(of_account, owner), form, tag=known)


@require_safe
def tag(request: HttpRequest, name: str, form: str) -> HttpResponseBase:
    """Public posts with a tag."""
    return _answer(request, partial(of_tag, tag_named(name)), form)


@require_safe
def everybody(request: HttpRequest, form: str) -> HttpResponseBase:
    """Everything said to everybody."""
    return _answer(request, of_everybody, form)


def _answer(
    request: HttpRequest, make: Callable[[], Source], form: str, *, tag: str = ""
) -> HttpResponseBase:
    """A feed in a form. It is one for all readers, so it speaks the site's language, not the reader's."""
    with override(settings.LANGUAGE_CODE):
        source = make()
        page = source.posts(Cursor.from_query(request.GET))
        write, kind = FORMS[form]
        body = write(Feed(source, entries(page), page.older, form))
    tag = tag or quote_etag(_digest(request, form, body.decode()))
    response = HttpResponse(body, content_type=kind)
    headers = {"ETag": tag, "Cache-Control": CACHE_CONTROL, "Access-Control-Allow-Origin": "*"}
    for header, value in headers.items():
        response.headers[header] = value
    return get_conditional_response(request, etag=tag, response=response) or response


def _facts(owner: User) -> tuple[object, ...]:
    """All that the feed of an account is made of: the revision of its public posts, and what it says of itself."""
    return (
        owner.counts.outbox_revision,
        owner.handle,
        owner.display_name,
        owner.bio,
        owner.avatar.name,
    )


def _digest(request: HttpRequest, *facts: object) -> str:
    place = request.META.get("QUERY_STRING", "")
    return hashlib.blake2b(repr((VERSION, place, *facts)).encode(), digest_size=16).hexdigest()
