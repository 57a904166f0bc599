"""A token, or a session, that is used again costs no SQL; and one that was ended does not work once more."""

from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from oauth2_provider.models import AccessToken, RefreshToken

from apps.accounts.actions import issue_token, revoke_token, update_settings
from apps.accounts.authentication.sessions import end_session, session_with
from apps.accounts.authentication.sessions import user_of_session as user_of_key
from apps.accounts.cache import VIEWERS, forget_viewers
from apps.accounts.models import AccessToken as PersonalToken
from apps.accounts.models import Login, User
from apps.accounts.queries import active_viewer
from apps.feeds.actions import create_feed
from apps.filters.actions import FilterChange, create_filter
from apps.graph.actions import block_user, follow_user, mute_user
from apps.graph.groups.actions import create_group
from apps.graph.models import Circle, UserList
from apps.notifications.actions import change_policy
from apps.oauth.actions import end_access, issue_access
from apps.oauth.models import Application
from apps.oauth.queries import bearer_of, remembered_token, valid_tokens
from apps.tags.actions import follow_tag
from feedcache import stats
from feedcache.connections import timelines
from feedcache.memcached_tiers import tiers
from tests.support.clusters import addresses
from tests.support.factories import deliver, log_in, make_user, suspend
from tests.support.faults import dead_memcached, dead_redis, frozen
from tests.support.memory import forget
from tests.support.services import running

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("memcached")]


def statements_of(ask):
    with CaptureQueriesContext(connection) as queries:
        ask()
    return len(queries)


def bearer(token):
    found = bearer_of(token)
    assert found
    return found


def asking(user):
    found = active_viewer(user.pk)
    assert found
    return found


def warmed(token):
    """A token that this process has asked for until it cost nothing any more."""
    for _time in range(3):
        assert bearer_of(token)
    assert statements_of(lambda: bearer_of(token)) == 0
    return token


def personal(alice, _program):
    token = issue_token(alice, name="test")
    row = PersonalToken.objects.get(digest=PersonalToken.digest_of(token))
    return token, lambda: revoke_token(alice, row.pk)


def of_program(alice, program):
    token, _row = issue_access(alice, program.application, scopes=["read"])
    return token, lambda: end_access(alice.pk, application_id=program.application.pk)


@contextmanager
def flushed_redis():
    yield
    timelines().flushdb()


@contextmanager
def frozen_memcached():
    """It misses the end, and is there again; for a process that saw no failure of it."""
    for node in tiers().nodes():
        node.timeout = 0.2
    with frozen(running().memcached[0]), frozen(running().memcached[1]):
        yield
    forget()


TROUBLE = {
    "none": nullcontext,
    "Redis dead": dead_redis,
    "Redis flushed": flushed_redis,
    "Memcached dead": dead_memcached,
    "Memcached frozen": frozen_memcached,
}


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("make", [personal, of_program])
@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE)
def test_a_token_that_was_ended_does_not_work_once_more(alice, program, make, trouble):
    token, end = make(alice, program)
    warmed(token)
    with trouble():
        end()
        assert bearer_of(token) is None
    for _time in range(3):
        assert bearer_of(token) is None


@pytest.mark.long
@pytest.mark.parametrize("make", [personal, of_program])
def test_a_token_that_is_ended_while_redis_hangs_does_not_work_when_it_goes_on(
    alice, program, make, settings
):
    token, end = make(alice, program)
    warmed(token)
    with addresses(settings, REDIS_TIMEOUT_SECONDS=0.2):
        with frozen(running().redis):
            end()
            assert bearer_of(token) is None
        assert bearer_of(token) is None


def test_many_tokens_are_checked_at_once(alice, bob, carol, program):
    """By streams, which check all their tokens every few seconds."""
    ended, end = personal(bob, program)
    expired, _end = of_program(carol, program)
    dave = make_user()
    suspended = issue_token(dave, name="test")
    fresh = issue_token(alice, name="never used")
    tokens = [ended, expired, suspended, warmed(issue_token(alice, name="test"))]
    for token in tokens:
        warmed(token)
    assert valid_tokens([*tokens, fresh, "rill_unknown"]) == {*tokens, fresh}
    end()
    warmed(issue_token(bob, name="another"))  # so that the account is cached again
    _expired(carol, program)
    suspend(dave)
    assert valid_tokens([*tokens, fresh]) == {tokens[-1], fresh}
    with dead_redis():
        assert valid_tokens([*tokens, fresh]) == {tokens[-1], fresh}


