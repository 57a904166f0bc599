"""Making, changing and deleting feeds: the limits, the pages without JavaScript, the endpoints, the tabs, RSS."""

import re
from html import unescape

import pytest

from apps.accounts.models import UserCounts
from apps.errors import Invalid, NotFound
from apps.feeds.actions import (
    MAX_FEEDS,
    MAX_PHRASES,
    MAX_PINNED,
    MAX_RULES,
    change_feed,
    create_feed,
    delete_feed,
    forget_person,
)
from apps.feeds.models import Feed
from apps.feeds.queries import feed_at, own_feed, pinned_feeds
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import mute_user
from tests.support.factories import deliver, make_user, publish, suspend
from tests.support.pages import EMPTY, ERROR, LABEL, QUESTION

pytestmark = pytest.mark.django_db

CARD = re.compile(r'<article class="post[^"]*" id="p(\d+)')


def shown(answer):
    return [int(found) for found in CARD.findall(answer.text)]


def refused(act, *args, **fields):
    with pytest.raises(Invalid) as error:
        act(*args, **fields)
    return error.value.errors


def test_what_is_typed_is_kept_as_it_is_looked_up(alice, bob):
    rules = {"include_people": ["@Alice", "alice"], "include_tags": ["#River", "ＲＩＶＥＲ"]}
    feed = create_feed(
        bob, name=" My  feed ", exclude_words=[" green   tea "], languages=["ZH"], **rules
    )
    assert (feed.name, feed.slug, feed.url) == ("My feed", "my-feed", "/@bob/feeds/my-feed")
    assert (feed.include_people, feed.include_tags) == ([alice.pk], ["river"])
    assert (feed.exclude_words, feed.languages) == (["green tea"], ["zh"])


def test_addresses_differ_and_stay(bob):
    names = ["Tea", "tea!", "茶", "!!!", "TEA"]
    feeds = [create_feed(bob, name=name, include_tags=["tea"]) for name in names]
    assert [feed.slug for feed in feeds] == ["tea", "tea-2", "茶", "feed", "tea-3"]
    assert feeds[2].url == "/@bob/feeds/%E8%8C%B6"
    assert change_feed(bob, feeds[0].pk, name="Coffee").slug == "tea"


def test_what_is_refused_says_where(alice, bob):
    good = {"name": "Mine", "include_people": ["alice"]}
    for wrong, field in (
        ({"name": " "}, "name"),
        ({"name": "x" * 41}, "name"),
        ({"include_people": []}, "include_people"),
        ({"include_people": ["nobody"]}, "include_people"),
        ({"exclude_people": ["nobody"]}, "exclude_people"),
        ({"include_tags": ["1"]}, "include_tags"),
        ({"exclude_words": ["!?"]}, "exclude_words"),
        ({"include_words": ["x" * 101]}, "include_words"),
        ({"include_words": ["\ufdfa" * 6]}, "include_words"),  # 108 as looked for
        ({"include_words": [f"word {n}" for n in range(MAX_PHRASES + 1)]}, "include_words"),
        ({"exclude_tags": [f"t{n}" for n in range(MAX_RULES)]}, "include_people"),
    ):
        assert list(refused(create_feed, bob, **good | wrong)) == [field], wrong
    assert not Feed.objects.exists()
    assert refused(create_feed, bob, name="Out", exclude_people=["alice"])  # nothing comes in


def test_limits_of_feeds_and_tabs(bob):
    feeds = [
        create_feed(bob, name="x", include_tags=["tea"], is_pinned=n < MAX_PINNED)
        for n in range(MAX_FEEDS)
    ]
    assert "up to 20 feeds" in refused(create_feed, bob, name="x", include_tags=["tea"])["name"]
    assert "pinned" in refused(change_feed, bob, feeds[-1].pk, is_pinned=True)
    assert pinned_feeds(bob) == feeds[:MAX_PINNED]
    change_feed(bob, feeds[0].pk, is_pinned=False)
    delete_feed(bob, feeds[1].pk)
    assert pinned_feeds(bob) == feeds[2:3]
    assert UserCounts.objects.get(pk=bob.pk).pinned_feeds == 1


