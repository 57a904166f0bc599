"""Posts are read back as they were, by older and newer code too;
anything else is a miss, which is to say a ValueError.
"""

from dataclasses import replace

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from apps.posts.actions.drafts import ALT_MAX_CHARACTERS
from apps.posts.cache import CACHED_POSTS, load_cached_posts, load_contents
from apps.posts.content.post import (
    MAX_BYTES,
    Application,
    Picture,
    PollContent,
    PostContent,
    decode,
    encode,
    from_protobuf,
    to_protobuf,
)
from apps.posts.models import OPEN, RESTRICTED, Kind
from apps.posts.wire import post_pb2 as wire
from feedcache.ids import MAX_ID
from feedcache.memcached_tiers import tiers
from feedcache.read_through.envelope import COMPRESS_FROM, pack, unpack
from tests.support.factories import publish

pictures = st.builds(
    Picture,
    id=st.integers(1, 2**62),
    url=st.text(max_size=20),
    width=st.integers(1, 9),
    height=st.integers(1, 9),
    alt=st.text(),
    preview_url=st.text(max_size=20),
    blurhash=st.text(max_size=9),
    focus_x=st.floats(-1, 1),
    focus_y=st.floats(-1, 1),
    moves=st.booleans(),
)
polls = st.builds(
    PollContent,
    options=st.lists(st.text(), min_size=1, max_size=4).map(tuple),
    expires_ms=st.integers(1, 2**42),
    multiple=st.booleans(),
    hide_totals=st.booleans(),
)
contents = st.builds(
    PostContent,
    id=st.integers(1, MAX_ID),
    version=st.integers(1, 9),
    author_id=st.integers(1, 2**28 - 1),
    kind=st.sampled_from(Kind.values),
    body=st.text() | st.text(min_size=1).map(lambda text: text * 300),
    content_warning=st.text(),
    language=st.text(max_size=5),
    visibility=st.sampled_from([visibility.value for visibility in OPEN]),
    source_id=st.none() | st.integers(1, MAX_ID),
    reply_to_id=st.none() | st.integers(1, MAX_ID),
    thread_id=st.integers(1, MAX_ID),
    created_ms=st.integers(1, 2**42),
    edited_ms=st.none() | st.integers(1, 2**42),
    pictures=st.lists(pictures, max_size=2).map(tuple),
    mentions=st.dictionaries(st.text(max_size=5), st.integers(1, 2**28 - 1), max_size=3),
    sensitive=st.booleans(),
    pinned=st.booleans(),
    poll=st.none() | polls,
    application=st.none() | st.builds(Application, name=st.text(), website=st.text()),
)

# What the first release wrote. These bytes never change: what they say must be readable for ever.
GOLDEN = {
    "002a7860430974ec5f5fb8314318100318e7242005280230fbbcd9f29e343a1f4c6f6f6b3a2040626f6220e4bda0e5a5bd2023e5b1b1e6b0b4e4b98be997b4"
    "42027a684a077370696465727351e1c55f5fb831431859f1c55f5fb831431861e1c55f5fb83143186a070a03626f62102a7229080712162f6d656469612f70"
    "696374757265732f612e7765627018b00920a0062a07412072697665728001a894ddf29e34": PostContent(
        id=1748295748293749876,
        version=3,
        author_id=4711,
        kind="quote",
        body="Look: @bob 你好 #山水之间",
        content_warning="spiders",
        language="zh",
        visibility="unlisted",
        source_id=1748295748293740001,
        reply_to_id=1748295748293740017,
        thread_id=1748295748293740001,
        created_ms=1795000000123,
        edited_ms=1795000060456,
        pictures=(Picture(7, "/media/pictures/a.webp", 1200, 800, "A river"),),
        mentions={"bob": 42},
    ),
    "00c0dfc3560974ec5f5fb8314318100118e7242001280130fbbcd9f29e343a0348692e": PostContent(
        id=1748295748293749876,
        version=1,
        author_id=4711,
        kind="text",
        body="Hi.",
        content_warning="",
        language="",
        visibility="public",
        source_id=None,
        reply_to_id=None,
        thread_id=1748295748293749876,
        created_ms=1795000000123,
        edited_ms=None,
        pictures=(),
        mentions={},
    ),
}  # fmt: skip
RICH, PLAIN = GOLDEN.values()


