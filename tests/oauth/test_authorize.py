"""The consent page: who gets a code, where it is sent, and what it is worth."""

import base64
import hashlib
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from oauth2_provider.models import AccessToken, Grant

from apps.oauth.actions import issue_access, register_application
from apps.oauth.models import OUT_OF_BAND
from apps.oauth.queries import connections_of
from apps.scopes import OFFERED
from tests.support.factories import PASSWORD
from tests.support.staff import make_staff
from tests.support.threads import together

pytestmark = pytest.mark.django_db

BACK = "https://elephant.example/back"


def address(program, **more):
    asked = {
        "response_type": "code", "client_id": program.application.client_id, "redirect_uri": BACK,
        "scope": "read write:statuses", "state": "a state", **more,
    }  # fmt: skip
    return "/oauth/authorize?" + urlencode(
        {name: text for name, text in asked.items() if text is not None}
    )


def code_of(answer):
    assert answer.status_code == 302
    return parse_qs(urlsplit(answer.headers["Location"]).query)["code"][0]


def exchange(program, code, **more):
    said = {
        "grant_type": "authorization_code", "client_id": program.application.client_id, "client_secret": program.secret,
        "code": code or "", "redirect_uri": BACK, **more,
    }  # fmt: skip
    return Client().post("/oauth/token", said, content_type="application/json")


def test_visitors_log_in_first_and_come_back(alice, program):
    browser, asked = Client(), address(program)
    answer = browser.get(asked)
    assert answer.status_code == 302
    answer = browser.post(answer.headers["Location"], {"username": "alice", "password": PASSWORD})
    assert (answer.status_code, answer.headers["Location"]) == (303, asked)


def test_the_page_says_who_wants_what(alice, page_of, program):
    answer = page_of(alice).get(address(program))
    text = answer.content.decode()
    assert "Elephant" in text
    assert "@alice" in text
    assert "write:statuses" in text
    assert "elephant.example" in text
    assert answer.headers["Cache-Control"] == "no-store"
    assert (
        "form-action 'self' https://elephant.example" in answer.headers["Content-Security-Policy"]
    )
    assert not Grant.objects.exists()


def test_the_page_offers_push_where_the_site_has_it(alice, page_of, program, monkeypatch):
    text = page_of(alice).get(address(program, scope="read push")).content.decode()
    assert "Notify you on your devices" in text
    assert text.count("<li>") == 2
    token = page_of(alice).get("/settings/account").text
    assert 'value="read"' in token
    assert 'value="push"' in token
    monkeypatch.setattr("apps.web.account.applications.OFFERED", OFFERED - {"push"})
    text = page_of(alice).get(address(program, scope="read push")).content.decode()
    assert text.count("<li>") == 1


def test_an_allowed_program_gets_a_code_that_is_worth_one_token(alice, page_of, program):
    answer = page_of(alice).post(address(program), {"allow": "1"})
    query = parse_qs(urlsplit(answer.headers["Location"]).query)
    assert answer.headers["Location"].startswith(BACK + "?")
    assert query["state"] == ["a state"]
    body = exchange(program, query["code"][0]).json()
    assert body["scope"] == "read write:statuses"
    me = Client().get(
        "/api/v1/accounts/verify_credentials",
        headers={"Authorization": f"Bearer {body['access_token']}"},
    )
    assert me.json()["username"] == "alice"
    assert exchange(program, query["code"][0]).json()["error"] == "invalid_grant"


def test_scopes_that_do_not_exist_are_asked_for_in_vain(alice, page_of, program):
    asked = address(program, scope="read admin:read read:horoscopes")
    page = page_of(alice).get(asked).text
    assert page.count("<li>") == 1
    answer = page_of(alice).post(asked, {"allow": "1"})
    assert exchange(program, code_of(answer)).json()["scope"] == "read"
    # one that exists, and that the program did not register, is refused as before
    answer = page_of(alice).post(address(program, scope="read profile"), {"allow": "1"})
    assert "error=invalid_scope" in answer.headers["Location"]


@pytest.mark.slow
def test_staff_are_asked_for_scopes_of_staff_and_members_are_not(alice, page_of):
    elephant = register_application(
        name="Elephant", redirect_uris=[BACK], scopes="read admin:read admin:write:reports"
    )
    asked = address(elephant, scope="read admin:read admin:write:reports")
    mod = make_staff("moderation.view_report")
    for user, granted in ((mod, "read admin:read admin:write:reports"), (alice, "read")):
        page = page_of(user).get(asked).text
        assert page.count("<li>") == len(granted.split())
        assert ("e-mail addresses" in page) == (user == mod)
        answer = page_of(user).post(asked, {"allow": "1"})
        assert exchange(elephant, code_of(answer)).json()["scope"] == granted
    answer = page_of(alice).post(address(elephant, scope="admin:read"), {"allow": "1"})
    assert exchange(elephant, code_of(answer)).json()["scope"] == "read"


