"""A request's viewer and client address, redirects to and from forms, downloads, and limits for searches."""

import re
from collections.abc import Callable, Iterable
from functools import wraps
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails
from rest_framework.request import Request

from apps.accounts.models import User
from apps.throttling import Origin, check_rate_limit

View = Callable[..., HttpResponseBase]
_has_bad_character = re.compile("[\x00\ud800-\udfff]").search


class SiteRequest(HttpRequest):
    """A request for a page, as type checkers see it."""

    htmx: HtmxDetails


class AuthenticatedRequest(SiteRequest):
    """A request behind `login_required`, as type checkers see it."""

    user: User


require_get_or_post = require_http_methods(["GET", "HEAD", "POST"])


class SeeOther(HttpResponseRedirect):
    """A redirect with status 303, which browsers follow with GET even after a POST."""

    status_code = 303


def as_download(response: HttpResponseBase, name: str, content_type: str) -> HttpResponseBase:
    """Make browsers save a response as a file with this name, without caching it."""
    response.headers["Content-Type"] = content_type
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "private, no-store"
    return response


def viewer_of(request: HttpRequest | Request) -> User | None:
    """The user of a request; None for visitors, or if the request failed before its user was set."""
    user = getattr(request, "user", None)
    return user if isinstance(user, User) else None


def viewer_id_of(request: HttpRequest | Request) -> int | None:
    viewer = viewer_of(request)
    return viewer.pk if viewer else None


def login_required(view: View) -> View:
    """Redirect visitors to the login page, which redirects back after the login."""

    @wraps(view)
    def inner(request: SiteRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        return redirect_and_back(request, settings.LOGIN_URL)

    return inner


def redirect_and_back(request: SiteRequest, path: str) -> HttpResponseBase:
    """Redirect to `path`, with the parameter `next`: the current URL or, for a POST, the `next` of the posted form."""
    is_safe = request.method in {"GET", "HEAD"}
    url = f"{path}?{urlencode({'next': request.get_full_path() if is_safe else next_url(request)})}"
    if request.htmx:
        return HttpResponseClientRedirect(url)
    return HttpResponseRedirect(url) if is_safe else SeeOther(url)


def next_url(request: HttpRequest, default: str = "/") -> str:
    """The `next` of a form or link, if it is a URL of this site; else `default`."""
    url = request.POST.get("next") or request.GET.get("next") or ""
    return url if _is_on_this_site(request, url) else default


def return_url(request: HttpRequest, default: str = "/") -> str:
    """Where a confirmation page leads back: `next`, else the `Referer` if it is another page here, else `default`."""
    referer = urlsplit(request.headers.get("Referer", ""))
    url = referer._replace(scheme="", netloc="", fragment="").geturl()
    is_other_page = referer.netloc == request.get_host() and referer.path != request.path
    return next_url(request, url if is_other_page and _is_on_this_site(request, url) else default)


def _is_on_this_site(request: HttpRequest, url: str) -> bool:
    is_allowed = url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    # Django's `redirect` would treat a bare word as the name of a view
    return is_allowed and url.startswith(("/", "http://", "https://"))


def client_ip(request: HttpRequest | Request) -> IPv4Address | IPv6Address | None:
    """The IP address of the client; None if it is missing or malformed.

    Only the last TRUSTED_PROXY_HOPS entries of `X-Forwarded-For`, which the site's own proxies added, are trusted.
    """
    peer = str(request.META.get("REMOTE_ADDR", ""))
    hops = settings.TRUSTED_PROXY_HOPS
    chain = request.headers.get("X-Forwarded-For", "").split(",")
    text = chain[-hops].strip() if 0 < hops <= len(chain) else peer
    try:
        address: IPv4Address | IPv6Address = ip_address(text)
    except (AddressValueError, ValueError):
        return None
    return getattr(address, "ipv4_mapped", None) or address


def client_address(request: HttpRequest | Request) -> str:
    """The key for rate limits: the client's IPv4 address, the /64 network of an IPv6 address, or else REMOTE_ADDR."""
    address = client_ip(request)
    if address is None:
        return str(request.META.get("REMOTE_ADDR", ""))
    is_v4 = isinstance(address, IPv4Address)
    return str(address if is_v4 else ip_network((address, 64), strict=False))


def limit_searches(request: HttpRequest | Request) -> None:
    """Count a search against the limit of the account or, for visitors, of the client's address. Raises TooMany."""
    viewer_id = viewer_id_of(request)
    check_rate_limit("search", client_address(request) if viewer_id is None else str(viewer_id))


def session_origin(request: HttpRequest) -> Origin:
    """The origin of password guesses in this session. Its limit is its own: other people's guesses cannot use it up."""
    return Origin(client_address(request), f"session {request.session.session_key}")


def is_malformed(texts: Iterable[str]) -> bool:
    """Whether any text contains a NUL or a lone surrogate, which PostgreSQL cannot store."""
    return any(map(_has_bad_character, texts))