def test_others_have_nothing_but_the_public_ones(bob, carol):
    feed = create_feed(bob, name="Mine", include_tags=["tea"])
    for act in (own_feed, delete_feed, change_feed):
        with pytest.raises(NotFound):
            act(carol, feed.pk)
    with pytest.raises(NotFound):
        feed_at(carol.pk, bob, feed.slug)
    change_feed(bob, feed.pk, is_public=True)
    assert feed_at(carol.pk, bob, feed.slug) == feed_at(None, bob, feed.slug) == feed


def test_a_deleted_account_is_in_no_rule(alice, bob, carol):
    feed = create_feed(
        bob, name="Mine", include_people=["alice", "carol"], exclude_people=["alice"]
    )
    assert (forget_person(alice.pk), forget_person(alice.pk)) == (1, 0)
    feed.refresh_from_db()
    assert (feed.include_people, feed.exclude_people) == ([carol.pk], [])


def test_an_edit_keeps_the_rules_about_suspended_people(alice, bob, carol, page_of, api_of):
    dora = make_user("dora")
    feed = create_feed(bob, name="Mine", include_people=["alice", "carol"], exclude_people=["dora"])
    for person in (alice, dora):
        suspend(person)
    program, address = api_of(bob), f"/api/x/feeds/{feed.pk}"
    told = program.get(address).json()
    assert (told["include_people"], told["exclude_people"]) == (["carol"], [])
    rules = {"include_people": told["include_people"], "exclude_people": told["exclude_people"]}
    assert program.put(address, rules, format="json").status_code == 200
    form = {"name": "Mine", "include_people": "@bob", "exclude_people": "@carol"}
    assert page_of(bob).post(f"/feeds/{feed.pk}/edit", form).status_code == 303
    feed.refresh_from_db()
    assert feed.include_people == [bob.pk, alice.pk]
    assert feed.exclude_people == [carol.pk, dora.pk]


def test_feeds_by_words_count_as_searches(alice, bob, page_of, api_of, settings):
    """Each looks through all posts; those of people and tags do not."""
    words = create_feed(alice, name="Words", include_words=["tea"], is_public=True)
    people = create_feed(alice, name="People", include_people=["alice"], is_public=True)
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "search": (1, 60)}
    ways = {
        "page": lambda feed: page_of(bob).get(feed.url),
        "api": lambda feed: api_of(bob).get(f"/api/x/feeds/{feed.pk}/timeline"),
        "rss": lambda feed: page_of(None).get(f"{feed.url}.rss"),
    }
    found = {
        name: [read(feed).status_code for feed in (people, words, words, people)]
        for name, read in ways.items()
    }
    assert found == {
        "page": [200, 200, 429, 200],
        "api": [200, 429, 429, 200],
        "rss": [200, 200, 429, 200],
    }


FORM = {"name": "Rivers", "include_people": "@alice", "include_tags": "#river, sea", "include_words": "tea\n绿茶",
        "exclude_people": "", "exclude_tags": "", "exclude_words": "storm"}  # fmt: skip


def test_a_whole_life(alice, bob, page_of):
    post = publish(alice, "tea by the #river").pk
    publish(alice, "A storm.")
    deliver()
    browser = page_of(bob)
    assert EMPTY in browser.get("/feeds").text
    preview = browser.post("/feeds", {**FORM, "name": "", "preview": "1"})
    assert (preview.status_code, shown(preview)) == (200, [post])
    assert "Because of <bdi>@alice, #river, “tea”</bdi>" in unescape(preview.text)
    assert "storm</textarea>" in preview.text  # and what was typed
    assert not Feed.objects.exists()
    answer = browser.post("/feeds", FORM)
    feed = Feed.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, "/@bob/feeds/rivers")
    page = browser.get(answer["Location"])
    assert shown(page) == [post]
    assert f"{feed.url}.rss" not in page.text
    form = browser.get(f"/feeds/{feed.pk}/edit").text
    for typed in ("@alice", "#river #sea", "tea\n绿茶</textarea>"):
        assert typed in form
    changed = {
        **FORM,
        "name": "Water",
        "is_pinned": "on",
        "is_public": "on",
        "without_replies": "on",
    }
    assert browser.post(f"/feeds/{feed.pk}/edit", changed).status_code == 303
    assert "Saved." in browser.get("/@bob/feeds/rivers").text
    assert '<a href="/@bob/feeds/rivers"><bdi>Water</bdi></a>' in browser.get("/").text
    assert QUESTION in browser.get(f"/feeds/{feed.pk}/delete").text
    assert browser.post(f"/feeds/{feed.pk}/delete")["Location"] == "/feeds"
    assert browser.get("/@bob/feeds/rivers").status_code == 404
    assert "Water" not in browser.get("/").text


