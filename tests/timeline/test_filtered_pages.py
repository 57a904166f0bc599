"""Filters act before a page is full: pages keep their size, and a walk meets everything once."""

import re

import pytest

from apps.accounts.queries import user_by_id
from apps.audit.comparison.pages import Sample, differences
from apps.audit.models import Kind
from apps.audit.oracle import Oracle
from apps.engagement.actions import bookmark_post
from apps.filters.actions import FilterChange, KeywordChange, add_post, create_filter
from apps.filters.models import FilterContext
from apps.graph.actions import block_user, follow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import UserList
from apps.pagination import Cursor
from apps.posts.actions.drafts import PollDraft
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post
from apps.timeline import list as lists
from apps.timeline.home import home_timeline
from apps.timeline.list import bookmarks_timeline
from apps.timeline.pipeline import hydrate
from apps.timeline.pipeline import page as pipeline
from apps.timeline.sources.home_cache import HOME
from tests.support.factories import deliver, make_user, publish, repost
from tests.support.pages import ids
from tests.timeline.test_home import bulk_posts, walk, walk_up

pytestmark = pytest.mark.django_db


def hide(owner, *words, places=FilterContext.values, whole=True):
    keywords = [KeywordChange(keyword=word, whole_word=whole) for word in words]
    return create_filter(owner, FilterChange("Quiet", places, "hide", keywords=keywords))


@pytest.fixture
def paths(alice, bob):
    """Addresses of pages on which are the same posts: five wanted ones, with nine hidden ones between them."""
    mine = create_group(UserList, bob, name="Tea", is_exclusive=False)
    add_members(UserList, bob, mine.pk, [alice.pk])
    quoted = publish(make_user(), "Something to quote.", visibility="unlisted")
    bodies = ["wanted"] * 4 + ["rhubarb"] * 9 + ["wanted"]
    posts = [publish(alice, f"{body} #tea", quote_of_id=quoted.pk) for body in bodies]
    deliver()
    hide(bob, "rhubarb")
    wanted = [str(post.pk) for post in reversed(posts) if "wanted" in post.body]
    return wanted, {
        "home": "/api/v1/timelines/home",
        "list": f"/api/v1/timelines/list/{mine.pk}",
        "tag": "/api/v1/timelines/tag/tea",
        "public": "/api/v1/timelines/public",
        "profile": f"/api/v1/accounts/{alice.pk}/statuses",
        "quotes": f"/api/v1/statuses/{quoted.pk}/quotes",
        "ranked": "/api/x/ranked",
    }


@pytest.mark.slow
def test_a_page_is_full_while_there_is_more(api_of, bob, paths, subtests):
    wanted, addresses = paths
    client = api_of(bob)
    for place in ("home", "list", "tag", "public", "profile", "quotes", "ranked"):
        with subtests.test(place=place):
            address, shown = f"{addresses[place]}?limit=2", []
            while address:
                answer = client.get(address)
                page = [status["id"] for status in answer.json()]
                assert page, "an empty page with a link to the next one"
                shown.append(page)
                link = re.search(r'<([^>]+)>; rel="next"', answer.headers.get("Link", ""))
                address = link[1] if link and sum(map(len, shown)) < len(wanted) else ""
            assert [post for page in shown for post in page] == wanted or place == "ranked"
            assert {post for page in shown for post in page} == set(wanted)
            assert [len(page) for page in shown] == [2, 2, 1] or place == "ranked"


def test_a_word_in_what_is_shared_hides_the_repost(alice, bob, carol):
    stranger = make_user()
    follow_user(bob, carol)
    shared = repost(carol, publish(stranger, "A cup of rhubarb tea").pk)
    quoting = publish(carol, "Look!", quote_of_id=publish(stranger, "rhubarb!").pk)
    plain = publish(carol, "Something else")
    deliver()
    assert ids(home_timeline(bob, Cursor())) == [plain.pk, quoting.pk, shared.pk]
    hide(bob, "rhubarb")
    assert ids(home_timeline(bob, Cursor())) == [plain.pk] == Oracle().home(bob.pk)


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "rounds"), [(2, 2), (5, 8)])
def test_a_walk_through_long_hidden_runs_meets_everything_once(
    alice, bob, monkeypatch, limit, rounds
):
    """Also with so few rounds that pages are short, and at times empty, on the way."""
    monkeypatch.setattr(pipeline, "MAX_ROUNDS", rounds)
    posts = bulk_posts(alice, 450)
    wanted = [posts[at] for at in (0, 1, 2, 150, 449)]
    Post.objects.exclude(pk__in=wanted).update(body="rhubarb")
    hide(bob, "rhubarb")
    assert walk(bob, limit=limit) == wanted
    if rounds == 8:
        assert walk_up(bob, limit=limit) == wanted
        assert len(home_timeline(bob, Cursor(limit=4)).items) == 4
        assert len(home_timeline(bob, Cursor(limit=5)).items) == 5


@pytest.fixture
def hydrated(monkeypatch):
    """The numbers of ids that are hydrated together."""
    numbers = []
    hydrate_for = hydrate.hydrate_for

    def counting(context, post_ids, **options):
        numbers.append(len(post_ids))
        return hydrate_for(context, post_ids, **options)

    monkeypatch.setattr(pipeline, "hydrate_for", counting)
    return numbers


@pytest.mark.slow
def test_a_page_looks_at_a_bounded_number_of_candidates(alice, bob, hydrated):
    bulk_posts(alice, 1200)
    Post.objects.update(body="rhubarb")
    hide(bob, "rhubarb")
    page = home_timeline(bob, Cursor(limit=20))
    assert (page.items, page.older is not None) == ([], True)
    assert hydrated == [21, 42, 84, 168, 200, 200, 200, 200]


