import pytest
from django.utils import timezone

from apps.accounts.actions import issue_token
from apps.accounts.models import AccessToken, User
from apps.accounts.queries import (
    user_by_handle,
    user_by_id,
    user_ids_by_handle,
    user_ids_named,
    users_by_id,
)
from apps.errors import NotFound
from tests.support.cases import each
from tests.support.factories import make_user, user_of_token

pytestmark = pytest.mark.django_db


def suspend(user):
    User.objects.filter(pk=user.pk).update(suspended_at=timezone.now())


@each("written", ["alice", "Alice", "@alice", "@ALICE"])
def test_an_account_is_found_by_handle_in_any_case(alice, written):
    assert user_by_handle(written) == alice


@each("written", ["", "@", "nobody", "alice ", "al%", "alice@example.org", "x" * 10_000])
def test_anything_else_is_not_found(alice, written):
    with pytest.raises(NotFound):
        user_by_handle(written)


def test_users_come_with_their_counts_in_one_query(alice, carol, django_assert_num_queries):
    with django_assert_num_queries(1):
        found = users_by_id([alice.pk, carol.pk, alice.pk, 10**9])
        assert {pk: user.counts.followers for pk, user in found.items()} == {
            alice.pk: 0,
            carol.pk: 0,
        }
    with django_assert_num_queries(0):
        assert users_by_id([]) == {}


@each("user_id", [0, -1, 2**63, 2**64, 10**30])
def test_an_id_that_cannot_be_is_not_found(db, user_id):
    with pytest.raises(NotFound):
        user_by_id(user_id)


def test_suspended_accounts_look_like_absent_ones(alice):
    suspend(alice)
    answers = []
    for handle in ("alice", "nobody"):
        with pytest.raises(NotFound) as refusal:
            user_by_handle(handle)
        answers.append((refusal.value.message, refusal.value.code))
    assert answers[0] == answers[1]
    assert users_by_id([alice.pk]) == {}
    assert user_ids_by_handle(["alice"]) == {}


def test_handles_that_exist_have_ids(alice, carol, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert user_ids_by_handle(["alice", "carol", "nobody"]) == {
            "alice": alice.pk,
            "carol": carol.pk,
        }
    assert user_ids_by_handle([]) == {}


def test_ids_come_in_the_order_of_the_handles(alice, bob, carol):
    User.objects.filter(pk=alice.pk).update(display_name="A. Wen")  # rewritten behind the others
    for handles in (["alice", "bob", "carol"], ["carol", "nobody", "alice", "bob"]):
        expected = [handle for handle in handles if handle != "nobody"]
        assert list(user_ids_by_handle(handles)) == expected


def test_of_handles_that_must_exist_the_first_missing_one_is_named(alice, carol):
    assert sorted(user_ids_named(["alice", "carol"])) == sorted([alice.pk, carol.pk])
    with pytest.raises(NotFound, match="@nobody"):
        user_ids_named(["alice", "nobody", "noone"])


def test_a_token_stands_for_its_account_until_it_is_revoked(alice):
    token = issue_token(alice, name="phone")
    assert user_of_token(token) == alice
    AccessToken.objects.update(revoked_at=timezone.now())
    assert user_of_token(token) is None


@pytest.mark.parametrize("change", [{"suspended_at": timezone.now()}, {"is_active": False}])
def test_a_token_of_a_suspended_or_inactive_account_is_worth_nothing(change):
    user = make_user()
    token = issue_token(user, name="phone")
    User.objects.filter(pk=user.pk).update(**change)
    assert user_of_token(token) is None


def test_a_digest_is_no_token(alice):
    token = issue_token(alice, name="phone")
    assert user_of_token(AccessToken.digest_of(token)) is None
    assert user_of_token(token.upper()) is None
