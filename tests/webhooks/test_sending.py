"""Messages to endpoints: what they say, who signs them, when they are sent again, and when no more."""

import socket
import time
from datetime import timedelta
from threading import Timer
from types import SimpleNamespace

import pytest
from django.utils import timezone

from apps.accounts.actions import issue_token, revoke_token
from apps.accounts.models import AccessToken
from apps.engagement.actions import like_post
from apps.errors import Conflict
from apps.events.leases import State, recall
from apps.events.models import Event
from apps.graph.actions import block_user, follow_user
from apps.notifications.actions import change_policy
from apps.notifications.models import Notification
from apps.oauth.queries import bearer_of
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.webhooks import sending, tasks
from apps.webhooks.actions import (
    change_endpoint,
    rotate_secret,
    send_again,
    send_test,
    staff_switch,
)
from apps.webhooks.messages.posting import check_hosts, post
from apps.webhooks.models import Delivery, Endpoint, Failure, Kind, Off, Outcome
from tests.support.factories import deliver, make_user, publish, repost, suspend

pytestmark = pytest.mark.django_db


@pytest.fixture
def dora(db):
    return make_user("dora", display_name="Dora")


def types(contents):
    return [content["type"] for content in contents]


def again():
    """As if every wait were over."""
    Delivery.objects.filter(state=State.PENDING).update(due_at=timezone.now())


def test_a_notification_arrives_signed_as_the_api_shows_it(
    alice, dora, hooked, sent, server, api_of
):
    _endpoint, secret = hooked(alice)
    publish(dora, "@alice look")
    [content] = sent()
    number = Notification.objects.get().pk
    row = Delivery.objects.get()
    assert content == {
        "id": f"msg_{row.pk}",
        "type": "notification.created",
        "timestamp": content["timestamp"],
        "data": api_of(alice).get(f"/api/v1/notifications/{number}").json(),
    }
    assert content["data"]["status"]["content"].endswith("look</p>")
    [message] = server.received
    assert message.path == "/alice?x=1"
    assert message.headers["content-type"] == "application/json"
    assert message.headers["webhook-id"] == f"msg_{row.pk}"
    assert abs(int(message.headers["webhook-timestamp"]) - timezone.now().timestamp()) < 60
    assert message.is_signed_with(secret)
    assert not message.is_signed_with(secret[:-4] + "AAA=")
    assert (row.outcome, row.status) == (Outcome.SENT, 204)


@pytest.mark.slow
def test_what_happens_to_own_posts_arrives_in_order(alice, dora, hooked, sent, api_of):
    hooked(alice)
    publish(dora, "Not of alice.")
    post = publish(alice, "One.", visibility="mentioned")
    [created] = sent()
    assert (created["type"], created["data"]["id"]) == ("status.created", str(post.pk))
    assert created["data"] == api_of(alice).get(f"/api/v1/statuses/{post.pk}").json()
    edit_post(alice, post.pk, body="Two.")
    edited = sent()[1]
    assert (edited["type"], edited["data"]["content"]) == ("status.updated", "<p>Two.</p>")
    edit_post(alice, post.pk, body="Three.")
    assert sent()[2]["data"]["content"] == "<p>Three.</p>"
    delete_post(post.pk, by=alice)
    assert sent()[3]["data"] == {"id": str(post.pk)}
    assert types(sent())[3:] == ["status.deleted"]


def test_a_repost_arrives_with_its_post(alice, dora, hooked, sent):
    hooked(alice)
    repost(alice, publish(dora, "Hello.").pk)
    [content] = sent()
    assert content["data"]["reblog"]["account"]["acct"] == "dora"


def test_an_endpoint_gets_only_its_kinds(alice, dora, hooked, sent):
    hooked(alice, [Kind.DELETED])
    hooked(alice, [Kind.NOTIFICATION])
    post = publish(alice, "Hello.")
    like_post(dora, post.pk)
    delete_post(post.pk, by=alice)
    assert types(sent()) == ["status.deleted"], "the like went with the post"


@pytest.mark.parametrize("end", ["blocked", "deleted", "suspended", "notification gone"])
def test_nothing_is_sent_of_what_may_not_be_read_any_more(alice, dora, hooked, sent, end):
    hooked(alice)
    post = publish(dora, "@alice secret")
    deliver()
    assert Delivery.objects.filter(state=State.PENDING).count() == 1
    if end == "blocked":
        block_user(dora, alice)
    elif end == "deleted":
        delete_post(post.pk, by=dora)
    elif end == "suspended":
        suspend(dora)
    else:
        Notification.objects.all().delete()
    assert sent() == []
    assert [row.outcome for row in Delivery.objects.all()] == [Outcome.WITHDRAWN]


