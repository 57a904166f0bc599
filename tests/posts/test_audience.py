"""For whom a new post is, and what an answer inherits."""

import pytest

from apps.errors import Invalid, NotAllowed, NotFound
from apps.graph.actions import follow_user
from apps.graph.groups.actions import add_members, create_group, delete_group, remove_members
from apps.graph.models import Circle
from apps.posts.actions.edit import edit_post
from apps.posts.models import Post, Visibility
from apps.posts.queries import visible_posts
from tests.support.factories import make_user, publish, repost, suspend

pytestmark = pytest.mark.django_db


@pytest.fixture
def family(alice, bob):
    """A circle of alice's with bob in it, to which only she posts."""
    circle = create_group(Circle, alice, name="Family")
    add_members(Circle, alice, circle.pk, [bob.pk])
    return circle


@pytest.fixture
def band(alice, bob):
    """A circle of alice's with bob in it, to which both post."""
    circle = create_group(Circle, alice, name="Band", is_shared=True)
    add_members(Circle, alice, circle.pk, [bob.pk])
    return circle


def to(circle, author, body="To some.", **more):
    return publish(author, body, visibility="circle", circle_id=circle.pk, **more)


def reach(post):
    stored = Post.objects.get(pk=post.pk)
    return stored.visibility, stored.circle_id


def test_owners_post_to_their_circles_and_members_to_shared_ones(alice, bob, family, band):
    assert reach(to(family, alice)) == ("circle", family.pk)
    assert reach(to(band, alice)) == reach(to(band, bob)) == ("circle", band.pk)


def test_members_do_not_post_to_a_circle_that_is_not_shared(bob, family):
    with pytest.raises(NotAllowed):
        to(family, bob)
    assert not Post.objects.exists()


@pytest.mark.parametrize("state", ["stranger's", "deleted", "left", "absent"])
def test_strangers_cannot_tell_whether_a_circle_exists(alice, bob, carol, band, state):
    author, circle_id = (carol if state == "stranger's" else bob), band.pk
    if state == "deleted":
        delete_group(Circle, alice, band.pk)
    if state == "left":
        remove_members(Circle, alice, band.pk, [bob.pk])
    if state == "absent":
        circle_id = 2**63 + 5
    with pytest.raises(NotFound) as refused:
        publish(author, visibility="circle", circle_id=circle_id)
    assert refused.value.message == str(Circle.error_messages["not_found"])


def test_circle_and_visibility_go_together(alice, family):
    for wrong in ({"visibility": "circle"}, {"circle_id": family.pk}):
        with pytest.raises(Invalid) as refused:
            publish(alice, **wrong)
        assert list(refused.value.errors) == ["circle_id"]
    assert not Post.objects.exists()  # nothing meant for a few was shown to all


@pytest.mark.parametrize("asked", ["public", "unlisted", "followers", "friends", "mentioned"])
def test_an_answer_inherits_the_circle_whatever_is_asked(alice, bob, family, asked):
    root = to(family, alice)
    answer = publish(bob, "@carol look", visibility=asked, reply_to_id=root.pk)
    assert reach(answer) == ("circle", family.pk)  # members answer where they may not begin


def test_an_answer_cannot_carry_a_post_into_another_circle(alice, bob, family, band):
    root = to(family, alice)
    answer = to(band, bob, reply_to_id=root.pk)
    assert reach(answer) == ("circle", family.pk)


def test_who_has_left_still_reads_the_own_posts_and_answers_no_more(alice, bob, band):
    mine = to(band, bob)
    remove_members(Circle, alice, band.pk, [bob.pk])
    assert mine.pk in visible_posts(bob.pk, [mine.pk]).posts
    with pytest.raises(NotAllowed):
        publish(bob, reply_to_id=mine.pk)


def test_nobody_answers_in_a_circle_of_a_suspended_owner(alice, bob, family):
    answer = publish(bob, reply_to_id=to(family, alice).pk)
    suspend(alice)
    assert answer.pk in visible_posts(bob.pk, [answer.pk]).posts
    with pytest.raises(NotAllowed):
        publish(bob, reply_to_id=answer.pk)


def test_a_circle_post_is_not_there_for_who_may_not_see_it(alice, carol, family):
    root = to(family, alice)
    with pytest.raises(NotFound):
        publish(carol, reply_to_id=root.pk)
    with pytest.raises(NotFound):
        publish(carol, quote_of_id=root.pk)
    with pytest.raises(NotFound):
        repost(carol, root.pk)


def test_circle_posts_do_not_travel(alice, bob, family):
    root = to(family, alice)
    for author in (alice, bob):
        with pytest.raises(NotAllowed):
            repost(author, root.pk)
    with pytest.raises(NotAllowed):
        publish(bob, quote_of_id=root.pk)


ORDER = ["public", "unlisted", "followers", "friends", "circle", "mentioned"]


def test_an_answer_never_reaches_further_than_what_it_answers(alice, bob):
    follow_user(alice, bob)  # friends, who may read what is for friends
    own = create_group(Circle, bob, name="Mine")
    for parent in ("public", "unlisted", "followers", "friends", "mentioned"):
        root = publish(alice, "hello @bob", visibility=parent)
        for asked in ORDER:
            circle = {"circle_id": own.pk} if asked == "circle" else {}
            answer = publish(bob, visibility=asked, reply_to_id=root.pk, **circle)
            open_parent = parent in {"public", "unlisted"}
            expected = asked if open_parent else max(asked, parent, key=ORDER.index)
            place = own.pk if expected == "circle" else None
            assert reach(answer) == (expected, place), (parent, asked)


def test_an_edit_keeps_the_circle(alice, family):
    post = to(family, alice)
    edit_post(alice, post.pk, body="Changed @carol")
    assert reach(post) == ("circle", family.pk)


def test_naming_somebody_does_not_let_them_in(alice, bob, carol, family):
    post = to(family, alice, "hello @carol @bob")
    assert visible_posts(carol.pk, [post.pk]).posts == {}
    assert visible_posts(bob.pk, [post.pk]).circles == {family.pk: "Family"}


def test_the_name_is_told_to_those_who_belong(alice, bob, band):
    post = to(band, bob)
    remove_members(Circle, alice, band.pk, [bob.pk])
    seen = visible_posts(bob.pk, [post.pk])
    assert (seen.posts[post.pk].circle_id, seen.circles) == (band.pk, {})


def test_following_is_not_belonging(alice, family):
    reader = make_user()
    follow_user(reader, alice)
    post = to(family, alice)
    assert visible_posts(reader.pk, [post.pk]).posts == {}


def test_every_visibility_has_its_place_in_the_order():
    assert sorted(ORDER) == sorted(Visibility.values)
