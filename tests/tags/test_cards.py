"""The tags that are talked about, beside every page."""

import pytest

from apps.tags.models import Tag
from apps.tags.queries import Day, TagUsage, _last_days
from apps.tags.trends import TRENDING_CACHE, cached_trending_tags, count_days
from apps.web.templatetags.tags import line_of_days
from tests.support.factories import deliver, publish

pytestmark = pytest.mark.django_db


def test_they_stand_beside_the_timeline_and_lead_to_it(alice, bob, page_of):
    publish(alice, "Good #tea and #茶.")
    publish(bob, "More #tea.")
    count_days()
    deliver()
    for viewer in (bob, None):
        page = page_of(viewer).get("/public").text
        card = page.split("<h2>Trending</h2>")[1].split("</section>")[0]
        assert card.index("#tea") < card.index("#茶")
        assert 'href="/tags/%E8%8C%B6"' in card
        assert "2 posts this week" in card


def test_where_nobody_uses_tags_there_is_no_card(alice, page_of):
    assert "Trending" not in page_of(alice).get("/public").text


def test_pages_ask_once_a_minute(alice, django_assert_num_queries):
    publish(alice, "#tea")
    count_days()
    assert [known.tag.name for known in cached_trending_tags()] == ["tea"]
    with django_assert_num_queries(0):
        cached_trending_tags()
    TRENDING_CACHE.clear()
    with django_assert_num_queries(4):  # two days, the tags, their history
        cached_trending_tags()


@pytest.mark.parametrize(
    ("uses", "line"),
    [
        ([0] * 7, "0,26 12,26 24,26 36,26 48,26 60,26 72,26"),
        ([4, 2, 0, 0, 0, 0, 0], "0,26 12,26 24,26 36,26 48,26 60,14 72,2"),
    ],
)
def test_a_line_of_days_ends_with_today(uses, line):
    days = [Day(day, count) for day, count in zip(_last_days(), uses, strict=True)]
    assert line_of_days(TagUsage(Tag(name="tea"), days)) == line
