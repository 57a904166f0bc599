"""Tags of posts, their timeline, who follows them, and their posts on the home page."""

import pytest

from apps.accounts.queries import user_by_id
from apps.audit.comparison.pages import missing_in_windows
from apps.audit.explain import explain
from apps.audit.oracle import Oracle
from apps.errors import Invalid, NotFound
from apps.graph.actions import block_user, follow_user, mute_user
from apps.pagination import Cursor
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.tags import actions
from apps.tags.actions import add_tags, follow_tag, unfollow_tag
from apps.tags.models import PastTagFollow, Tag, TagFollow, TagUse
from apps.tags.queries import followed_page, tag_named, tag_usages
from apps.tags.trends import count_days, trending_tags
from apps.timeline.history.unread import newer_candidate_count
from apps.timeline.home import home_timeline
from apps.timeline.pipeline import page as pipeline
from apps.timeline.pipeline.reasons import Reason
from apps.timeline.public import TagQuery, tag_timeline
from tests.support.factories import deliver, delivered, make_user, publish, repost, suspend
from tests.support.pages import ids

pytestmark = pytest.mark.django_db


def uses(post):
    rows = TagUse.objects.filter(post_id=post.pk).order_by("tag__name")
    return list(rows.values_list("tag__name", "is_public"))


def tagged(name, viewer=None, cursor=Cursor(), **more):  # noqa: B008 -- a value, never changed
    return ids(tag_timeline(viewer, TagQuery(name, **more), cursor))


def test_a_post_bears_its_tags_from_its_own_transaction_on(alice):
    assert uses(publish(alice, "#Tea and #茶 and #tea, not #2026")) == [("tea", True), ("茶", True)]
    assert uses(publish(alice, "#tea", visibility="unlisted")) == [("tea", False)]
    assert uses(publish(alice, "nothing")) == []


def test_an_edit_changes_them_and_a_deletion_takes_them_away(alice):
    post = publish(alice, "#one #two")
    edit_post(alice, post.pk, body="#two #three")
    assert uses(post) == [("three", True), ("two", True)]
    delete_post(post.pk, by=alice)
    assert uses(post) == []
    assert Tag.objects.count() == 3


def test_the_work_does_not_grow_with_the_tags(alice, django_assert_num_queries):
    publish(alice, "#a #b #c")
    with django_assert_num_queries(2):
        actions.write_tags(1, ["a"], is_public=True)
    with django_assert_num_queries(2):
        actions.write_tags(2, ["a", "b", "c"], is_public=True)


def test_when_a_tag_was_followed_is_known_after_its_end(alice):
    tag = follow_tag(alice, "tea")
    began = TagFollow.objects.get(user=alice).created_at
    unfollow_tag(alice, "tea")
    (past,) = PastTagFollow.objects.filter(user=alice)
    assert (past.tag.name, past.began_at) == (tag.name, began)
    assert past.ended_at >= began


def test_the_timeline_of_a_tag(alice, bob, carol):
    posts = [publish(user, f"{number} #Tea") for number, user in enumerate([alice, bob, carol])]
    publish(alice, "quiet #tea", visibility="unlisted")
    publish(alice, "followers #tea", visibility="followers")
    publish(alice, "coffee")
    repost(bob, posts[0].pk)
    expected = [post.pk for post in posts][::-1]
    assert tagged("tea") == tagged("#TEA") == expected
    assert tagged("tea", cursor=Cursor(limit=2)) == expected[:2]
    assert tagged("tea", cursor=Cursor(max_id=expected[0], limit=1)) == expected[1:2]
    assert tagged("tea", cursor=Cursor(min_id=expected[2], limit=1)) == expected[1:2]
    mute_user(bob, carol)
    block_user(bob, alice)
    assert tagged("tea", bob) == [posts[1].pk]
    suspend(carol)
    assert tagged("tea") == expected[1:]


def test_more_tags_in_one_timeline(alice):
    tea, both, milk = publish(alice, "#tea"), publish(alice, "#tea #milk"), publish(alice, "#milk")
    assert tagged("tea", any_of=["milk"]) == [milk.pk, both.pk, tea.pk]
    assert tagged("tea", all_of=["milk"]) == [both.pk]
    assert tagged("tea", none_of=["milk"]) == [tea.pk]
    assert tagged("tea", only_media=True) == []
    assert tagged("coffee", any_of=["milk"]) == [milk.pk, both.pk]
    with pytest.raises(NotFound):
        tagged("no tag")


def test_what_lies_below_many_others_is_found(alice, monkeypatch):
    """A page may end early, but its cursor leads on."""
    monkeypatch.setattr(pipeline, "MAX_ROUNDS", 2)
    oldest = publish(alice, "#tea").pk
    for _number in range(12):
        publish(alice, "#tea #milk")
    wanted = [publish(alice, "#tea").pk, oldest]
    query = TagQuery("tea", none_of=["milk"])
    page = tag_timeline(None, query, Cursor(limit=1))
    found = ids(page)
    while page.older is not None:
        page = tag_timeline(None, query, Cursor(max_id=page.older, limit=1))
        found += ids(page)
    assert found == wanted


