"""In which languages somebody is followed, as a page."""

import pytest

from apps.accounts.actions import set_locked
from apps.graph.actions import block_user, follow_user
from apps.graph.queries import relationships
from tests.support.factories import deliver, publish

pytestmark = pytest.mark.django_db
ADDRESS = "/@alice/languages"


def languages(user, other):
    return list(relationships(user.pk, [other.pk])[0].languages)


@pytest.mark.slow
def test_chosen_languages_decide_what_comes_to_the_home_page(alice, bob, page_of):
    publish(alice, "Tea.", language="en")
    publish(alice, "茶。", language="zh")
    deliver()
    browser = page_of(bob)
    assert ADDRESS in browser.get("/@alice").text
    answer = browser.post(ADDRESS, {"languages": ["zh", "ja"]})
    assert (answer.status_code, answer["Location"]) == (303, "/@alice")
    assert languages(bob, alice) == ["zh", "ja"]
    page = browser.get("/").text
    assert "茶。" in page
    assert "Tea." not in page
    assert browser.get(ADDRESS).text.count(" checked") == 2
    browser.post(ADDRESS)
    assert languages(bob, alice) == []
    assert "Tea." in browser.get("/").text


def test_what_a_program_chose_is_offered_too(alice, bob, page_of):
    follow_user(bob, alice, languages=["pt-BR"])
    browser = page_of(bob)
    assert 'value="pt-BR"' in browser.get(ADDRESS).text
    browser.post(ADDRESS, {"languages": ["pt-BR", "en"]})
    assert languages(bob, alice) == ["pt-BR", "en"]


def test_what_is_no_language_is_refused(alice, bob, page_of):
    assert page_of(bob).post(ADDRESS, {"languages": ["tlh"]}).status_code == 422
    assert languages(bob, alice) == []


def test_who_asked_to_follow_chooses_already(alice, carol, page_of):
    set_locked(alice, locked=True)
    follow_user(carol, alice)
    assert page_of(carol).post(ADDRESS, {"languages": ["zh"]}).status_code == 303
    assert languages(carol, alice) == ["zh"]


def test_it_is_for_those_who_follow(alice, bob, carol, page_of):
    for method in ("get", "post"):
        assert getattr(page_of(carol), method)(ADDRESS).status_code == 404
        assert getattr(page_of(alice), method)(ADDRESS).status_code == 404
    assert page_of(None).get(ADDRESS)["Location"].startswith("/login")
    block_user(alice, bob)
    assert page_of(bob).post(ADDRESS, {"languages": ["zh"]}).status_code == 404
