"""Every endpoint says which scope it needs, and a token without it gets nowhere."""

from functools import cache

import pytest
from django.urls import URLResolver, get_resolver
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from apps import scopes as table
from apps.api.authentication import BearerAuthentication
from apps.api.decorators import endpoint
from apps.errors import Invalid, NotAllowed
from tests.support.factories import publish
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def endpoints(patterns=None, prefix=""):
    """(address, class of the endpoint) of all that is below /api/v and /api/x."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from endpoints(pattern.url_patterns, address)
        elif address.startswith(("api/v", "api/x/")):
            yield address, getattr(pattern.callback, "cls")  # noqa: B009 -- what api_view puts there has no type


def test_every_method_of_every_endpoint_declares_a_scope():
    found = [
        (method, address)
        for address, view in endpoints()
        for method in METHODS
        if hasattr(view, method.lower()) and table.needed_scopes(view, method) is None
    ]
    assert found == []


def test_nothing_is_declared_for_methods_that_are_not_there():
    for address, view in endpoints():
        for method in view.needed_scopes:
            assert hasattr(view, method.lower()), (method, address)


@pytest.mark.long
@pytest.mark.gate
def test_a_token_without_the_scope_is_refused_and_names_why(alice, api_of, settings, subtests):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, (10**9, 60))
    post = publish(alice)
    program_with = cache(lambda scopes: api_of(alice, scopes=scopes))
    for address, view in dict(endpoints()).items():
        for method, needed in view.needed_scopes.items():
            if needed == table.ANY_TOKEN or not view.authentication_classes:
                continue
            member = table.NAMES - table.STAFF
            others = " ".join(sorted(member - {"read", "write", "follow"} - set(needed)))
            with subtests.test(method=method, address=address):
                answer = program_with(others).generic(method, filled(address, post, alice))
                assert answer.status_code == 403
                assert answer.json()["code"] == "insufficient_scope"


def filled(address, post, user):
    """The path of an address, with the numbers of a post and of a user in it."""
    path = "/" + address
    for kind in ("int:", "post:", "str:"):
        while f"<{kind}" in path:
            start = path.index(f"<{kind}")
            number = post.pk if "status" in path[start:] else user.pk
            path = path[:start] + str(number) + path[path.index(">", start) + 1 :]
    return path


@pytest.mark.parametrize("scopes", ["read:statuses", "read", "read:accounts read:statuses"])
def test_a_wide_scope_covers_the_narrow_ones(alice, api_of, scopes):
    assert api_of(alice, scopes=scopes).get("/api/v1/timelines/home").status_code == 200


def test_follow_covers_reading_and_writing_of_relations(alice, bob, api_of):
    program = api_of(alice, scopes="follow")
    assert program.post(f"/api/v1/accounts/{bob.pk}/mute").status_code == 200
    assert program.get(f"/api/v1/accounts/relationships?id[]={bob.pk}").status_code == 200
    assert program.get("/api/v1/timelines/home").status_code == 403


def test_an_endpoint_that_declares_nothing_takes_no_token(alice, api_of):
    class Undeclared(APIView):
        def get(self, request):
            raise AssertionError

    request = APIRequestFactory().get(
        "/", HTTP_AUTHORIZATION=api_of(alice)._credentials["HTTP_AUTHORIZATION"]
    )
    view = Undeclared()
    view.authentication_classes = [BearerAuthentication]
    with pytest.raises(NotAllowed):
        view.initialize_request(request).user  # noqa: B018 -- asking is what authenticates


def test_scopes_that_do_not_exist_cannot_be_declared():
    with pytest.raises(ValueError, match="read:everything"):
        endpoint(GET="read:everything")


def test_personal_tokens_may_do_everything_by_default(alice, api_of):
    post = publish(alice)
    assert api_of(alice).delete(f"/api/v1/statuses/{post.pk}").status_code == 200


def test_scopes_of_staff_are_for_staff(alice, api_of):
    assert table.grantable(["read", "admin:read", "nothing"], alice) == ["read"]
    assert table.grantable(["read", "admin:read"], None) == ["read"]
    with pytest.raises(Invalid):
        api_of(alice, scopes="read admin:read")
    staff = make_staff()
    assert table.grantable(["read", "admin:read", "nothing"], staff) == ["read", "admin:read"]
    assert api_of(staff, scopes="admin:read").get("/api/v1/admin/accounts").status_code == 403
    assert "admin:read" not in table.ALL
