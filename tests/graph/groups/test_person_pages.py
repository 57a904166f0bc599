"""The page with the viewer's lists and circles that an account is in."""

import pytest

from apps.graph.actions import follow_user
from apps.graph.groups.actions import create_group
from apps.graph.groups.queries import groups_with
from apps.graph.models import Circle, UserList

pytestmark = pytest.mark.django_db


@pytest.fixture
def groups(bob):
    """Two lists and two circles of bob, who follows alice."""
    return {
        kind: [create_group(kind, bob, name=name) for name in ("Rivers", "Tea")]
        for kind in (UserList, Circle)
    }


def names(kind, owner, member):
    return [group.name for group in groups_with(kind, owner, member.pk)]


def test_boxes_put_in_and_take_out(alice, bob, groups, page_of):
    follow_user(alice, bob)
    browser, page = page_of(bob), f"{alice.url}/groups"
    rivers, tea = groups[UserList]
    circle = groups[Circle][0]
    for lists, circles in (([tea], []), ([rivers, tea], [circle]), ([rivers], [])):
        sent = {"list": [one.pk for one in lists], "circle": [one.pk for one in circles]}
        assert browser.post(page, sent)["Location"] == alice.url
        assert names(UserList, bob, alice) == [one.name for one in lists]
        assert names(Circle, bob, alice) == [one.name for one in circles]
        assert browser.get(page).text.count("checked") == len(lists) + len(circles)


def test_only_what_is_possible_is_offered(alice, bob, carol, groups, page_of):
    browser = page_of(bob)
    page = browser.get(f"{alice.url}/groups").text  # followed, follows not
    assert page.count('name="list"') == 2
    assert 'name="circle"' not in page
    circle = groups[Circle][0]
    browser.post(f"{alice.url}/groups", {"circle": [circle.pk]})
    assert names(Circle, bob, alice) == []
    assert "checkbox" not in browser.get(f"{carol.url}/groups").text


@pytest.mark.parametrize("value", ["x", "0", "-1", "9" * 30, ""])
def test_groups_of_others_and_nonsense_are_ignored(alice, bob, groups, page_of, value):
    assert page_of(bob).post(f"{alice.url}/groups", {"list": [value]}).status_code == 303
    assert names(UserList, bob, alice) == []


def test_the_menu_of_a_profile_leads_there(alice, bob, carol, page_of):
    browser = page_of(bob)
    assert f'href="{alice.url}/groups"' in browser.get(alice.url).text
    assert f'href="{carol.url}/groups"' not in browser.get(carol.url).text
    assert f'href="/compose?to={carol.handle}"' in browser.get(carol.url).text
