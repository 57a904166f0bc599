"""Mastodon.py, unmodified: what a moderator's program reads and does."""

import pytest
from mastodon import MastodonAPIError, MastodonNotFoundError, MastodonUnauthorizedError

from apps.moderation.actions import file_report
from tests.flows.clients import SCOPES, mastodon
from tests.support.factories import make_user, publish
from tests.support.staff import make_staff

pytestmark = pytest.mark.flows
STAFF_SCOPES = [*SCOPES, "admin:read", "admin:write"]


@pytest.fixture
def program(served, alice):
    return mastodon(make_staff(superuser=True, handle="mod"), served, STAFF_SCOPES)


def names(accounts):
    return {account["username"] for account in accounts}


def test_it_lists_accounts_and_pages(program, bob, carol):
    assert names(program.admin_accounts_v2(origin="local", status="active")) >= {"alice", "bob"}
    assert names(program.admin_accounts_v2(username="ali")) == {"alice"}
    assert names(program.admin_accounts_v2(permissions="staff")) >= {"mod"}
    assert program.admin_accounts_v2(origin="remote") == []
    assert names(program.admin_accounts_v1(status="active", username="bob")) == {"bob"}
    assert program.admin_accounts_v1(status="silenced") == []
    (first,) = program.admin_accounts_v2(limit=1)
    (second,) = program.admin_accounts_v2(limit=1, max_id=first.id)
    assert int(second.id) < int(first.id)
    assert program.admin_account(carol.pk).email == "carol@example.org"


def test_it_moderates_and_takes_back(program, carol):
    program.admin_account_moderate(carol.pk, "none", text="Please be kind.")
    program.admin_account_moderate(carol.pk, "silence", text="Noisy.")
    assert names(program.admin_accounts_v2(status="silenced")) == {"carol"}
    assert program.admin_account_unsilence(carol.pk).silenced is False
    program.admin_account_moderate(carol.pk, "disable", text="Rude.")
    assert program.admin_account(carol.pk).disabled is True
    assert program.admin_account_enable(carol.pk).disabled is False
    program.admin_account_moderate(carol.pk, "suspend", text="Spam.")
    assert program.admin_account(carol.pk).suspended is True
    assert program.admin_account_unsuspend(carol.pk).suspended is False
    for act in (
        lambda: program.admin_account_moderate(carol.pk, "sensitive"),
        lambda: program.admin_account_unsensitive(carol.pk),
        lambda: program.admin_account_approve(carol.pk),
        lambda: program.admin_account_reject(carol.pk),
    ):
        with pytest.raises(MastodonAPIError) as refused:
            act()
        assert "422" in str(refused.value)


def test_it_works_on_reports(program, alice, carol):
    post = publish(alice, "You are all fools.")
    number = file_report(carol, alice, comment="Rude.", rule_ids=[1], post_ids=[post.pk]).pk
    (report,) = program.admin_reports(target_account_id=alice.pk)
    assert (int(report.id), report.account.username, report.comment) == (number, "carol", "Rude.")
    assert [status.content for status in report.statuses] == ["<p>You are all fools.</p>"]
    assert program.admin_report_assign(report).assigned_account.username == "mod"
    assert program.admin_report_unassign(report).assigned_account is None
    assert program.admin_report_resolve(report).action_taken is True
    assert program.admin_reports(account_id=carol.pk) == []
    assert program.admin_report_reopen(report).action_taken is False
    program.admin_account_moderate(alice.pk, "none", report_id=report)
    assert program.admin_report(report).action_taken_by_account.username == "mod"
    assert [int(one.id) for one in program.admin_reports(resolved=True)] == [number]


def test_it_reads_trends_and_blocks(program):
    assert program.admin_trending_tags() == []
    assert program.admin_trending_statuses() == []
    assert program.admin_trending_links() == []
    for read in (
        program.admin_domain_blocks,
        program.admin_domain_allows,
        program.admin_email_domain_blocks,
        program.admin_canonical_email_blocks,
        program.admin_ip_blocks,
    ):
        assert read() == []
    assert program.admin_test_canonical_email_block("a@mail.example") == []
    for missing in (program.admin_ip_block, program.admin_email_domain_block):
        with pytest.raises(MastodonNotFoundError):
            missing(1)
    for refused in (
        lambda: program.admin_create_domain_block("mastodon.example"),
        lambda: program.admin_create_ip_block("10.0.0.0/8", "no_access"),
        lambda: program.admin_approve_trending_tag(1),
    ):
        with pytest.raises(MastodonAPIError, match="422"):
            refused()


def test_it_blocks_sign_ups_and_lets_them_in_again(program):
    domain = program.admin_create_email_domain_block("mail.example")
    assert [one.domain for one in program.admin_email_domain_blocks()] == ["mail.example"]
    program.admin_delete_email_domain_block(domain)
    address = program.admin_create_canonical_email_block(email="a.b+c@mail.example")
    assert [one.id for one in program.admin_test_canonical_email_block("ab@mail.example")] == [
        address.id
    ]
    program.admin_delete_canonical_email_block(address)
    block = program.admin_create_ip_block(
        "203.0.113.0/24", "sign_up_block", comment="A wave.", expires_in=3600
    )
    changed = program.admin_update_ip_block(block, comment="Still.")
    assert (changed.ip, changed.comment) == ("203.0.113.0/24", "Still.")
    program.admin_delete_ip_block(block)
    for read in (
        program.admin_email_domain_blocks,
        program.admin_canonical_email_blocks,
        program.admin_ip_blocks,
    ):
        assert read() == []


def test_a_member_is_granted_none_of_it(served, alice):
    program = mastodon(make_user("member"), served, SCOPES)
    with pytest.raises(MastodonAPIError, match="403"):
        program.admin_accounts_v2()
    with pytest.raises(MastodonUnauthorizedError):
        type(program)(access_token="rill_wrong", api_base_url=served).admin_reports()
