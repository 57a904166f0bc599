"""Algorithms as plug-ins: the example of the documentation, and what the interface insists on."""

import re
import sys
from dataclasses import replace
from types import ModuleType

import pytest
from django.conf import settings as site_settings

from apps.graph.actions import follow_user, mute_user
from apps.ranking.algorithms import available, check_setting, run, weights_of
from apps.ranking.models import FactorWeight
from apps.ranking.ordering import choose_algorithm, newest_scores, ranked_page
from apps.ranking.scoring import explain_light, light
from tests.support.factories import deliver, delivered, make_user, moderator, publish, repost

pytestmark = pytest.mark.django_db
PAGE = site_settings.BASE_DIR / "docs/feed_algorithms.md"


@pytest.fixture
def quiet(settings, monkeypatch):
    """The example of the page, imported and named as the page says."""
    page = PAGE.read_text()
    (source,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (named,) = re.findall(r"^FEED_ALGORITHMS=(.*)$", page, re.MULTILINE)
    assert len(source.splitlines()) <= 45
    feeds = ModuleType("feeds")
    monkeypatch.setitem(sys.modules, "feeds", feeds)
    exec(compile(source, str(PAGE), "exec"), feeds.__dict__)
    settings.FEED_ALGORITHMS = named.split(",")
    return feeds.__dict__["quiet"]


@pytest.mark.slow
def test_the_example_of_the_page_can_be_chosen_and_does_what_it_says(
    quiet, alice, bob, carol, page_of
):
    follow_user(bob, carol)
    dora = make_user("dora")
    follow_user(bob, dora)
    seldom = publish(carol, "once")
    often = [publish(alice, f"post {number}") for number in range(4)]
    repost(dora, often[0].pk)
    deliver()
    browser = page_of(bob)
    assert browser.post("/ranked/algorithm", {"algorithm": "quiet"}).status_code == 303
    page = browser.get("/ranked?why=1").content.decode()
    ids = re.findall(r'<article class="post[^"]*" id="p(\d+)"', page)
    assert ids[0] == str(seldom.pk)
    assert sorted(ids[1:]) == sorted(str(post.pk) for post in often)
    assert "@carol writes seldom." in page
    assert "Writes seldom" in browser.get(f"/explain/{seldom.pk}").content.decode()


def test_what_a_filter_of_an_algorithm_leaves_out_stays_out_of_its_later_pages(quiet, alice, bob):
    posts = [publish(alice, f"post {number}") for number in range(4)]
    deliver()
    choose_algorithm(bob, "quiet")
    page = ranked_page(bob, limit=1)
    mute_user(bob, alice)
    assert page.items
    assert ranked_page(bob, session_id=page.session, after=page.after, limit=9).items == []
    assert len(posts) == len(newest_scores(bob))


@pytest.mark.parametrize(
    "answer",
    [
        None,
        0.5,
        {},
        {"recency": 1.0},
        {"recency": 1.0, "engagement": 1.0, "affinity": 1.0, "luck": 1.0},
    ],
    ids=["nothing", "only a number", "empty", "one factor", "an unknown factor"],
)
def test_without_an_explanation_there_is_no_score(alice, bob, answer):
    delivered(alice)
    unexplained = replace(light, scorer=lambda _viewer, items: [answer for _item in items])
    with pytest.raises(TypeError, match="does not explain"):
        run(unexplained, bob, weights_of(light))


def test_every_item_is_explained_and_every_algorithm_has_factors(alice, bob):
    delivered(alice)
    with pytest.raises(ValueError, match="shorter"):
        run(replace(light, scorer=lambda _viewer, _items: []), bob, weights_of(light))
    with pytest.raises(ValueError, match="explains nothing"):
        replace(light, factors=())


def test_the_score_is_what_the_explanation_adds_up_to(alice, bob):
    post = delivered(alice)
    (scored,), items = run(light, bob, weights_of(light))
    assert [item.id for item in items] == [scored.post_id] == [post.pk]
    (explained,) = explain_light(bob, items)
    assert {part.factor.name: part.value for part in scored.parts} == pytest.approx(
        explained, abs=0.001
    )
    assert scored.score == sum(part.adds for part in scored.parts)


def test_staff_change_a_weight_and_the_next_order_has_it(alice, bob, client):
    first, second = publish(alice, "older"), delivered(alice, "newer")
    before = ranked_page(bob, limit=1)
    client.force_login(moderator())
    address = "/admin/ranking/factorweight/add/"
    form = client.get(address).content.decode()
    assert "Balanced: New (0.45)" in form
    assert client.post(address, {"name": "light.luck", "weight": 1}).status_code == 200
    assert client.post(address, {"name": "light.recency", "weight": -1}).status_code == 200
    assert not FactorWeight.objects.exists()
    assert client.post(address, {"name": "light.recency", "weight": 0}).status_code == 302
    assert weights_of(light) == {"recency": 0, "engagement": 0.3, "affinity": 0.25}
    assert ranked_page(bob, limit=1).entries[0].scored.parts[0].weight == 0
    kept = ranked_page(bob, session_id=before.session, limit=2)
    assert kept.entries[0].scored.parts[0].weight == 0.45
    assert {item.id for item in kept.items} == {first.pk, second.pk}


@pytest.mark.parametrize(
    ("paths", "message"),
    [([], "the list is empty"), (["no.such.path"], "no.such.path"),
     (["apps.ranking.scoring.HALF_LIFE_HOURS"], "is not an algorithm"),
     (["apps.ranking.scoring.light"] * 2, "twice")],
)  # fmt: skip
def test_a_wrong_setting_is_named_before_the_site_starts(settings, paths, message):
    settings.FEED_ALGORITHMS = paths
    assert [message in error.msg for error in check_setting()] == [True]


def test_the_setting_says_what_there_is_in_which_order():
    assert list(available()) == ["light", "discussed", "heavy", "chronological"]
