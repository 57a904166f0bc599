"""What followees do, as single actions: each is found once on any walk, and only by those who may see it."""

from collections.abc import Callable
from itertools import product
from random import Random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.actions import update_settings
from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.aggregate import queries as aggregate
from apps.aggregate.queries import ActionCursor, Verb, aggregate_page
from apps.engagement.actions import like_post, unlike_post
from apps.engagement.models import Like
from apps.errors import BadRequest
from apps.graph.actions import (
    block_user,
    follow_user,
    mute_user,
    unblock_user,
    unfollow_user,
    unmute_user,
)
from apps.graph.models import Followee
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.posts.models import Kind, Post
from apps.timeline import publishing
from apps.timeline.thread import likers
from feedcache.ids import compose
from tests.support.factories import deliver, make_user, publish, repost, suspend
from tests.support.pages import EMPTY

pytestmark = pytest.mark.django_db


def actions(viewer, limit=40):
    """(verb, actor, object) of the first page."""
    items = aggregate_page(user_by_id(viewer.pk), ActionCursor(limit=limit)).items
    return [(action.verb.value, action.actor.pk, action.object_id) for action in items]


def walk(viewer, limit):
    return [
        (action.verb.value, action.id) for page in pages(viewer, limit) for action in page.items
    ]


def pages(viewer, limit):
    page = aggregate_page(user_by_id(viewer.pk), ActionCursor(limit=limit))
    while page.after is not None:
        yield page
        assert len(page.items) <= limit
        cursor = ActionCursor.from_query({"after": str(page.after), "limit": str(limit)})
        page = aggregate_page(user_by_id(viewer.pk), cursor)
    yield page


@pytest.fixture
def dora(alice):
    return make_user("dora")


def test_likes_reposts_and_follows_of_followees_newest_first(alice, bob, carol, dora):
    post = publish(carol)
    like_post(alice, post.pk)
    shared = repost(alice, post.pk)
    follow_user(alice, dora)
    like_post(carol, post.pk)  # bob does not follow carol
    assert actions(bob) == [
        ("follow", alice.pk, dora.pk),
        ("repost", alice.pk, post.pk),
        ("like", alice.pk, post.pk),
    ]
    unlike_post(alice, post.pk)
    delete_post(shared.pk, by=alice)
    unfollow_user(alice, dora)
    assert actions(bob) == []


def test_the_same_verb_and_object_have_the_same_key(alice, bob, carol, dora):
    follow_user(bob, carol)
    post = publish(dora)
    for person in (alice, carol):
        like_post(person, post.pk)
        repost(person, post.pk)
        follow_user(person, dora)
    page = aggregate_page(user_by_id(bob.pk), ActionCursor())
    keys = [action.group_key for action in page.items]
    assert sorted(keys) == sorted(2 * [f"like-{post.pk}", f"repost-{post.pk}", f"follow-{dora.pk}"])


def test_one_keeps_ones_own_actions_out(alice, bob, carol):
    like_post(alice, publish(carol).pk)
    follow_user(alice, carol)
    assert len(actions(bob)) == 2
    update_settings(alice, hides_activity=True)
    assert actions(bob) == []


@pytest.mark.slow
def test_mutes_blocks_and_suspensions_of_actors_and_objects_hold(alice, bob, carol, dora):
    post = publish(carol)
    like_post(alice, post.pk)
    follow_user(alice, carol)
    both = actions(bob)
    assert len(both) == 2
    for hide, show in (
        (lambda: mute_user(bob, alice), lambda: unmute_user(bob, alice)),
        (lambda: mute_user(bob, carol), lambda: unmute_user(bob, carol)),
        (lambda: block_user(bob, carol), lambda: unblock_user(bob, carol)),
        (lambda: block_user(carol, bob), lambda: unblock_user(carol, bob)),
    ):
        hide()
        assert actions(bob) == []
        show()
        assert actions(bob) == both
    like_post(alice, publish(dora).pk)
    suspend(carol)
    assert [verb for verb, *_rest in actions(bob)] == ["like"]
    suspend(alice)
    assert actions(bob) == []