def test_a_post_deleted_before_it_was_sent_is_not_sent(alice, hooked, sent):
    hooked(alice, [Kind.CREATED])
    post = publish(alice, "Hasty.")
    deliver()
    delete_post(post.pk, by=alice)
    assert sent() == []


def test_nothing_is_sent_of_restricted_posts_of_others(alice, bob, dora, hooked, sent):
    """Bob's webhook gets what Bob may read: not what mentions Alice alone."""
    hooked(bob)
    publish(dora, "@alice only you", visibility="mentioned")
    assert sent() == []


def test_nothing_is_sent_of_what_is_held_back(alice, dora, hooked, sent):
    hooked(alice)
    change_policy(alice, for_not_following="filter")
    publish(dora, "@alice hello")
    assert sent() == []
    assert not Delivery.objects.exists()


def test_a_suspended_account_gets_nothing(alice, dora, hooked, sent):
    hooked(alice)
    publish(dora, "@alice hello")
    deliver()
    suspend(alice)
    assert sent() == []
    assert not Delivery.objects.filter(state=State.PENDING).exists()
    assert Endpoint.objects.get().off == ""


def test_the_row_is_there_with_the_notification_or_neither(alice, dora, hooked, monkeypatch):
    hooked(alice)
    publish(dora, "@alice hello")
    monkeypatch.setattr("apps.webhooks.sending.sql.rows_of", _fails)
    deliver()
    assert not Notification.objects.exists()
    monkeypatch.undo()
    Event.objects.filter(state=State.PENDING).update(due_at=timezone.now())
    deliver()
    assert (Notification.objects.count(), Delivery.objects.count()) == (1, 1)


def _fails(*_arguments, **_more):
    raise RuntimeError("a test")


def test_events_that_run_twice_send_once(alice, dora, hooked, sent):
    hooked(alice)
    publish(dora, "@alice hello")
    post = publish(alice, "One.")
    edit_post(alice, post.pk, body="Two.")
    first = types(sent())
    assert sorted(first) == ["notification.created", "status.created", "status.updated"]
    Event.objects.update(state=State.PENDING, due_at=timezone.now(), attempts=0)
    assert types(sent()) == first


def test_a_failure_is_retried_later_and_later_and_then_given_up(alice, hooked, sent, server):
    endpoint, _secret = hooked(alice)
    server.statuses = [500] * (sending.MAX_ATTEMPTS + 5)
    send_test(endpoint)
    waits = []
    for attempt in range(1, sending.MAX_ATTEMPTS):
        assert len(sent()) == attempt
        row = Delivery.objects.get()
        assert (row.outcome, row.attempts, row.status) == (Outcome.WAITING, attempt, 500)
        assert row.last_error == Failure.STATUS
        waits.append(row.due_at - timezone.now())
        sent()
        assert len(server.received) == attempt, "not before its time"
        again()
    assert waits == sorted(waits)
    assert timedelta(hours=20) < sum(waits, timedelta()) < timedelta(hours=30)
    sent()
    row = Delivery.objects.get()
    assert (row.outcome, row.state) == (Outcome.FAILED, State.DEAD)
    again()
    assert len(sent()) == sending.MAX_ATTEMPTS
    ids = {message.headers["webhook-id"] for message in server.received}
    assert len(ids) == 1, "a receiver knows it again"
    assert Endpoint.objects.get().off == ""


def test_waits_are_not_taken_for_those_of_a_clock_that_was_ahead(alice, hooked, sent, server):
    endpoint, _secret = hooked(alice)
    server.statuses = [500]
    send_test(endpoint)
    sent()
    Delivery.objects.update(due_at=timezone.now() + timedelta(hours=6))
    assert recall() == 0


def test_a_dead_letter_is_sent_again(alice, hooked, sent, server):
    endpoint, _secret = hooked(alice)
    send_test(endpoint)
    Delivery.objects.update(state=State.DEAD, attempts=sending.MAX_ATTEMPTS, last_error="status")
    assert sent() == []
    send_again(endpoint, Delivery.objects.get())
    assert types(sent()) == ["test"]
    row = Delivery.objects.get()
    assert (row.outcome, row.attempts, row.last_error) == (Outcome.SENT, 1, "")


