"""An account that staff have limited: its posts reach followers only, and its profile stays open to everybody."""

import pytest

from apps.accounts.queries import user_by_id
from apps.aggregate.queries import ActionCursor, Verb, aggregate_page
from apps.audit.comparison.explanations import compare
from apps.audit.oracle import Oracle
from apps.engagement.actions import like_post
from apps.errors import NotAllowed
from apps.graph.actions import follow_user, unfollow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import UserList
from apps.moderation.actions import limit_user, unlimit_user
from apps.notifications.models import Notification
from apps.pagination import Cursor
from apps.search.suggestions import suggested_people
from apps.search.trends import rank_posts
from apps.tags.actions import follow_tag
from apps.timeline.home import home_timeline
from tests.support.cases import each
from tests.support.factories import deliver, delivered, make_user, moderator, publish, repost
from tests.support.pages import answered_ids, ids
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def post(alice, bob):
    """By alice, whom bob follows; staff have limited her."""
    post = delivered(alice, "Tea #tea.")
    limit_user(alice, by=moderator())
    deliver()
    return post


@pytest.mark.long
@pytest.mark.gate
@each("address", [
    "/api/v1/timelines/public",
    "/api/v1/timelines/tag/tea",
    "/api/v2/search?q=tea&type=statuses",
    "/api/v1/trends/statuses",
])  # fmt: skip
def test_only_followers_find_its_posts_where_everybody_looks(post, alice, bob, carol, api_of, address):  # fmt: skip
    like_post(bob, post.pk)
    rank_posts()

    def found(viewer):
        answer = api_of(viewer).get(address).json()
        return [int(one["id"]) for one in (answer["statuses"] if "search" in address else answer)]

    for viewer in (alice, bob):
        assert found(viewer) == [post.pk]
    for viewer in (carol, None) if "search" not in address else (carol,):
        assert found(viewer) == []
    unlimit_user(alice, by=moderator())
    deliver()
    assert found(carol) == [post.pk]


@pytest.mark.slow
def test_its_profile_and_its_posts_stay_open(post, alice, carol, api_of):
    account = f"/api/v1/accounts/{alice.pk}"
    assert answered_ids(api_of(carol).get(f"{account}/statuses")) == [post.pk]
    assert api_of(carol).get(account).json()["limited"]
    assert "limited" not in api_of(alice).get(f"/api/v1/accounts/{carol.pk}").json()
    assert api_of(None).get(f"/api/v1/statuses/{post.pk}").status_code == 200


@pytest.mark.slow
def test_followers_have_it_on_home_and_the_oracle_agrees(post, alice, bob, carol):
    follow_user(carol, bob)
    follow_tag(carol, "tea")
    shared = repost(bob, post.pk)
    own = delivered(bob, "Mine.")
    for viewer, expected in ((bob, [own.pk, shared.pk, post.pk]), (carol, [own.pk])):
        viewer = user_by_id(viewer.pk)
        assert ids(home_timeline(viewer, Cursor())) == expected
        assert Oracle().home(viewer.pk) == expected
        assert Oracle.of_viewer(viewer.pk).home(viewer.pk) == expected
        assert Oracle().public(viewer.pk) == [one for one in expected if one != shared.pk]
    follow_user(carol, alice)
    deliver()
    assert post.pk in ids(home_timeline(user_by_id(carol.pk), Cursor()))
    unfollow_user(carol, alice)
    deliver()
    assert ids(home_timeline(user_by_id(carol.pk), Cursor())) == [own.pk]


@pytest.mark.long
@pytest.mark.usefixtures("post", "carol")
def test_the_comparison_of_explanations_expects_it():
    outcomes = list(compare(200, seed=1))
    assert "limited" in {outcome.reason for outcome in outcomes}
    assert [outcome.fault for outcome in outcomes if outcome.fault] == []


@pytest.mark.slow
def test_lists_and_threads_leave_it_out_for_strangers(post, alice, bob, carol, api_of):
    follow_user(carol, bob)
    shared = repost(bob, post.pk)
    many = create_group(UserList, carol, name="Many")
    add_members(UserList, carol, many.pk, [bob.pk])
    deliver()
    assert shared.pk not in answered_ids(api_of(carol).get(f"/api/v1/timelines/list/{many.pk}"))
    root = publish(bob, "Root.")
    publish(alice, "An answer.", reply_to_id=root.pk)
    address = f"/api/v1/statuses/{root.pk}/context"

    def answers(viewer):
        return len(api_of(viewer).get(address).json()["descendants"])

    assert (answers(bob), answers(carol), answers(alice)) == (1, 0, 1)


def test_strangers_are_not_told_and_followees_are(post, alice, bob, carol):
    follow_user(carol, alice)
    make_user("dora")
    publish(alice, "Hello @carol and @dora.")
    deliver()
    told = Notification.objects.filter(actor=alice, kind="mention")
    assert list(told.values_list("user__handle", flat=True)) == ["carol"]


def test_strangers_learn_of_no_likes_and_reposts_of_it(post, alice, bob, carol):
    follow_user(carol, bob)
    like_post(bob, post.pk)
    repost(bob, post.pk)

    def verbs():
        return {
            action.verb for action in aggregate_page(user_by_id(carol.pk), ActionCursor()).items
        }

    assert verbs() == {Verb.FOLLOW}
    follow_user(carol, alice)
    assert verbs() == {Verb.FOLLOW, Verb.LIKE, Verb.REPOST}


def test_it_is_suggested_to_nobody(post, alice, carol):
    assert alice not in suggested_people(carol, limit=10)
    unlimit_user(alice, by=moderator())
    assert alice in suggested_people(carol, limit=10)


@pytest.mark.long
@each("act", [limit_user, unlimit_user])
def test_only_staff_with_the_permission_limit(alice, act):
    for by in (alice, make_staff("moderation.change_report")):
        with pytest.raises(NotAllowed):
            act(alice, by=by)
