"""Times are on the clock of who reads, in the words of the page; without scripts they say that they are UTC."""

import re
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.posts.actions.drafts import PollDraft
from tests.flows.browsing import needs_browser
from tests.support.factories import publish

pytestmark = [*needs_browser, pytest.mark.flows]
SHANGHAI = ZoneInfo("Asia/Shanghai")
WHOLE = {
    "en": "{time.day} {time:%B} {time.year}, {time:%H:%M} GMT+8",
    "zh-hans": "{time.year}年{time.month}月{time.day}日 {time:%H:%M} GMT+8",
}


@pytest.fixture
def post(author):
    return publish(author, "Late.", poll=PollDraft(("Yes", "No"), 86_400))


@pytest.mark.parametrize("language", WHOLE)
def test_times_are_the_readers_own(post, site, visit, language):
    said, ends = (
        WHOLE[language].format(time=timezone.localtime(time, SHANGHAI))
        for time in (post.created_at, post.poll.expires_at)
    )
    with visit(zone="Asia/Shanghai") as page:
        page.context.add_cookies([{"name": "lang", "value": language, "url": site}])
        page.goto("/@author")
        expect(page.locator("#feed .when")).to_have_attribute("title", said)
        expect(page.locator("#feed .fine time")).to_have_text(ends)
        page.goto(f"/@author/{post.pk}")
        expect(page.locator(".stamp time")).to_have_text(said)
        assert "UTC" not in page.locator("main").inner_text()


@pytest.mark.parametrize(("language", "days"), [("en", "2 Mar 2024"), ("zh-hans", "2024年3月2日")])
def test_the_day_of_an_old_post_is_the_readers_too(post, site, visit, language, days):
    with visit(zone="Asia/Shanghai") as page:
        page.context.add_cookies([{"name": "lang", "value": language, "url": site}])
        # there it is the next day already
        page.route("**/@author", lambda route: _made_old(route))
        page.goto("/@author")
        expect(page.locator("#feed .when time")).to_have_text(days)


def _made_old(route):
    answer = route.fetch()
    older = re.sub(r'(class="when".*?datetime=")[^"]+', r"\g<1>2024-03-01T16:50:00+00:00", answer.text(),
                   flags=re.DOTALL)  # fmt: skip
    route.fulfill(response=answer, body=older)


def test_without_scripts_the_zone_is_said(post, visit):
    with visit(scripts=False, zone="Asia/Shanghai") as page:
        page.goto(f"/@author/{post.pk}")
        said = post.created_at
        expect(page.locator(".stamp time")).to_have_text(f"{said.day} {said:%B %Y, %H:%M} UTC")
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
