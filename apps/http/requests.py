"""Who asks for a page, from where, and where they may be sent next."""

from collections.abc import Callable
from functools import wraps
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails
from rest_framework.request import Request

from apps.accounts.models import User
from apps.throttling import Origin

View = Callable[..., HttpResponseBase]


class SiteRequest(HttpRequest):
    """A request for a page; for type checkers only."""

    htmx: HtmxDetails


class AuthenticatedRequest(SiteRequest):
    """A request behind `login_required`; for type checkers only."""

    user: User


require_get_or_post = require_http_methods(["GET", "HEAD", "POST"])


class SeeOther(HttpResponseRedirect):
    """303: what answers a POST is looked at with GET."""

    status_code = 303


def viewer_of(request: HttpRequest | Request) -> User | None:
    """The signed-in user; None for a visitor, and where a request failed before anybody looked."""
    user = getattr(request, "user", None)
    return user if isinstance(user, User) else None


def viewer_id_of(request: HttpRequest | Request) -> int | None:
    """The id of who asks, for a page or through the API; None for a visitor."""
    viewer = viewer_of(request)
    return viewer.pk if viewer else None


def login_required(view: View) -> View:
    """Send visitors to the login page, and from there to where they were; a form's own address is no page."""

    @wraps(view)
    def inner(request: SiteRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        reading = request.method in {"GET", "HEAD"}
        back = request.get_full_path() if reading else next_url(request)
        address = f"{settings.LOGIN_URL}?{urlencode({'next': back})}"
        if request.htmx:
            return cast("HttpResponse", HttpResponseClientRedirect(address))
        return HttpResponseRedirect(address) if reading else SeeOther(address)

    return inner


def next_url(request: HttpRequest, default: str = "/") -> str:
    """The address a form or link asks to go on to, if it is one of this site; else `default`."""
    asked = request.POST.get("next") or request.GET.get("next") or ""
    return asked if _is_ours(request, asked) else default


def return_url(request: HttpRequest, default: str = "/") -> str:
    """Where a page that asks something leads back to: what its form or link says, else the page it was opened from."""
    opened_from = urlsplit(request.headers.get("Referer", ""))
    address = opened_from._replace(scheme="", netloc="", fragment="").geturl()
    is_page = opened_from.netloc == request.get_host() and opened_from.path != request.path
    return next_url(request, address if is_page and _is_ours(request, address) else default)


def _is_ours(request: HttpRequest, address: str) -> bool:
    fits = url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    # a bare word is no address of ours: Django's redirect would look for a view of this name
    return fits and address.startswith(("/", "http://", "https://"))


def client_address(request: HttpRequest) -> str:
    """What limits count by: the client's address, of IPv6 the network of one subscriber.

    `X-Forwarded-For` is read only as far as TRUSTED_PROXY_HOPS proxies of ours wrote it.
    """
    peer = str(request.META.get("REMOTE_ADDR", ""))
    hops = settings.TRUSTED_PROXY_HOPS
    chain = request.headers.get("X-Forwarded-For", "").split(",")
    text = chain[-hops].strip() if 0 < hops <= len(chain) else peer
    try:
        address: IPv4Address | IPv6Address = ip_address(text)
    except (AddressValueError, ValueError):
        return peer
    if isinstance(address, IPv4Address) or address.ipv4_mapped:
        return str(getattr(address, "ipv4_mapped", address))
    return str(ip_network((address, 64), strict=False))


def session_origin(request: HttpRequest) -> Origin:
    """From where somebody in a session is asked for their password. Others' failures cannot use up the session's limit."""
    return Origin(client_address(request), f"session {request.session.session_key}")