def test_one_failure_makes_the_other_messages_wait(alice, hooked, sent, server):
    endpoint, _secret = hooked(alice)
    for _number in range(3):
        send_test(endpoint)
    server.statuses = [503]
    assert len(sent()) == 1, "a dead server is asked once"
    assert Endpoint.objects.get().failing_since
    again()
    assert len(sent()) == 4
    assert Endpoint.objects.get().failing_since is None


def test_a_message_that_its_server_never_takes_holds_up_no_other(alice, hooked, sent, server):
    endpoint, _secret = hooked(alice)
    bad, good = send_test(endpoint), send_test(endpoint)
    Delivery.objects.filter(pk=bad.pk).update(attempts=sending.MAX_ATTEMPTS - 2)
    server.statuses = [500]
    sent()
    in_five = timezone.now() + timedelta(minutes=5)
    assert Delivery.objects.get(pk=bad.pk).due_at > in_five
    assert Delivery.objects.get(pk=good.pk).due_at < in_five


def test_a_batch_that_takes_long_begins_no_other_message(alice, hooked, server, monkeypatch):
    endpoint, _secret = hooked(alice)
    for _number in range(3):
        send_test(endpoint)
    clock = iter(range(0, 1000, 4))
    clocks = SimpleNamespace(monotonic=lambda: next(clock), time=time.time)
    monkeypatch.setattr(sending, "time", clocks)
    assert sending.send_due(endpoint.pk) == 1
    assert sorted(Delivery.objects.values_list("attempts", flat=True)) == [0, 0, 1]


@pytest.mark.parametrize(("days", "off"), [(2, ""), (4, Off.FAILING)])
def test_an_endpoint_that_fails_for_days_is_switched_off(
    alice, dora, hooked, sent, server, days, off
):
    endpoint, _secret = hooked(alice)
    send_test(endpoint)
    send_test(endpoint)
    Endpoint.objects.update(failing_since=timezone.now() - timedelta(days=days))
    server.statuses = [500]
    sent()
    row = Endpoint.objects.get()
    assert row.off == off
    assert bool(row.why_off) is bool(off)
    waiting = Delivery.objects.filter(state=State.PENDING)
    assert waiting.count() == (0 if off else 2)
    publish(dora, "@alice hello")
    deliver()
    assert waiting.count() == (0 if off else 3)
    change_endpoint(row, is_on=True)
    again()
    publish(dora, "@alice hello")
    sent()
    assert server.contents[-1]["type"] == "notification.created"


def test_an_endpoint_that_is_gone_is_switched_off(alice, hooked, sent, server):
    endpoint, _secret = hooked(alice)
    send_test(endpoint)
    server.statuses = [410]
    sent()
    assert Endpoint.objects.get().off == Off.GONE
    assert Delivery.objects.get().outcome == Outcome.FAILED


def test_redirects_are_not_followed(alice, hooked, sent, server):
    endpoint, _secret = hooked(alice)
    send_test(endpoint)
    server.statuses, server.location = [302], f"{server.address}/elsewhere"
    assert len(sent()) == 1
    row = Delivery.objects.get()
    assert (row.outcome, row.status, row.last_error) == (Outcome.WAITING, 302, Failure.STATUS)


def test_hosts_that_are_not_public_are_not_asked(alice, hooked, sent, server, settings):
    """Even if the address was accepted before, as when a name leads elsewhere later."""
    endpoint, _secret = hooked(alice)
    port = server.address.rpartition(":")[2]
    for host in ("127.0.0.1", "localhost", "10.0.0.1", "[::1]"):
        Endpoint.objects.update(address=f"https://{host}:{port}/")
        settings.WEBHOOKS_ANYWHERE = False
        send_test(endpoint)
        assert sent() == []
        row = Delivery.objects.latest("pk")
        assert (row.status, row.last_error) == (None, Failure.NOT_PUBLIC), host
        Delivery.objects.all().delete()


def test_a_server_that_is_away_has_failed(alice, hooked, sent):
    endpoint, _secret = hooked(alice)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/"
    Endpoint.objects.update(address=address)
    send_test(endpoint)
    sent()
    assert Delivery.objects.get().last_error == Failure.UNREACHABLE


def test_a_server_that_answers_byte_by_byte_is_cut_off(alice, hooked, sent, server, settings):
    settings.WEBHOOK_TIMEOUT_SECONDS = 0.2

    def drip(connection):
        connection.settimeout(30)
        for byte in b"HTTP/1.1 204 OK\r\nX-Slow: ":
            connection.sendall(bytes([byte]))
        while connection.recv(1):  # until the other side ends it
            connection.sendall(b"x")

    server.before = drip
    endpoint, _secret = hooked(alice)
    send_test(endpoint)
    sent()
    row = Delivery.objects.get()
    assert (row.outcome, row.last_error) == (Outcome.WAITING, Failure.TIMEOUT)


