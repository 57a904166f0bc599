"""The endpoints of programs: a program manages the webhooks of its token, and no others."""

import pytest

from apps.accounts.actions import issue_token, revoke_token
from apps.accounts.models import AccessToken
from apps.oauth.queries import bearer_of
from apps.webhooks import actions
from apps.webhooks.models import Delivery, Endpoint, Kind, Off
from apps.webhooks.queries import endpoints_of, maker_of
from tests.support.factories import publish

pytestmark = pytest.mark.django_db
WEBHOOKS = "/api/x/webhooks"
ADDRESS = "https://hooks.example/feed?a=1"


def make(program, **fields):
    body = {"url": ADDRESS, "types": ["status.created"], **fields}
    return program.post(WEBHOOKS, body, format="json")


def test_a_program_makes_lists_changes_and_deletes(alice, api_of):
    program = api_of(alice)
    assert program.get(WEBHOOKS).json() == []
    answer = make(program)
    assert answer.status_code == 200
    made = answer.json()
    assert made["secret"].startswith("whsec_")
    shown = {name: value for name, value in made.items() if name != "secret"}
    assert shown == {
        "id": made["id"],
        "url": ADDRESS,
        "types": ["status.created"],
        "enabled": True,
        "disabled_reason": None,
        "failing_since": None,
        "created_at": made["created_at"],
    }
    where = f"{WEBHOOKS}/{made['id']}"
    assert program.get(WEBHOOKS).json() == [shown], "the secret is shown once"
    assert program.get(where).json() == shown
    types = ["status.deleted", "notification.created"]
    changed = program.put(where, {"types": types, "enabled": False}, format="json").json()
    assert changed == {
        **shown,
        "types": ["notification.created", "status.deleted"],
        "enabled": False,
        "disabled_reason": "owner",
    }
    assert program.put(where, {"enabled": True}, format="json").json()["enabled"] is True
    assert program.delete(where).json() == {}
    assert program.get(where).status_code == 404


def test_a_program_tests_reads_the_answers_and_sends_again(alice, api_of, server, sent):
    program = api_of(alice)
    made = make(program, url=f"{server.address}/").json()
    where = f"{WEBHOOKS}/{made['id']}"
    waiting = program.post(f"{where}/test").json()
    assert (waiting["type"], waiting["state"], waiting["attempts"]) == ("test", "waiting", 0)
    assert waiting["next_attempt_at"]
    assert sent()[0]["data"] == {}
    [delivery] = program.get(f"{where}/deliveries").json()
    assert delivery["message_id"] == sent()[0]["id"]
    assert (delivery["state"], delivery["status"], delivery["error"]) == ("sent", 204, None)
    assert (delivery["attempts"], delivery["next_attempt_at"]) == (1, None)
    again = program.post(f"{where}/deliveries/{delivery['id']}/resend").json()
    assert (again["id"], again["state"]) == (delivery["id"], "waiting")
    first, second = sent()
    assert first["id"] == second["id"]
    assert program.post(f"{where}/deliveries/1234567/resend").status_code == 404


def test_a_new_secret_signs(alice, api_of, server, sent):
    program = api_of(alice)
    made = make(program, url=f"{server.address}/").json()
    where = f"{WEBHOOKS}/{made['id']}"
    new = program.post(f"{where}/secret").json()["secret"]
    program.post(f"{where}/test")
    sent()
    assert new != made["secret"]
    assert all(server.received[0].is_signed_with(one) for one in (new, made["secret"]))


def test_a_program_does_not_see_the_webhooks_of_others(alice, bob, api_of):
    actions.create_endpoint(alice, ADDRESS, [Kind.CREATED])
    mine = make(api_of(alice)).json()
    for other in (api_of(alice), api_of(bob)):
        assert other.get(WEBHOOKS).json() == []
        where = f"{WEBHOOKS}/{mine['id']}"
        assert other.get(where).status_code == 404
        assert other.delete(where).status_code == 404
        assert other.post(f"{where}/test").status_code == 404
        assert other.post(f"{where}/secret").status_code == 404
    assert api_of(None).get(WEBHOOKS).status_code == 401


def test_a_webhook_ends_with_its_token(alice, api_of):
    make(api_of(alice))
    token = AccessToken.objects.get()
    revoke_token(alice, token.pk)
    assert list(endpoints_of(alice)) == []


