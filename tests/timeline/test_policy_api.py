"""Delivery policies by the API: for staff who may, with whole write access only."""

import pytest

from apps.timeline.fanout.switch import set_author_policy
from apps.timeline.models import AuthorPolicy, Policy, PolicyChange, SitePolicy
from tests.support.factories import make_user
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db

BASE = "/api/x/policies"
PULL = {"policy": "pull", "reason": "A million followers."}


@pytest.fixture
def staff():
    return make_staff(
        *(
            f"timeline.{verb}_{what}"
            for verb in ("view", "change")
            for what in ("authorpolicy", "sitepolicy")
        )
    )


def test_staff_choose_for_an_author_and_the_history_keeps_it(staff, alice, api_of):
    client = api_of(staff)
    before = client.get(f"{BASE}/{alice.pk}").json()
    assert (before["policy"], before["mode"]) == ("site", None)
    after = client.put(f"{BASE}/{alice.pk}", PULL, format="json").json()
    assert (after["policy"], after["mode"], after["reason"]) == ("pull", "pull", PULL["reason"])
    assert AuthorPolicy.objects.get(pk=alice.pk).mode == "pull"
    change = PolicyChange.objects.get()
    assert (change.author_id, change.made_by, change.reason) == (
        alice.pk,
        staff.handle,
        PULL["reason"],
    )


def test_staff_choose_for_the_site(staff, api_of):
    answer = api_of(staff).put(f"{BASE}/site", PULL, format="json")
    assert (answer.status_code, answer.json()["mode"], answer.json()["pulls_all"]) == (
        200,
        "pull",
        True,
    )
    assert SitePolicy.objects.get().policy == "pull"


def test_the_site_has_no_site_above_it(staff, api_of):
    said = {"policy": "site", "reason": "Why not."}
    answer = api_of(staff).put(f"{BASE}/site", said, format="json")
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["policy"]
    assert not PolicyChange.objects.exists()


@pytest.mark.parametrize(
    "said", [{}, {"policy": "pull"}, {"policy": "often", "reason": "x"}, {**PULL, "reason": ""}]
)
def test_a_choice_needs_a_policy_and_a_reason(staff, alice, api_of, said):
    assert api_of(staff).put(f"{BASE}/{alice.pk}", said, format="json").status_code == 422
    assert not PolicyChange.objects.exists()


def test_authors_with_a_policy_come_in_pages(staff, api_of):
    authors = [make_user() for _ in range(3)]
    for author in authors:
        set_author_policy(author, Policy.PUSH, by="a test")
    client = api_of(staff)
    first = client.get(f"{BASE}?limit=2")
    assert [row["account_id"] for row in first.json()] == [str(one.pk) for one in authors[:0:-1]]
    assert 'rel="next"' in first.headers["Link"]
    rest = client.get(f"{BASE}?limit=2&max_id={authors[1].pk}").json()
    assert [row["account_id"] for row in rest] == [str(authors[0].pk)]


@pytest.mark.parametrize("where", ["", "/site", "/1"])
def test_nobody_else_may_even_look(alice, api_of, where):
    for client in (api_of(alice), api_of(make_staff("accounts.view_user"))):
        assert client.get(BASE + where).status_code == 403
        if where:
            assert client.put(BASE + where, PULL, format="json").status_code == 403
    assert not PolicyChange.objects.exists()


def test_who_may_look_may_not_choose(alice, api_of):
    viewer = make_staff("timeline.view_authorpolicy")
    assert api_of(viewer).get(f"{BASE}/{alice.pk}").status_code == 200
    assert api_of(viewer).put(f"{BASE}/{alice.pk}", PULL, format="json").status_code == 403


def test_a_token_for_statuses_only_chooses_nothing(staff, alice, api_of):
    client = api_of(staff, scopes="write:statuses write:accounts read")
    assert client.put(f"{BASE}/{alice.pk}", PULL, format="json").status_code == 403
