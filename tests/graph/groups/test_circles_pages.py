"""Pages of circles: all of it works without JavaScript, in both languages, and for owners only."""

import re

import pytest
from django.test import Client

from apps.graph.actions import follow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.groups.queries import circle_audience, groups_of
from apps.graph.models import Circle
from apps.pagination import MAX_LIMIT
from tests.support.factories import make_user
from tests.support.pages import EMPTY, QUESTION

pytestmark = pytest.mark.django_db

LIST = "/settings/circles"


@pytest.fixture
def family(alice, bob):
    """A circle of alice's with bob in it."""
    circle = create_group(Circle, alice, name="Family")
    add_members(Circle, alice, circle.pk, [bob.pk])
    return circle


def of(circle, way=""):
    return f"{LIST}/{circle.pk}{way}"


def test_nothing_yet(alice, page_of):
    page = page_of(alice).get(LIST).text
    assert EMPTY in page
    assert "/leave" not in page
    assert '<a href="/settings/circles" aria-current="page">' in page


def test_make_one(alice, page_of):
    browser = page_of(alice)
    answer = browser.post(LIST, {"name": "Family", "is_shared": "on"})
    made = Circle.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, of(made))
    assert (made.name, made.is_shared, made.owner) == ("Family", True, alice)
    assert EMPTY in browser.get(of(made)).text
    page = browser.get(LIST).text
    assert "0 members" in page
    assert f'href="{of(made)}">Edit<span class="sr"> Family</span></a>' in page


@pytest.mark.parametrize("name", ["", "Family", "x" * 61])
def test_what_is_refused_stays_in_the_form(alice, family, page_of, name):
    answer = page_of(alice).post(LIST, {"name": name})
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.text
    assert f'value="{name}"' in answer.text or not name
    assert Circle.objects.count() == 1


def test_rename_and_share(alice, family, page_of):
    browser = page_of(alice)
    answer = browser.post(of(family), {"name": "Kin", "is_shared": "on"})
    assert (answer.status_code, answer["Location"]) == (303, of(family))
    family.refresh_from_db()
    assert (family.name, family.is_shared) == ("Kin", True)
    assert "checked" in browser.get(of(family)).text
    assert browser.post(of(family), {"name": ""}).status_code == 422


def test_fill_and_empty(alice, bob, family, page_of):
    browser, more = page_of(alice), [make_user("dora"), make_user("eve")]
    for one in more:
        follow_user(one, alice)
    answer = browser.post(of(family, "/add"), {"handles": "@Dora, eve @bob"})
    assert (answer.status_code, answer["Location"]) == (303, of(family))
    assert circle_audience(family.pk) == {alice.pk, bob.pk, *(one.pk for one in more)}
    assert re.findall(r'name="handle" value="(\w+)"', browser.get(of(family)).text) == [
        "eve",
        "dora",
        "bob",
    ]
    browser.post(of(family, "/remove"), {"handle": "dora"})
    assert circle_audience(family.pk) == {alice.pk, bob.pk, more[1].pk}


@pytest.mark.parametrize(
    ("handles", "named"),
    [("", ""), ("carol", "@carol"), ("bob nobody", "@nobody"), ("x" * 2001, "2000")],
)
def test_who_cannot_be_added(alice, carol, family, page_of, handles, named):
    answer = page_of(alice).post(of(family, "/add"), {"handles": handles})
    assert answer.status_code == 422
    [errors] = answer.context["members_form"].errors.values()
    assert named in str(errors)
    assert len(circle_audience(family.pk)) == 2


def test_delete_asks_first(alice, family, page_of):
    browser = page_of(alice)
    assert QUESTION in browser.get(of(family, "/delete")).text
    assert groups_of(Circle, alice) == [family]
    answer = browser.post(of(family, "/delete"))
    assert (answer.status_code, answer["Location"]) == (303, LIST)
    assert groups_of(Circle, alice) == []
    assert browser.get(of(family)).status_code == 404


def test_leave(alice, bob, family, page_of):
    browser = page_of(bob)
    page = browser.get(LIST).text
    assert f'action="{of(family, "/leave")}"' in page
    answer = browser.post(of(family, "/leave"))
    assert (answer.status_code, answer["Location"]) == (303, LIST)
    assert circle_audience(family.pk) == {alice.pk}
    assert browser.post(of(family, "/leave")).status_code == 404