def test_time_that_is_up_while_connecting_is_up(alice, hooked, sent, server, monkeypatch):
    class Elapsed(Timer):
        def start(self):
            self.function(*self.args)

    monkeypatch.setattr("apps.http.public_addresses.Timer", Elapsed)
    endpoint, _secret = hooked(alice)
    send_test(endpoint)
    assert sent() == []
    assert Delivery.objects.get().last_error == Failure.TIMEOUT


def test_the_end_of_an_ipv6_address_is_not_a_port(settings, monkeypatch):
    settings.WEBHOOKS_ANYWHERE = True
    reached = []

    def connect(address, *_more):
        reached.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr("http.client.socket.create_connection", connect)
    for scheme in ("http", "https"):
        assert post(f"{scheme}://[::1]/", b"", {}).failure == Failure.UNREACHABLE
    assert reached == [("::1", 80), ("::1", 443)]


def test_one_worker_at_a_time_sends_to_an_endpoint(alice, bob, hooked, server, monkeypatch):
    slow, _secret = hooked(alice)
    other, _secret = hooked(bob)
    send_test(slow)
    send_test(other)
    meanwhile: list[object] = []

    def slowly(*arguments):
        if not meanwhile:
            meanwhile.append(sending.due())
            meanwhile.append(sending.send_due(slow.pk))
            meanwhile.append(sending.send_due(other.pk))
        return post(*arguments)

    monkeypatch.setattr(sending, "post", slowly)
    assert sending.send_due(slow.pk) == 1
    assert meanwhile == [[other.pk], 0, 1], "the slow one does not hold up the other"
    assert len(server.received) == 2


def test_as_many_workers_as_are_allowed(alice, bob, hooked, server, settings):
    settings.WEBHOOK_CONCURRENCY = 1
    slow, _secret = hooked(alice)
    other, _secret = hooked(bob)
    send_test(other)
    Endpoint.objects.filter(pk=slow.pk).update(leased_until=timezone.now() + timedelta(seconds=30))
    assert sending.send_due(other.pk) == 0
    Endpoint.objects.filter(pk=slow.pk).update(leased_until=timezone.now() - timedelta(seconds=1))
    assert sending.send_due(other.pk) == 1


def test_a_worker_that_dies_loses_nothing_and_is_not_asked_for_ever(
    alice, hooked, sent, server, monkeypatch
):
    endpoint, _secret = hooked(alice)
    send_test(endpoint)

    def die(*_arguments):
        raise SystemExit

    monkeypatch.setattr(sending, "post", die)
    for attempt in range(1, sending.MAX_ATTEMPTS + 1):
        with pytest.raises(SystemExit):
            sending.send_due(endpoint.pk)
        row = Delivery.objects.get()
        assert (row.attempts, row.outcome) == (attempt, Outcome.WAITING)
        assert row.due_at > timezone.now()
        again()
    assert sending.send_due(endpoint.pk) == 0
    row = Delivery.objects.get()
    assert (row.outcome, row.last_error) == (Outcome.FAILED, Failure.INTERNAL)


def test_no_more_wait_than_are_allowed(alice, dora, hooked, monkeypatch):
    monkeypatch.setattr(sending, "MAX_WAITING", 2)
    hooked(alice)
    for number in range(4):
        publish(dora, f"@alice {number}")
        deliver()
    assert Delivery.objects.count() == 2


def test_failures_leave_a_switch_by_staff(alice, hooked):
    endpoint, _secret = hooked(alice)
    staff_switch(endpoint, is_on=False)
    sending.switch_off(endpoint, Off.FAILING)
    assert Endpoint.objects.get().off == Off.STAFF


def test_owners_do_not_undo_a_switch_by_staff_that_they_did_not_see(alice, hooked):
    endpoint, _secret = hooked(alice)
    change_endpoint(endpoint, is_on=False)
    staff_switch(Endpoint.objects.get(), is_on=False)
    assert endpoint.off == Off.OWNER
    with pytest.raises(Conflict):
        change_endpoint(endpoint, is_on=True, kinds=[Kind.DELETED])
    row = Endpoint.objects.get()
    assert (row.off, row.kinds) == (Off.STAFF, Kind.values)


