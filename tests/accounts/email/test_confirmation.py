"""Addresses: they count once they are confirmed, and no answer tells whose they are."""

import re
from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth import authenticate
from django.core import mail
from django.test import Client
from django.utils import timezone

from apps.accounts.actions import register
from apps.accounts.email.confirmation import change_email
from apps.accounts.models import User
from tests.api.test_endpoints import application_client
from tests.support.factories import PASSWORD, deliver, make_user

pytestmark = pytest.mark.django_db

TAKEN, FREE = "alice@example.org", "free@example.org"


@pytest.fixture(params=[True, False], ids=["confirmed", "at once"])
def either(request, alice, settings):
    settings.EMAIL_CONFIRMATION_REQUIRED = request.param


@pytest.fixture
def required(alice, settings):
    settings.EMAIL_CONFIRMATION_REQUIRED = True


def sent_to(address):
    deliver()
    return [str(one.body) for one in mail.outbox if one.to == [address]]


def link_to(address):
    [link] = re.findall(r"http://testserver(/email/confirm/\S+)", sent_to(address)[-1])
    return link


def what_is_said(answer):
    """An answer without what differs every time; handles and addresses are the asker's own."""
    headers = {
        name: value
        for name, value in answer.headers.items()
        if name not in {"X-Request-Id", "Server-Timing", "ETag", "X-RateLimit-Reset", "X-RateLimit-Remaining"}
    }  # fmt: skip
    text = re.sub(r'(value|content)="[\w-]{64}"|nonce-\S+', "", answer.text)
    text = re.sub(r"rillapp_[\w-]+|\"created_at\": ?\d+|request_id\S+", "", text)
    for own in (TAKEN, FREE, "user_one", "user_two"):
        text = text.replace(own, "OWN").replace(own.replace("@", "%40"), "OWN")
    headers.pop("Content-Length", None)
    return answer.status_code, headers, text


def test_the_join_page_does_not_tell_whose_an_address_is(either):
    seen = []
    for handle, email in (("user_one", TAKEN), ("user_two", FREE)):
        browser = Client()
        said = {"handle": handle, "email": email, "password": PASSWORD}
        answers = [browser.post("/join", said)]
        answers += [browser.get(answers[0]["Location"]), browser.get("/settings/account")]
        seen.append([what_is_said(answer)[:2] for answer in answers])
        assert [answer.status_code for answer in answers] == [303, 200, 200]
    assert seen[0] == seen[1]


@pytest.mark.long
@pytest.mark.gate
def test_joining_by_the_api_does_not_tell_it_either(either):
    seen = []
    for handle, email in (("user_one", TAKEN), ("user_two", FREE)):
        said = {"username": handle, "email": email, "password": PASSWORD, "agreement": True}
        answer = application_client().post("/api/v1/accounts", said, format="json")
        assert answer.status_code == 200
        seen.append(what_is_said(answer))
    assert seen[0] == seen[1]


def test_nor_does_the_change_of_an_address(either, page_of):
    seen = []
    for handle, email in (("user_one", TAKEN), ("user_two", FREE)):
        browser = page_of(make_user(handle, email=None))
        answers = [browser.post("/settings/account", {"email": email, "password": PASSWORD})]
        answers += [browser.get(answers[0]["Location"])]
        seen.append([what_is_said(answer)[:2] for answer in answers])
        assert answers[0].status_code == 303
    assert seen[0] == seen[1]


def test_nor_a_new_password(either):
    seen = [
        what_is_said(Client().post("/password/reset", {"email": email}, follow=True))
        for email in (TAKEN, FREE)
    ]
    assert seen[0] == seen[1]


@pytest.mark.slow
def test_its_owner_is_told_that_somebody_gave_it(either):
    Client().post("/join", {"handle": "user_one", "email": TAKEN, "password": PASSWORD})
    [body] = sent_to(TAKEN)
    assert "@user_one" in body
    assert "your account @alice" in body
    assert "/email/confirm/" not in body
    assert User.objects.get(email=TAKEN).handle == "alice"