ADDRESSES = [
    ("get", ""),
    ("post", ""),
    ("post", "/add"),
    ("post", "/remove"),
    ("get", "/delete"),
    ("post", "/delete"),
]


@pytest.mark.parametrize("who", ["member", "stranger"])
@pytest.mark.parametrize(("method", "way"), ADDRESSES)
def test_others_find_the_same_nothing_as_where_nothing_is(bob, carol, family, page_of, who, method, way):  # fmt: skip
    browser = page_of({"member": bob, "stranger": carol}[who])
    fields = {"name": "Mine", "handles": "bob", "handle": "bob"} if method == "post" else {}
    there, absent = (
        getattr(browser, method)(f"{LIST}/{number}{way}", fields)
        for number in (family.pk, family.pk + 999)
    )
    assert (there.status_code, absent.status_code) == (404, 404)
    plain = [re.sub(r"[\w-]{20,}|/settings/circles/\d+", "", one.text) for one in (there, absent)]
    assert plain[0] == plain[1]
    family.refresh_from_db()
    assert (family.name, family.deleted_at, len(circle_audience(family.pk))) == ("Family", None, 2)


@pytest.mark.parametrize(("method", "way"), [*ADDRESSES, ("post", "/leave")])
def test_visitors_are_sent_to_the_login(family, method, way):
    answer = getattr(Client(), method)(of(family, way))
    assert answer.status_code in {302, 303}
    assert answer["Location"].startswith("/login?next=")


@pytest.mark.parametrize("way", ["/add", "/remove", "/leave"])
def test_reading_changes_nothing(alice, family, page_of, way):
    assert page_of(alice).get(of(family, way)).status_code == 405


@pytest.mark.parametrize("number", ["0", "9223372036854775808", "9" * 40])
def test_numbers_that_cannot_be(alice, page_of, number):
    assert page_of(alice).get(f"{LIST}/{number}").status_code == 404


def test_forms_are_protected(alice, family):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)
    for method, way in ADDRESSES:
        if method == "post":
            assert browser.post(of(family, way)).status_code == 403


@pytest.mark.parametrize(("way", "said"), [("", "圈子"), ("/delete", "删除圈子“Family”？")])
def test_in_chinese(alice, family, page_of, way, said):
    browser = page_of(alice)
    browser.cookies["lang"] = "zh-hans"
    page = browser.get(of(family, way)).text
    assert said in page
    assert not re.search(r">(Members|Add|Remove|Delete circle|Save changes)<", page)
    assert page.count("<h1") == 1


def test_every_control_has_a_name_and_every_id_is_one(alice, family, page_of):
    """What a keyboard reaches says what it does: fields are labelled, buttons of rows name their row."""
    for address in (LIST, of(family)):
        page = page_of(alice).get(address).text
        drawn = re.sub(r"<template.*?</template>", "", page, flags=re.DOTALL)
        ids = re.findall(r'\sid="([^"]+)"', drawn)
        assert len(ids) == len(set(ids))
        fields = re.findall(r'<input type="(?:text|checkbox)"[^>]*id="([^"]+)"', page)
        labelled = re.findall(r'<label for="([^"]+)"', page)
        wrapped = re.findall(r'<label class="check"><input[^>]*id="([^"]+)"', page)
        assert fields
        assert set(fields) <= {*labelled, *wrapped}
    assert 'Remove<span class="sr"> @bob</span>' in page


def test_names_are_texts(alice, page_of):
    create_group(Circle, alice, name="<b>&\"'</b>")
    page = page_of(alice).get(LIST).text
    assert '<b>&"' not in page
    assert "&lt;b&gt;&amp;&quot;" in page


@pytest.mark.slow
def test_many_members_are_paged(alice, family, page_of):
    for start in range(0, MAX_LIMIT, 20):
        more = [make_user() for _ in range(20)]
        for one in more:
            follow_user(one, alice)
        add_members(Circle, alice, family.pk, [one.pk for one in more])
        del start
    browser, address, seen = page_of(alice), of(family), []
    while address:
        page = browser.get(address).text
        seen += re.findall(r'name="handle" value="(\w+)"', page)
        found = re.search(r'class="older"><a href="([^"]+)"', page)
        address = found[1] if found else None
    assert len(seen) == len(set(seen)) == MAX_LIMIT + 1
    assert browser.get(f"{of(family)}?max_id=x").status_code == 400