def message_of(content=RICH):
    return wire.Post.FromString(to_protobuf(content))


def tomorrow():
    """The message of a later release: everything of today's, and three fields more."""
    file = descriptor_pb2.FileDescriptorProto()
    wire.DESCRIPTOR.CopyToProto(file)
    file.name = "tomorrow.proto"
    file.message_type[0].field.add(name="place", number=901, type=9, label=1)
    file.message_type[0].field.add(name="scores", number=900, type=1, label=3)
    file.message_type[2].field.add(name="blurred", number=906, type=9, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("feedsite.posts.Post"))


@given(contents)
def test_contents_are_read_back(content):
    data = encode(content)
    assert decode(data) == content
    assert list(decode(data).mentions) == list(content.mentions)


@given(contents)
def test_a_content_that_was_shown_is_stored_like_one_that_was_not(content):
    before = encode(content)
    assert content.html is content.html
    assert encode(content) == before


@pytest.mark.django_db
def test_what_the_database_says_is_read_back(alice, bob):
    parent = publish(bob, "First.")
    post = publish(alice, "Hello @bob #tag", reply_to_id=parent.pk, content_warning="careful")
    (content,) = load_contents([post.pk]).values()
    assert content.mentions == {"bob": bob.pk}
    assert decode(encode(content)) == content


@pytest.mark.parametrize(("data", "content"), GOLDEN.items(), ids=["rich", "plain"])
def test_bytes_of_the_first_release_are_read_for_ever(data, content):
    assert decode(bytes.fromhex(data)) == content
    assert encode(content) == bytes.fromhex(data)  # one content has one byte form


def test_bytes_of_today_are_read_by_tomorrows_code():
    newer = tomorrow().FromString(to_protobuf(RICH))
    assert (newer.body, newer.place, list(newer.scores)) == (RICH.body, "", [])


def test_bytes_of_tomorrow_are_read_by_todays_code():
    newer = tomorrow().FromString(to_protobuf(RICH))
    newer.place, newer.pictures[0].blurred = "Suzhou", "yes"
    newer.scores.extend([0.5, 2.0])
    assert from_protobuf(newer.SerializeToString()) == RICH


@pytest.mark.parametrize("visibility", RESTRICTED)
def test_what_is_said_to_some_has_no_bytes(visibility):
    with pytest.raises(KeyError):
        encode(replace(PLAIN, visibility=visibility.value))


def test_bytes_that_were_said_to_some_are_a_miss():
    message = message_of(PLAIN)
    message.visibility = wire.VISIBILITY_FOLLOWERS
    with pytest.raises(ValueError, match="newer release"):
        from_protobuf(message.SerializeToString())


@pytest.mark.parametrize("field", ["kind", "visibility"])
def test_a_value_that_only_tomorrows_code_knows_is_a_miss(field):
    message = message_of()
    setattr(message, field, 99)
    with pytest.raises(ValueError, match="newer release"):
        from_protobuf(message.SerializeToString())


@pytest.mark.parametrize(
    "field", ["id", "version", "author_id", "kind", "visibility", "created_ms"]
)
def test_half_a_post_is_a_miss(field):
    message = message_of()
    message.ClearField(field)
    with pytest.raises(ValueError, match=r"incomplete|newer"):
        from_protobuf(message.SerializeToString())


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", 2**63), ("source_id", 2**64 - 1), ("reply_to_id", 2**63), ("thread_id", 2**63), ("created_ms", -1),
     ("created_ms", 2**62), ("edited_ms", -5), ("edited_ms", 2**62)],
)  # fmt: skip
def test_numbers_that_no_post_has_are_a_miss(field, value):
    message = message_of()
    setattr(message, field, value)
    with pytest.raises(ValueError, match="incomplete"):
        from_protobuf(message.SerializeToString())


@given(st.data())
def test_bytes_of_another_type_are_a_miss(data):
    """A known number with another wire type would otherwise be passed over as if it were new."""
    field = data.draw(st.sampled_from(list(wire.Post.DESCRIPTOR.fields)))
    wrong = {1: b"\x00" * 8, 2: b"\x01x"}  # 64 bits; a string
    kind = 2 if field.type == field.TYPE_FIXED64 else 1
    with pytest.raises(ValueError, match="another type"):
        from_protobuf(to_protobuf(PLAIN) + tag(field.number, kind) + wrong[kind])


