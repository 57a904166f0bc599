"""Filters: what they may hold, and what a reader sees of what they find, on pages and in the API alike."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.queries import user_by_id
from apps.engagement.actions import like_post
from apps.errors import Invalid, NotFound
from apps.filters import actions, queries
from apps.filters.actions import (
    FilterChange,
    KeywordChange,
    add_post,
    change_filter,
    create_filter,
    delete_filter,
)
from apps.filters.cache import FILTERS
from apps.filters.models import Filter, FilterContext
from apps.filters.queries import active_filters_of, filters_of, own_filter
from feedcache.read_through.envelope import pack
from tests.support.cases import each
from tests.support.factories import deliver, delivered, publish, repost

pytestmark = pytest.mark.django_db
EVERYWHERE = FilterContext.values


def make(owner, *words, places=EVERYWHERE, act="warn", **more):
    keywords = [KeywordChange(keyword=word, whole_word=True) for word in words]
    return create_filter(owner, FilterChange("Quiet", places, act, keywords=keywords, **more))


@each(
    "wanted",
    [
        FilterChange("", ["home"]),
        FilterChange("x" * 101, ["home"]),
        FilterChange("x", []),
        FilterChange("x", ["somewhere"]),
        FilterChange("x", ["home"], "explode"),
        FilterChange("x", ["home"], keywords=[KeywordChange(keyword=" ")]),
        FilterChange("x", ["home"], keywords=[KeywordChange(keyword="x" * 201)]),
        FilterChange("x", ["home"], keywords=[KeywordChange(keyword="\ufdfa" * 12)]),  # 216 folded
    ],
)
def test_what_a_filter_may_not_be(bob, wanted):
    with pytest.raises(Invalid):
        create_filter(bob, wanted)
    assert filters_of(bob) == []
    assert not active_filters_of(user_by_id(bob.pk))


def test_there_are_bounds(bob, monkeypatch):
    found = make(bob, "one")
    monkeypatch.setattr(actions, "MAX_KEYWORDS_OF_FILTER", 1)
    with pytest.raises(Invalid):
        change_filter(bob, found.pk, FilterChange(keywords=[KeywordChange(keyword="two")]))
    monkeypatch.setattr(actions, "MAX_FILTERS", 1)
    with pytest.raises(Invalid):
        make(bob, "three")


@each("bound, value", [("MAX_KEYWORDS", 3), ("MAX_FOLDED_CHARACTERS", 11)])
def test_all_filters_of_an_account_share_one_allowance(alice, bob, monkeypatch, bound, value):
    make(bob, "one", "two")
    monkeypatch.setattr(actions, bound, value)
    last = make(bob, "three")
    [keyword] = last.keywords.all()
    for attempt in (
        lambda: make(bob, "\ufdfa"),
        lambda: actions.add_keyword(bob, last.pk, keyword="four", whole_word=True),
        lambda: change_filter(bob, last.pk, FilterChange(keywords=[KeywordChange(keyword="four")])),
    ):
        with pytest.raises(Invalid):
            attempt()
    if bound == "MAX_FOLDED_CHARACTERS":
        with pytest.raises(Invalid):
            actions.change_keyword(bob, keyword.pk, keyword="longer", whole_word=None)
    swap = [KeywordChange(keyword.pk, delete=True), KeywordChange(keyword="four")]
    change_filter(bob, last.pk, FilterChange(keywords=swap))
    make(alice, "one", "two", "six")


def matched(reader, texts):
    filters = active_filters_of(reader)
    return {text for text in texts if filters.matches(1, [text], timezone.now())}


def test_what_older_versions_allowed_beyond_the_allowance_does_nothing(bob, monkeypatch):
    made = make(bob, "one", "two", "three")
    make(bob, "four", "five")
    monkeypatch.setattr(queries, "MAX_KEYWORDS", 4)
    reader = user_by_id(bob.pk)
    texts = {"one", "three", "four", "five"}
    assert matched(reader, texts) == texts - {"five"}
    actions.change_filter(bob, made.pk, FilterChange(title="Loud"))  # the rest may still be changed
    monkeypatch.setattr(queries, "MAX_FOLDED_CHARACTERS", 6)
    reader = user_by_id(bob.pk)
    actions._changed(reader)
    assert matched(reader, texts) == {"one"}


def test_keywords_are_added_changed_and_dropped(bob):
    found = make(bob, "one", "two")
    one, two = found.keywords.all()
    changes = [KeywordChange(one.pk, "1"), KeywordChange(two.pk, delete=True), KeywordChange(keyword="3")]  # fmt: skip
    changed = change_filter(bob, found.pk, FilterChange(title="Loud", keywords=changes))
    assert (changed.title, [word.keyword for word in changed.keywords.all()]) == (
        "Loud",
        ["1", "3"],
    )


def test_a_filter_is_its_owners(alice, bob):
    found = make(bob, "tea")
    for attempt in (
        lambda: own_filter(alice, found.pk),
        lambda: change_filter(alice, found.pk, FilterChange(title="Mine")),
        lambda: delete_filter(alice, found.pk),
        lambda: add_post(alice, found.pk, 1),
        lambda: change_filter(bob, make(bob).pk,
                              FilterChange(keywords=[KeywordChange(found.keywords.all()[0].pk, "x")])),
    ):  # fmt: skip
        with pytest.raises(NotFound):
            attempt()
    assert Filter.objects.get(pk=found.pk).title == "Quiet"


def test_who_has_no_filter_pays_nothing(bob, django_assert_num_queries):
    reader = user_by_id(bob.pk)
    with django_assert_num_queries(0):
        assert not active_filters_of(reader)
        assert not active_filters_of(None)
    make(bob, "tea")
    delete_filter(bob, Filter.objects.get().pk)
    assert user_by_id(bob.pk).counts.filters == 0


def shown(client, path):
    return [status["id"] for status in client.get(f"/api/v1/{path}").json()]


def places_of(alice, post):
    """Where a post of alice's is, by the context in which filters see it."""
    return {
        "home": "timelines/home",
        "public": "timelines/public",
        "account": f"accounts/{alice.pk}/statuses",
    }


