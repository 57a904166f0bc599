"""Which bodies are read, and for how long."""

import asyncio
from http import HTTPStatus

import pytest

from feedsite.server.bodies import Body, announced, read

MEGABYTE = 1024 * 1024


@pytest.fixture(autouse=True)
def bounds(settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = MEGABYTE
    settings.UPLOAD_MAX_BYTES, settings.UPLOAD_MAX_BYTES_AT = (
        4 * MEGABYTE,
        {"/import": 9 * MEGABYTE},
    )
    settings.BODY_SECONDS, settings.UPLOAD_BYTES_PER_SECOND = 20, MEGABYTE


def environ(length=None, path="/posts", **more):
    named = {} if length is None else {"CONTENT_LENGTH": str(length)}
    return {"PATH_INFO": path, **named, **more}


UPLOAD = {"CONTENT_TYPE": "multipart/form-data; boundary=x"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (environ(), None),
        (environ(0), None),
        (environ(MEGABYTE), Body(MEGABYTE, 20)),
        (environ(MEGABYTE + 1), HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        (environ(4 * MEGABYTE, **UPLOAD), Body(4 * MEGABYTE, 24)),
        (environ(4 * MEGABYTE + 1, **UPLOAD), HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        (environ(9 * MEGABYTE, "/import", **UPLOAD), Body(9 * MEGABYTE, 29)),
        (environ(HTTP_TRANSFER_ENCODING="chunked"), HTTPStatus.LENGTH_REQUIRED),
        (environ(5, HTTP_TRANSFER_ENCODING="chunked"), HTTPStatus.LENGTH_REQUIRED),
        (environ("-1"), HTTPStatus.BAD_REQUEST),
        (environ("٣"), HTTPStatus.BAD_REQUEST),
        (environ(""), HTTPStatus.BAD_REQUEST),
    ],
)
def test_what_headers_announce(given, expected):
    assert announced(given) == expected


async def chunks(*parts, ends=True):
    for part in parts:
        yield part
    if not ends:
        await asyncio.Event().wait()


@pytest.mark.parametrize("size", [10, 100_000], ids=["in memory", "on disk"])
def test_a_body_comes_whole(size):
    half = b"x" * (size // 2)
    stream = asyncio.run(read(chunks(half, half), Body(size, 20)))
    assert stream
    assert not isinstance(stream, HTTPStatus)
    with stream:
        assert stream.read() == b"x" * size


def test_half_a_body_is_none():
    assert asyncio.run(read(chunks(b"half"), Body(10, 20))) is None


def test_a_body_that_does_not_end_is_too_slow():
    slow = chunks(b"half", ends=False)
    assert asyncio.run(read(slow, Body(10, 0.01))) == HTTPStatus.REQUEST_TIMEOUT
