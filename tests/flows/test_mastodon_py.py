"""Mastodon.py, unmodified: a session as a program would have it."""

import pytest
from mastodon import Mastodon, MastodonIllegalArgumentError, MastodonUnauthorizedError

from tests.flows.clients import SCOPES, mastodon
from tests.support.factories import PASSWORD, deliver, publish, seconds_ago

pytestmark = pytest.mark.flows


def test_it_logs_in_by_code_and_knows_who_it_is(served, alice):
    program = mastodon(alice, served)
    me = program.account_verify_credentials()
    assert (me.username, me.acct, me.source.privacy) == ("alice", "alice", "public")
    assert program.app_verify_credentials().name == "A program"
    assert program.instance().version.startswith("4.")
    assert program.instance_v2().configuration.statuses.max_characters == 500
    assert program.instance_nodeinfo().software.name == "feedsite"
    assert program.custom_emojis() == []


def test_it_logs_in_by_password(served, with_password):
    client_id, secret = Mastodon.create_app("A program", scopes=SCOPES, api_base_url=served)
    program = Mastodon(client_id, secret, api_base_url=served)
    token = program.log_in("alice", PASSWORD, scopes=SCOPES)
    assert program.account_verify_credentials().username == "alice"
    program.revoke_access_token()
    with pytest.raises(MastodonUnauthorizedError):
        Mastodon(access_token=token, api_base_url=served).account_verify_credentials()
    with pytest.raises(MastodonIllegalArgumentError):
        Mastodon(client_id, secret, api_base_url=served).log_in("alice", "wrong", scopes=SCOPES)


def test_it_posts_and_reads_home_to_both_ends(served, alice, bob):
    with seconds_ago(60):
        for number in range(45):
            publish(alice, f"number {number}")
    deliver()
    program = mastodon(bob, served)
    own = program.status_post(
        "Hello from a program.", visibility="unlisted", idempotency_key="once"
    )
    assert (
        program.status_post(
            "Hello from a program.", visibility="unlisted", idempotency_key="once"
        ).id
        == own.id
    )
    page = program.timeline_home(limit=20)
    assert page[0].id == own.id
    walked = program.fetch_remaining(page)
    assert [status.content for status in walked][1:] == [
        f"<p>number {n}</p>" for n in range(44, -1, -1)
    ]
    assert ids_upwards(program, walked[-1].id) == [status.id for status in walked[:-1]]
    assert program.status_delete(own.id).id == own.id


def ids_upwards(program, lowest):
    """The ids of home above a post, by the pages that follow it towards the newest; newest first."""
    found, page = [], program.timeline_home(min_id=lowest, limit=20)
    while page:
        found = [status.id for status in page] + found
        page = program.fetch_previous(page)
    return found


def test_it_reads_people_and_relations(served, alice, bob):
    program = mastodon(bob, served)
    found = program.account_lookup("alice")
    assert program.account_relationships(found.id)[0].following is True
    assert program.account_unfollow(found.id).following is False
    assert program.account_follow(found.id).following is True
    assert [account.username for account in program.account_followers(found.id)] == ["bob"]
