"""Feeds of accounts, of tags, and of all public posts."""

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
from apps.pagination import Cursor
from apps.syndication.feeds import FORMS, Feed, Source, entries, of_account, of_everybody, of_tag
from apps.tags.queries import tag_named

CACHE_CONTROL = "public, max-age=60"
VERSION = 1  # of the formats; part of the ETag


@require_safe
def account(request: HttpRequest, handle: str, form: str) -> HttpResponseBase:
    """An account's public posts; 304 without reading a post when nothing has changed."""
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
    """One feed for all readers, so in the site's language, not the reader's."""
    with override(settings.LANGUAGE_CODE):
        source = make()
        page = source.posts(Cursor.from_query(request.GET))
        write, kind = FORMS[form]
        body = write(Feed(source, entries(page), page.older, form))
    etag = etag or quote_etag(_digest(request, form, body.decode()))
    headers = {"ETag": etag, "Cache-Control": CACHE_CONTROL, "Access-Control-Allow-Origin": "*"}
    response = HttpResponse(body, content_type=kind, headers=headers)
    return get_conditional_response(request, etag=etag, response=response) or response


def _facts(owner: User) -> tuple[object, ...]:
    """What the feed of an account depends on: the revision of its public posts, its profile."""
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