def test_rounds_stay_small_where_most_is_kept(alice, bob, hydrated):
    posts = bulk_posts(alice, 60)
    Post.objects.filter(pk__in=posts[::7]).update(body="rhubarb")
    hide(bob, "rhubarb")
    assert len(home_timeline(bob, Cursor(limit=20)).items) == 20
    assert hydrated == [21, 21]


@pytest.mark.slow
def test_bookmarks_of_posts_that_are_gone_make_no_page_shorter(alice, bob, monkeypatch):
    posts = bulk_posts(alice, 30)
    for post_id in posts:
        bookmark_post(bob, post_id)
    kept = [posts[at] for at in (0, 14, 27, 28, 29)][
        ::-1
    ]  # as they were bookmarked, the last first
    for post_id in set(posts) - set(kept):
        delete_post(post_id, by=alice)
    first = bookmarks_timeline(bob, Cursor(limit=4))
    rest = bookmarks_timeline(bob, Cursor(limit=4, max_id=first.older))
    assert (ids(first), ids(rest), rest.older) == (kept[:4], kept[4:], None)
    above = bookmarks_timeline(bob, Cursor(limit=4, min_id=rest.newer))
    assert ids(above) == kept[:4]
    monkeypatch.setattr(lists, "MAX_ROUNDS", 2)
    shown, cursor = [], Cursor(limit=2)
    while True:
        page = bookmarks_timeline(bob, cursor)
        shown += ids(page)
        if page.older is None:
            break
        cursor = Cursor(limit=2, max_id=page.older)
    assert shown == kept


# What is said, what is hidden, and whether a whole word.
WORDS = [
        ("A cup of tea", "tea", True), ("steam", "tea", True), ("steam", "tea", False), ("TEA!", "tea", True),
        ("喝茶吗", "茶", True), ("茶tea茶", "tea", True), ("snake_tea", "tea", True), ("ＴＥＡ", "tea", True),
        ("tea-time", "tea", True), ("c++ is", "c++", True), ("a.b", "a+b", False), ("Straße", "STRASSE", True),
        ("tea5", "tea", True), ("no", "tea", True), ("thé", "th", True),
]  # fmt: skip


@pytest.mark.long
def test_the_oracle_reads_words_as_the_site_does(alice, bob, case):
    for body, word, whole in WORDS:
        with case(body=body, word=word):
            publish(alice, body)
            hide(bob, word, whole=whole)
            page = ids(home_timeline(bob, Cursor()))
            assert page == Oracle().home(bob.pk) == Oracle.of_viewer(bob.pk).home(bob.pk)


def test_the_oracle_reads_words_where_the_site_does(alice, bob):
    publish(alice, "tea")
    publish(alice, "with a poll", poll=PollDraft(["tea", "other"], 3600))
    publish(alice, "quoting", quote_of_id=publish(make_user(), "tea").pk)
    publish(alice, "warned", content_warning="tea")
    kept = publish(alice, "coffee").pk
    deliver()
    hide(bob, "tea", whole=True)
    page = ids(home_timeline(bob, Cursor()))
    assert page == Oracle().home(bob.pk) == Oracle.of_viewer(bob.pk).home(bob.pk) == [kept]


def test_the_oracle_knows_posts_places_and_whose_words_they_are(alice, bob, carol):
    post, own = publish(alice, "tea"), publish(bob, "tea, mine")
    quoting = publish(alice, "hidden words", quote_of_id=publish(carol, "tea").pk)
    named = publish(alice, "named")
    deliver()
    hide(bob, "tea", places=["public", "thread"])
    create_filter(
        bob, FilterChange("Softly", ["home"], "warn", keywords=[KeywordChange(keyword="tea")])
    )
    assert set(ids(home_timeline(bob, Cursor()))) == set(Oracle().home(bob.pk))
    assert len(Oracle().home(bob.pk)) == 4
    add_post(bob, hide(bob, "tea", places=["home"]).pk, named.pk)
    assert ids(home_timeline(bob, Cursor())) == Oracle().home(bob.pk) == [own.pk]
    block_user(bob, carol)  # whose words are not on the page any more
    found = Oracle.of_viewer(bob.pk).home(bob.pk)
    assert ids(home_timeline(bob, Cursor())) == found
    assert set(found) == {quoting.pk, own.pk}
    assert post.pk in Oracle().delivered(bob.pk)


def test_pages_with_filters_are_compared(alice, bob):
    posts = [publish(alice, body).pk for body in ("one", "rhubarb", "two")]
    deliver()
    unfiltered = home_timeline(bob, Cursor())
    hide(bob, "rhubarb")
    page = home_timeline(bob, Cursor())

    def found(shown):
        # an hour later, so that nothing is on its way
        sample = Sample.of_page(bob.pk, page_at, Cursor(), shown)
        return {(one.kind, one.post_id) for one in differences(sample)}

    page_at = Post.objects.get(pk=posts[2]).created_at.timestamp() + 3600
    assert found(page) == set()
    assert found(unfiltered) == {(Kind.EXTRA, posts[1])}
    assert found(page.with_items(page.items[1:])) == {(Kind.MISSING, posts[2])}
    assert posts[1] in HOME.ids(bob.pk)  # a window knows nothing of filters


def test_a_warm_page_with_filters_asks_postgresql_for_none(
    alice, bob, django_assert_num_queries, django_capture_on_commit_callbacks
):
    bulk_posts(alice, 3)
    hide(bob, "rhubarb")
    viewer = user_by_id(bob.pk)
    home_timeline(viewer, Cursor())
    with django_assert_num_queries(1):  # likes and bookmarks: their filters are not built here
        assert len(home_timeline(viewer, Cursor()).items) == 3