def test_nobody_has_to_use_a_tag(alice):
    assert tagged("nothing") == []
    assert tag_named("nothing").pk is None
    with pytest.raises(NotFound):
        tag_named("#1")


def test_follow_and_unfollow(alice, monkeypatch):
    follow_tag(alice, "#Tea")
    follow_tag(alice, "tea")
    follow_tag(alice, "茶")
    page = followed_page(alice, Cursor())
    assert [tag.name for tag in page.items] == ["茶", "tea"]
    assert user_by_id(alice.pk).counts.followed_tags == alice.counts.followed_tags == 2
    assert [
        one.is_followed for one in tag_usages([tag_named("tea"), tag_named("milk")], alice)
    ] == [
        True,
        False,
    ]
    unfollow_tag(alice, "TEA")
    assert [tag.name for tag in followed_page(alice, Cursor()).items] == ["茶"]
    monkeypatch.setattr(actions, "MAX_FOLLOWED", 1)
    with pytest.raises(Invalid):
        follow_tag(alice, "milk")


def home(reader, **cursor):
    return ids(home_timeline(user_by_id(reader.pk), Cursor(**cursor)))


def test_posts_with_a_followed_tag_are_on_the_home_page_at_once(alice, bob, carol):
    theirs, hers = publish(alice, "#tea"), delivered(carol, "before #Tea")
    assert home(bob) == [theirs.pk]
    follow_tag(bob, "tea")
    expected = [hers.pk, theirs.pk]
    assert home(bob) == Oracle().home(bob.pk) == Oracle.of_viewer(bob.pk).home(bob.pk) == expected
    for visibility in ("unlisted", "followers"):
        publish(carol, "not for everybody #tea", visibility=visibility)
    shared = repost(carol, hers.pk)
    assert shared.pk not in home(bob)
    assert home(bob, limit=1) == expected[:1]
    assert home(bob, max_id=expected[0]) == expected[1:]
    assert home(bob, min_id=expected[1], limit=1) == expected[:1]
    assert newer_candidate_count(user_by_id(bob.pk), theirs.pk) >= 1
    assert explain(user_by_id(bob.pk), hers.pk).reason == Reason.TAG
    assert "#Tea" in explain(user_by_id(bob.pk), hers.pk).text
    assert missing_in_windows(bob.pk) == ([], 0)  # the window owes nothing that is pulled
    unfollow_tag(bob, "tea")
    assert home(bob) == Oracle().home(bob.pk) == [theirs.pk]


def test_what_leaves_a_tag_leaves_the_home_page(bob, carol):
    follow_tag(bob, "tea")
    edited, deleted, blocked = (
        publish(carol, "#tea"),
        publish(carol, "#tea"),
        publish(make_user(), "#tea"),
    )
    assert len(home(bob)) == 3
    edit_post(carol, edited.pk, body="coffee")
    delete_post(deleted.pk, by=carol)
    assert home(bob) == Oracle().home(bob.pk) == [blocked.pk]
    block_user(user_by_id(blocked.author_id), bob)
    assert home(bob) == Oracle().home(bob.pk) == []


@pytest.mark.slow
def test_a_walk_through_both_kinds_meets_everything_once(alice, bob, carol):
    follow_tag(bob, "tea")
    posts = [publish(user, f"{n} #tea") for n in range(6) for user in (alice, carol)]
    deliver()
    reader, seen, cursor = user_by_id(bob.pk), [], Cursor(limit=5)
    while True:
        page = home_timeline(reader, cursor)
        seen += ids(page)
        if page.older is None:
            break
        cursor = Cursor(max_id=page.older, limit=5)
    assert seen == sorted((post.pk for post in posts), reverse=True)


def test_trends_count_accounts_not_posts(alice, bob, carol):
    for _ in range(3):
        publish(alice, "#loud")
    for user in (alice, bob):
        publish(user, "#shared")
    publish(carol, "#quiet", visibility="unlisted")
    follow_user(alice, bob)
    count_days()
    count_days()
    assert [tag.name for tag in trending_tags(maximum=5)] == ["shared", "loud"]
    [shared] = tag_usages([tag_named("shared")], None)
    assert (shared.uses, shared.accounts, len(shared.history)) == (2, 2, 7)
    TagUse.objects.all().delete()
    count_days()
    assert trending_tags(maximum=5) == []


def test_many_at_once(alice):
    posts = [publish(alice), publish(alice)]
    rows = [(posts[0].pk, ["a", "b"], True), (posts[1].pk, [], True)]
    assert add_tags(rows) == add_tags(rows) == 1
    assert uses(posts[0]) == [("a", True), ("b", True)]
