"""While nobody delivers, four places say how far behind: the status page, the health check, a header and the page.

And pages that end early say so.
"""

import time
from datetime import timedelta
from functools import partial
from types import SimpleNamespace

import pytest
from django.db.models import F
from django.utils import timezone

from apps.accounts.queries import user_by_id
from apps.engagement.actions import bookmark_post
from apps.events.leases import MAX_ATTEMPTS
from apps.events.models import Event
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import block_user, mute_user, unfollow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import UserList
from apps.pagination import Cursor
from apps.posts.actions.drafts import Draft
from apps.posts.actions.schedule import schedule_post
from apps.posts.models import Post, ScheduledPost
from apps.timeline import policy, publishing
from apps.timeline.fanout import dispatch, lag
from apps.timeline.fanout.switch import set_author_policy
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk, FanoutJob, Policy
from feedsite.monitoring import health
from tests.support.factories import deliver, publish
from tests.support.faults import dead_memcached, dead_redis
from tests.timeline.fanout.test_progress import crowd

pytestmark = pytest.mark.django_db
HOME_API = "/api/v1/timelines/home"


def pass_seconds(seconds):
    """As if what is owed had been owed for so long already."""
    for rows in (Event, FanoutJob, FanoutChunk):
        rows.objects.filter(state="pending").update(
            created_at=F("created_at") - timedelta(seconds=seconds)
        )
    lag.measure()  # as the process does each second
    health.forget()


def says(page_of, api_of, viewer):
    """What the four places say, in seconds: 0 for nothing."""
    status = page_of(None).get("/status").content.decode()
    ready = page_of(None).get("/healthz/ready").json()
    page, api = page_of(viewer).get("/"), api_of(viewer).get(HOME_API)
    text = page.content.decode()
    assert page.headers.get("X-Feed-Behind") == api.headers.get("X-Feed-Behind")
    behind = ready["deliveries_behind_seconds"]
    assert (f"Deliveries are {behind} s behind: new posts" in status) == bool(behind)
    assert ("Everything works" in status) == (ready["status"] == "ready") == (not behind)
    header = int(page.headers.get("X-Feed-Behind", 0))
    assert (f"Deliveries are {header} s behind: posts by accounts" in text) == bool(header)
    if behind:
        assert ready["checks"]["deliveries"]["error"] == f"deliveries are {behind} s behind"
    return behind, header


def about(seconds):
    """So many, or more: the test itself takes time."""
    return pytest.approx(seconds + 20, abs=20)


@pytest.fixture
def _stopped_clock(monkeypatch):
    """Four places that are asked one after the other must say the same: between them no second may begin."""
    stopped = SimpleNamespace(monotonic=partial(float, time.monotonic()))
    monkeypatch.setattr(lag, "time", stopped)


@pytest.mark.slow
@pytest.mark.usefixtures("_stopped_clock")
def test_stopped_workers_are_told_of_and_then_no_more(alice, bob, carol, page_of, api_of):
    home_timeline(bob, Cursor())
    publish(alice)
    lag.measure()
    assert says(page_of, api_of, bob) == (0, 0)  # a delivery may take a moment
    pass_seconds(30)
    assert says(page_of, api_of, bob) == (about(30), about(30))
    assert says(page_of, api_of, carol) == (about(30), 0)  # follows nobody who is late
    assert says(page_of, api_of, alice) == (about(30), 0)  # her own posts do not wait
    pass_seconds(30)
    assert says(page_of, api_of, bob) == (about(60), about(60))
    deliver()
    pass_seconds(0)
    assert says(page_of, api_of, bob) == (0, 0)


def test_lists_that_are_not_split_and_chunks_that_wait_count_too(alice, settings):
    settings.FANOUT_CHUNK_SIZE = 2
    crowd(alice, 5)
    post = publish(alice)
    dispatch.start_job(post.pk)
    Event.objects.all().delete()
    pass_seconds(40)
    assert lag.latest.seconds == about(40)  # the job
    dispatch.run_splits(limit=1)
    assert lag.measure().seconds == 0
    pass_seconds(50)
    assert lag.latest.seconds == about(50)  # its chunks
    deliver()
    assert lag.measure().seconds == 0


def test_what_cannot_be_delivered_soon_is_not_taken(alice, bob, api_of, page_of, settings):
    settings.FANOUT_MAX_WAITING = 2
    seen, api = publish(alice), api_of(bob)
    deliver()
    publish(alice)
    lag.measure()
    text = {"status": "One more"}
    assert api.post("/api/v1/statuses", text).status_code == 200
    assert lag.measure().is_full
    refused = [
        api.post("/api/v1/statuses", text),
        api.post(f"/api/v1/statuses/{seen.pk}/reblog"),
        page_of(bob).post("/posts", {"body": "A text that is not lost", "visibility": "public"}),
    ]
    assert [answer.status_code for answer in refused] == [503] * 3
    assert [answer.headers["Retry-After"] for answer in refused] == [
        str(lag.RETRY_AFTER_SECONDS)
    ] * 3
    assert "A text that is not lost" in refused[-1].content.decode()
    assert "waiting for their delivery right now" in refused[-1].content.decode()
    assert Post.objects.filter(author=bob).count() == 1
    deliver()
    lag.measure()
    assert api.post("/api/v1/statuses", text).status_code == 200


