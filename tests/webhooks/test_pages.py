"""The settings of webhooks: a list, and a page for each."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.events.leases import State
from apps.posts.actions.publish import delete_post
from apps.webhooks import actions
from apps.webhooks.actions import create_endpoint, send_test
from apps.webhooks.models import Delivery, Endpoint, Failure, Kind, Off
from tests.support.factories import deliver, publish
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db
PAGE = "/settings/webhooks"
FORM: dict[str, Any] = {
    "url": "https://hooks.example/feed",
    "types": ["status.created", "notification.created"],
}


@pytest.fixture
def made(alice):
    return create_endpoint(alice, FORM["url"], FORM["types"]).endpoint


def test_the_settings_lead_to_webhooks(alice, page_of):
    browser = page_of(alice)
    assert f'href="{PAGE}"' in browser.get("/settings").text
    page = browser.get(PAGE).text
    assert "None. Programs" in page
    assert page_of(None).get(PAGE).status_code == 302


def test_a_webhook_is_made_and_its_secret_shown_once(alice, page_of):
    browser = page_of(alice)
    answer = browser.post(f"{PAGE}/new", FORM)
    row = Endpoint.objects.get()
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{PAGE}/{row.pk}")
    assert (row.owner, row.kinds) == (alice, ["notification.created", "status.created"])
    page = browser.get(f"{PAGE}/{row.pk}")
    [secret] = re.findall(r"whsec_[A-Za-z0-9+/=]+", page.text)
    assert "no-store" in page.headers["Cache-Control"]
    assert len(secret) == len("whsec_") + 44
    assert "whsec_" not in browser.get(f"{PAGE}/{row.pk}").text
    assert FORM["url"] in browser.get(PAGE).text


@pytest.mark.parametrize(("fields", "said"), [
    ({"url": "http://hooks.example/"}, "https://"), ({"url": "https://localhost/"}, "public internet"),
    ({"url": ""}, "This field is required."), ({"types": []}, "Choose at least one"),
])  # fmt: skip
def test_mistakes_are_shown_next_to_their_field(alice, page_of, made, fields, said):
    browser = page_of(alice)
    for address in (f"{PAGE}/new", f"{PAGE}/{made.pk}"):
        answer = browser.post(address, {**FORM, **fields})
        assert answer.status_code == 422
        [errors] = re.findall(r'(?s)<ul class="errorlist".*?</ul>', answer.text)
        assert said in errors
    assert Endpoint.objects.get().address == FORM["url"]


def test_an_account_that_has_the_maximum_gets_no_form(alice, page_of):
    for _number in range(actions.MAX_ENDPOINTS):
        create_endpoint(alice, FORM["url"], FORM["types"])
    browser = page_of(alice)
    assert 'name="url"' not in browser.get(PAGE).text
    assert browser.post(f"{PAGE}/new", FORM).status_code == 422
    assert Endpoint.objects.count() == actions.MAX_ENDPOINTS


def test_a_webhook_is_changed_switched_and_deleted(alice, page_of, made):
    browser, where = page_of(alice), f"{PAGE}/{made.pk}"
    assert browser.post(where, {**FORM, "types": ["status.deleted"]}).status_code == 303
    assert Endpoint.objects.get().kinds == ["status.deleted"]
    browser.post(f"{where}/off")
    assert "You switched it off." in browser.get(where).text
    assert "Switched off" in browser.get(PAGE).text
    browser.post(f"{where}/on")
    assert Endpoint.objects.get().off == ""
    assert browser.post(f"{where}/explode").status_code == 404
    assert "Delete this webhook?" in browser.get(f"{where}/delete").text
    assert browser.post(f"{where}/delete").headers["Location"] == PAGE
    assert not Endpoint.objects.exists()


def test_a_new_secret_is_shown_once(alice, page_of, made):
    browser, where = page_of(alice), f"{PAGE}/{made.pk}"
    before = Endpoint.objects.get().sealed_secret
    browser.post(f"{where}/secret")
    row = Endpoint.objects.get()
    assert (row.sealed_former, row.sealed_secret != before) == (before, True)
    assert "whsec_" in browser.get(where).text
    assert "whsec_" not in browser.get(where).text


def test_messages_are_listed_and_sent_again(alice, page_of, hooked, sent, server):
    row, _secret = hooked(alice)
    browser, where = page_of(alice), f"{PAGE}/{row.pk}"
    assert "None yet." in browser.get(where).text
    browser.post(f"{where}/test")
    server.statuses = [500]
    sent()
    page = browser.get(where).text
    assert "The server did not accept the message" in page
    assert "response 500" in page
    assert "next attempt" in page
    assert "No message has arrived since" in page
    assert "failing since" in browser.get(PAGE).text
    Delivery.objects.update(state=State.DEAD, attempts=7, finished_at=timezone.now())
    assert "failed ·" in browser.get(where).text
    number = Delivery.objects.get().pk
    answer = browser.post(f"{where}/messages/{number}/again")
    assert answer.headers["Location"] == f"{where}#messages"
    assert [content["type"] for content in sent()] == ["test", "test"]
    page = browser.get(where).text
    assert "response 204" in page
    assert "No message has arrived since" not in page


def test_a_message_that_was_withdrawn_says_so(alice, page_of, hooked, sent):
    row, _secret = hooked(alice, [Kind.CREATED])
    post = publish(alice, "Hello.")
    deliver()
    delete_post(post.pk, by=alice)
    assert sent() == []
    assert "you can no longer see what it was about" in page_of(alice).get(f"{PAGE}/{row.pk}").text


@pytest.mark.parametrize("reason", Off.values)
def test_the_page_says_why_nothing_is_sent(alice, page_of, made, reason):
    Endpoint.objects.update(off=reason)
    page = page_of(alice).get(f"{PAGE}/{made.pk}").text
    assert Endpoint.objects.get().why_off in page
    assert "Send a test" not in page
    assert (f"{PAGE}/{made.pk}/on" in page) is (reason != Off.STAFF)


def test_what_staff_switched_off_stays_off(alice, page_of, made):
    Endpoint.objects.update(off=Off.STAFF)
    assert page_of(alice).post(f"{PAGE}/{made.pk}/on").status_code == 409
    assert Endpoint.objects.get().off == Off.STAFF


def test_nobody_sees_or_changes_the_webhooks_of_others(alice, bob, page_of, made):
    send_test(made)
    number = Delivery.objects.get().pk
    browser, where = page_of(bob), f"{PAGE}/{made.pk}"
    assert FORM["url"] not in browser.get(PAGE).text
    assert browser.get(where).status_code == browser.get(f"{where}/delete").status_code == 404
    for verb in ("", "/off", "/test", "/secret", "/delete", f"/messages/{number}/again"):
        assert browser.post(f"{where}{verb}", FORM).status_code == 404
    own, _secret = create_endpoint(bob, FORM["url"], FORM["types"])
    assert browser.post(f"{PAGE}/{own.pk}/messages/{number}/again").status_code == 404
    assert Endpoint.objects.get(pk=made.pk).sealed_secret == made.sealed_secret


def test_the_pages_are_in_chinese_for_chinese_readers(alice, page_of, made):
    alice.interface_language = "zh-hans"
    alice.save()
    Endpoint.objects.update(failing_since=timezone.now() - timedelta(hours=2))
    send_test(made)
    Delivery.objects.update(last_error=Failure.TIMEOUT)
    browser = page_of(alice)
    for address, words in (
        (PAGE, ["新建 Webhook", "你的服务器地址", "失败"]),
        (f"{PAGE}/{made.pk}", ["最近的消息", "再次发送", "密钥", "服务器响应超时"]),
        (f"{PAGE}/{made.pk}/delete", ["删除这个 Webhook？"]),
    ):
        page = browser.get(address).text
        assert [word for word in words if word not in page] == []


def test_staff_see_servers_but_no_secrets_and_switch_them_off(page_of, alice, made):
    browser = page_of(make_staff(superuser=True))
    address = "/admin/webhooks/endpoint/"
    page = browser.get(address).text
    assert FORM["url"] in page
    assert made.sealed_secret not in page
    for action, off in (("switch_off", Off.STAFF), ("switch_on", "")):
        browser.post(address, {"action": action, "_selected_action": [made.pk]})
        assert Endpoint.objects.get().off == off