@pytest.mark.parametrize("visibility", ["followers", "friends", "mentioned"])
def test_who_likes_a_restricted_post_is_told_on_its_own_page_only(alice, bob, carol, visibility):
    """Not to others, and not to those who may see it and did not look."""
    for one, other in ((alice, carol), (bob, carol), (carol, alice), (carol, bob)):
        follow_user(one, other)
    restricted = publish(carol, "@alice @bob", visibility=visibility)
    like_post(alice, restricted.pk)
    assert alice in likers(bob.pk, restricted.pk, Cursor()).items
    assert {verb for verb, *_rest in actions(bob)} == {"follow"}


def test_a_deleted_post_is_gone(alice, bob, carol):
    post = publish(carol, visibility="unlisted")
    like_post(alice, post.pk)
    assert actions(bob) == [("like", alice.pk, post.pk)]
    delete_post(post.pk, by=carol)
    assert actions(bob) == []


def test_hidden_reposts_and_filters_hold(alice, bob, carol, api_of):
    post = publish(carol, "about rivers")
    repost(alice, post.pk)
    like_post(alice, post.pk)
    follow_user(bob, alice, reposts=False)
    assert actions(bob) == [("like", alice.pk, post.pk)]
    made = api_of(bob).post(
        "/api/v2/filters",
        {"title": "r", "context": ["home"], "filter_action": "hide", "keywords_attributes": [{"keyword": "rivers"}]},
        format="json",
    )  # fmt: skip
    assert made.status_code == 200
    assert actions(bob) == []


@pytest.mark.parametrize(
    ("seed", "acts", "limits"),
    [
        (0, 40, (2, 40)),
        pytest.param(1, 60, (1, 2, 7, 40), marks=pytest.mark.long),
        pytest.param(2, 60, (1, 2, 7, 40), marks=pytest.mark.long),
    ],
)
def test_walks_find_every_action_once_in_any_size_of_page(seed, acts, limits):
    """Random histories against plain scans of the tables, with equal times, hidden posts and undone actions."""
    random = Random(seed)
    viewer, *people = [make_user() for _ in range(5)]
    for person in people[:3]:
        follow_user(viewer, person)
    posts = [publish(random.choice(people)).pk for _ in range(6)]
    posts += [publish(people[3], visibility="followers").pk]  # only people[0] of the actors sees it
    on_posts: list[Callable[..., object]] = [like_post, like_post, repost, unlike_post]
    for _ in range(acts):
        actor, post = random.choice(people), random.choice(posts[:6])
        random.choice(on_posts)(actor, post)
        one, other = random.sample(people, 2)
        random.choice([follow_user, follow_user, unfollow_user])(one, other)
    follow_user(people[0], people[3])
    like_post(people[0], posts[6])
    mute_user(viewer, people[2])
    same = Like.objects.earliest("pk").created_at
    Like.objects.filter(pk__in=Like.objects.order_by("-pk").values("pk")[:8]).update(
        created_at=same
    )

    shown = {person.pk for person in people[:2]}
    muted = people[2].pk
    others = Post.objects.exclude(author=muted).values("pk")
    likes = Like.objects.filter(user__in=shown, post__in=others).exclude(post=posts[6])
    reposts = Post.objects.filter(author__in=shown, source__in=others, deleted_at=None)
    follows = Followee.objects.filter(owner__in=shown).exclude(followee=muted)
    kinds = {"like": likes, "repost": reposts, "follow": follows}
    expected = {(verb, row.pk) for verb, rows in kinds.items() for row in rows}
    assert len(expected) > 8
    for limit in limits:
        found = walk(viewer, limit)
        assert len(found) == len(set(found))
        assert set(found) == expected