def tag(number, wire_type):
    """A tag is a varint."""
    value = number << 3 | wire_type
    return bytes([value]) if value < 128 else bytes([value & 127 | 128, value >> 7])


@given(st.binary(max_size=80))
def test_random_bytes_are_a_miss(data):
    for read in (decode, from_protobuf):
        with pytest.raises(ValueError):  # noqa: PT011 -- whatever the reason
            read(data)


@pytest.mark.slow
@given(contents, st.data())
def test_every_truncation_is_a_miss(content, data):
    packed = encode(content)
    with pytest.raises(ValueError):  # noqa: PT011 -- whatever the reason
        decode(packed[: data.draw(st.integers(0, len(packed) - 1))])


@given(contents, st.data())
def test_damage_below_the_checksum_is_a_miss_or_a_post(content, data):
    damaged = bytearray(to_protobuf(content))
    for _ in range(data.draw(st.integers(1, 5))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = decode(pack(bytes(damaged)))
    except ValueError:
        return
    assert found.created_at.year < 10_000
    assert (found.edited_at is None) == (found.edited_ms is None)


def test_the_json_of_an_older_release_is_a_miss():
    with pytest.raises(ValueError, match="envelope"):
        decode(b'{"id":1,"version":1,"author_id":1,"kind":"text","body":""}')


def test_long_posts_are_compressed_and_short_ones_are_not():
    assert encode(PLAIN)[0] == 0
    long = PostContent(**{**vars(PLAIN), "body": "word after word " * 100})
    assert len(to_protobuf(long)) > COMPRESS_FROM
    assert encode(long)[0] == 1
    assert decode(encode(long)) == long


def test_a_bomb_is_a_miss():
    bomb = pack(b"\0" * (MAX_BYTES + 1))
    assert len(bomb) < 100
    with pytest.raises(ValueError, match="too large"):
        decode(bomb)


def test_the_longest_post_fits():
    maximum = PostContent(
        **{
            **vars(RICH),
            "body": "\U0001f469\u200d" * 5000,  # what is stored of the longest text that is taken
            "pictures": tuple(
                Picture(n, "/media/pictures/" + "a" * 80, 4000, 4000, "界" * ALT_MAX_CHARACTERS)
                for n in range(4)
            ),
        }
    )
    assert len(to_protobuf(maximum)) < MAX_BYTES
    assert decode(encode(maximum)) == maximum


@pytest.mark.django_db
@pytest.mark.parametrize(
    "planted",
    [b"", b"garbage", b'{"id":1}', pack(b"\0" * (MAX_BYTES + 1)), pack(b"not a post")],
    ids=["nothing", "garbage", "json", "bomb", "other"],
)
def test_what_somebody_planted_in_the_cache_is_loaded_anew_and_written_over(
    alice, planted, memcached
):
    post = publish(alice, "The real one.")
    name = CACHED_POSTS.name_of(post.pk, tiers())
    tiers().set_many({name: planted}, ttl_seconds=60)
    found = CACHED_POSTS.get_many([post.pk], load_cached_posts)
    assert vars(found[post.pk].content)["body"] == "The real one."
    assert unpack(tiers().get_many([name])[name], max_bytes=MAX_BYTES)
    assert CACHED_POSTS.get_many([post.pk], lambda _missing: {}) == found


@pytest.mark.django_db
def test_plain_and_compressed_values_stand_side_by_side(alice, memcached):
    bodies = ["short", "word after word " * 31]
    posts = [publish(alice, body) for body in bodies]
    keys = [post.pk for post in posts]
    CACHED_POSTS.get_many(keys, load_cached_posts)
    stored = tiers().get_many([CACHED_POSTS.name_of(key, tiers()) for key in keys])
    assert sorted(value[0] for value in stored.values()) == [0, 1]
    found = CACHED_POSTS.get_many(keys, lambda _missing: {})
    assert [vars(found[key].content)["body"] for key in keys] == [body.strip() for body in bodies]
