"""A post as bytes: the size and the speed of protobuf, compared with JSON and XML (source 000)."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import orjson

from apps.posts.content.post import Picture, PostContent, decode, encode
from tools.bench.measure import Spread, compare, ratio
from tools.bench.report import Line

# The body of a post of about 1 KB in all; no sentence is repeated, because that would favour compression.
BODY = (
    "The tram was late again, so I drew the stop: one lamp, two gulls, nobody in a hurry. Across the street the bakery "
    "had its shutters half down and somebody inside was singing off key. By the time the number nine turned the corner "
    "my tea had gone cold and the page was full, except for the sky, which I always leave for the ride home. An old "
    "man asked whether I sold these. I said no, then gave him the gulls. He folded them into his newspaper between the "
    "weather and the chess problem and told me about a harbour he had painted in 1961, with a brush made of his own "
    "hair, because the shops were closed for the feast. I do not know if that is true. I hope it is. Tomorrow I will "
    "bring a second pencil and a thermos that works."
)


def run(_directory: Path) -> list[Line]:
    """The size of a post of 1 KB, and the time to encode and decode it."""
    post = _post()
    fields = dataclasses.asdict(post)
    ways: dict[str, tuple[Callable[[], object], int]] = {
        "protobuf": (lambda: decode(encode(post)), len(encode(post))),
        "orjson": (lambda: orjson.loads(orjson.dumps(fields)), len(orjson.dumps(fields))),
        "json": (lambda: json.loads(json.dumps(fields)), len(json.dumps(fields).encode())),
        "XML (ElementTree)": (lambda: _from_xml(_to_xml(fields)), len(_to_xml(fields))),
    }
    times = compare({name: way for name, (way, _size) in ways.items()})
    sizes = {name: Spread.exact(size) for name, (_way, size) in ways.items()}
    size, spent = sizes.pop("protobuf"), times.pop("protobuf")
    return [
        Line(
            "content: bytes of a 1 KB post",
            "bytes",
            size,
            sizes,
            note=_against({name: ratio(one, size) for name, one in sizes.items()}),
        ),
        Line(
            "content: encoding and decoding a 1 KB post; ours returns the object that pages use",
            "us",
            spent,
            times,
            note=_against({name: ratio(one, spent) for name, one in times.items()}),
        ),
    ]


def _against(ratios: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}x" for name, value in ratios.items())


def _post() -> PostContent:
    return PostContent(
        id=1_700_000_000_000_000_000,
        version=2,
        author_id=4711,
        kind="picture",
        body=BODY,
        content_warning="",
        language="en",
        visibility="public",
        source_id=None,
        reply_to_id=None,
        thread_id=1_700_000_000_000_000_000,
        created_ms=1_763_000_000_000,
        edited_ms=1_763_000_100_000,
        pictures=(Picture(9, "/media/pictures/tram-stop.webp", 1200, 800, "A tram stop at dusk."),),
        mentions={"bob": 12, "carol": 13},
    )


def _to_xml(fields: dict[str, object]) -> bytes:
    root = ElementTree.Element("post")
    for name, value in fields.items():
        ElementTree.SubElement(root, name).text = (
            json.dumps(value) if not isinstance(value, str) else value
        )
    data: bytes = ElementTree.tostring(root, encoding="utf-8")
    return data


def _from_xml(data: bytes) -> dict[str, str]:
    return {node.tag: node.text or "" for node in ElementTree.fromstring(data)}  # noqa: S314 -- our own bytes
