"""Sitemaps for any number of accounts and posts. An index lists the files: one for each range of
account ids, one for the posts of each day, and one for the site's own pages.

Django's paginated sitemaps count rows and use offsets, so that each file would read the table from the beginning.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Max, Min
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.addresses import absolute
from apps.http.requests import client_address
from apps.posts.models import Kind, Post, Visibility
from apps.throttling import check_rate_limit
from feedcache.ids import EPOCH, LAST_SECOND, first_id_at, second_of

ACCOUNTS_PER_FILE = 10_000  # ids, some of which are unused
POSTS_PER_FILE = 50_000  # the limit of the format; a day with more lists its newest posts
MAX_FILES = 50_000  # the format's limit for an index
HOUR, DAY = 3600, 24 * 3600
XML = "application/xml"


@require_safe
@cache_control(public=True, max_age=HOUR)
def index(request: HttpRequest) -> HttpResponse:
    """The index of all files: the site's own pages, accounts by id, posts by day."""
    names = [reverse("sitemap_pages"), *_account_files(), *_post_files()][:MAX_FILES]
    sitemaps = [{"location": absolute(name)} for name in names]
    return TemplateResponse(request, "sitemap_index.xml", {"sitemaps": sitemaps}, content_type=XML)


@require_safe
@cache_control(public=True, max_age=HOUR)
def pages(request: HttpRequest) -> HttpResponse:
    names = (
        "front",
        "public",
        "explore",
        "explore_tags",
        "about",
        "privacy",
        "rules",
        "audit",
        "about_api",
    )
    return _file(request, [{"location": absolute(reverse(name))} for name in names])


@require_safe
@cache_control(public=True, max_age=HOUR)
def accounts(request: HttpRequest, number: int) -> HttpResponse:
    """The accounts that allow indexing and are not limited, within a range of ids. Raises TooMany."""
    check_rate_limit("sitemap", client_address(request))
    first = number * ACCOUNTS_PER_FILE
    rows = User.objects.filter(
        pk__gte=first,
        pk__lt=first + ACCOUNTS_PER_FILE,
        suspended_at=None,
        limited_at=None,
        is_indexable=True,
    )
    handles = rows.order_by("pk").values_list("handle", flat=True)
    return _file(request, [{"location": absolute(f"/@{handle}")} for handle in handles])


@require_safe
@cache_control(public=True, max_age=HOUR)
def posts(request: HttpRequest, day: str) -> HttpResponse:
    """Public posts of a day (UTC) by the people in `accounts`, except reposts. Raises TooMany or Http404."""
    check_rate_limit("sitemap", client_address(request))
    try:
        second = int(datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise Http404 from None
    if not EPOCH <= second <= LAST_SECOND - DAY:
        raise Http404
    first, last = first_id_at(second), first_id_at(second + DAY)
    rows = Post.objects.filter(
        pk__gte=first,
        pk__lt=last,
        deleted_at=None,
        hidden_at=None,
        visibility=Visibility.PUBLIC,
        author__suspended_at=None,
        author__limited_at=None,
        author__is_indexable=True,
    ).exclude(kind=Kind.REPOST)
    facts = rows.order_by("-pk").values_list("pk", "author__handle", "edited_at", "created_at")
    return _file(
        request,
        [
            {"location": absolute(f"/@{handle}/{pk}"), "lastmod": edited or created}
            for pk, handle, edited, created in facts[:POSTS_PER_FILE]
        ],
    )


def _account_files() -> Iterator[str]:
    newest = User.objects.aggregate(newest=Max("pk"))["newest"] or 0
    for number in range(newest // ACCOUNTS_PER_FILE + 1):
        yield reverse("sitemap_accounts", args=[number])


def _post_files() -> Iterator[str]:
    """The files of the days since the first public post, newest first. One short index scan finds that post."""
    public = Post.objects.filter(deleted_at=None, visibility=Visibility.PUBLIC)
    first = public.aggregate(first=Min("pk"))["first"]
    if first is None:
        return
    day = timezone.now().astimezone(UTC).date()
    oldest = datetime.fromtimestamp(second_of(first), UTC).date()
    while day >= oldest:
        yield reverse("sitemap_posts", args=[day.isoformat()])
        day -= timedelta(days=1)


def _file(request: HttpRequest, urls: list[dict[str, Any]]) -> HttpResponse:
    return TemplateResponse(request, "sitemap.xml", {"urlset": urls}, content_type=XML)
