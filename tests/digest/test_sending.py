"""The weekly mail: to whom, with what, once, and how it ends."""

from datetime import date, timedelta
from urllib.parse import urlsplit

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from apps.digest import sending, tasks
from apps.digest.actions import choose
from apps.digest.models import DigestReader, Issue
from apps.engagement.actions import like_post
from apps.events.leases import State
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import follow_user
from tests.support.factories import deliver, publish, repost, suspend

pytestmark = pytest.mark.django_db
MONDAY = date(2026, 11, 23)


@pytest.fixture
def reader(bob):
    """bob follows alice, and has wanted the mail for long."""
    choose(bob, wants=True)
    DigestReader.objects.update(since=timezone.now() - timedelta(days=3000))
    return bob


def sent():
    """The mails of a week, as the tasks make and send them."""
    tasks.make()
    for number in sending.due():
        tasks.send(number)
    return mail.outbox


def test_it_says_what_home_would_with_what_others_liked_first(reader, alice, carol):
    first, second = publish(alice, "First."), publish(alice, "Second.")
    publish(carol, "Of a stranger.")
    like_post(carol, first.pk)
    deliver()
    publish(alice, "@bob hello")
    deliver()
    [message] = sent()
    assert message.to == [reader.email]
    assert message.subject == "Your week at Rill"
    assert message.body.index("First.") < message.body.index("Second.")
    assert f"http://testserver/@alice/{second.pk}" in message.body
    assert "1 unread notification: http://testserver/notifications" in message.body
    assert "Of a stranger." not in message.body
    assert message.message().get_content_type() == "text/plain"


def test_a_week_has_one_mail_however_often_the_tasks_run(reader, alice):
    publish(alice, "News.")
    deliver()
    assert len(sent()) == 1
    assert len(sent()) == 1
    for number in Issue.objects.values_list("pk", flat=True):
        tasks.send(number)
    assert len(mail.outbox) == 1
    assert sending.make_issues(MONDAY + timedelta(days=700)) == 1  # another week
    assert sending.make_issues(MONDAY + timedelta(days=706)) == 0, "its Sunday"


def test_it_is_off_until_somebody_wants_it_and_begins_with_the_next_week(bob, alice):
    publish(alice, "News.")
    deliver()
    assert sent() == []
    choose(bob, wants=True)
    assert sent() == [], "this week has begun"
    assert sending.make_issues(timezone.now().date() + timedelta(days=7)) == 1


def test_mails_have_no_text_of_posts_for_some_only(reader, alice):
    publish(alice, "For followers.", visibility="followers")
    publish(alice, "@bob for you", visibility="mentioned")
    publish(alice, "For all.")
    deliver()
    [message] = sent()
    assert "For all." in message.body
    assert "For followers." not in message.body
    assert "for you" not in message.body


def test_filters_warnings_and_reposts_are_as_on_home(reader, alice, carol, dora_posts):
    repost(alice, dora_posts[0].pk)
    publish(alice, "it was the butler", content_warning="Spoilers")
    publish(alice, "about cheese")
    create_filter(
        reader, FilterChange("Food", ["home"], keywords=[KeywordChange(keyword="cheese")])
    )
    deliver()
    [message] = sent()
    assert "Of Dora." in message.body
    assert "Spoilers" in message.body
    assert "butler" not in message.body
    assert "cheese" not in message.body


@pytest.fixture
def dora_posts(carol):
    return [publish(carol, "Of Dora.")]


def test_it_is_bounded(reader, alice):
    for number in range(9):
        publish(alice, f"Number {number}. " + "long " * 90)
    deliver()
    [message] = sent()
    assert message.body.count("Number") == sending.MAX_POSTS
    assert "And 2 more posts: http://testserver/" in message.body
    assert len(message.body) < 4000


def test_it_is_in_the_language_of_the_member(reader, alice):
    reader.interface_language = "zh-hans"
    reader.save()
    publish(alice, "News.")
    deliver()
    [message] = sent()
    assert message.subject == "你在 Rill 的一周"


@pytest.mark.parametrize("why", ["nothing happened", "no address", "suspended", "ended"])
def test_there_is_none(reader, alice, why):
    if why != "nothing happened":
        publish(alice, "News.")
        deliver()
    tasks.make()
    if why == "no address":
        reader.email, reader.pending_email = None, "bob@example.org"
        reader.save()
    if why == "suspended":
        suspend(reader)
    if why == "ended":
        choose(reader, wants=False)
    assert sent() == []
    assert Issue.objects.get().state == State.DONE


def test_a_mail_ends_by_one_press_without_a_login(reader, alice):
    publish(alice, "News.")
    deliver()
    [message] = sent()
    headers = message.message()
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    address = headers["List-Unsubscribe"].strip("<>")
    assert address in message.body
    program = Client(enforce_csrf_checks=True)
    path = urlsplit(address).path
    assert "Stop the weekly e-mail to @bob?" in program.get(path).text
    assert DigestReader.objects.exists(), "servers that look into every link end nothing"
    for _twice in range(2):
        answer = program.post(path, {"List-Unsubscribe": "One-Click"})
        assert (answer.status_code, "will no longer get the weekly e-mail" in answer.text) == (
            200,
            True,
        )
    assert not DigestReader.objects.exists()


def test_a_forged_link_ends_nothing(reader):
    assert Client().post("/digest/end/eyJ4IjoxfQ:abc:def").status_code == 404
    assert DigestReader.objects.exists()


def test_the_switch_is_on_the_page_of_notifications(bob, page_of):
    browser = page_of(bob)
    assert 'name="wants" id="id_wants">' in browser.get("/settings/notifications").text
    assert browser.post("/settings/digest", {"wants": "on"}).status_code == 303
    assert 'name="wants" id="id_wants" checked>' in browser.get("/settings/notifications").text
    browser.post("/settings/digest", {})
    assert not DigestReader.objects.exists()
    bob.email = None
    bob.save()
    assert "If you confirm your address" in browser.get("/settings/notifications").text


def test_a_mail_server_that_is_down_is_asked_again(reader, alice, monkeypatch):
    publish(alice, "News.")
    deliver()
    monkeypatch.setattr("django.core.mail.EmailMessage.send", _fails)
    assert sent() == []
    row = Issue.objects.get()
    assert (row.state, row.attempts, row.started_at) == (State.PENDING, 1, None)
    monkeypatch.undo()
    Issue.objects.update(due_at=timezone.now())
    assert len(sent()) == 1


def _fails(*_arguments, **_more):
    raise OSError("a test")


def test_as_many_workers_as_mails_may_occupy(reader, alice, settings):
    settings.EMAIL_CONCURRENCY = 0
    publish(alice, "News.")
    deliver()
    assert sent() == []


def test_old_rows_go(reader):
    sent()
    Issue.objects.update(finished_at=timezone.now() - timedelta(weeks=5), week=MONDAY)
    tasks.make()
    assert not Issue.objects.filter(week=MONDAY).exists()


def test_who_follows_somebody_new_reads_of_them(reader, carol):
    follow_user(reader, carol)
    publish(carol, "New here.")
    deliver()
    assert "New here." in sent()[0].body


def test_the_sweep_sends_some(reader, monkeypatch):
    tasks.make()
    enqueued = []
    monkeypatch.setattr(tasks, "enqueue", lambda name, pk: enqueued.append((name, pk)))
    tasks.sweep()
    assert enqueued == [(sending.TASK, Issue.objects.get().pk)]