def test_nothing_waits_for_an_endpoint_that_was_switched_off_meanwhile(alice, hooked):
    endpoint, _secret = hooked(alice)
    row = send_test(endpoint)
    staff_switch(Endpoint.objects.get(), is_on=False)
    assert endpoint.off == ""
    with pytest.raises(Conflict):
        send_test(endpoint)
    with pytest.raises(Conflict):
        send_again(endpoint, row)
    assert [one.state for one in Delivery.objects.all()] == [State.DEAD]


def test_the_sweep_leaves_out_endpoints_that_are_off(alice, hooked):
    endpoint, _secret = hooked(alice)
    send_test(endpoint)
    assert sending.due() == [endpoint.pk]
    Endpoint.objects.update(off=Off.OWNER)  # as while a message is inserted
    assert sending.due() == []


def test_both_secrets_sign_for_a_day(alice, hooked, sent, server):
    endpoint, former = hooked(alice)
    new = rotate_secret(endpoint)
    send_test(endpoint)
    sent()
    assert server.received[0].is_signed_with(new)
    assert server.received[0].is_signed_with(former)
    Endpoint.objects.update(former_until=timezone.now() - timedelta(seconds=1))
    send_test(endpoint)
    sent()
    assert server.received[1].is_signed_with(new)
    assert not server.received[1].is_signed_with(former)


def test_a_program_whose_token_has_ended_gets_nothing(alice, dora, hooked, sent):
    token = issue_token(alice, name="a program")
    hooked(alice, bearer=bearer_of(token))
    publish(dora, "@alice hello")
    deliver()
    revoke_token(alice, AccessToken.objects.get().pk)
    assert sent() == []
    assert not Endpoint.objects.exists()


def test_the_table_does_not_reveal_secrets(alice, hooked):
    endpoint, secret = hooked(alice)
    row = Endpoint.objects.get(pk=endpoint.pk)
    stored = {str(getattr(row, field.attname)) for field in row._meta.concrete_fields}
    assert secret not in stored
    assert secret.removeprefix("whsec_") not in stored


def test_the_sweep_finds_what_was_lost_and_the_purge_what_is_done(
    alice, dora, hooked, server, monkeypatch
):
    endpoint, _secret = hooked(alice)
    for _number in range(sending.BATCH_SIZE + 1):
        send_test(endpoint)
    monkeypatch.setattr(sending, "BATCH_SECONDS", 600.0)  # however busy the machine is
    enqueued = []
    monkeypatch.setattr(tasks, "enqueue", lambda name, pk: enqueued.append((name, pk)))
    tasks.sweep()
    assert enqueued == [(sending.TASK, endpoint.pk)]
    tasks.send(endpoint.pk)
    assert len(server.received) == sending.BATCH_SIZE
    assert enqueued == [(sending.TASK, endpoint.pk)] * 2, "the rest in another task"
    tasks.send(endpoint.pk)
    tasks.send(endpoint.pk)
    assert len(server.received) == sending.BATCH_SIZE + 1
    assert len(enqueued) == 2
    tasks.purge()
    assert Delivery.objects.exists()
    Delivery.objects.update(finished_at=timezone.now() - timedelta(days=8))
    tasks.purge()
    assert not Delivery.objects.exists()
    assert Endpoint.objects.exists()


def test_a_secret_that_cannot_be_read_any_more_sends_nothing(alice, hooked, sent, settings):
    endpoint, _secret = hooked(alice)
    send_test(endpoint)
    settings.SECRET_KEY = "another"
    assert sent() == []
    row = Delivery.objects.get()
    assert (row.outcome, row.last_error) == (Outcome.WAITING, Failure.INTERNAL)
    assert Endpoint.objects.get().failing_since is None, "the server has not failed"


def test_the_purge_deletes_endpoints_without_a_token(alice, hooked):
    token = issue_token(alice, name="a program")
    hooked(alice, bearer=bearer_of(token))
    tasks.purge()
    assert Endpoint.objects.exists()
    AccessToken.objects.all()._raw_delete(using="default")  # as while the app was left out
    tasks.purge()
    assert not Endpoint.objects.exists()


def test_the_site_does_not_start_in_production_with_any_host_allowed(settings):
    settings.PRODUCTION = settings.WEBHOOKS_ANYWHERE = True
    assert [error.id for error in check_hosts()] == ["webhooks.E001"]
    settings.WEBHOOKS_ANYWHERE = False
    assert check_hosts() == []


def test_a_follow_arrives_without_a_post(alice, dora, hooked, sent):
    hooked(alice)
    follow_user(dora, alice)
    [content] = sent()
    assert content["data"]["type"] == "follow"
    assert "status" not in content["data"]