def test_actions_that_come_while_somebody_pages_repeat_and_lose_nothing(alice, bob, carol):
    posts = [publish(carol).pk for _ in range(6)]
    for post in posts:
        like_post(alice, post)
    first = aggregate_page(user_by_id(bob.pk), ActionCursor(limit=3))
    repost(alice, posts[0])
    follow_user(alice, carol)
    second = aggregate_page(
        user_by_id(bob.pk), ActionCursor.from_query({"after": str(first.after), "limit": "3"})
    )
    assert [action.object_id for action in [*first.items, *second.items]] == posts[::-1]
    assert second.after is None


@pytest.mark.slow
def test_a_long_run_of_hidden_actions_is_walked_past_and_named_by_no_cursor(alice, bob, carol):
    wanted = publish(carol)
    like_post(alice, wanted.pk)
    hidden = make_user()
    shares = [repost(alice, publish(hidden).pk).pk for _ in range(34)]
    block_user(hidden, bob)
    found = list(pages(bob, 5))
    assert len(found) > 1
    assert [action.object_id for page in found for action in page.items] == [wanted.pk]
    assert not {page.after.repost for page in found if page.after} & set(shares)


@pytest.mark.parametrize("number", [1, 12])
def test_a_page_is_a_bounded_number_of_statements(alice, bob, carol, number):
    """However many people act and are followed."""
    for _ in range(number):
        person = make_user()
        follow_user(bob, person)
        like_post(person, publish(person).pk)
        follow_user(person, carol)
    viewer = user_by_id(bob.pk)
    aggregate_page(viewer, ActionCursor())
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert aggregate_page(viewer, ActionCursor()).items
    assert len(queries) <= 6, [query["sql"][:80] for query in queries]