@pytest.mark.slow
@each("place", ["home", "public", "account"])
def test_hiding_acts_in_its_place_only(alice, bob, api_of, page_of, place):
    post, other = publish(alice, "A cup of tea"), delivered(alice, "coffee")
    make(bob, "tea", places=[place], act="hide")
    client, browser = api_of(bob), page_of(bob)
    pages = {"home": "/", "public": "/public", "account": "/@alice"}
    for name, path in places_of(alice, post).items():
        expected = [other.pk] if name == place else [other.pk, post.pk]
        assert shown(client, path) == [str(one) for one in expected], name
        page = browser.get(pages[name]).text
        assert (f'id="p{post.pk}"' in page) == (name != place), name


def test_a_warning_marks_and_shows(alice, bob, carol, api_of, page_of):
    post = publish(alice, "A cup of tea")
    shared = repost(carol, post.pk)
    deliver()
    made = make(bob, "tea", places=["home", "thread"])
    [status] = api_of(bob).get("/api/v1/timelines/home").json()
    [result] = status["filtered"]
    assert result["filter"] == {"id": str(made.pk), "title": "Quiet", "context": ["home", "thread"], "expires_at": None,
                                "filter_action": "warn"}  # fmt: skip
    assert (result["keyword_matches"], result["status_matches"]) == (["tea"], None)
    wrapper = api_of(bob).get(f"/api/v1/statuses/{shared.pk}").json()
    assert wrapper["filtered"] == wrapper["reblog"]["filtered"] == [result]
    assert "Filtered: Quiet" in page_of(bob).get("/").text
    assert "Filtered: Quiet" in page_of(bob).get(f"/@alice/{post.pk}").text
    assert "Filtered" not in page_of(bob).get("/public").text  # it acts elsewhere
    assert "Filtered" not in page_of(carol).get(f"/@alice/{post.pk}").text
    assert api_of(carol).get(f"/api/v1/statuses/{post.pk}").json()["filtered"] == []