def test_a_code_without_an_address_is_shown_on_a_page(alice, page_of, program):
    answer = page_of(alice).post(address(program, redirect_uri=OUT_OF_BAND), {"allow": "1"})
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    code = Grant.objects.get().code
    assert code in answer.content.decode()
    assert exchange(program, code, redirect_uri=OUT_OF_BAND).status_code == 200


def test_programs_on_phones_are_sent_to_their_own_kind_of_address(alice, page_of):
    phone = register_application(
        name="Tusk", redirect_uris=["oauth2redirect://tusk/"], scopes="read"
    )
    asked = address(phone, redirect_uri="oauth2redirect://tusk/", scope="read")
    assert (
        "form-action 'self' oauth2redirect://tusk"
        in page_of(alice).get(asked).headers["Content-Security-Policy"]
    )
    assert (
        page_of(alice)
        .post(asked, {"allow": "1"})
        .headers["Location"]
        .startswith("oauth2redirect://tusk/?code=")
    )


def test_a_refusal_is_told_to_the_program(alice, page_of, program):
    answer = page_of(alice).post(address(program), {"deny": "1"})
    assert parse_qs(urlsplit(answer.headers["Location"]).query)["error"] == ["access_denied"]
    answer = page_of(alice).post(address(program, redirect_uri=OUT_OF_BAND), {})
    assert answer.status_code == 200
    assert not Grant.objects.exists()


MISLEADING: list[dict[str, str | None]] = [
        {"client_id": "nobody"}, {"client_id": None}, {"client_id": "a\x00b"},
        *({"redirect_uri": to} for to in (
            "https://evil.example/back", "https://elephant.example/back/more", "https://elephant.example/back?x=1",
            "https://elephant.example@evil.example/back", "http://elephant.example/back", "https://elephant.example:99999/back",
            "https://elephant.example\\@evil.example/back", "javascript:alert(1)", "//elephant.example/back", "https://[::1",
            "https://elephant.example/back#x", "", None, "\n")),
]  # fmt: skip


@pytest.mark.slow
def test_nobody_is_sent_where_the_program_did_not_register(alice, page_of, program):
    browser = page_of(alice)
    for wrong in MISLEADING:
        asked = address(program, **wrong)
        for answer in (browser.get(asked), browser.post(asked, {"allow": "1"})):
            assert answer.status_code == 400, wrong
            assert "Location" not in answer.headers
    assert not Grant.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"scope": "read profile"}, "invalid_scope"),
        ({"response_type": "token"}, "unauthorized_client"),
        ({"response_type": "nonsense"}, "unsupported_response_type"),
        ({"code_challenge": "x" * 43, "code_challenge_method": "nonsense"}, "invalid_request"),
    ],
)  # fmt: skip
def test_what_a_known_program_asks_wrongly_is_told_to_it(alice, page_of, program, wrong, error):
    answer = page_of(alice).get(address(program, **wrong))
    assert answer.headers["Location"].startswith(BACK)
    assert f"error={error}" in answer.headers["Location"]


def test_a_code_belongs_to_who_began(alice, page_of, program):
    """A code that was stolen on its way is worth nothing without what only the program knows."""
    verifier = "v" * 50
    challenge = (
        base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    )
    asked = address(program, code_challenge=challenge, code_challenge_method="S256")
    browser = page_of(alice)
    code = code_of(browser.post(asked, {"allow": "1"}))
    assert exchange(program, code).status_code == 400
    assert exchange(program, code, code_verifier="w" * 50).json()["error"] == "invalid_grant"
    assert exchange(program, code, client_secret="wrong").status_code == 401
    assert exchange(program, code, redirect_uri="https://evil.example").status_code == 400
    other = register_application(name="Other", redirect_uris=[BACK], scopes="read write")
    assert exchange(other, code, code_verifier=verifier).json()["error"] == "invalid_grant"
    assert not AccessToken.objects.exists()
    assert exchange(program, code, code_verifier=verifier).status_code == 200


@pytest.mark.parametrize("named", [{"code_challenge_method": "plain"}, {}])
def test_a_plain_challenge_is_refused_before_anybody_is_asked(alice, page_of, program, named):
    """Plain is also what a challenge is whose kind is not named."""
    asked, browser = address(program, code_challenge="v" * 50, **named), page_of(alice)
    for answer in (browser.get(asked), browser.post(asked, {"allow": "1"})):
        assert answer.status_code == 302
        query = parse_qs(urlsplit(answer.headers["Location"]).query)
        assert (query["error"], query["state"]) == (["invalid_request"], ["a state"])
    assert not Grant.objects.exists()