def populate():
    """So many actors that the newest rows are seldom of one of them, and statistics that say so."""
    crowd = User.objects.bulk_create(User(handle=f"crowd{n}", password="!") for n in range(30))
    posts = Post.objects.bulk_create(
        Post(id=compose(1_750_000_000 + n, crowd[0].pk, 0), author=crowd[0], thread_id=0)
        for n in range(20)
    )
    pairs = list(product(crowd, posts))
    Post.objects.bulk_create(
        Post(
            id=compose(1_760_000_000 + n, one.pk, 0),
            author=one,
            source=post,
            kind=Kind.REPOST,
            thread_id=0,
        )
        for n, (one, post) in enumerate(pairs)
    )
    Like.objects.bulk_create(Like(user=one, post=post) for one, post in pairs)
    Followee.objects.bulk_create(
        Followee(owner=one, followee=other)
        for one, other in product(crowd, crowd[:20])
        if one != other
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE posts_post, engagement_like, graph_followee")


def test_a_page_reads_ranges_of_indexes(alice, bob):
    populate()
    statement = "EXPLAIN (FORMAT TEXT) " + aggregate._ACTIONS
    values = {"viewer": bob.pk, "count": 21, **{verb.value: 2**62 for verb in Verb}}
    with connection.cursor() as cursor:
        # small tables are scanned whole unless that is made dear; a missing index shows all the same
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        cursor.execute(statement, values)
        plan = "\n".join(row[0] for row in cursor.fetchall())
    for index in ("like_mine", "post_reposts", "followee_list"):
        assert f"using {index}" in plan, plan


@pytest.mark.parametrize("after", ["1", "1-2", "a-b-c", f"1-2-{2**63}", "-1-2-3", "1-2-3-4"])
def test_a_malformed_cursor_is_refused(after):
    with pytest.raises(BadRequest):
        ActionCursor.from_query({"after": after})


def test_the_endpoint_gives_single_actions_and_its_link_leads_on(alice, bob, carol, api_of):
    post = publish(carol, "Read this.")
    like_post(alice, post.pk)
    follow_user(alice, carol)
    first = api_of(bob).get("/api/x/aggregate?limit=1")
    [body] = first.json()
    assert (body["verb"], body["group_key"]) == ("follow", f"follow-{carol.pk}")
    assert (body["account"]["acct"], body["target_account"]["acct"]) == ("alice", "carol")
    assert body["status"] is None
    link = first.headers["Link"]
    assert link.endswith('; rel="next"')
    second = api_of(bob).get(link[1 : link.index(">")])
    [body] = second.json()
    assert (body["verb"], body["group_key"]) == ("like", f"like-{post.pk}")
    assert body["status"]["id"] == str(post.pk)
    assert "Link" not in second.headers
    assert api_of(bob).get("/api/x/aggregate?after=x").status_code == 400
    assert api_of(None).get("/api/x/aggregate").status_code == 401


def test_the_page_shows_one_line_with_names(alice, bob, carol, dora, page_of):
    post = publish(dora, "Watch this film.")
    people = [alice, carol, make_user(), make_user()]
    for person in people:
        follow_user(bob, person)
        like_post(person, post.pk)
    browser = page_of(bob)
    text = browser.get("/aggregate").text
    assert text.count(f'data-group-key="like-{post.pk}"') == 1
    assert "and 2 others liked" in " ".join(text.split())
    assert "Watch this film." in text
    assert browser.get("/aggregate?after=x").status_code == 400
    assert page_of(None).get("/aggregate").status_code == 302
    nobody = page_of(make_user()).get("/aggregate").text
    assert EMPTY in nobody


def home_cards(browser):
    text = browser.get("/").text
    return text.count('class="post"'), " ".join(text.split())


@pytest.mark.slow
def test_reposts_of_one_post_are_one_card_on_home(alice, bob, carol, dora, page_of, api_of):
    follow_user(bob, carol)
    deliver()
    post = publish(dora, "Shared by two.")
    other = publish(alice, "Of alice.")
    shared = [publishing.repost(person, post.pk).pk for person in (alice, carol)]
    deliver()
    browser = page_of(bob)
    cards, text = home_cards(browser)
    assert cards == 2
    names = text.partition(" reposted")[0].rpartition("reason")[2]
    assert "@alice" in names
    assert "@carol" in names
    update_settings(user_by_id(bob.pk), groups_reposts=False)
    cards, _text = home_cards(browser)
    assert cards == 3
    # programs get every repost, and what to group them by
    raw = api_of(bob).get("/api/v1/timelines/home").json()
    keys = {status["id"]: status["feedsite"]["group_key"] for status in raw}
    expected = dict.fromkeys(map(str, shared), f"repost-{post.pk}")
    assert keys == {**expected, str(other.pk): None}


@pytest.mark.slow
def test_grouping_leaves_the_pages_of_home_as_they_are(alice, bob, carol, dora, page_of):
    """The next page begins below the last repost of this one, shown or not."""
    follow_user(bob, carol)
    deliver()
    for number in range(3):
        source = publish(dora, f"Number {number}.").pk
        for person in (alice, carol):
            publishing.repost(person, source)
    deliver()
    browser = page_of(bob)
    first = browser.get("/?limit=4").text
    older = first.partition('href="/?max_id=')[2].partition('"')[0]
    second = browser.get(f"/?limit=4&max_id={older}").text
    shown = [{one for one in range(3) if f"Number {one}." in text} for text in (first, second)]
    assert set.union(*shown) == {0, 1, 2}
    assert all(shown)
    assert 'href="/?max_id=' not in second


def test_the_switches_are_in_the_settings(alice, page_of):
    browser = page_of(alice)
    for address, name, box in (
        ("/settings/reading", "groups_reposts", {"density": "comfortable"}),
        ("/settings/privacy", "hides_activity", {}),
    ):
        assert f'name="{name}"' in browser.get(address).text
        for wanted in (True, False):
            browser.post(address, {**box, **({name: "on"} if wanted else {})})
            assert getattr(user_by_id(alice.pk), name) is wanted
