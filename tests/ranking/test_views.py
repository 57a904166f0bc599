"""The ranked timeline as a page and for programs."""

import re

import pytest

from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.ranking.ordering import algorithm_of
from apps.ranking.scoring import discussed
from tests.support.factories import deliver, publish
from tests.support.pages import END

pytestmark = pytest.mark.django_db
API = "/api/x/ranked"


@pytest.fixture
def posts(alice, bob):
    made = [publish(alice, f"post {number}") for number in range(5)]
    deliver()
    return made


def ids_in(page):
    return re.findall(r'<article class="post[^"]*" id="p(\d+)"', page)


def test_a_visitor_is_sent_to_log_in(page_of):
    assert page_of(None).get("/ranked").headers["Location"] == "/login?next=%2Franked"


def test_an_empty_page_says_what_to_do(page_of, carol):
    assert b"Follow someone" in page_of(carol).get("/ranked").content


@pytest.mark.slow
def test_pages_follow_the_link_without_scripts(page_of, bob, posts):
    browser = page_of(bob)
    first = browser.get("/ranked?limit=3").content.decode()
    following = re.search(r'href="(/ranked\?session=[^"]+)"', first)
    assert following is not None
    second = browser.get(following[1].replace("&amp;", "&")).content.decode()
    assert {*ids_in(first), *ids_in(second)} == {str(post.pk) for post in posts}
    assert len(ids_in(first)) == 3
    assert END in second
    part = browser.get(following[1].replace("&amp;", "&"), headers={"HX-Request": "true"})
    assert ids_in(part.content.decode()) == ids_in(second)
    assert b"<html" not in part.content


def test_reasons_are_shown_when_asked_for(page_of, bob, posts):
    browser = page_of(bob)
    assert '<table class="figures">' not in browser.get("/ranked").content.decode()
    page = browser.get("/ranked?why=1&limit=3").content.decode()
    assert page.count('<table class="figures">') == 3
    assert "It is new." in page
    assert "why=1" in re.findall(r'href="(/ranked\?session=[^"]+)"', page)[0]


def test_the_algorithm_is_chosen_by_a_form_and_kept(page_of, bob):
    browser = page_of(bob)
    form = {"algorithm": "discussed", "next": "/ranked?why=1"}
    answer = browser.post("/ranked/algorithm", form)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/ranked?why=1")
    assert algorithm_of(bob) is discussed
    page = browser.get("/ranked").content.decode()
    assert 'value="discussed" aria-pressed="true"' in page
    assert page.count('aria-pressed="false"') >= 3
    assert str(discussed.description) in page
    assert browser.post("/ranked/algorithm", {"algorithm": "best"}).status_code == 422


@pytest.mark.long
@pytest.mark.parametrize("name", ["light", "discussed", "heavy", "chronological"])
def test_every_algorithm_has_every_post_and_explains_it(page_of, bob, posts, name):
    browser = page_of(bob)
    browser.post("/ranked/algorithm", {"algorithm": name})
    first = browser.get("/ranked?why=1&limit=3").content.decode()
    following = re.findall(r'href="(/ranked\?session=[^"]+)"', first)[0].replace("&amp;", "&")
    second = browser.get(following).content.decode()
    assert {*ids_in(first), *ids_in(second)} == {str(post.pk) for post in posts}
    assert first.count('<table class="figures">') == 3


def test_programs_follow_the_link_header_and_get_the_reasons(api_of, bob, posts):
    program, found, address = api_of(bob), [], f"{API}?limit=2"
    while address:
        answer = program.get(address)
        found += answer.json()
        address = re.sub(r"<(.*)>.*", r"\1", answer.headers.get("Link", ""))
    assert [status["id"] for status in found] != []
    assert {status["id"] for status in found} == {str(post.pk) for post in posts}
    assert len(found) == len(posts)
    told = found[0]["x_reason"]
    assert told["code"] in {"recency", "engagement", "affinity"}
    assert len(told["factors"]) == 3
    assert sum(one["adds"] for one in told["factors"]) == pytest.approx(told["score"], abs=0.01)


@pytest.mark.slow
def test_filters_hide_here_as_on_the_home_page(page_of, api_of, bob, posts):
    create_filter(
        bob, FilterChange("Quiet", ["home"], act="hide", keywords=[KeywordChange(keyword="post")])
    )
    assert ids_in(page_of(bob).get("/ranked").content.decode()) == []
    assert api_of(bob).get(API).json() == []


def test_bad_cursors_are_refused(page_of, api_of, bob):
    browser, program = page_of(bob), api_of(bob)
    for query in ("session=x", "session=-1", "session=" + "9" * 30, "after=5", "session=1&after=x",
                  "limit=x", "session=٣"):  # fmt: skip
        assert browser.get(f"/ranked?{query}").status_code == 400, query
        assert program.get(f"{API}?{query}").json()["code"] in {"bad_cursor", "bad_limit"}, query


def test_an_order_that_is_over_is_a_plain_404(page_of, bob):
    answer = page_of(bob).get("/ranked?session=999999")
    assert (answer.status_code, b"Start again" in answer.content) == (404, True)


def test_programs_choose_the_algorithm(api_of, bob):
    program, address = api_of(bob), "/api/x/ranking/algorithm"
    chosen = program.put(address, {"algorithm": "heavy"}, format="json").json()
    assert chosen == program.get(address).json()
    assert chosen["algorithm"] == "heavy"
    assert [one["name"] for one in chosen["algorithms"]] == [
        "light",
        "discussed",
        "heavy",
        "chronological",
    ]
    for body, status in (({"algorithm": "best"}, 422), ({}, 422), ([1], 400)):
        answer = program.put(address, body, format="json")
        assert answer.status_code == status