def test_what_is_refused_stays_in_the_form(bob, page_of):
    browser = page_of(bob)
    feed = create_feed(bob, name="Mine", include_tags=["tea"])
    for address in ("/feeds", f"/feeds/{feed.pk}/edit"):
        for extra in ({}, {"preview": "1"}):
            answer = browser.post(address, {**FORM, "include_people": "@nobody", **extra})
            assert answer.status_code == 422
            assert 'aria-invalid="true"' in answer.text
    empty = browser.post("/feeds", {"name": "Nothing"})
    assert (empty.status_code, ERROR in empty.text) == (422, True)
    assert Feed.objects.get().include_tags == ["tea"]
    for number in range(MAX_PINNED):
        create_feed(bob, name=f"Tab {number}", include_tags=["tea"], is_pinned=True)
    answer = browser.post("/feeds", {**FORM, "include_people": "", "is_pinned": "on"})
    assert (answer.status_code, Feed.objects.count()) == (422, MAX_PINNED + 1)
    assert ERROR in answer.text


def test_a_private_feed_is_nobody_elses(alice, bob, page_of, api_of):
    feed = create_feed(bob, name="Mine", include_people=["alice"])
    missing = page_of(alice).get("/@bob/feeds/no-such")
    for reader in (alice, None):
        assert page_of(reader).get(feed.url).status_code == missing.status_code == 404
        assert api_of(reader).get(f"/api/x/feeds/{feed.pk}/timeline").status_code == 404
        for form in ("atom", "rss", "json"):
            assert page_of(reader).get(f"{feed.url}.{form}").status_code == 404
    assert page_of(bob).get(f"{feed.url}.rss").status_code == 404  # the same for all
    for way in ("edit", "delete"):
        assert page_of(alice).get(f"/feeds/{feed.pk}/{way}").status_code == 404
        assert page_of(None).get(f"/feeds/{feed.pk}/{way}").status_code == 302
        assert page_of(alice).post(f"/feeds/{feed.pk}/{way}", FORM).status_code == 404
    assert Feed.objects.get().name == "Mine"


def test_a_public_feed_shows_the_public_what_is_public_and_no_rules(alice, bob, page_of, api_of):
    post = publish(alice, "For everybody. #river").pk
    hidden = [
        publish(alice, "Few.", visibility=visibility).pk for visibility in ("unlisted", "followers")
    ]
    feed = create_feed(
        bob, name="Mine", include_people=["alice"], exclude_words=["secretword"], is_public=True
    )
    deliver()
    for form in ("atom", "rss", "json"):
        answer = page_of(None).get(f"{feed.url}.{form}")
        assert answer.status_code == 200
        assert f"/@alice/{post}" in answer.text
        assert not any(str(pk) in answer.text for pk in hidden)
        assert answer.headers["Cache-Control"] == "public, max-age=60"
        again = page_of(None).get(f"{feed.url}.{form}", headers={"If-None-Match": answer["ETag"]})
        assert again.status_code == 304
    page = page_of(None).get(feed.url)
    assert shown(page) == [post]
    assert "secretword" not in page.text
    assert LABEL not in page.text
    assert (
        f'type="application/rss+xml" title="Mine" href="http://testserver{feed.url}.rss"'
        in page.text
    )
    (status,) = api_of(None).get(f"/api/x/feeds/{feed.pk}/timeline").json()
    assert (int(status["id"]), status["x_because"]) == (post, [])
    assert page_of(None).get("/@BOB/feeds/mine")["Location"] == feed.url
    suspend(bob)
    for address in (feed.url, f"{feed.url}.rss", f"/api/x/feeds/{feed.pk}/timeline"):
        assert page_of(None).get(address).status_code == 404


