from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from apps.posts.content.post import PostContent, milliseconds

CONTENT = PostContent(
    id=1,
    version=1,
    author_id=1,
    kind="text",
    body="",
    content_warning="",
    language="",
    visibility="public",
    source_id=None,
    reply_to_id=None,
    thread_id=1,
    created_ms=1_750_000_000_123,
    edited_ms=None,
    pictures=(),
    mentions={},
)


def test_times_keep_their_milliseconds():
    assert CONTENT.created_at.isoformat() == "2025-06-15T15:06:40.123000+00:00"
    assert CONTENT.edited_at is None


@given(st.integers(0, 2**52))
def test_a_time_stays_in_its_second(microseconds):
    """Posts carry the second in their ids; a page must not say the next one."""
    moment = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)
    shown = datetime.fromtimestamp(milliseconds(moment) / 1000, UTC)
    assert shown == moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def test_the_html_of_a_content_is_made_once():
    assert CONTENT.html is CONTENT.html
