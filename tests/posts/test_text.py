import re
import time
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apps.posts.content.text import (
    RAW_MAX_CHARACTERS,
    URL_CHARACTERS,
    html,
    length,
    mentioned_handles,
    normalise,
    segments,
    tags,
)

KNOWN = {"alice", "bob_2"}

# Ordinary text mixed with everything that means something to the scanner or to a browser.
TOKENS = ["@alice", "@nobody", "#tag", "#微博#", "https://example.org/a?b=c&d=e", "http://x", "javascript:alert(1)",
          "<", ">", "&",
          '"', "'", "<script>", "</p>", "<img src=x onerror=alert(1)>", "&lt;", "&#60;", "\n", "\n\n\n", " ", "@", "#", "://",
          "hx-get", "=", "你好", "é", "👩‍🚀", ".", ",", ")", "a@b.org", "\u2028", "\u200d"]  # fmt: skip
texts = st.lists(st.sampled_from(TOKENS) | st.text(max_size=5), max_size=20).map("".join)


class Reader(HTMLParser):
    """Reads markup as a browser would, strictly; collects tags, attributes and text."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.elements, self.text, self.open = [], "", []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "br":
            self.text += "\n"
        else:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag == "p":
            self.text += "\n\n"

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    handle_decl = handle_pi = unknown_decl = handle_comment


def read(markup):
    reader = Reader()
    reader.feed(str(markup))
    reader.close()
    assert reader.open == []
    return reader


ALLOWED = {
    "p": set(),
    "br": set(),
    "a": {"href", "rel", "target", "class"},
    "span": {"class"},
}


def assert_harmless(markup):
    for tag, attributes in read(markup).elements:
        assert tag in ALLOWED
        assert set(attributes) <= ALLOWED[tag]
        if tag == "a":
            assert re.match(r"https?://|/@[a-z0-9_]{3,30}\Z|/tags/[\w%.~-]+\Z", attributes["href"])
            assert not attributes["href"].lower().startswith("javascript")


@given(texts)
@example('https://example.org/"onmouseover=alert(1)')
def test_html_is_made_of_paragraphs_and_safe_links_only(text):
    assert_harmless(html(text, handles=KNOWN))


@given(texts.map(normalise))
def test_html_shows_the_text_as_it_was_written(text):
    shown = read(html(text, handles=KNOWN)).text.rstrip("\n")
    # links are shown without their scheme
    bare = "".join(
        piece.text.split("://", 1)[1].removeprefix("www.") if piece.kind == "url" else piece.text
        for piece in segments(text)
    )
    assert shown.replace("\n", "") == bare.replace("\n", "")


@given(texts)
def test_pieces_are_the_text_cut_up(text):
    assert "".join(piece.text for piece in segments(text)) == text


@given(texts)
def test_normalising_twice_is_normalising_once(text):
    once = normalise(text)
    assert normalise(once) == once
    assert "\r" not in once
    assert "\n\n\n" not in once
    assert once == once.strip()


XSS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    '"><script>alert(1)</script>',
    "<a href='javascript:alert(1)'>x</a>",
    "javascript:alert(1)",
    "JaVaScRiPt://%0aalert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    'https://example.org/"onmouseover="alert(1)',
    "https://example.org/'onmouseover='alert(1)",
    "https://example.org/<script>alert(1)</script>",
    "https://javascript:alert(1)@example.org",
    "<div hx-get='/logout' hx-trigger='load'>",
    "<div data-hx-post=/x hx-on::load=alert(1)>",
    'https://example.org/" hx-get="/logout" hx-trigger="load',
    "@alice<script>",
    '@alice" hx-get="/x',
    "#tag<script>",
    "#<script>alert(1)</script>#",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>]]>",
    "<math><mtext></p><style><img src=x onerror=alert(1)>",
    "\u003cscript\u003e",
    "＜script＞alert(1)＜/script＞",
    "<scr\x00ipt>",
    "{{ 7*7 }}{% debug %}",
    "https://example.org/\u202egpj.exe",
]


@pytest.mark.parametrize("text", XSS)
def test_what_would_run_in_a_browser_is_only_text(text):
    for attempt in (
        text,
        f"hello {text} @alice",
        f"https://example.org/{text}",
        f"#tag{text}",
        text * 3,
    ):
        assert_harmless(html(attempt, handles=KNOWN))


def test_character_references_are_shown_not_interpreted():
    assert unescape(str(html("&lt;b&gt;", handles=()))) == "<p>&lt;b&gt;</p>"


@pytest.mark.parametrize(
    ("text", "handles"),
    [("@alice", ["alice"]), ("你好@alice再见", ["alice"]), ("（@alice）", ["alice"]),
     ("@Alice @ALICE @alice", ["alice"]),
     ("@alice.", ["alice"]), ("@alice, @bob_2!", ["alice", "bob_2"]), ("hi\n@alice", ["alice"]),
     ("「@alice」", ["alice"]),
     ("a@example.org", []), ("mail: first.last@example.org", []), ("@al", []), ("@" + "a" * 31, []),
     ("@alice@example.org", []),
     ("@@alice", []), ("/@alice", []), ("https://example.org/@alice", []), ("x@alice", []), ("_@alice", []),
     ("é@alice", ["alice"]),
     ("@alice你好", ["alice"]), ("@ａｌｉｃｅ", []), ("＠alice", [])],
)  # fmt: skip
def test_mentions_are_found_where_people_write_them(text, handles):
    assert mentioned_handles(text) == handles


@pytest.mark.parametrize(
    ("text", "found"),
    [("#tag", ["tag"]), ("#微博#", ["微博"]), ("#one #two", ["one", "two"]), ("说#你好#吧", []),
     ("说 #你好# 吧", ["你好"]),
     ("#1", []), ("#2026年", ["2026年"]), ("a#b", []), ("&#60;", []), ("/#top", []), ("##", []), ("#a_b", ["a_b"]),
     ("#tag!", ["tag"]), ("(#tag)", ["tag"]), ("#é", ["é"]), ("#tag #tag", ["tag"]), ("https://example.org/#top", [])],
)  # fmt: skip
def test_tags_are_found_in_both_forms(text, found):
    assert tags(text) == found


@pytest.mark.parametrize(
    ("text", "address"),
    [("see https://example.org.", "https://example.org"), ("(https://example.org/a)", "https://example.org/a"),
     ("https://example.org/a?b=c&d=e#f,", "https://example.org/a?b=c&d=e#f"), ("看https://example.org/a。好", "https://example.org/a"),
     ("https://example.org/中文", "https://example.org/中文"), ("https://example.org/a!?", "https://example.org/a"),
     ("https://example.org/a、b", "https://example.org/a"), ("\"https://example.org/a\"", "https://example.org/a"),
     ("<https://example.org/a>", "https://example.org/a")],
)  # fmt: skip
def test_an_address_ends_where_the_sentence_goes_on(text, address):
    assert [piece.value for piece in segments(text) if piece.kind == "url"] == [address]


@pytest.mark.parametrize(
    "text",
    ["http://", "https://", "https://...", "ftp://example.org", "HTTPS", "https:/x", "http:// x"],
)
def test_what_is_no_address_stays_text(text):
    assert [piece.kind for piece in segments(text)] == ["text"]


def test_only_existing_accounts_become_links():
    assert html("@alice @nobody", handles=KNOWN) == (
        '<p><a class="u-url mention" href="/@alice">@alice</a> @nobody</p>'
    )


def test_an_origin_makes_mentions_absolute():
    assert 'href="https://h/@alice"' in html("@alice", handles=KNOWN, origin="https://h")


def test_paragraphs_and_lines():
    assert html("one\ntwo\n\nthree", handles=()) == "<p>one<br>two</p><p>three</p>"
    assert html("", handles=()) == ""


@pytest.mark.parametrize(
    ("text", "characters"),
    [("", 0), ("hello", 5), ("你好", 2), ("é", 1), ("e\u0301", 1), ("👩‍👩‍👧‍👦", 1), ("🇨🇳🇩🇪", 2), ("👍🏽", 1),
     ("a\nb", 3),
     ("https://example.org/" + "x" * 500, URL_CHARACTERS), ("see https://a.example", 4 + URL_CHARACTERS), ("@alice", 6),
     ("#微博#", 4), ("ก็", 1)],
)  # fmt: skip
def test_the_length_is_what_people_see(text, characters):
    assert length(text) == characters


PUMPS = ["@", "#", "a", "@a", "#a", "##", "http://", "https://x.", "https://x)", "\n", " \n", "e\u0301", "\u0301",
         "\u0315\u0300",
         "👩‍", "&", "<", "@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "#" + "a" * 120, "\u200d", "﷽",
         "https://x/" + "." * 50, "_", "@_"]  # fmt: skip


def seconds_for(text):
    started = time.thread_time()
    stored = normalise(text)
    length(stored), mentioned_handles(stored), tags(stored), html(stored, handles=KNOWN)
    return time.thread_time() - started


@pytest.mark.waits("regular expressions match in C, where no steps can be counted")
@pytest.mark.parametrize("pump", PUMPS)
def test_no_text_is_slow(pump):
    """As long as the raw limit lets through. Most take about ten milliseconds of the processor."""
    text = (pump * RAW_MAX_CHARACTERS)[:RAW_MAX_CHARACTERS]
    assert seconds_for(text) < 0.7
    assert seconds_for(text[::-1]) < 0.7
