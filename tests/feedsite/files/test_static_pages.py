"""Pages that say what the site is, and the tabs of what to explore."""

import pytest

from apps.engagement.actions import like_post
from apps.graph.actions import follow_user
from apps.search.trends import rank_posts
from apps.tags.trends import count_days
from feedsite.files import static_pages
from feedsite.monitoring import health
from tests.support.cases import each
from tests.support.factories import make_user, publish
from tests.support.faults import dead_redis

pytestmark = pytest.mark.django_db


@pytest.mark.slow
@each(
    ("address", "english", "chinese"),
    [
        ("/about", "About Rill", "关于"),
        ("/about/api", "API examples", "API 示例"),
        ("/about/shortcuts", "Next post", "下一条"),
        ("/privacy", "What is stored", "保存什么"),
        ("/rules", "Be civil", "文明"),
        ("/status", "Everything works", "一切正常"),
        ("/explore", "Explore", "探索"),
        ("/explore/tags", "Tags", "话题"),
        ("/explore/people", "People", "用户"),
    ],
)
def test_plain_pages_speak_both_languages(page_of, alice, settings, address, english, chinese):
    settings.SITE_NAME = "Rill"
    for viewer in (None, alice):
        page = page_of(viewer).get(address)
        assert (page.status_code, english in page.content.decode()) == (200, True)
        page = page_of(viewer).get(address, headers={"Accept-Language": "zh-CN"})
        assert chinese in page.content.decode()


@pytest.mark.slow
@each(
    ("check", "sentence"),
    [
        ("postgresql writes", "Nothing can be posted or changed right now"),
        ("redis", "slower than usual"),
        ("workers", "will reach home pages when deliveries run again"),
        ("dead letters", "Some deliveries were given up"),
        ("limits", "Logging in may be refused"),
        ("audit", "A mistake was found that could not be repaired"),
    ],
)
def test_status_says_what_people_notice_of_what_does_not_work(
    page_of, monkeypatch, check, sentence
):
    with monkeypatch.context() as patch:
        patch.setitem(health._CHECKS, check, lambda: False)
        health.forget()
        page = page_of(None).get("/status")
    assert sentence in page.text
    assert "Everything works" not in page.text
    assert page.headers["Cache-Control"] == "no-store"


@pytest.mark.usefixtures("memcached")
def test_every_check_has_a_sentence_on_the_status_page(settings, tmp_path, monkeypatch):
    told = {name for _part, sentences in static_pages._PARTS for name in sentences}
    assert set(health._CHECKS) <= told
    (settings.MEDIA_ROOT, settings.MEDIA_BUCKET) = (str(tmp_path), "")
    settings.REDIS_GRAPH_REPLICA_URLS = settings.REDIS_TIMELINES_REPLICA_URLS = ["redis://a"]
    monkeypatch.setattr(health.connections, "listens", lambda: True)
    assert set(health._all_checks()) == told


def test_explore_shows_what_others_like_follow_and_talk_about(page_of, alice, bob, carol):
    post = publish(alice, "a cup of #tea")
    like_post(bob, post.pk)
    follow_user(carol, alice)
    rank_posts()
    count_days()
    for viewer in (None, make_user()):
        browser = page_of(viewer)
        assert f'id="p{post.pk}"' in browser.get("/explore").content.decode()
        assert "#tea" in browser.get("/explore/tags").content.decode()
        assert 'href="/@alice"' in browser.get("/explore/people").content.decode()


def test_explore_suggests_nobody_who_does_not_want_it(page_of, alice, bob):
    assert 'href="/@alice"' in page_of(None).get("/explore/people").content.decode()
    alice.is_discoverable = False
    alice.save(update_fields=["is_discoverable"])
    assert 'href="/@alice"' not in page_of(None).get("/explore/people").content.decode()


def test_pages_say_when_what_they_are_made_with_is_left_alone(page_of, alice):
    said = "Timelines are slower than usual right now."
    assert said not in page_of(alice).get("/").content.decode()
    with dead_redis():
        pages = [page_of(alice).get("/public").content.decode() for _look in range(2)]
    assert said in pages[1]
    assert said not in page_of(alice).get("/public").content.decode()