@pytest.mark.parametrize(("scopes", "types", "status"), [
    ("write", ["status.created"], 403),
    ("write read:statuses", ["status.created"], 200),
    ("write read:statuses", ["status.created", "notification.created"], 403),
    ("write:notifications read:notifications", ["notification.created"], 200),
    ("read", ["status.created"], 403),
    ("write:follows read", ["status.created"], 403),
])  # fmt: skip
def test_a_program_gets_only_what_its_token_may_read(alice, api_of, scopes, types, status):
    program = api_of(alice, scopes)
    assert make(program, types=types).status_code == status
    assert Endpoint.objects.exists() is (status == 200)


def test_a_change_cannot_exceed_the_scopes(alice, api_of):
    program = api_of(alice, "write read:statuses")
    made = make(program).json()
    change = {"types": ["notification.created"]}
    answer = program.put(f"{WEBHOOKS}/{made['id']}", change, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "insufficient_scope")
    assert Endpoint.objects.get().kinds == ["status.created"]


@pytest.mark.parametrize("url", [
    "http://hooks.example/", "https://localhost/", "https://127.0.0.1/", "https://10.1.2.3/", "https://[::1]/",
    "https://169.254.169.254/latest", "https://printer.local/", "https://intranet/", "ftp://hooks.example/",
    "https://name:word@hooks.example/", "https://hooks.example:port/", "hooks.example", "https://",
    "https://hooks.example/\u00e9", "https://hooks.example/a b", "https://hooks.example/" + "a" * 2000,
])  # fmt: skip
def test_addresses_that_are_not_public_are_refused(alice, api_of, url):
    program = api_of(alice)
    answer = make(program, url=url)
    assert answer.status_code == 422
    assert [one["field"] for one in answer.json()["errors"]] == ["url"]
    made = make(program).json()
    change = program.put(f"{WEBHOOKS}/{made['id']}", {"url": url}, format="json")
    assert change.status_code == 422
    assert Endpoint.objects.get().address == ADDRESS


@pytest.mark.parametrize("types", [[], ["test"], ["status.created", "nonsense"], "nonsense"])
def test_unknown_types_are_refused(alice, api_of, types):
    assert make(api_of(alice), types=types).status_code == 422


def test_an_account_has_five_at_most(alice, bob, api_of):
    program = api_of(alice)
    for _number in range(actions.MAX_ENDPOINTS):
        assert make(program).status_code == 200
    assert make(program).status_code == 422
    assert make(api_of(bob)).status_code == 200


def test_nothing_is_sent_to_a_webhook_that_is_off(alice, api_of, server, sent):
    program = api_of(alice)
    where = f"{WEBHOOKS}/{make(program, url=server.address).json()['id']}"
    program.post(f"{where}/test")
    program.put(where, {"enabled": False}, format="json")
    publish(alice, "Hello.")
    assert sent() == []
    [row] = Delivery.objects.all()
    assert (row.outcome, row.last_error) == ("failed", "off")
    for verb in ("test", f"deliveries/{row.pk}/resend"):
        assert program.post(f"{where}/{verb}").status_code == 409


def test_what_staff_switched_off_stays_off(alice, api_of):
    program = api_of(alice)
    where = f"{WEBHOOKS}/{make(program).json()['id']}"
    actions.staff_switch(Endpoint.objects.get(), is_on=False)
    answer = program.put(where, {"enabled": True}, format="json")
    assert answer.status_code == 409
    assert program.get(where).json()["disabled_reason"] == Off.STAFF
    actions.staff_switch(Endpoint.objects.get(), is_on=True)
    assert program.get(where).json()["enabled"] is True


def test_tests_are_limited(alice, api_of, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "webhook": (2, 60)}
    program = api_of(alice)
    where = f"{WEBHOOKS}/{make(program).json()['id']}"
    answers = [program.post(f"{where}/test").status_code for _ in range(3)]
    assert answers == [200, 200, 429]


def test_an_endpoint_knows_its_program(alice):
    token = issue_token(alice, name="a bot")
    made = actions.create_endpoint(alice, ADDRESS, [Kind.CREATED], bearer_of(token))
    assert maker_of(made.endpoint) == "a bot"
