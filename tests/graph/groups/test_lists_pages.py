"""Pages of lists: all of it works without JavaScript, in both languages, and for owners only."""

import pytest

from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import ListMember, UserList
from tests.support.factories import publish
from tests.support.pages import EMPTY, QUESTION

pytestmark = pytest.mark.django_db


@pytest.fixture
def tea(bob, alice):
    """A list of bob's with alice in it."""
    made = create_group(UserList, bob, name="Tea")
    add_members(UserList, bob, made.pk, [alice.pk])
    return made


@pytest.mark.slow
def test_a_whole_life(alice, bob, page_of):
    browser = page_of(bob)
    assert EMPTY in browser.get("/lists").text
    answer = browser.post("/lists", {"name": "Tea", "replies_policy": "none"})
    made = UserList.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, f"/lists/{made.pk}/edit")
    assert EMPTY in browser.get(answer["Location"]).text
    assert browser.post(f"/lists/{made.pk}/add", {"handles": "@Alice"}).status_code == 303
    post = publish(alice, "Oolong.")
    page = browser.get(f"/lists/{made.pk}").text
    assert f'id="p{post.pk}"' in page
    assert "1 person" in browser.get("/lists").text
    fields = {"name": "Green", "replies_policy": "list", "is_exclusive": "on"}
    assert browser.post(f"/lists/{made.pk}/edit", fields).status_code == 303
    assert "not on the home page" in browser.get("/lists").text
    assert browser.post(f"/lists/{made.pk}/remove", {"handle": "alice"}).status_code == 303
    assert not ListMember.objects.exists()
    assert QUESTION in browser.get(f"/lists/{made.pk}/delete").text
    assert browser.post(f"/lists/{made.pk}/delete")["Location"] == "/lists"
    assert not UserList.objects.exists()


@pytest.mark.slow
def test_what_is_refused_stays_in_the_form(bob, carol, tea, page_of):
    browser = page_of(bob)
    for address, fields in {
        "/lists": {"name": "", "replies_policy": "list"},
        f"/lists/{tea.pk}/edit": {"name": "x", "replies_policy": "all"},
        f"/lists/{tea.pk}/add": {"handles": "carol"},
    }.items():
        answer = browser.post(address, fields)
        assert answer.status_code == 422, address
        assert 'aria-invalid="true"' in answer.text
    answer = browser.post(f"/lists/{tea.pk}/add", {"handles": "nobody"})
    assert "@nobody" in str(answer.context["members_form"].errors)


def test_nobody_else_sees_a_list(alice, tea, page_of):
    for way in ("", "/edit", "/delete"):
        assert page_of(alice).get(f"/lists/{tea.pk}{way}").status_code == 404
        assert page_of(None).get(f"/lists/{tea.pk}{way}").status_code == 302
    for way in ("edit", "add", "remove", "delete"):
        fields = {"handle": "alice", "handles": "alice", "name": "x", "replies_policy": "list"}
        assert page_of(alice).post(f"/lists/{tea.pk}/{way}", fields).status_code == 404
    assert UserList.objects.get().name == "Tea"


@pytest.mark.slow
def test_in_chinese(bob, tea, page_of):
    for address in ("/lists", f"/lists/{tea.pk}", f"/lists/{tea.pk}/edit"):
        page = page_of(bob).get(address, headers={"Accept-Language": "zh-hans"}).text
        assert "列表" in page
