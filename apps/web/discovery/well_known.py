"""Documents for programs: WebFinger (RFC 7033), host-meta (6415), security.txt (9116), OpenSearch, a public key."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit
from xml.sax.saxutils import escape

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.accounts.queries import user_by_handle
from apps.addresses import absolute
from apps.audit.own_page.signing import public_key
from apps.errors import BadRequest, NotFound
from apps.web.hooks import OTHER_FORMS

DAY = 24 * 3600
RESOURCE_MAX_CHARACTERS = 500
OPENSEARCH = """<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
  <ShortName>{name}</ShortName>
  <Description>{about}</Description>
  <InputEncoding>UTF-8</InputEncoding>
  <Image type="image/svg+xml">{icon}</Image>
  <Url type="text/html" template="{search}?q={{searchTerms}}"/>
</OpenSearchDescription>
"""
HOST_META = """<?xml version="1.0" encoding="UTF-8"?>
<XRD xmlns="http://docs.oasis-open.org/ns/xri/xrd-1.0">
  <Link rel="lrdd" template="{webfinger}?resource={{uri}}"/>
</XRD>
"""


@require_safe
@cache_control(public=True, max_age=60)
def webfinger(request: HttpRequest) -> JsonResponse:
    """The WebFinger document for `acct:alice@host`, or for the URL of a profile."""
    resource = request.GET.get("resource", "")
    if not resource or len(resource) > RESOURCE_MAX_CHARACTERS:
        raise BadRequest(_("Specify the account: resource=acct:name@host."), code="bad_resource")
    return JsonResponse(_webfinger_json(_account(resource)), content_type="application/jrd+json")


@require_safe
@cache_control(public=True, max_age=DAY)
def host_meta(_request: HttpRequest) -> HttpResponse:
    body = HOST_META.format(webfinger=escape(absolute(reverse("webfinger"))))
    return HttpResponse(body, content_type="application/xrd+xml; charset=utf-8")


@require_safe
@cache_control(public=True, max_age=DAY)
def security(_request: HttpRequest) -> HttpResponse:
    """security.txt (RFC 9116); it expires at the end of next year."""
    expires = datetime(timezone.now().year + 1, 12, 31, tzinfo=UTC)
    lines = [
        f"Contact: {settings.SECURITY_CONTACT}",
        f"Expires: {expires:%Y-%m-%dT%H:%M:%SZ}",
        "Preferred-Languages: en, zh",
        f"Canonical: {absolute(reverse('security_txt'))}",
    ]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


@require_safe
@cache_control(public=True, max_age=DAY)
def page_key(_request: HttpRequest) -> HttpResponse:
    """The public key that verifies the receipts in the page archives that readers download (Ed25519, PEM)."""
    key = public_key()
    if key is None:
        raise NotFound(_("This site does not sign pages."))
    return HttpResponse(key, content_type="application/x-pem-file")


@require_safe
def change_password(_request: HttpRequest) -> HttpResponseRedirect:
    """Redirect to the form for changing the password. Password managers use this address."""
    return HttpResponseRedirect(reverse("password_change"))


@require_safe
@cache_control(public=True, max_age=DAY)
def opensearch(_request: HttpRequest) -> HttpResponse:
    body = OPENSEARCH.format(
        name=escape(settings.SITE_NAME[:16]),
        about=escape(_("Search %(name)s") % {"name": settings.SITE_NAME}),
        icon=escape(absolute(reverse("favicon"))),
        search=escape(absolute(reverse("search"))),
    )
    return HttpResponse(body, content_type="application/opensearchdescription+xml; charset=utf-8")


def _account(resource: str) -> User:
    """The account that `resource` names. Raises NotFound if this site has no such account."""
    host = urlsplit(settings.SITE_URL).netloc
    if resource.startswith("acct:"):
        handle, _at, where = resource.removeprefix("acct:").removeprefix("@").partition("@")
        if where.lower() != host.lower():
            raise NotFound(_("There is no account with this handle."))
        return user_by_handle(handle)
    profile = absolute("/@")
    if not resource.startswith(profile):
        raise NotFound(_("There is no account with this handle."))
    return user_by_handle(resource.removeprefix(profile))


def _webfinger_json(user: User) -> dict[str, Any]:
    host, profile = urlsplit(settings.SITE_URL).netloc, absolute(user.url)
    html = {"rel": "http://webfinger.net/rel/profile-page", "type": "text/html", "href": profile}
    updates = "http://schemas.google.com/g/2010#updates-from"
    feeds = [
        {"rel": updates, "type": form.media_type, "href": profile + form.suffix}
        for form in OTHER_FORMS
    ]
    return {
        "subject": f"acct:{quote(user.handle)}@{host}",
        "aliases": [profile],
        "links": [html, *feeds],
    }
