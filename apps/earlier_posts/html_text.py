"""Converts the HTML of a post from another site to plain text, with full addresses.

Hostile HTML can keep Python's parser busy for minutes. So nh3 first parses it, as browsers do, and reduces it to the
few elements in `_KNOWN`. The result can be parsed quickly.
"""

from collections.abc import Collection, Iterator
from urllib.parse import urlsplit

import nh3
from bs4 import BeautifulSoup
from bs4.element import PageElement, Tag

from apps.texts import normalise

SCHEMES = {"http", "https"}
_PARAGRAPHS = {"p", "div", "blockquote", "pre", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6"}
_KNOWN = {
    *_PARAGRAPHS,
    "a",
    "br",
    "li",
}  # other elements are reduced to their text; scripts and styles are dropped


def text_of(html: str, mentions: Collection[str]) -> str:
    """Paragraphs of text, separated by blank lines, with the addresses of links. `mentions` are full handles."""
    clean = nh3.clean(
        html, tags=_KNOWN, attributes={"a": {"class", "href"}}, url_schemes=SCHEMES, link_rel=None
    )
    soup = BeautifulSoup(clean, "html.parser")
    return normalise("".join(_parts(soup, mentions)))


def _parts(soup: BeautifulSoup, mentions: Collection[str]) -> Iterator[str]:
    """The parts of the text. Does not recurse, because elements can be nested at any depth."""
    waiting: list[PageElement | str] = [soup]
    while waiting:
        one = waiting.pop()
        if type(one) is str:  # a separator added by this loop, not text from the HTML
            yield one
        elif isinstance(one, Tag):
            if one.name == "a":
                yield _link(one, mentions)
            elif one.name == "br":
                yield "\n"
            else:
                before, after = _around(one.name)
                waiting += [after, *reversed(one.contents), before]
        else:
            yield _spaced(str(one))


def _around(name: str) -> tuple[str, str]:
    if name in _PARAGRAPHS:
        return "\n\n", "\n\n"
    return ("\n- ", "") if name == "li" else ("", "")


def _spaced(text: str) -> str:
    """The text with line breaks turned into spaces, as in a browser."""
    return text.replace("\r", " ").replace("\n", " ")


def _link(link: Tag, mentions: Collection[str]) -> str:
    """The text of a link, followed by its web address in parentheses, if it has one.

    A tag is returned without its address. A mention becomes a full handle, and a text that only repeats the address
    becomes the full address.
    """
    words, address = _spaced(link.get_text()).strip(), str(link.get("href") or "")
    host, classes = host_of(address), link.get_attribute_list("class")
    if not host or "hashtag" in classes or words.startswith("#"):
        return words
    if "mention" in classes and words.startswith("@"):
        names = {name for name in mentions if name == words or name.startswith(f"{words}@")}
        return names.pop() if len(names) == 1 else f"{words}@{host}"
    said = words.rstrip("/…").removeprefix("www.")
    bare = address.partition("://")[2].rstrip("/").removeprefix("www.")
    return address if said in {"", address.rstrip("/"), bare} else f"{words} ({address})"


def host_of(address: str) -> str:
    """The host, with its port, of a web address; empty for anything else."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return parts.netloc if parts.scheme in SCHEMES else ""