class TestConfirming:
    @pytest.fixture
    def newcomer(self, required):
        newcomer = Client()
        said = {"handle": "user_two", "email": FREE, "password": PASSWORD, "next": "/public"}
        answer = newcomer.post("/join", said)
        assert answer["Location"] == "/settings/email?next=%2Fpublic"
        return newcomer

    def test_an_address_counts_for_nothing_before(self, newcomer):
        assert FREE in newcomer.get("/settings/email").text
        assert authenticate(username=FREE, password=PASSWORD) is None
        assert authenticate(username="user_two", password=PASSWORD)
        sent_to(FREE)
        mail.outbox.clear()
        Client().post("/password/reset", {"email": FREE})
        assert sent_to(FREE) == []

    def test_and_for_everything_after(self, newcomer):
        link = link_to(FREE)
        assert "@user_two" in Client().get(link).text
        assert User.objects.get(handle="user_two").email is None  # looking confirms nothing
        assert Client().post(link)["Location"] == "/login"
        assert authenticate(username=FREE, password=PASSWORD) == User.objects.get(email=FREE)
        assert newcomer.get("/settings/email").status_code == 302

    def test_a_link_works_once(self, newcomer):
        link = link_to(FREE)
        assert newcomer.post(link)["Location"] == "/"
        assert newcomer.post(link).status_code == newcomer.get(link).status_code == 404

    def test_a_link_works_for_two_days(self, newcomer):
        link = link_to(FREE)
        with time_machine.travel(timezone.now() + timedelta(days=2, seconds=5)):
            assert Client().get(link).status_code == 404
        assert Client().get(link).status_code == 200

    def test_a_changed_link_does_not_work_and_guesses_are_limited(self, newcomer, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "guess_address": (3, 60)}
        link = link_to(FREE)
        answers = [Client().get(f"{link}{n}").status_code for n in range(5)]
        assert answers == [404] * 3 + [429] * 2

    def test_a_link_is_about_the_address_that_was_given_last(self, newcomer):
        link, user = link_to(FREE), User.objects.get(handle="user_two")
        change_email(user, email="other@example.org", password=PASSWORD)
        assert Client().get(link).status_code == 404
        change_email(user, email=FREE, password=PASSWORD)
        assert Client().get(link).status_code == 404
        assert Client().get(link_to(FREE)).status_code == 200

    def test_of_two_who_give_one_address_whoever_reads_its_mail_first_has_it(self, newcomer):
        register(handle="user_one", email=FREE, password=PASSWORD)
        first, second = (
            re.findall(r"http://testserver(/email/confirm/\S+)", body)[0] for body in sent_to(FREE)
        )
        assert Client().post(first).status_code == 303
        assert Client().post(second).status_code == 404
        assert User.objects.get(email=FREE).handle == "user_two"

    def test_the_link_is_sent_again_so_often(self, newcomer, settings):
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "mail": (3, 60)}
        answers = [newcomer.post("/settings/email").status_code for _ in range(4)]
        assert answers == [303, 303, 429, 429]  # one went out at joining
        assert len(sent_to(FREE)) == 3

    def test_programs_ask_and_have_it_sent_again(self, newcomer, api_of):
        client = api_of(User.objects.get(handle="user_two"))
        assert client.get("/api/v1/emails/check_confirmation").json() is False
        assert client.post("/api/v1/emails/confirmations", {"email": "x@example.org"}).json() == {}
        assert len(sent_to(FREE)) == 2
        assert sent_to("x@example.org") == []
        Client().post(link_to(FREE))
        assert client.get("/api/v1/emails/check_confirmation").json() is True
        assert client.post("/api/v1/emails/confirmations").status_code == 403


def test_a_new_address_counts_when_it_is_confirmed_and_the_old_one_is_told(required, page_of):
    alice = User.objects.get()
    browser = page_of(alice)
    browser.post("/settings/account", {"email": FREE, "password": PASSWORD})
    assert "was changed or removed" in sent_to(TAKEN)[0]
    assert authenticate(username=TAKEN, password=PASSWORD) == alice
    assert authenticate(username=FREE, password=PASSWORD) is None
    Client().post(link_to(FREE))
    assert authenticate(username=FREE, password=PASSWORD) == alice
    assert authenticate(username=TAKEN, password=PASSWORD) is None


def test_an_address_that_is_taken_away_goes_at_once(required, page_of):
    page_of(User.objects.get()).post("/settings/account", {"email": "", "password": PASSWORD})
    assert User.objects.get().email is None
    assert len(sent_to(TAKEN)) == 1


def test_mails_speak_the_language_of_whoever_asks(alice):
    Client().post("/password/reset", {"email": TAKEN}, headers={"Accept-Language": "zh-hans"})
    assert "新密码" in sent_to(TAKEN)[0]