def test_a_challenge_cannot_be_taken_out_of_the_request(alice, page_of, program):
    """RFC 9700, 2.1.1: a verifier for a code that was asked for without a challenge says that somebody did."""
    code = code_of(page_of(alice).post(address(program), {"allow": "1"}))
    answer = exchange(program, code, code_verifier="v" * 50)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    assert not AccessToken.objects.exists()
    assert exchange(program, code, code_verifier="").status_code == 200  # no value is no verifier


def works(token):
    headers = {"Authorization": f"Bearer {token}"}
    return Client().get("/api/v1/accounts/verify_credentials", headers=headers).status_code == 200


@pytest.mark.parametrize("renewed", [False, True])
def test_a_code_that_is_used_twice_ends_what_it_gave(alice, page_of, program, renewed):
    code = code_of(page_of(alice).post(address(program), {"allow": "1"}))
    other = code_of(page_of(alice).post(address(program), {"allow": "1"}))
    given, apart = exchange(program, code).json(), exchange(program, other).json()
    if renewed:
        given = exchange(
            program, None, grant_type="refresh_token", refresh_token=given["refresh_token"]
        ).json()
    stranger = register_application(name="Other", redirect_uris=[BACK], scopes="read")
    assert exchange(stranger, code).status_code == 400  # whose code it is not ends nothing
    assert works(given["access_token"])
    again = exchange(program, code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert not works(given["access_token"])
    renewal = exchange(program, None, grant_type="refresh_token", refresh_token=given["refresh_token"])  # fmt: skip
    assert renewal.json()["error"] == "invalid_grant"
    assert works(apart["access_token"])


@pytest.mark.django_db(transaction=True)
def test_of_uses_at_the_same_time_one_gets_a_token_and_the_others_end_it(alice, page_of, program):
    code = code_of(page_of(alice).post(address(program), {"allow": "1"}))
    said = [answer.json() for answer in together(4, lambda _number: exchange(program, code))]
    [given] = [body["access_token"] for body in said if "access_token" in body]
    assert not works(given)


def test_a_code_ends_after_ten_minutes(alice, page_of, program):
    code = code_of(page_of(alice).post(address(program), {"allow": "1"}))
    Grant.objects.update(expires="2020-01-01T00:00:00Z")
    assert exchange(program, code).json()["error"] == "invalid_grant"


def test_consent_is_protected_against_forged_requests(alice, program):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)
    assert browser.post(address(program), {"allow": "1"}).status_code == 403
    assert not Grant.objects.exists()


def test_a_program_that_is_let_in_is_on_the_page_of_applications_until_it_is_put_out(
    alice, bob, page_of, program
):
    token = exchange(
        program, code_of(page_of(alice).post(address(program), {"allow": "1"}))
    ).json()["access_token"]
    shown = page_of(alice).get("/settings/applications").content.decode()
    assert "Elephant" in shown
    assert "read write:statuses" in shown
    assert "Elephant" not in page_of(bob).get("/settings/applications").content.decode()
    put_out = f"/settings/applications/{program.application.pk}/revoke"

    def me():
        headers = {"Authorization": f"Bearer {token}"}
        return Client().get("/api/v1/accounts/verify_credentials", headers=headers).status_code

    page_of(bob).post(put_out)
    assert me() == 200
    assert page_of(alice).post(put_out).status_code == 303
    assert me() == 401
    assert "Elephant" not in page_of(alice).get("/settings/applications").content.decode()


def test_many_tokens_of_a_program_do_not_hide_the_others(alice, program, monkeypatch):
    monkeypatch.setattr("apps.oauth.queries.MAX_CONNECTIONS", 2)
    other = register_application(name="Mammoth", scopes="read").application
    issue_access(alice, other, scopes=["read"])
    scopes = (["read", "follow"], ["read"], ["push"])
    issued = [issue_access(alice, program.application, scopes=names) for names in scopes]
    first, second = connections_of(alice.pk)
    assert (first.application, first.scopes) == (program.application, "follow push read")
    assert first.since == issued[0][1].created
    assert (second.application, second.scopes) == (other, "read")


def test_the_name_of_a_program_is_text(alice, page_of):
    bad = register_application(
        name="<script>alert(1)</script>", redirect_uris=[BACK], scopes="read"
    )
    text = page_of(alice).get(address(bad, scope="read")).content.decode()
    assert "<script>alert" not in text