def test_many_warm_tokens_cost_no_sql_and_a_call_of_each_server(alice):
    tokens = [warmed(issue_token(make_user(), name="test")) for _number in range(9)]
    stats.drain()
    assert statements_of(lambda: valid_tokens(tokens)) == 0
    calls = [number for (_subject, what), number in stats.drain().items() if what == stats.CALLS]
    assert 0 < sum(calls) <= len(list(tiers().nodes())) + 1 < len(tokens)


@pytest.mark.slow
def test_without_caches_a_token_is_read_from_postgresql(alice):
    token = warmed(issue_token(alice, name="test"))
    for dead in (dead_redis, dead_memcached):
        with dead():
            for _time in range(2):
                assert bearer(token).user == alice


def _password(alice, _program):
    alice.set_password("another long passphrase")
    alice.save()


def _expired(alice, _program):
    AccessToken.objects.update(expires=timezone.now() - timedelta(minutes=5))  # as time does
    forget_viewers([alice.pk])


@pytest.mark.parametrize(
    "end",
    [
        lambda alice, _program: suspend(alice),
        _password,
        _expired,
        lambda _alice, program: program.application.delete(),
        lambda _alice, _program: AccessToken.objects.all().delete(),
        lambda alice, _program: User.objects.get(pk=alice.pk).delete(),
    ],
    ids=["suspension", "password", "expiry", "application", "row", "account"],
)
def test_whatever_ends_a_token_ends_it_at_once(alice, program, end):
    token, _end = of_program(alice, program)
    warmed(token)
    end(alice, program)
    assert bearer_of(token) is None


def test_a_remembered_token_expires(alice, program, monkeypatch):
    token, _end = of_program(alice, program)
    warmed(token)
    later = timezone.now() + timedelta(days=5000)
    monkeypatch.setattr(timezone, "now", lambda: later)
    assert bearer_of(token) is None
    assert remembered_token(token) is None, "its requests count no more"


def test_narrower_scopes_hold_at_once(alice, program):
    token, row = issue_access(alice, program.application, scopes=["read", "write"])
    warmed(token)
    row.scope = "read"
    row.save()
    assert not bearer(token).may(("write",))


def test_an_application_is_shown_by_its_new_name(alice, program):
    token, _end = of_program(alice, program)
    warmed(token)
    application = Application.objects.get()
    application.name = "Mammoth"
    application.save()
    assert bearer(token).name == "Mammoth"


def test_a_refreshed_token_ends_the_old_one(alice, program):
    token, row = issue_access(alice, program.application, scopes=["read"])
    refresh = RefreshToken.objects.create(
        user=alice, application=program.application, access_token=row, token="x"
    )
    warmed(token)
    refresh.revoke()
    assert bearer_of(token) is None


def test_a_warm_page_of_a_session_costs_no_sql_for_its_user(alice):
    for _warm in range(2):
        active_viewer(alice.pk)
    assert statements_of(lambda: active_viewer(alice.pk)) == 0
    viewer, row = asking(alice), User.objects.get(pk=alice.pk)
    assert viewer.get_session_auth_hash() == row.get_session_auth_hash()
    assert "password" in viewer.get_deferred_fields()
    assert (
        statements_of(lambda: (viewer.counts.posts, viewer.counts.followers)) == 1
    )  # public counts, together


def warm_session(user):
    """The key of a session that this process has looked up until it cost no SQL any more."""
    browser = Client()
    log_in(browser, user)
    key = browser.cookies["sessionid"].value
    for _time in range(3):
        assert user_of_key(key) == user
    assert statements_of(lambda: user_of_key(key)) == 0
    return key


def log_out(key):
    browser = Client()
    browser.cookies["sessionid"] = key
    assert browser.post("/logout").status_code == 303


