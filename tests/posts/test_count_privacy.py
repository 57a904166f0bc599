"""Counts and dates that everybody sees tell of no post that not everybody may see."""

import pytest

from apps.accounts.cache import USER_COUNTS
from apps.accounts.models import UserCounts
from apps.accounts.queries import user_by_handle
from apps.audit.oracle import Oracle
from apps.engagement.actions import like_post
from apps.engagement.reconcile import SUBJECTS
from apps.graph.actions import follow_user
from apps.graph.groups.actions import create_group
from apps.graph.models import Circle
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.posts.cache import POST_COUNTS
from apps.posts.models import PostCounts
from apps.timeline.profile import ProfileFilter, profile_timeline
from feedcache.structures.counters import maintenance
from tests.support.factories import deliver, delivered, publish, repost

pytestmark = pytest.mark.django_db

RESTRICTED = ["mentioned", "followers", "circle"]


def draft_for(author, visibility):
    if visibility != "circle":
        return {"visibility": visibility}
    return {"visibility": "circle", "circle_id": create_group(Circle, author, name="Us").pk}


def seen_by(viewer, post, author, page_of, api_of):
    """All that is said of a post and of an account in numbers and dates."""
    api, page = api_of(viewer), page_of(viewer)
    status = api.get(f"/api/v1/statuses/{post.pk}").json()
    account = api.get(f"/api/v1/accounts/{author.pk}").json()
    looked_up = api.get(f"/api/v1/accounts/lookup?acct={author.handle}").json()
    numbers = {name: status[name] for name in status if name.endswith("_count")}
    said = {name: account[name] for name in ("statuses_count", "last_status_at")}
    assert {name: looked_up[name] for name in said} == said
    header = page.get(f"/@{author.handle}").text.split("</h1>")[1].split("<article")[0]
    return numbers, said, "".join(line for line in header.splitlines() if "csrf" not in line)


def no_drift():
    """What PostgreSQL counts, what its rows say, what Redis has, and what the oracle says are one."""
    for subject in SUBJECTS:
        ids = list(subject.table.model._default_manager.values_list("pk", flat=True))
        assert subject.drifted(ids) == []
        assert maintenance.wrong(subject.service, subject.table.all_rows_after(-1, limit=500)) == []
    oracle = Oracle()
    for row in PostCounts.objects.all():
        assert (row.replies, row.reposts, row.likes) == oracle.counts(row.pk)
    for counts in UserCounts.objects.all():
        said = counts.followers, counts.following, counts.posts
        assert said == oracle.user_counts(counts.pk)


@pytest.mark.slow
def test_an_outsider_sees_no_change(alice, bob, carol, page_of, api_of):
    said = delivered(alice, "Hello.")
    before = seen_by(carol, said, alice, page_of, api_of)
    restricted = []
    for visibility in RESTRICTED:
        draft = draft_for(alice, visibility)
        restricted += [
            publish(alice, "@bob only you", reply_to_id=said.pk, **draft),
            publish(alice, "look @bob", quote_of_id=said.pk, **draft),
        ]
    deliver()
    assert seen_by(carol, said, alice, page_of, api_of) == before
    assert seen_by(None, said, alice, page_of, api_of)[:2] == before[:2]
    no_drift()
    for post in restricted:
        delete_post(post.pk, by=alice)
    deliver()
    assert seen_by(carol, said, alice, page_of, api_of) == before
    no_drift()


@pytest.mark.parametrize("visibility", RESTRICTED)
def test_who_has_said_nothing_to_everybody_has_said_nothing(alice, carol, api_of, visibility):
    publish(alice, "@alice a note", **draft_for(alice, visibility))
    account = api_of(carol).get(f"/api/v1/accounts/{alice.pk}").json()
    assert (account["statuses_count"], account["last_status_at"]) == (0, None)


def test_what_everybody_may_see_counts_and_a_deletion_takes_it_back(alice, bob, api_of):
    said = publish(alice)
    answers = [publish(bob, "yes", reply_to_id=said.pk, visibility=one) for one in ("public", "unlisted")]  # fmt: skip
    quotes = [publish(bob, "look", quote_of_id=said.pk, visibility=one) for one in ("public", "unlisted")]  # fmt: skip
    shared = repost(bob, said.pk)
    like_post(bob, said.pk)
    status = api_of(None).get(f"/api/v1/statuses/{said.pk}").json()
    assert [status[f"{name}_count"] for name in ("replies", "quotes", "reblogs")] == [2, 2, 1]
    assert api_of(None).get(f"/api/v1/accounts/{bob.pk}").json()["statuses_count"] == 5
    no_drift()
    for post in (*answers, *quotes, shared):
        delete_post(post.pk, by=bob)
    status = api_of(None).get(f"/api/v1/statuses/{said.pk}").json()
    assert [status[f"{name}_count"] for name in ("replies", "quotes", "reblogs")] == [0, 0, 0]
    no_drift()


def test_a_profile_shows_restricted_posts_to_those_they_are_for(alice, bob, carol):
    follow_user(bob, alice)
    said, quiet = publish(alice), publish(alice, visibility="followers")
    for viewer, expected in ((bob, [quiet.pk, said.pk]), (carol, [said.pk]), (None, [said.pk])):
        page = profile_timeline(user_by_handle("alice"), viewer, Cursor(), ProfileFilter())
        assert [item.id for item in page.items] == expected


def test_counters_of_the_earlier_rule_are_built_again():
    """Records of before are not taken for right: the layout of the store is another."""
    for service, before in ((USER_COUNTS, "followers,"), (POST_COUNTS, "replies,")):
        assert not service.store.layout.startswith(before)
