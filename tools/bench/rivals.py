"""Alternative formats for stored posts, JSON and XML, and posts to compare them with. Pure functions.

The sizes and times that led to protobuf are in docs/decisions/0011; tests and the bench repeat the comparison.
"""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from functools import cache
from typing import Any, NamedTuple, get_type_hints

import orjson

from apps.posts.content.post import Picture, PostContent, decode, encode, from_protobuf, to_protobuf

_FIELDS = tuple(field.name for field in fields(PostContent))
_ABSENT: tuple[Any, ...] = (None, "", [], {})
_NOTHING: dict[str, Any] = {
    "body": "", "content_warning": "", "language": "", "source_id": None, "reply_to_id": None, "edited_ms": None,
    "mentions": {},
}  # fmt: skip


class Form(NamedTuple):
    """A byte format: encoder and decoder."""

    encode: Callable[[PostContent], bytes]
    decode: Callable[[bytes], PostContent]


def to_json(content: PostContent) -> bytes:
    """A content as JSON; empty fields are left out."""
    values = {name: _plain(getattr(content, name)) for name in _FIELDS}
    return orjson.dumps({name: value for name, value in values.items() if value not in _ABSENT})


def from_json(data: bytes) -> PostContent:
    """The inverse of `to_json`."""
    values = orjson.loads(data)
    values["pictures"] = tuple(
        Picture(**{"alt": "", **picture}) for picture in values.get("pictures", ())
    )
    return PostContent(**{**_NOTHING, **values})


def to_xml(content: PostContent) -> bytes:
    """A content as XML, one element per field; empty fields are left out."""
    root = ET.Element("post")
    for name in _FIELDS:
        value = getattr(content, name)
        if name == "pictures":
            for picture in value:
                _add_all(ET.SubElement(root, "picture"), asdict(picture))
        elif name == "mentions":
            for handle, user_id in value.items():
                _add_all(ET.SubElement(root, "mention"), {"handle": handle, "user_id": user_id})
        else:
            _add_all(root, {name: value})
    data: bytes = ET.tostring(root, encoding="utf-8")
    return data


def from_xml(data: bytes) -> PostContent:
    """The inverse of `to_xml`."""
    root = ET.fromstring(data)  # noqa: S314 -- only what `to_xml` wrote
    values = {name: _value(PostContent, name, root.findtext(name)) for name in _FIELDS}
    values["pictures"] = tuple(
        Picture(**{part.tag: _value(Picture, part.tag, part.text) for part in picture})
        for picture in root.iter("picture")
    )
    values["mentions"] = {
        mention.findtext("handle", ""): int(mention.findtext("user_id", "0"))
        for mention in root.iter("mention")
    }
    return PostContent(**values)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [{k: v for k, v in asdict(part).items() if v not in _ABSENT} for part in value]
    return value


def _add_all(element: ET.Element, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if value not in _ABSENT:
            ET.SubElement(element, name).text = str(value)


def _value(owner: type, name: str, text: str | None) -> Any:
    kind = _types(owner)[name]
    if kind is str:
        return text or ""
    if text is None:
        return None
    return _READ.get(kind, str)(text)


_READ: dict[Any, Callable[[str], Any]] = {
    int: int,
    int | None: int,
    float: float,
    bool: "True".__eq__,
}


@cache
def _types(owner: type) -> dict[str, Any]:
    return get_type_hints(owner)


FORMS = {
    "protobuf": Form(to_protobuf, from_protobuf),
    "protobuf in its envelope": Form(encode, decode),
    "JSON": Form(to_json, from_json),
    "XML": Form(to_xml, from_xml),
}

SHORT = PostContent(
    id=1_748_295_748_293_749_876,
    version=1,
    author_id=4711,
    kind="text",
    body="Shipped the little thing at last.",
    content_warning="",
    language="en",
    visibility="public",
    source_id=None,
    reply_to_id=None,
    thread_id=1_748_295_748_293_749_876,
    created_ms=1_795_000_000_123,
    edited_ms=None,
    pictures=(),
    mentions={},
)
TYPICAL = PostContent(
    id=1_748_295_748_293_749_877,
    version=2,
    author_id=4711,
    kind="picture",
    body="Stood at the crossing with @priya and waited for it on purpose: the 4.40, on time and in no hurry. Yellow to "
    "the left, yellow to the right, train in the middle. #slowtrains",
    content_warning="",
    language="en",
    visibility="public",
    source_id=None,
    reply_to_id=1_748_295_748_293_740_017,
    thread_id=1_748_295_748_293_740_001,
    created_ms=1_795_000_000_123,
    edited_ms=1_795_000_060_456,
    pictures=(
        Picture(
            7,
            "/media/pictures/3f9a1c20e5b84d6c.webp",
            1200,
            800,
            "A small red and cream train crossing wide striped fields, yellow blossom in front.",
        ),
    ),
    mentions={"priya": 42},
)
LONG_CHINESE = PostContent(
    **{
        **{name: getattr(SHORT, name) for name in _FIELDS},
        "language": "zh",
        "body": "难得比鸟起得早。出门左转，走到没有路，就到江边了：一张帆，一轮日头，"
        "没有人说话。本来想写点什么，抬头看见这个，"
        "就不写了。"
        "回来的路上经过菜市场，卖豆腐的老人还记得我外婆，问她的腿好些没有。我说好多了，"
        "其实她已经走了三年，可是那一刻我不想让他难过，"
        "也不想让自己难过。豆腐照旧多给半块，用荷叶包着。下午下雨，邻居家的孩子在楼道里练二胡，同一句拉了四十遍，第四十一遍忽然对了，"
        "整栋楼都松了一口气。晚饭做了两个菜，一个咸了，一个忘了放盐，合在一起刚刚好。睡前把明天的闹钟往后拨了十分钟，算是给自己的奖励。",
    }
)
SAMPLES = {"short": SHORT, "typical": TYPICAL, "long, Chinese": LONG_CHINESE}


def sizes() -> dict[str, dict[str, int]]:
    """Bytes of every sample in every form."""
    return {
        name: {form: len(way.encode(post)) for form, way in FORMS.items()}
        for name, post in SAMPLES.items()
    }
