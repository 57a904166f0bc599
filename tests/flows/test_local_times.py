"""Times are on the clock of who reads, in the words of the page; without scripts they say that they are UTC."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.posts.drafts import PollDraft
from apps.posts.models import Post
from tests.factories import publish
from tests.flows.browsing import needs_browser

pytestmark = needs_browser
SHANGHAI = ZoneInfo("Asia/Shanghai")
LATE = datetime(2024, 3, 1, 16, 50, tzinfo=ZoneInfo("UTC"))  # there it is the next day already


@pytest.fixture
def post(author):
    poll = PollDraft(("Yes", "No"), 86_400)
    made = publish(author, "Late.", poll=poll)
    Post.objects.filter(pk=made.pk).update(created_at=LATE)
    return made


@pytest.mark.parametrize(
    ("language", "day", "whole"),
    [
        ("en", "2 Mar 2024", "2 March 2024 at 00:50"),
        ("zh-hans", "2024年3月2日", "2024年3月2日 00:50"),
    ],
)
def test_times_are_the_readers_own(post, site, visit, language, day, whole):
    ends = timezone.localtime(post.poll.expires_at, SHANGHAI)
    with visit(zone="Asia/Shanghai") as page:
        page.context.add_cookies([{"name": "lang", "value": language, "url": site}])
        page.goto("/@author")
        when = page.locator("#feed .when")
        expect(when).to_have_attribute("title", whole)
        expect(when).to_have_text(day)
        assert f"{ends:%H:%M}" in page.locator("#feed .fine time").inner_text()
        page.goto(f"/@author/{post.pk}")
        expect(page.locator(".stamp time")).to_have_text(whole)
        assert "UTC" not in page.locator("main").inner_text()


def test_without_scripts_the_zone_is_said(post, visit):
    with visit(scripts=False, zone="Asia/Shanghai") as page:
        page.goto(f"/@author/{post.pk}")
        expect(page.locator(".stamp time")).to_have_text("1 March 2024, 16:50 UTC")
        ends = post.poll.expires_at
        expect(page.locator(".focused .fine time")).to_contain_text(f"{ends:%H:%M} UTC")


def test_ages_are_counted_on(author, visit):
    made = publish(author, "Just now.")
    with visit(zone="Asia/Shanghai") as page:
        page.clock.install()
        page.goto("/@author")
        when = page.locator(f"#p{made.pk} .when time")
        expect(when).to_have_text("now")
        page.clock.fast_forward(timedelta(minutes=2).seconds * 1000)
        page.clock.run_for(61_000)
        expect(when).to_have_text("3m")
