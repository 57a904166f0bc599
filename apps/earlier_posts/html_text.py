"""The text of a post that other sites keep as HTML: the same words, and addresses in full.

Strangers can write HTML for which Python's parser takes minutes. So nh3 reads it first, as browsers do, and writes the
little that we know in a form that is quick to read.
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
}  # of all others only the text stays; of scripts and styles nothing


def text_of(html: str, mentions: Collection[str]) -> str:
    """Paragraphs with a blank line between them, and the addresses of links. `mentions`: whole names of people."""
    clean = nh3.clean(
        html, tags=_KNOWN, attributes={"a": {"class", "href"}}, url_schemes=SCHEMES, link_rel=None
    )
    soup = BeautifulSoup(clean, "html.parser")
    return normalise("".join(_parts(soup, mentions)))


def _parts(soup: BeautifulSoup, mentions: Collection[str]) -> Iterator[str]:
    """Without recursion: elements may be nested as deep as somebody likes."""
    waiting: list[PageElement | str] = [soup]
    while waiting:
        one = waiting.pop()
        if type(one) is str:  # not of the HTML
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
    """Line ends of the source are blanks, as in a browser."""
    return text.replace("\r", " ").replace("\n", " ")


def _link(link: Tag, mentions: Collection[str]) -> str:
    """The words of a link, and its address where they do not say it."""
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
    """The host, with its port, of an address on the web; empty for all else."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return parts.netloc if parts.scheme in SCHEMES else ""
