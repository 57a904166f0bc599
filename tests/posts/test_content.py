from apps.posts.content.post import PostContent

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


def test_the_html_of_a_content_is_made_once():
    assert CONTENT.html is CONTENT.html