@pytest.mark.long
@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE)
def test_a_session_that_was_ended_does_not_work_once_more(alice, trouble):
    key = warm_session(alice)
    with trouble():
        log_out(key)
        assert user_of_key(key) is None
    for _time in range(3):
        assert user_of_key(key) is None


def _from_another_device(alice, key):
    end_session(alice, Login.objects.get(session_key=key).pk)


SESSION_ENDS = {
    "another device": _from_another_device,
    "password": lambda alice, _key: _password(alice, None),
    "suspension": lambda alice, _key: suspend(alice),
    "account": lambda alice, _key: User.objects.get(pk=alice.pk).delete(),
    "row": lambda _alice, key: Session.objects.filter(pk=key).delete(),
    "another key": lambda _alice, key: session_with(key).cycle_key(),
}


@pytest.mark.parametrize("end", SESSION_ENDS.values(), ids=SESSION_ENDS)
def test_whatever_ends_a_session_ends_it_at_once(alice, end):
    key = warm_session(alice)
    end(alice, key)
    assert user_of_key(key) is None


def test_an_end_whose_process_died_after_its_commit_is_made_good_by_its_event(alice, monkeypatch):
    key = warm_session(alice)
    with monkeypatch.context() as dead:
        dead.setattr("apps.accounts.cache.forget_viewers", lambda _ids: None)
        session_with(key).delete()
    assert user_of_key(key) == alice, "nobody has heard of it"
    deliver()
    assert user_of_key(key) is None


def test_a_remembered_session_expires(alice, monkeypatch):
    key = warm_session(alice)
    later = timezone.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE)
    monkeypatch.setattr(timezone, "now", lambda: later)
    assert user_of_key(key) is None


def test_what_is_put_into_a_session_is_known_everywhere_at_once(alice):
    key = warm_session(alice)
    changed = session_with(key)
    changed["step"] = 2
    assert "step" not in session_with(key), "each request has data of its own"
    changed.save()
    assert session_with(key)["step"] == 2


@pytest.mark.slow
def test_without_caches_a_session_is_read_from_postgresql(alice):
    key = warm_session(alice)
    for dead in (dead_redis, dead_memcached):
        with dead():
            assert user_of_key(key) == alice


def test_the_password_is_not_in_the_cache(alice):
    active_viewer(alice.pk)
    (viewer,) = VIEWERS.peek_many([alice.pk]).values()
    password = User.objects.values_list("password", flat=True).get(pk=alice.pk)
    assert password not in str(viewer)


CHANGES = {
    "settings": lambda alice, bob: update_settings(alice, theme="dark", hides_read=True),
    "follow": lambda alice, bob: follow_user(alice, bob),
    "languages of a follow": lambda alice, bob: follow_user(alice, bob, languages=["de"]),
    "block": lambda alice, bob: block_user(alice, bob),
    "blocked": lambda alice, bob: block_user(bob, alice),
    "mute": lambda alice, bob: mute_user(alice, bob),
    "tag": lambda alice, bob: follow_tag(alice, "tea"),
    "filter": lambda alice, bob: create_filter(
        alice, FilterChange(title="x", places=["home"], act="warn")
    ),
    "exclusive list": lambda alice, bob: create_group(
        UserList, alice, name="Tea", is_exclusive=True
    ),
    "circle": lambda alice, bob: create_group(Circle, alice, name="Tea"),
    "feed as a tab": lambda alice, bob: create_feed(
        alice, name="Tea", include_words=["tea"], is_pinned=True
    ),
    "policy": lambda alice, bob: change_policy(alice, for_not_following="filter"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_after_every_change_the_next_request_knows_it(alice, change):
    bob = make_user()
    for _warm in range(2):
        active_viewer(alice.pk)
    CHANGES[change](User.objects.select_related("counts").get(pk=alice.pk), bob)
    viewer, row = asking(alice), User.objects.select_related("counts").get(pk=alice.pk)
    pairs: list[Any] = [(viewer, row), (viewer.counts, row.counts)]
    for now, then in pairs:
        loaded = {field.attname for field in now._meta.concrete_fields} - now.get_deferred_fields()
        assert {name: getattr(now, name) for name in loaded} == {
            name: getattr(then, name) for name in loaded
        }
