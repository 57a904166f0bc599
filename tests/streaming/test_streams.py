"""Names of streams, and what a client may say over a WebSocket."""

import asyncio

import pytest

from apps.errors import NotAllowed
from apps.scopes import covered_by
from apps.streaming.connections import Connection, EndedError
from apps.streaming.queries import StreamEvent
from apps.streaming.streams import Stream, StreamError
from apps.streaming.transports import handle_command, message


def test_names_are_mastodons():
    assert Stream.parse("user", {}) == Stream("user")
    assert Stream.parse("public", {"only_media": "true"}) == Stream("public:media")
    assert Stream.parse("public:local", {"only_media": "0"}) == Stream("public:local")
    assert Stream.parse("hashtag", {"tag": "#River"}) == Stream("hashtag", "river")
    assert Stream.parse("list", {"list": "12"}) == Stream("list", "12")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("", {}), ("users", {}), ("public:media:media", {}), ("hashtag", {}), ("hashtag", {"tag": "#"}),
     ("hashtag", {"tag": "x" * 101}), ("list", {}), ("list", {"list": "٣"}), ("list", {"list": "9" * 30})],
)  # fmt: skip
def test_what_is_no_stream_is_refused(name, arguments):
    with pytest.raises(StreamError):
        Stream.parse(name, arguments)


def connection(maximum=3, granted="read"):
    return Connection(1, "token", covered_by([granted]), max_queue=maximum)


def news(event="update", *streams):
    return StreamEvent(1, frozenset(streams or {Stream("user")}), event, "{}")


def next_of(one):
    return asyncio.run(one.next(seconds=0))


def test_a_client_adds_and_drops_streams_and_hears_them_as_it_wrote_them():
    async def scene():
        one = connection()
        handle_command(one, '{"type":"subscribe","stream":"hashtag","tag":"River"}')
        one.enqueue(news("update", Stream("hashtag", "river"), Stream("user")))
        told = await one.next(seconds=1)
        assert message(told) == {"stream": ["hashtag", "River"], "event": "update", "payload": "{}"}
        handle_command(one, '{"type":"unsubscribe","stream":"hashtag","tag":"RIVER"}')
        one.enqueue(news("update", Stream("hashtag", "river")))
        assert await one.next(seconds=0.01) is None

    asyncio.run(scene())


@pytest.mark.parametrize(
    "text",
    ["", "x", "[]", "{}", '{"type":"subscribe"}', '{"type":"subscribe","stream":"nothing"}', "1" * 5000,
     '{"type":"shout","stream":"user"}', '{"type":"subscribe","stream":"list","list":{"a":1}}',
     '{"type":["subscribe"],"stream":"user"}'],
)  # fmt: skip
def test_other_messages_are_refused(text):
    one = connection()
    with pytest.raises(StreamError):
        handle_command(one, text)
    assert one.streams == {}


NEEDED = {"user": {"read:statuses", "read:notifications"}, "user:notification": {"read:notifications"},
          "public": {"read:statuses"}, "hashtag": {"read:statuses"}, "list": {"read:lists"}}  # fmt: skip


@pytest.mark.parametrize("name", NEEDED)
def test_a_token_hears_what_its_scopes_let_it(name):
    stream = Stream.parse(name, {"tag": "x", "list": "1"})
    assert set(stream.scopes) == NEEDED[name]
    connection().add(stream, [name])
    for scope in ("write", "read:accounts", *(NEEDED[name] if len(NEEDED[name]) > 1 else ())):
        with pytest.raises(NotAllowed):
            connection(granted=scope).add(stream, [name])


def test_one_connection_has_so_many_streams():
    one = connection()
    for number in range(50):
        handle_command(one, f'{{"type":"subscribe","stream":"hashtag","tag":"t{number}"}}')
    with pytest.raises(StreamError):
        handle_command(one, '{"type":"subscribe","stream":"user"}')


def test_who_does_not_read_is_cut_off_and_keeps_nothing_in_memory():
    async def scene():
        one = connection(maximum=3)
        one.add(Stream("user"), ["user"])
        for _ in range(10):
            one.enqueue(news())
        with pytest.raises(EndedError, match="too slow"):
            await one.next(seconds=1)

    asyncio.run(scene())
