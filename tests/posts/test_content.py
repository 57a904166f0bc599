import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.posts.content import Picture, PostContent, decode, encode

pictures = st.builds(
    Picture,
    id=st.integers(1, 2**62),
    url=st.text(max_size=20),
    width=st.integers(1, 9),
    height=st.integers(1, 9),
    alt=st.text(),
)
contents = st.builds(
    PostContent,
    id=st.integers(1, 2**63 - 1),
    version=st.integers(1, 9),
    author_id=st.integers(1, 2**28 - 1),
    kind=st.sampled_from(["text", "picture", "repost", "quote"]),
    body=st.text(),
    content_warning=st.text(),
    language=st.text(max_size=5),
    visibility=st.sampled_from(["public", "unlisted", "followers", "mentioned"]),
    source_id=st.none() | st.integers(1, 2**63 - 1),
    reply_to_id=st.none() | st.integers(1, 2**63 - 1),
    thread_id=st.integers(1, 2**63 - 1),
    created_ms=st.integers(1, 2**42),
    edited_ms=st.none() | st.integers(1, 2**42),
    pictures=st.lists(pictures, max_size=2).map(tuple),
    mentions=st.dictionaries(st.text(max_size=5), st.integers(1, 2**28 - 1), max_size=3),
)


@given(contents)
def test_contents_are_read_back(content):
    assert decode(encode(content)) == content


@given(contents)
def test_a_content_that_was_shown_is_stored_like_one_that_was_not(content):
    before = encode(content)
    assert content.html is content.html
    assert encode(content) == before


@given(st.binary(max_size=50))
def test_other_bytes_are_refused_in_a_known_way(data):
    with pytest.raises((ValueError, KeyError, TypeError)):
        decode(data)


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"[]", b"5", b'"x"', b"{}", b'{"pictures": null}', b'{"pictures": [5]}', b'{"pictures": [{}]}',
     b'{"pictures": [], "id": 1}', b'{"pictures": [], "other": 1}'],
)  # fmt: skip
def test_other_json_is_refused_in_a_known_way(data):
    with pytest.raises((ValueError, KeyError, TypeError)):
        decode(data)


def test_times_keep_their_milliseconds():
    content = decode(b'{"id":1,"version":1,"author_id":1,"kind":"text","body":"","content_warning":"","language":"",'
                     b'"visibility":"public","source_id":null,"reply_to_id":null,"thread_id":1,"created_ms":1750000000123,'
                     b'"edited_ms":null,"pictures":[],"mentions":{}}')  # fmt: skip
    assert content.created_at.isoformat() == "2025-06-15T15:06:40.123000+00:00"
    assert content.edited_at is None
