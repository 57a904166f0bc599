"""The endpoint of programs, as Mastodon's clients call it."""

import pytest

from apps.accounts.models import AccessToken
from apps.oauth.actions import issue_access, register_application
from apps.push.encryption import public_key
from apps.push.models import Subscription
from tests.support.push_service import Device

pytestmark = pytest.mark.django_db
ENDPOINT = "/api/v1/push/subscription"
ADDRESS = "https://push.example/send/abc?x=1"
TYPES = {
    "follow",
    "follow_request",
    "mention",
    "quote",
    "quoted_update",
    "reblog",
    "favourite",
    "reaction",
    "status",
    "update",
    "poll",
    "moderation_warning",
    "added_to_collection",
    "collection_update",
}


def subscription(endpoint=ADDRESS, **more):
    return {"subscription": {"endpoint": endpoint, "keys": Device().keys, **more}}


def test_a_program_subscribes_asks_changes_and_ends(alice, api_of):
    program = api_of(alice)
    answer = program.get(ENDPOINT, headers={"Accept-Language": "zh-Hans"})
    # Phanpy shows any other text to its user, in every language
    assert (answer.status_code, "not found" in answer.json()["error"]) == (404, True)
    alerts = {"mention": True, "poll": True, "admin.sign_up": True}
    body = {**subscription(standard=True), "data": {"alerts": alerts, "policy": "followed"}}
    answer = program.post(ENDPOINT, body, format="json")
    assert answer.status_code == 200
    made = answer.json()
    assert set(made["alerts"]) == TYPES
    on = {name for name, is_on in made["alerts"].items() if is_on}
    assert on == {"mention", "poll"}
    assert (made["endpoint"], made["standard"], made["policy"]) == (ADDRESS, True, "followed")
    assert made["server_key"] == public_key()
    assert program.get(ENDPOINT).json() == made
    changed = program.put(ENDPOINT, {"data": {"alerts": {"follow": True}}}, format="json").json()
    assert {name for name, is_on in changed["alerts"].items() if is_on} == {"follow"}
    assert changed["policy"] == "followed"
    changed = program.put(ENDPOINT, {"policy": "none"}, format="json").json()
    assert (changed["policy"], changed["alerts"]["follow"]) == ("none", True)
    for _again in range(2):
        answer = program.delete(ENDPOINT)
        assert (answer.status_code, answer.json()) == (200, {})
    assert program.get(ENDPOINT).status_code == 404


def test_a_form_says_the_same(alice, api_of):
    """As Mastodon.py writes it."""
    keys = Device().keys
    form = {
        "subscription[endpoint]": ADDRESS, "subscription[keys][p256dh]": keys["p256dh"],
        "subscription[keys][auth]": keys["auth"], "policy": "follower", "data[alerts][mention]": "true",
        "data[alerts][follow]": "false",
    }  # fmt: skip
    made = api_of(alice).post(ENDPOINT, form).json()
    assert (made["standard"], made["policy"]) == (False, "follower")
    assert (made["alerts"]["mention"], made["alerts"]["follow"]) == (True, False)


def test_again_is_the_new_address_and_each_token_has_its_own(alice, api_of):
    first, second = api_of(alice), api_of(alice)
    one = first.post(ENDPOINT, subscription(), format="json").json()
    again = first.post(ENDPOINT, subscription("https://push.example/other"), format="json").json()
    assert (one["id"], again["endpoint"]) == (again["id"], "https://push.example/other")
    assert second.get(ENDPOINT).status_code == 404
    second.post(ENDPOINT, subscription(), format="json")
    assert Subscription.objects.count() == 2


def test_the_token_of_an_application_has_one_and_takes_it_along(alice, api_of):
    application = register_application(name="An app", scopes="read push").application
    token, issued = issue_access(alice, application, scopes=["read", "push"])
    program = api_of(None)
    program.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    assert program.post(ENDPOINT, subscription(), format="json").status_code == 200
    assert Subscription.objects.get().program_token == issued
    issued.delete()
    assert not Subscription.objects.exists()


def test_it_needs_the_scope(alice, api_of):
    assert api_of(alice, scopes="read write follow").get(ENDPOINT).status_code == 403
    assert api_of(None).get(ENDPOINT).status_code == 401


@pytest.mark.parametrize(
    "endpoint",
    ["http://push.example/", "https://127.0.0.1/", "https://localhost/", "https://10.0.0.7/x", "https://[::1]/",
     "https://169.254.169.254/", "https://push/", "https://a:b@push.example/", "https://push.example:x/",
     "https://printer.local/", "ftp://push.example/", "push.example", "https://push.example/ü",
     "https://push.example/a b", "https://" + "a" * 2000 + ".example/"],
)  # fmt: skip
def test_addresses_that_are_not_those_of_a_push_service(alice, api_of, endpoint):
    answer = api_of(alice).post(ENDPOINT, subscription(endpoint), format="json")
    assert answer.status_code == 422, answer.json()
    assert not Subscription.objects.exists()


def test_what_are_no_keys(alice, api_of):
    body = {"subscription": {"endpoint": ADDRESS, "keys": {"p256dh": "x", "auth": "y"}}}
    assert api_of(alice).post(ENDPOINT, body, format="json").status_code == 422
    assert api_of(alice).post(ENDPOINT, {}, format="json").status_code == 422


def test_without_a_key_of_the_site_it_is_a_conflict(alice, api_of, settings):
    settings.VAPID_PRIVATE_KEY = ""
    assert api_of(alice).post(ENDPOINT, subscription(), format="json").status_code == 409


def test_the_key_is_told_where_clients_look(api_of):
    program = api_of(None)
    vapid = program.get("/api/v2/instance").json()["configuration"]["vapid"]
    assert vapid == {"public_key": public_key()}
    made = program.post(
        "/api/v1/apps", {"client_name": "An app", "redirect_uris": "https://app.example/"}
    ).json()
    assert made["vapid_key"] == public_key()
    assert len(public_key()) == 87


def test_a_token_is_stored_sealed(alice, api_of):
    api_of(alice).post(ENDPOINT, subscription(), format="json")
    assert AccessToken.objects.count() == 1
    assert Subscription.objects.get().sealed_token.startswith("gAAAA")