def test_mutes_and_filters_of_the_reader_apply(alice, bob, carol, page_of, api_of):
    calm, loud = publish(alice, "A breeze.").pk, publish(alice, "A storm.").pk
    feed = create_feed(bob, name="Mine", include_people=["alice"], is_public=True)
    words = [KeywordChange(keyword="storm")]
    create_filter(carol, FilterChange("Calm", ["public"], "hide", keywords=words))
    assert shown(page_of(carol).get(feed.url)) == [calm]
    assert shown(page_of(bob).get(feed.url)) == [loud, calm]
    mute_user(carol, alice)
    answer = api_of(carol).get(f"/api/x/feeds/{feed.pk}/timeline")
    assert answer.json() == []


def test_by_the_api(alice, bob, api_of):
    posts = [publish(alice, f"Number {number} #river").pk for number in range(5)]
    program = api_of(bob)
    made = program.post(
        "/api/x/feeds", {"name": "Mine", "include_tags": ["river"], "pinned": True}, format="json"
    )
    feed = made.json()
    assert feed["url"] == "http://testserver/@bob/feeds/mine"
    assert (feed["include_tags"], feed["pinned"], feed["public"]) == (["river"], True, False)
    address = f"/api/x/feeds/{feed['id']}"
    assert program.get("/api/x/feeds").json() == [program.get(address).json()] == [feed]
    changed = program.put(
        address, {"exclude_people": ["bob"], "public": True}, format="json"
    ).json()
    assert changed == {**feed, "exclude_people": ["bob"], "public": True}
    found, page = [], f"{address}/timeline?limit=2"
    while page:
        answer = program.get(page)
        found += [int(status["id"]) for status in answer.json()]
        assert all(status["x_because"] == ["#river"] for status in answer.json())
        links = dict(re.findall(r'<([^>]+)>; rel="(\w+)"', answer.headers.get("Link", "")))
        page = next((url for url, rel in links.items() if rel == "next"), "")
    assert found == posts[::-1]
    for wrong in (
        {},
        {"name": "x"},
        {"name": "x", "include_people": ["nobody"]},
        {"name": "x", "languages": ["!"]},
    ):
        answer = program.post("/api/x/feeds", wrong, format="json")
        assert (answer.status_code, answer.json()["code"]) == (422, "validation_failed")
    assert program.delete(address).json() == {}
    assert program.get(address).status_code == program.get(f"{address}/timeline").status_code == 404
    reader = api_of(bob, scopes="read:statuses")
    assert reader.get("/api/x/feeds").status_code == 403


def test_tabs_cost_no_query_without_feeds(bob, django_assert_num_queries):
    bob.counts.refresh_from_db()
    with django_assert_num_queries(0):
        assert pinned_feeds(bob) == pinned_feeds(None) == []


def test_empty_states_and_chinese(bob, page_of):
    browser = page_of(bob)
    feed = create_feed(bob, name="Mine", include_tags=["nothing"], is_pinned=True, is_public=True)
    assert EMPTY in browser.get(feed.url).text
    assert EMPTY in page_of(make_user("reader")).get(feed.url).text
    preview = browser.post("/feeds", {**FORM, "include_people": "", "preview": "1"})
    assert EMPTY in preview.text
    for address in ("/feeds", feed.url, f"/feeds/{feed.pk}/edit", f"/feeds/{feed.pk}/delete", "/"):
        assert "信息流" in browser.get(address, headers={"Accept-Language": "zh-hans"}).text, (
            address
        )
