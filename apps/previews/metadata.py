"""Reads the metadata of a page: OpenGraph, Twitter cards, HTML.

It runs as a separate program (`apps.media.sandbox`), because some pages keep a parser busy for a long time. The input
is HTML in UTF-8; the output is a JSON object of strings, on one line.
"""

import json
import sys

from bs4 import BeautifulSoup
from bs4.element import Tag
from bs4.filter import SoupStrainer

from apps.media.pixels import serve

# For each text, the names under which pages may have it. The first one that a page has is used.
SOURCES = {
    "title": ("og:title", "twitter:title", "title"),
    "description": ("og:description", "twitter:description", "description"),
    "site_name": ("og:site_name", "application-name"),
    "author_name": ("author", "article:author"),
    "published": ("article:published_time",),
    "picture": ("og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src"),
    "picture_alt": ("og:image:alt", "twitter:image:alt"),
    "canonical": ("canonical", "og:url"),
}  # fmt: skip
MAX_CHARACTERS = 2000  # for each text


def main() -> int:
    return serve(facts, rehearse)


def facts(data: bytes) -> bytes:
    tags = _tags(data.decode())
    found = {
        name: next((tags[source] for source in sources if tags.get(source)), "")[:MAX_CHARACTERS]
        for name, sources in SOURCES.items()
    }
    return json.dumps(found).encode()


def _tags(html: str) -> dict[str, str]:
    """The first value of each name among the title, meta and link elements."""
    tags: dict[str, str] = {}
    soup = BeautifulSoup(html, "html.parser", parse_only=SoupStrainer(["title", "meta", "link"]))
    for element in soup.find_all(["title", "meta", "link"]):
        name, value = _pair(element)
        if name and value:
            tags.setdefault(name.strip().lower(), value.strip())
    return tags


def _pair(element: Tag) -> tuple[str, str]:
    """The name and the value of an element; each may be empty."""
    if element.name == "title":
        return "title", element.get_text()
    if element.name == "link":
        return " ".join(element.get_attribute_list("rel")), str(element.get("href", ""))
    name = element.get("property") or element.get("name") or ""
    return str(name), str(element.get("content", ""))


def rehearse() -> None:
    """Load everything that the libraries import lazily."""
    facts(b'<title>a</title><meta charset="utf-8"><link rel="canonical" href="&amp;">')


if __name__ == "__main__":
    sys.exit(main())
