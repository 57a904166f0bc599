"""From a post with a link to what is shown of the page, and back to nothing."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from apps.events.leases import claim, fail, under_way
from apps.moderation.actions import hide_post, show_post
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.previews import actions
from apps.previews.models import Preview, PreviewedPost, PreviewHost
from feedcache import stats
from tests.previews.sites import answer, redirect
from tests.support.factories import deliver, moderator, publish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def fetched(site):
    """Does what the workers would do, now, whenever it is due; hosts are free again."""

    def run(**names):
        deliver()
        Preview.objects.filter(state="pending").update(due_at=timezone.now())
        PreviewHost.objects.update(free_at=timezone.now() - timedelta(seconds=1))
        return actions.run_due(limit=100, network=site.network(**names))

    return run


def address(site, path="/tea"):
    return f"http://news.example:{site.port}{path}"


def outcomes():
    counted = stats.drain().items()
    return {outcome: number for (subject, outcome), number in counted if subject == actions.COUNTED}


@pytest.mark.slow
def test_the_page_of_a_post_is_fetched_once_for_all_posts(site, fetched, alice, carol):
    publish(alice, f"Look: {address(site)}")
    publish(carol, f"Yes, {address(site)}!")
    stats.drain()
    assert (fetched(), fetched()) == (1, 0)
    preview = Preview.objects.get()
    assert (preview.state, preview.title, preview.width) == ("done", "Tea at the river", 60)
    assert Path(default_storage.path(preview.picture)).read_bytes()[8:12] == b"WEBP"
    assert site.paths == ["/tea", "/picture.png"]
    assert outcomes() == {"shown": 1}


@pytest.mark.slow
def test_who_listens_is_told_when_there_is_something_new_to_see(
    site, fetched, alice, carol, monkeypatch
):
    told = []
    monkeypatch.setattr(actions, "announce", lambda name, **ids: told.append((name, ids)))
    monkeypatch.setattr(actions, "TOLD_POSTS", 2)
    posts = [publish(one, f"Look: {address(site)}") for one in (alice, carol, alice)]
    publish(alice, f"Nothing: {address(site, '/gone')}")
    assert fetched() == 2
    newest = [
        ("post_previewed", {"post_id": pk}) for pk in sorted(post.pk for post in posts)[:0:-1]
    ]
    assert told == newest
    actions.fetch_again([Preview.objects.get(title="Tea at the river").pk])
    site.pages["/tea"] = answer("<p>No title, so nothing is shown any more.</p>")
    fetched()
    assert told == newest * 2


@pytest.mark.parametrize(
    "draft",
    [
        {"visibility": "followers"},
        {"visibility": "mentioned"},
        {"body": "No link. http:// nothing"},
        {"body": f"http://news.example/{'x' * 2000}"},
    ],
)
def test_posts_whose_links_nobody_fetches(site, fetched, alice, draft):
    publish(alice, **{"body": f"@alice {address(site)}", **draft})
    assert fetched() == 0
    assert not Preview.objects.exists()


def test_nothing_is_fetched_when_the_setting_is_off(site, fetched, alice, settings):
    settings.LINK_PREVIEWS = False
    publish(alice, address(site))
    assert fetched() == 0
    Preview.objects.create(key="a", address=address(site))
    assert fetched() == 0
    assert site.asked == []


@pytest.mark.slow
def test_an_edit_asks_for_another_page_and_erases_the_one_before(site, fetched, alice):
    post = publish(alice, address(site))
    fetched()
    picture = Preview.objects.get().picture
    site.pages["/other"] = answer("<title>Other</title>")
    edit_post(alice, post.pk, body=address(site, "/other"))
    fetched()
    assert [preview.title for preview in Preview.objects.all()] == ["Other"]
    assert not default_storage.exists(picture)
    edit_post(alice, post.pk, body="Nothing.")
    deliver()
    assert not Preview.objects.exists()


@pytest.mark.slow
def test_a_preview_stays_as_long_as_a_post_names_it(site, fetched, alice, carol):
    first, second = publish(alice, address(site)), publish(carol, address(site))
    fetched()
    picture = Preview.objects.get().picture
    delete_post(first.pk, by=alice)
    deliver()
    assert default_storage.exists(picture)
    delete_post(second.pk, by=carol)
    deliver()
    assert not Preview.objects.exists()
    assert not PreviewedPost.objects.exists()
    assert not default_storage.exists(picture)


@pytest.mark.long
def test_a_hidden_post_has_no_preview_until_it_is_shown_again(site, fetched, alice):
    post = publish(alice, address(site))
    fetched()
    hide_post(post.pk, by=moderator())
    deliver()
    assert not Preview.objects.exists()
    edit_post(alice, post.pk, body=f"Look: {address(site)}")
    assert fetched() == 0
    show_post(post.pk, by=moderator())
    assert fetched() == 1
    assert Preview.objects.get().title == "Tea at the river"


def test_a_post_that_is_gone_before_its_page_was_fetched(site, fetched, alice):
    post = publish(alice, address(site))
    deliver()
    delete_post(post.pk, by=alice)
    assert fetched() == 0
    assert site.asked == []


@pytest.mark.slow
def test_a_preview_that_is_erased_while_it_is_fetched_leaves_no_picture(site, fetched, alice):
    publish(alice, address(site))
    page = site.pages["/tea"]

    def erased_meanwhile(handler):
        site.erase()
        page(handler)

    stored = set(Path(default_storage.path("")).rglob("*.webp"))
    row = []
    site.erase = lambda: row.append("asked")
    site.pages["/tea"] = erased_meanwhile
    deliver()
    [preview] = claim(Preview, limit=1)
    actions.erase([preview.pk])
    actions._run(preview, site.network())
    assert row == ["asked"]
    assert set(Path(default_storage.path("")).rglob("*.webp")) == stored


def test_a_page_that_is_refused_is_not_asked_again_for_a_day(site, fetched, alice, carol):
    site.pages["/file"] = answer("%PDF", "application/pdf")
    publish(alice, address(site, "/file"))
    fetched()
    publish(carol, address(site, "/file"))
    assert fetched() == 0
    preview = Preview.objects.get()
    assert (preview.state, preview.refusal, preview.title) == ("done", "type application/pdf", "")
    Preview.objects.update(finished_at=timezone.now() - timedelta(days=1, minutes=1))
    publish(carol, address(site, "/file"))
    assert fetched() == 1


@pytest.mark.slow
def test_what_is_old_is_fetched_again_with_the_next_post_and_shown_until_then(site, fetched, alice):
    publish(alice, address(site))
    fetched()
    before = Preview.objects.get().picture
    Preview.objects.update(finished_at=timezone.now() - timedelta(days=7, minutes=1))
    publish(alice, address(site))
    deliver()
    preview = Preview.objects.get()
    assert (preview.state, preview.title) == ("pending", "Tea at the river")
    site.pages["/tea"] = answer("<title>Coffee</title>")
    fetched()
    preview.refresh_from_db()
    assert (preview.title, preview.picture) == ("Coffee", "")
    assert not default_storage.exists(before)


def test_a_server_that_is_away_is_tried_five_times_with_longer_and_longer_pauses(
    site, fetched, alice, caplog
):
    site.pages["/tea"] = answer("", status=503)
    publish(alice, address(site))
    pauses = []
    for _attempt in range(5):
        fetched()
        preview = Preview.objects.get()
        pauses.append((preview.due_at - timezone.now()).total_seconds())
    assert pauses[:4] == sorted(pauses[:4])
    assert preview.state == "dead"
    assert "503" in preview.last_error
    assert fetched() == 0
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.slow
def test_a_host_is_asked_by_one_worker_at_a_time_and_not_at_once_again(site, alice):
    site.pages["/other"] = answer("<title>Other</title>")
    publish(alice, address(site))
    publish(alice, address(site, "/other"))
    deliver()
    assert actions.run_due(limit=10, network=site.network()) == 2
    states = {
        preview.address: (preview.state, preview.attempts) for preview in Preview.objects.all()
    }
    assert states == {address(site): ("done", 1), address(site, "/other"): ("pending", 0)}
    assert site.paths == ["/tea", "/picture.png"]


@pytest.mark.slow
def test_a_host_behind_many_redirects_is_asked_by_one_at_a_time_too(site, fetched, alice):
    PreviewHost.objects.create(name="news.example", free_at=timezone.now() + timedelta(minutes=1))
    site.pages["/go"] = redirect(address(site))
    publish(alice, f"http://short.example:{site.port}/go")
    deliver()
    actions.run_due(limit=10, network=site.network())
    assert site.paths == ["/go"]
    assert Preview.objects.get().state == "pending"
    fetched()
    assert Preview.objects.get().url == address(site)


@pytest.mark.slow
def test_at_most_two_pages_are_fetched_at_once(site, alice):
    for number in range(3):
        Preview.objects.create(key=str(number), address=f"http://n{number}.example:{site.port}/tea")
    first, second = claim(Preview, limit=2)
    with under_way(first), under_way(second):
        assert actions.run_due(limit=10, network=site.network()) == 0
    assert actions.run_due(limit=10, network=site.network()) == 1


@pytest.mark.slow
def test_pages_that_wait_for_their_next_attempt_hold_up_no_others(site, alice):
    for number in range(2):
        waiting = Preview.objects.create(key=str(number), address=f"http://n{number}.example/")
        fail(claim(Preview, limit=1)[0], OSError("no route"))
    publish(alice, address(site))
    deliver()
    assert actions.run_due(limit=10, network=site.network()) == 1
    assert Preview.objects.get(title="Tea at the river").state == "done"
    assert Preview.objects.get(pk=waiting.pk).started_at is None


def test_private_addresses_in_posts_are_never_asked(site, secret, fetched, alice):
    """With the network of the running site."""
    for host in ("127.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.0.1"):
        publish(alice, f"http://{host}/ or http://{host}:{site.port}/")
    publish(alice, f"http://127.0.0.2:{site.port}/")
    deliver()
    assert actions.run_due(limit=100) == 2
    PreviewHost.objects.all().delete()
    while actions.run_due(limit=100):
        PreviewHost.objects.all().delete()
    refused = set(Preview.objects.values_list("refusal", flat=True))
    assert refused == {"not a public address", f"port {site.port}"}
    assert (site.asked, secret.asked) == ([], [])


def test_what_a_lost_race_left_is_erased(site):
    old = timezone.now() - timedelta(days=2)
    unused = Preview.objects.create(key="a", address="http://a.example/")
    Preview.objects.filter(pk=unused.pk).update(created_at=old)
    PreviewHost.objects.create(name="a.example", free_at=old)
    named = Preview.objects.create(key="b", address="http://b.example/")
    Preview.objects.filter(pk=named.pk).update(created_at=old)
    PreviewedPost.objects.create(post_id=1, preview=named)
    actions.purge_unused()
    assert [preview.key for preview in Preview.objects.all()] == ["b"]
    assert not PreviewHost.objects.exists()
