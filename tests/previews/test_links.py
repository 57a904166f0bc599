"""The timeline of a link, and the links that trend."""

import pytest

from apps.graph.actions import mute_user
from apps.moderation.actions import hide_post, limit_user
from apps.pagination import Cursor
from apps.previews.models import Preview
from apps.previews.queries import TRENDING_CACHE, link_timeline, trending_links
from tests.support.factories import (
    deliver,
    make_user,
    moderator,
    publish,
    seconds_ago,
    suspend,
)
from tests.support.links import PAGE, previewed
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db
LINK, TRENDS = f"/api/v1/timelines/link?url={PAGE}", "/api/v1/trends/links"


def ids(answer):
    assert answer.status_code == 200, answer.content
    return [int(one["id"]) for one in answer.json()]


def test_a_link_has_the_public_posts_with_its_preview(alice, bob, carol, api_of):
    shown = publish(alice, f"Read {PAGE}").pk
    quiet = publish(bob, f"Read {PAGE}", visibility="unlisted").pk
    hidden = publish(bob, f"Hidden {PAGE}")
    other = publish(bob, "https://news.example/coffee").pk
    of_suspended = publish(carol, f"Read {PAGE}").pk
    previewed(shown, quiet, hidden.pk, of_suspended)
    previewed(other, address="https://news.example/coffee", url="https://news.example/coffee")
    hide_post(hidden.pk, by=moderator(), reason="")
    suspend(carol)
    deliver()
    for viewer in (None, alice, bob):
        assert ids(api_of(viewer).get(LINK)) == [shown]


def test_addresses_that_end_at_the_same_page_are_one_link(alice, bob, api_of):
    plain, tracked = publish(alice).pk, publish(bob).pk
    previewed(plain)
    previewed(tracked, address=f"{PAGE}?utm_source=feed")
    client = api_of(None)
    assert ids(client.get(LINK)) == [tracked, plain]
    by_its_own = "/api/v1/timelines/link?url=https://news.example/tea%3Futm_source=feed"
    assert ids(client.get(by_its_own)) == [tracked]


def test_a_link_is_walked_both_ways_without_loss(alice, bob):
    ids = [publish((alice, bob)[n % 2], f"{PAGE} {n}").pk for n in range(9)]
    posts = sorted(ids, reverse=True)
    previewed(*posts[::2])
    previewed(*posts[1::2], address=f"{PAGE}#top")
    down, cursor = [], Cursor(limit=2)
    while True:
        page = link_timeline(None, PAGE, cursor)
        down += [item.id for item in page.items]
        if page.older is None:
            break
        cursor = Cursor(max_id=page.older, limit=2)
    up: list[int] = []
    cursor = Cursor(min_id=0, limit=2)
    while (page := link_timeline(None, PAGE, cursor)).items:
        up = [item.id for item in page.items] + up
        cursor = Cursor(min_id=page.newer, limit=2)
    assert down == up == posts


def test_a_link_leaves_out_people_whom_the_reader_mutes(alice, bob, api_of):
    post = publish(bob).pk
    previewed(post)
    mute_user(alice, bob)
    assert ids(api_of(alice).get(LINK)) == []
    assert ids(api_of(None).get(LINK)) == [post]


def test_a_page_without_a_preview_is_not_found(alice, api_of, settings):
    client = api_of(alice)
    previewed(publish(alice).pk, title="")
    for address in (LINK, "/api/v1/timelines/link", "/api/v1/timelines/link?url=nonsense"):
        assert client.get(address).status_code == 404, address
    Preview.objects.update(title="Tea")
    assert client.get(LINK).status_code == 200
    settings.LINK_PREVIEWS = False
    assert client.get(LINK).status_code == 404
    assert client.get(TRENDS).json() == []


def test_a_link_trends_that_two_accounts_share(alice, bob, api_of):
    client = api_of(None)
    previewed(publish(alice, f"One {PAGE}").pk, publish(alice, f"Two {PAGE}").pk)
    assert client.get(TRENDS).json() == []
    previewed(publish(bob, f"Three {PAGE}").pk)
    (link,) = client.get(TRENDS).json()
    assert (link["url"], link["title"], link["type"]) == (PAGE, "Tea", "link")
    assert len(link["history"]) == 3
    assert sum(int(day["uses"]) for day in link["history"]) == 3
    assert max(int(day["accounts"]) for day in link["history"]) == 2


def test_the_link_of_more_accounts_comes_first(alice, bob, carol, api_of):
    coffee = "https://news.example/coffee"
    previewed(*(publish(user, PAGE).pk for user in (alice, bob)), publish(alice, PAGE).pk)
    more = [publish(user, coffee).pk for user in (alice, bob, carol)]
    previewed(*more, address=coffee, url=coffee)
    client = api_of(None)
    assert [one["url"] for one in client.get(TRENDS).json()] == [coffee, PAGE]
    assert [one["url"] for one in client.get(f"{TRENDS}?limit=1&offset=1").json()] == [PAGE]


def test_only_new_public_posts_of_accounts_in_good_standing_make_a_link_trend(alice, bob, carol):
    dora = make_user("dora")
    with seconds_ago(49 * 3600):
        old = publish(carol, PAGE).pk
    quiet = publish(bob, PAGE, visibility="unlisted").pk
    hidden = publish(dora, PAGE)
    previewed(publish(alice, PAGE).pk, old, quiet, hidden.pk)
    hide_post(hidden.pk, by=moderator(), reason="")
    assert trending_links() == []
    limited, suspended = make_user("limited"), make_user("suspended")
    previewed(publish(limited, PAGE).pk, publish(suspended, PAGE).pk)
    limit_user(limited, by=moderator(), reason="")
    suspend(suspended)
    TRENDING_CACHE.clear()
    assert trending_links() == []
    previewed(publish(dora, PAGE).pk)
    assert [link.preview.url for link in trending_links()] == [PAGE]


def test_staff_see_what_trends(alice, bob, api_of):
    preview = previewed(publish(alice, PAGE).pk, publish(bob, PAGE).pk)
    staff = api_of(make_staff("search.view_trendingpost"), "admin:read")
    (link,) = staff.get("/api/v1/admin/trends/links").json()
    assert (link["id"], link["url"], link["requires_review"]) == (str(preview.pk), PAGE, False)
