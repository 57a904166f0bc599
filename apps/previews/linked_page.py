"""Fetches the page that a post links to, reads its metadata, and re-encodes its picture."""

import codecs
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from urllib.parse import urljoin, urlsplit

import orjson
from django.utils.dateparse import parse_datetime
from django.utils.encoding import iri_to_uri

from apps.accounts.profile import single_line
from apps.errors import Invalid
from apps.media.sandbox import PICTURE_TYPES, reencode_picture, run_decoder
from apps.media.sizes import PREVIEW_SIDE, fitted_size
from apps.previews.fetching import Answer, Network, Refused, Unreachable, fetch
from apps.previews.models import (
    DESCRIPTION_CHARACTERS,
    NAME_CHARACTERS,
    TITLE_CHARACTERS,
)

PAGE_TYPES = ("text/html", "application/xhtml+xml")
PAGE_BYTES = 1024 * 1024  # the metadata is near the beginning of a page
PICTURE_BYTES = 5 * 1024 * 1024
DECLARATION_BYTES = 4096  # only these first bytes of a page are searched for its encoding
_DECLARED = re.compile(
    rb"<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w.:-]{1,40})", re.IGNORECASE
)
# The encodings that web pages use. Python has others, and some of them are slow.
_ENCODINGS = re.compile(
    r"utf-8|utf-16(-[bl]e)?|ascii|gb\w+|big5\w*|euc_\w+|shift_jis\w*|iso2022_\w+|cp\d+|iso8859-\d+|koi8-\w"
)
# Browsers decode the encodings on the left as their supersets on the right.
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252", "ascii": "cp1252"}


@dataclass(frozen=True, slots=True)
class Page:
    """A page's cleaned metadata; `url` is its canonical address."""

    url: str
    title: str
    description: str = ""
    site_name: str = ""
    author_name: str = ""
    published_at: datetime | None = None
    picture_url: str = ""
    picture_alt: str = ""


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page's picture as WebP."""

    data: bytes
    width: int
    height: int
    blurhash: str


def page_at(address: str, *, take_turn: Callable[[str], None], network: Network) -> Page:
    """The metadata of the page at an address. Raises Refused, Unreachable, and any error of `take_turn`."""
    answer = fetch(address, PAGE_TYPES, max_bytes=PAGE_BYTES, take_turn=take_turn, network=network)
    try:
        output = run_decoder("apps.previews.metadata", text_of(answer).encode(), field="page")
    except Invalid:
        raise Refused("a page that cannot be read") from None
    page = _cleaned(answer.address, orjson.loads(output))
    if not page.title:
        raise Refused("a page without a title")
    return page


def picture_of(
    page: Page, *, take_turn: Callable[[str], None], network: Network
) -> PagePicture | None:
    """The picture of a page; None if there is none that can be fetched and decoded. Raises any error of `take_turn`."""
    if not page.picture_url:
        return None
    try:
        answer = fetch(
            page.picture_url,
            PICTURE_TYPES,
            max_bytes=PICTURE_BYTES + 1,
            take_turn=take_turn,
            network=network,
        )
        if len(answer.body) > PICTURE_BYTES:
            return None
        picture = reencode_picture(answer.body)
    except (Refused, Unreachable, Invalid):
        return None
    size = fitted_size(picture.width, picture.height, PREVIEW_SIDE)
    return PagePicture(picture.preview, *size, picture.blurhash)


def text_of(answer: Answer) -> str:
    """Decode a page in the encoding that its server or the page declares.

    Use UTF-8 if the page begins with a UTF-8 BOM, or if no known encoding is declared.
    """
    _type, _semicolon, rest = answer.content_type.lower().partition("charset=")
    named = rest.partition(";")[0].strip(" \"'")
    if not named and (declared := _DECLARED.search(answer.body[:DECLARATION_BYTES])):
        named = declared[1].decode("ascii", "replace")
    encoding = "utf-8-sig"
    if not answer.body.startswith(codecs.BOM_UTF8):
        with suppress(LookupError, ValueError):
            name = codecs.lookup(named).name
            encoding = _WIDER.get(name, name) if _ENCODINGS.fullmatch(name) else encoding
    return answer.body.decode(encoding, "replace")


def _cleaned(address: str, said: dict[str, str]) -> Page:
    author = said["author_name"]
    return Page(
        url=_own_canonical(address, said["canonical"]),
        title=single_line(said["title"])[:TITLE_CHARACTERS],
        description=single_line(said["description"])[:DESCRIPTION_CHARACTERS],
        site_name=single_line(said["site_name"])[:NAME_CHARACTERS],
        author_name="" if "://" in author else single_line(author)[:NAME_CHARACTERS],
        published_at=_moment(said["published"]),
        picture_url=_joined(address, said["picture"]) if said["picture"] else "",
        picture_alt=single_line(said["picture_alt"])[:DESCRIPTION_CHARACTERS],
    )


def _own_canonical(address: str, canonical: str) -> str:
    """The canonical address that a page declares, if scheme and host are the same; otherwise the page's own address.

    So a page cannot pose as another site.
    """
    joined = _joined(address, canonical) if canonical else address
    return joined if urlsplit(joined)[:2] == urlsplit(address)[:2] else address


def _joined(address: str, reference: str) -> str:
    """Resolve a relative reference; returns the address itself if the reference is invalid."""
    try:
        joined: str = iri_to_uri(urljoin(address, reference))
        urlsplit(joined)
    except ValueError:
        return address
    return joined


def _moment(text: str) -> datetime | None:
    """A moment in UTC; None if it is malformed, or near the years 1 and 9999, where other time zones have no date."""
    try:
        moment = parse_datetime(text)
        if moment is None:
            return None
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if MINYEAR < moment.year < MAXYEAR else None