def test_threads_and_notifications(alice, bob, api_of):
    mine = publish(bob, "tea?")
    answer = publish(alice, "tea! @bob", reply_to_id=mine.pk)
    like_post(alice, mine.pk)
    deliver()
    make(bob, "tea", places=["thread", "notifications"], act="hide")
    client = api_of(bob)
    assert client.get(f"/api/v1/statuses/{mine.pk}/context").json()["descendants"] == []
    assert client.get(f"/api/v1/statuses/{answer.pk}").status_code == 200  # asked for by itself
    kinds = [one["type"] for one in client.get("/api/v1/notifications").json()]
    assert kinds == ["favourite"]  # of one's own post, which is never filtered


def test_what_is_quoted_and_named_is_found(alice, bob, carol, api_of):
    tea = publish(carol, "tea")
    quote, named = publish(alice, "look", quote_of_id=tea.pk), publish(alice, "nothing in it")
    deliver()
    made = make(bob, "tea", act="hide")
    row = add_post(bob, made.pk, named.pk)
    assert add_post(bob, made.pk, named.pk) == row
    assert shown(api_of(bob), "timelines/home") == []
    assert str(quote.pk) in shown(api_of(carol), f"accounts/{alice.pk}/statuses")
    with pytest.raises(NotFound):
        add_post(bob, made.pk, publish(carol, visibility="followers").pk)


def test_an_expired_filter_does_nothing(alice, bob, api_of):
    post = delivered(alice, "tea")
    made = make(bob, "tea", act="hide", expires_in=60)
    assert shown(api_of(bob), "timelines/home") == []
    Filter.objects.filter(pk=made.pk).update(expires_at=timezone.now() - timedelta(minutes=5))
    owner = user_by_id(bob.pk)
    FILTERS.delete_many(
        [(owner.pk, owner.counts.filters_revision)]
    )  # as it is when time has passed
    assert shown(api_of(bob), "timelines/home") == [str(post.pk)]


def test_filters_are_cached_until_they_change(alice, bob, django_assert_num_queries):
    found = make(bob, "tea", places=["home"], act="hide", expires_in=3600)
    row = add_post(bob, found.pk, publish(alice).pk)
    reader = user_by_id(bob.pk)
    [first] = active_filters_of(reader).filters
    with django_assert_num_queries(0):
        assert active_filters_of(reader).filters == [first]
    assert (first.title, set(first.places), first.hides) == ("Quiet", {"home"}, True)
    assert first.posts == {row.post_id: row.pk}
    assert [word.text for word in first.keywords] == ["tea"]
    [keyword] = found.keywords.all()
    for change, expected in (
        (
            lambda: actions.change_keyword(bob, keyword.pk, keyword="coffee", whole_word=None),
            ["coffee"],
        ),
        (
            lambda: actions.add_keyword(bob, found.pk, keyword="tea", whole_word=True),
            ["coffee", "tea"],
        ),
        (lambda: actions.delete_keyword(bob, keyword.pk), ["tea"]),
    ):
        change()
        [now] = active_filters_of(user_by_id(bob.pk)).filters
        assert [word.text for word in now.keywords] == expected
    actions.remove_post(bob, row.pk)
    assert active_filters_of(user_by_id(bob.pk)).filters[0].posts == {}


def test_a_cached_filter_expires(alice, bob):
    found = make(bob, "tea", expires_in=3600)
    assert matched(bob, {"tea"}) == {"tea"}
    Filter.objects.filter(pk=found.pk).update(expires_at=timezone.now() - timedelta(minutes=5))
    FILTERS.delete_many([(bob.pk, bob.counts.filters_revision)])  # as it is when time has passed
    assert matched(bob, {"tea"}) == set()
    assert len(FILTERS.get_many([(bob.pk, bob.counts.filters_revision)], lambda _owners: {})) == 1


@each("data", [b"", b"x", pack(b"{}1"), pack(b'[{"id": 1}]'), pack(b"[1]")])
def test_garbage_in_the_cache_is_a_miss(data):
    with pytest.raises(ValueError):  # noqa: PT011 -- any of them is a miss
        FILTERS.decode(data)
