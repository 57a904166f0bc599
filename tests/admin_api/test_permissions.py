"""Every endpoint for staff: who may ask, by which scope, and with which right."""

import pytest

from apps.admin_api import accounts, accounts_v2, blocks, reports, sign_up_blocks, trends
from apps.oauth.actions import register_application
from apps.scopes import NAMES, STAFF
from tests.admin_api.conftest import SCOPES
from tests.support.factories import PASSWORD
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db

MODULES = {"v1": (accounts, reports, trends, blocks, sign_up_blocks), "v2": (accounts_v2,)}
PATHS = [
    (f"/api/{version}/{one.pattern}", one.callback.cls)
    for version, modules in MODULES.items()
    for module in modules
    for one in module.urlpatterns
]


def requests():
    """(method, address, scopes) of all that is here, about something that is not there."""
    for pattern, view in PATHS:
        address = pattern.partition("<")[0]
        if "<" in pattern:
            address += "1" + pattern.partition(">")[2]
        for method, scopes in view.needed_scopes.items():
            yield method, address, scopes


def test_there_are_all_endpoints_of_mastodon_for_accounts_and_reports():
    found = {(method, address) for method, address, _scopes in requests()}
    for path in ("accounts", "accounts/1", "reports", "reports/1"):
        assert ("GET", f"/api/v1/admin/{path}") in found
    assert ("GET", "/api/v2/admin/accounts") in found
    for act in ("action", "enable", "unsilence", "unsuspend", "unsensitive", "approve", "reject"):
        assert ("POST", f"/api/v1/admin/accounts/1/{act}") in found
    for act in ("assign_to_self", "unassign", "resolve", "reopen"):
        assert ("POST", f"/api/v1/admin/reports/1/{act}") in found


@pytest.mark.long
@pytest.mark.gate
def test_members_are_refused_with_every_scope(alice, api_of, subtests):
    """No token of a member has these scopes; one of former staff keeps them."""
    staff = make_staff(handle="former")
    former = api_of(staff, SCOPES)
    staff.is_staff = False
    staff.save()
    member = api_of(alice)
    for method, address, _scopes in requests():
        with subtests.test(method=method, address=address):
            answer = former.generic(method, address)
            assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
            answer = member.generic(method, address)
            assert (answer.status_code, answer.json()["code"]) == (403, "insufficient_scope")


@pytest.mark.long
@pytest.mark.gate
def test_staff_without_the_right_are_refused(api_of, subtests):
    program = api_of(make_staff("posts.view_post"), SCOPES)
    for method, address, _scopes in requests():
        with subtests.test(method=method, address=address):
            answer = program.generic(method, address)
            assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")


@pytest.mark.long
@pytest.mark.gate
def test_each_needs_its_own_scope(api_of, subtests):
    """The right alone is not enough: a token of staff that may only read and write as a member does neither."""
    chief = make_staff(superuser=True)
    for method, address, scopes in requests():
        with subtests.test(method=method, address=address):
            others = " ".join(sorted(NAMES - {"admin:read", "admin:write"} - set(scopes)))
            answer = api_of(chief, others).generic(method, address)
            assert (answer.status_code, answer.json()["code"]) == (403, "insufficient_scope")
            for scope in scopes:
                assert scope in STAFF
                answer = api_of(chief, scope).generic(method, address)
                assert answer.status_code in {200, 404, 422}


def test_those_who_may_only_read_do_nothing(alice, report, api_of):
    reader = api_of(make_staff("accounts.view_user", "moderation.view_report"), SCOPES)
    assert reader.get("/api/v1/admin/accounts").status_code == 200
    assert reader.get(f"/api/v1/admin/reports/{report.pk}").status_code == 200
    for act in ("assign_to_self", "unassign", "resolve"):
        assert reader.post(f"/api/v1/admin/reports/{report.pk}/{act}").status_code == 403
    changed = reader.put(f"/api/v1/admin/reports/{report.pk}", {"category": "spam"}, format="json")
    assert changed.status_code == 403
    for measure in ("none", "silence", "disable", "suspend"):
        answer = reader.post(f"/api/v1/admin/accounts/{alice.pk}/action", {"type": measure})
        assert answer.status_code == 403
    report.refresh_from_db()
    alice.refresh_from_db()
    assert (report.resolved_at, report.assignee, report.category) == (None, None, "violation")
    assert alice.is_active


def test_staff_need_their_second_factor_where_the_site_asks_for_it(program, settings):
    settings.STAFF_SECOND_FACTOR = True
    answer = program.get("/api/v1/admin/accounts")
    assert (answer.status_code, answer.json()["error"]) == (
        403,
        "Staff need a second factor to do this.",
    )


def token(client, user, scope, program):
    said = {
        "grant_type": "password", "username": user.handle, "password": PASSWORD, "scope": scope,
        "client_id": program.application.client_id, "client_secret": program.secret,
    }  # fmt: skip
    return client.post("/oauth/token", said, format="json").json()


def test_only_staff_are_granted_these_scopes(api_of, alice, mod, settings):
    client = api_of(None)
    wanted = "read admin:read admin:write:reports"
    said = client.post("/api/v1/apps", {"client_name": "A", "scopes": wanted}, format="json").json()
    assert said["scopes"] == wanted.split()
    program = register_application(name="A", scopes=wanted)
    assert token(client, mod, wanted, program)["scope"] == wanted
    assert token(client, alice, wanted, program)["scope"] == "read"
    assert token(client, alice, "admin:read", program)["scope"] == "read"
    own = {
        "grant_type": "client_credentials", "scope": wanted,
        "client_id": program.application.client_id, "client_secret": program.secret,
    }  # fmt: skip
    assert client.post("/oauth/token", own, format="json").json()["scope"] == "read"