def test_scheduled_posts_wait_for_room(alice, settings):
    settings.FANOUT_MAX_WAITING = 1
    at = timezone.now() + timedelta(hours=1)
    schedule_post(alice, Draft(body="Later"), at)
    publish(alice)
    lag.measure()
    for _attempt in range(MAX_ATTEMPTS + 1):
        ScheduledPost.objects.update(due_at=timezone.now())
        lag.measure()
        publishing.publish_due(limit=1)
    assert Post.objects.filter(body="Later").count() == 0
    deliver()
    ScheduledPost.objects.update(due_at=timezone.now())
    lag.measure()
    publishing.publish_due(limit=1)
    assert Post.objects.filter(body="Later").count() == 1


def test_pages_are_late_for_whom_they_are(alice, bob, carol):
    publish(alice)
    pass_seconds(20)
    assert lag.latest.behind_for(bob.pk) == about(20)
    set_author_policy(alice, Policy.PULL, by="a test")
    policy.load()
    assert lag.latest.behind_for(bob.pk) == 0  # pulled at every read
    set_author_policy(alice, Policy.PUSH, by="a test")
    deliver()
    publish(alice)
    pass_seconds(20)
    policy.load()
    assert lag.latest.behind_for(bob.pk) == about(20)
    unfollow_user(bob, alice)
    assert lag.latest.behind_for(bob.pk) == 0


def test_old_news_are_no_news(alice, bob, monkeypatch):
    publish(alice)
    pass_seconds(20)
    monkeypatch.setattr(lag, "FRESH_SECONDS", 0)
    assert lag.latest.seconds == 0


@pytest.fixture
def rivers(alice, bob, monkeypatch):
    """Thirty posts of alice on every page of bob's, each page of one round; the addresses of pages and endpoints."""
    monkeypatch.setattr("apps.timeline.pipeline.page.MAX_ROUNDS", 1)
    user_list = create_group(UserList, bob, name="Waters")
    add_members(UserList, bob, user_list.pk, [alice.pk])
    for _ in range(30):
        publish(alice, "a #rivers of rhubarb")
    deliver()
    home_timeline(bob, Cursor())
    return {
        "/": HOME_API,
        "/@alice": f"/api/v1/accounts/{alice.pk}/statuses",
        f"/lists/{user_list.pk}": f"/api/v1/timelines/list/{user_list.pk}",
        "/tags/rivers": "/api/v1/timelines/tag/rivers",
        "/public": "/api/v1/timelines/public",
        "/search?q=rhubarb&type=statuses": "/api/v2/search?q=rhubarb&type=statuses",
    }


def ends_early(page_of, api_of, viewer, pages):
    """Whether each page and each endpoint says that it ends early; then none says that there is nothing."""
    told = {}
    for page, endpoint in pages.items():
        text = page_of(viewer).get(page).content.decode()
        told[page] = "This page is short" in text
        told[endpoint] = api_of(viewer).get(endpoint).headers.get("X-Feed-Ends-Early") == "true"
        assert 'class="empty"' not in text, page
    return told


@pytest.mark.long
def test_pages_that_end_early_say_so_and_never_that_there_is_nothing(
    alice, bob, rivers, page_of, api_of
):
    assert not any(ends_early(page_of, api_of, bob, rivers).values())
    keywords = [KeywordChange(keyword="rhubarb")]
    everywhere = ["home", "public", "account"]
    create_filter(bob, FilterChange("Pies", everywhere, act="hide", keywords=keywords))
    mute_user(bob, alice)
    page = home_timeline(user_by_id(bob.pk), Cursor())
    assert (page.items, page.ends_early) == ([], True)
    told = ends_early(page_of, api_of, bob, rivers)
    assert [address for address, says_so in told.items() if not says_so] == []


@pytest.mark.long
def test_bookmarks_that_end_early_say_so(alice, bob, rivers, page_of, api_of, monkeypatch):
    pages = {"/bookmarks": "/api/v1/bookmarks"}
    monkeypatch.setattr("apps.timeline.list.MAX_ROUNDS", 1)
    for post in Post.objects.filter(author=alice):
        bookmark_post(bob, post.pk)
    assert not any(ends_early(page_of, api_of, bob, pages).values())
    block_user(alice, bob)
    assert all(ends_early(page_of, api_of, bob, pages).values())


@pytest.mark.long
@pytest.mark.gate
def test_without_caches_pages_are_complete_and_lack_nothing(alice, bob, rivers, page_of, api_of):
    """Redis and Memcached are copies: what is not in them comes from PostgreSQL, so there is nothing to say."""
    texts = {}
    with dead_redis(), dead_memcached():
        for page, endpoint in rivers.items():
            answer, told = page_of(bob).get(page), api_of(bob).get(endpoint)
            assert not [one for one in (answer, told) if "X-Feed-Degraded" in one.headers], page
            texts[page] = answer.content.decode().count("of rhubarb")
    assert set(texts.values()) == {20}
