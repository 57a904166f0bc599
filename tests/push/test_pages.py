"""The settings of what devices tell, the worker and the page that devices keep."""

import re

import pytest
from django.test import Client

from apps.accounts.authentication.sessions import end_session
from apps.accounts.models import Login
from apps.notifications.kinds import NotificationKind
from apps.push.encryption import public_key
from apps.push.models import Preferences, Subscription
from tests.support.push_service import Device

pytestmark = pytest.mark.django_db
PAGE, FORM, HERE = "/settings/notifications", "/settings/push", "/settings/push/here"
ADDRESS = "https://push.example/abc"


def fields(endpoint=ADDRESS):
    return {"endpoint": endpoint, **Device().keys}


def test_a_device_is_subscribed_listed_and_removed(alice, page_of):
    browser = page_of(alice)
    before = browser.get(PAGE).text
    assert f'data-key="{public_key()}"' in before
    assert 'data-endpoint=""' in before
    assert browser.post(HERE, fields()).status_code == 204
    row = Subscription.objects.get()
    assert (row.user, row.endpoint, row.login) == (alice, ADDRESS, Login.objects.get())
    page = browser.get(PAGE).text
    assert f'data-endpoint="{ADDRESS}"' in page
    assert "this device" in page
    assert ADDRESS not in page_of(alice).get(PAGE).text, "another device does not claim to be on"
    answer = browser.post(f"/settings/push/{row.pk}/end")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{PAGE}#devices")
    assert not Subscription.objects.exists()


def test_nobody_removes_the_devices_of_others(alice, bob, page_of):
    page_of(alice).post(HERE, fields())
    number = Subscription.objects.get().pk
    assert page_of(bob).post(f"/settings/push/{number}/end").status_code == 404
    assert page_of(None).post(f"/settings/push/{number}/end").status_code == 303
    assert Subscription.objects.exists()


def test_a_device_ends_by_itself_with_its_login_and_when_somebody_else_takes_it(
    alice, bob, page_of
):
    browser = page_of(alice)
    browser.post(HERE, fields())
    assert browser.post(f"{HERE}/end").status_code == 204
    assert browser.post(f"{HERE}/end").status_code == 204
    assert not Subscription.objects.exists()
    browser.post(HERE, fields())
    page_of(bob).post(HERE, fields())
    assert [row.user for row in Subscription.objects.all()] == [bob], "the browser is the same"
    end_session(bob, Login.objects.get(user=bob).pk)
    assert not Subscription.objects.exists()
    browser.post(HERE, fields())
    browser.post("/logout")
    assert not Subscription.objects.exists()


def test_what_is_no_device_is_refused_with_a_sentence(alice, page_of):
    answer = page_of(alice).post(HERE, {**fields(), "endpoint": "https://127.0.0.1/"})
    assert (answer.status_code, answer.text) == (422, "This is not the address of a push service.")
    forgotten = Client()
    forgotten.force_login(alice)
    Login.objects.all().delete()
    assert forgotten.post(HERE, fields()).status_code == 409


def test_wishes_are_saved_and_shown(alice, page_of):
    browser = page_of(alice)
    wishes = {
        "kinds": ["follow", "mention"], "policy": "followed", "texts": "open", "quiet_from": "22:00",
        "quiet_until": "07:30", "time_zone": "Asia/Shanghai",
    }  # fmt: skip
    assert browser.post(FORM, wishes).status_code == 303
    row = Preferences.objects.get(user=alice)
    assert not {"follow", "mention"} & set(row.silent_kinds)
    assert {"like", "poll"} < set(row.silent_kinds)
    page = browser.get(FORM).text
    for value in ("22:00", "07:30", "Asia/Shanghai"):
        assert f'value="{value}"' in page
    assert re.search(r'value="followed"\s+selected', page)


def test_who_wants_nothing_on_devices_says_so_by_no_box(alice, page_of):
    page_of(alice).post(FORM, {"policy": "all", "texts": "all"})
    assert len(Preferences.objects.get(user=alice).silent_kinds) == len(NotificationKind)


@pytest.mark.parametrize(
    "wrong",
    [{"time_zone": "Mars/Olympus"}, {"time_zone": "../etc/passwd"}, {"quiet_from": "22:00"}, {"quiet_until": "x"},
     {"policy": "some"}, {"texts": ""}, {"kinds": ["none"]}],
)  # fmt: skip
def test_what_cannot_be_wished(alice, page_of, wrong):
    answer = page_of(alice).post(FORM, {"policy": "all", "texts": "all", **wrong})
    assert answer.status_code == 422
    assert "errorlist" in answer.text
    assert not Preferences.objects.exists()


def test_without_a_key_of_the_site_nothing_is_offered(alice, page_of, settings):
    settings.VAPID_PRIVATE_KEY = ""
    assert "data-push" not in page_of(alice).get(PAGE).text
    assert page_of(alice).post(HERE, fields()).status_code == 409


def test_the_worker_is_for_all_pages_and_never_old(client):
    answer = client.get("/sw.js")
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert answer.headers["Cache-Control"] == "no-cache"
    assert "connect-src 'self'" in answer.headers["Content-Security-Policy"]
    assert answer.text.startswith("const SITE = {")
    assert "notificationclick" in answer.text


@pytest.mark.parametrize(("language", "said"), [("en", "You're offline"), ("zh-hans", "你已离线")])
def test_the_page_without_a_network_is_in_the_language_of_the_device(client, language, said):
    page = client.get("/offline", headers={"Accept-Language": language}).text
    assert said.replace("'", "&#x27;") in page or said in page
    assert "data-kept" in page


def test_pages_name_the_script_of_devices(alice, page_of):
    assert 'data-device="/static/js/device.js"' in page_of(alice).get("/").text


def test_time_zones_are_a_list_to_search(alice, page_of):
    page = page_of(alice).get(FORM).text
    assert 'list="zones"' in page
    assert '<option value="Asia/Shanghai">' in page
    assert '<option value="posix' not in page
