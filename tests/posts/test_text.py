import re
import time
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.test import override_settings
from hypothesis import example, given
from hypothesis import strategies as st

from apps.posts.content.text import (
    ADDRESS,
    EMPHASIS,
    RAW_MAX_CHARACTERS,
    URL_CHARACTERS,
    html,
    is_too_long,
    length,
    line_html,
    mentioned_handles,
    segments,
    tags,
)
from apps.texts import normalise

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
    'HTTPS://EXAMPLE.ORG/("onclick="alert(1)")',
    'https://example.org/["onclick="alert(1)"]',
    "＃<script>alert(1)</script>",
    '＠alice"onclick=alert(1)',
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
     ("é@alice", []), ("josé@example.org", []), ("привет@alice", []),
     ("@alice你好", ["alice"]), ("@ａｌｉｃｅ", []), ("＠alice", ["alice"]), ("你好＠alice：", ["alice"]),
     # a word goes on after the handle, in whatever script
     ("@bobé", []), ("@bobñor", []), ("@bobα", []), ("@bobё", []), ("@bobß", []), ("@bobı", []), ("@bob\u0301", []),
     ("@bob", ["bob"]), ("@bob、@bob。", ["bob"]), ("@bob님에게", ["bob"]), ("@bobครับ", ["bob"]),
     ("@bob👍", ["bob"]),
     # chains of reposts, and what stands before a handle
     ("//@alice:转发", ["alice"]), ("好//@alice：转发//@bob:再转", ["alice", "bob"]), ("lol//@alice: ha", ["alice"]),
     (".@alice", ["alice"]), ("great.@alice", ["alice"]), ("RT@alice: x", ["alice"]), ("rt@alice", ["alice"]),
     ("start@alice", []), ("http://@alice", []), ("example.org/@alice", []), ("///@alice", []), ("@http://x", []),
     # the site's own name after a handle; any other is somebody else
     ("@bob@localhost:8000 hi", ["bob"]), ("@Bob@LOCALHOST。", ["bob"]), ("@bob@localhost很好", ["bob"]),
     ("@bob@localhost.example.org", []), ("@bob@localhosts", []), ("@bob@xlocalhost", [])],
)  # fmt: skip
def test_mentions_are_found_where_people_write_them(text, handles):
    with override_settings(SITE_URL="http://localhost:8000"):
        assert mentioned_handles(text) == handles


@pytest.mark.parametrize(
    ("text", "found"),
    [("#tag", ["tag"]), ("#微博#", ["微博"]), ("#one #two", ["one", "two"]), ("说#你好#吧", []),
     ("说 #你好# 吧", ["你好"]),
     ("#1", []), ("#2026年", ["2026年"]), ("a#b", []), ("&#60;", []), ("/#top", []), ("##", []), ("#a_b", ["a_b"]),
     ("＃北京", ["北京"]), ("＃北京＃", ["北京"]), ("#北京＃ 好", ["北京"]), ("＃ｔａｇ", ["ｔａｇ"]),
     # what scripts have inside words
     ("#نرم\u200cافزار", ["نرم\u200cافزار"]), ("#ක්\u200dෂ", ["ක්\u200dෂ"]),
     ("#עַל־יְדֵי #וכו׳ #מ״כ", ["עַל־יְדֵי", "וכו׳", "מ״כ"]),
     ("#il·lusió", ["il·lusió"]), ("#བོད་ཡིག", ["བོད་ཡིག"]), ("#安娜·卡列尼娜", ["安娜·卡列尼娜"]),
     ("#ジャン・レノ", ["ジャン・レノ"]),
     ("#メ～テレ", ["メ～テレ"]), ("#北京～你好", ["北京"]), ("#end· #end・", ["end"]), ("#a\u200cb", ["a"]),
     # what is no letter of its own begins no tag
     ("#\u0301a", []), ("#️⃣a", []), ("#\u3164a", []), ("#·a", []), ("#\u200ca", []),
     ("#dodge/#answer", ["dodge", "answer"]), ("see dodge/#answer", ["answer"]), ("example.org/#top", []),
     ("example.org/a/#top", []), ("#http://example.org", []), ("#https://example.org", []),
     ("#北京https://example.org", ["北京"]),
     ("#tag!", ["tag"]), ("(#tag)", ["tag"]), ("#é", ["é"]), ("#tag #tag", ["tag"]),
     ("https://example.org/#top", [])],
)  # fmt: skip
def test_tags_are_found_in_both_forms(text, found):
    assert tags(text) == found


@pytest.mark.parametrize(
    ("text", "address"),
    [("see https://example.org.", "https://example.org"), ("(https://example.org/a)", "https://example.org/a"),
     ("https://example.org/a?b=c&d=e#f,", "https://example.org/a?b=c&d=e#f"),
     ("看https://example.org/a。好", "https://example.org/a"),
     ("https://example.org/中文", "https://example.org/中文"), ("https://example.org/a!?", "https://example.org/a"),
     ("https://example.org/a、b", "https://example.org/a"), ("\"https://example.org/a\"", "https://example.org/a"),
     ("<https://example.org/a>", "https://example.org/a"),
     # brackets in pairs are part of it
     ("https://en.example.org/wiki/Rust_(language)", "https://en.example.org/wiki/Rust_(language)"),
     ("(see https://example.org/wiki/Rust_(language))", "https://example.org/wiki/Rust_(language)"),
     ("https://example.org/a_(b_(c))/d", "https://example.org/a_(b_(c))/d"),
     ("https://example.org/?a[]=1&b[c]=2", "https://example.org/?a[]=1&b[c]=2"),
     ("https://example.org/{id}/x", "https://example.org/{id}/x"),
     ("https://example.org/a(b", "https://example.org/a"),
     ("[text](https://example.org/a)bc", "https://example.org/a"),
     ("https://example.org(说明)", "https://example.org"),
     # scripts without spaces go on after it, and in it only after a sign
     ("https://example.org很好", "https://example.org"), ("https://example.org/a很好", "https://example.org/a"),
     ("https://example.org/?q=1很好", "https://example.org/?q=1"),
     ("https://example.org/?q=北京", "https://example.org/?q=北京"),
     ("https://example.org/a에서", "https://example.org/a"), ("https://example.orgは", "https://example.org"),
     ("https://example.org/aครับ", "https://example.org/a"),
     ("看https://example.org:8000好", "https://example.org:8000"),
     ("http://例子.测试/路", "http://例子.测试/路"),
     ("https://ru.example.org/wiki/Москва", "https://ru.example.org/wiki/Москва"),
     # what may end it
     ("https://example.org/A*", "https://example.org/A*"), ("https://example.org/a_", "https://example.org/a_"),
     ("https://example.org/~", "https://example.org/~"), ("https://example.org/?a=", "https://example.org/?a="),
     ("https://example.org/a-", "https://example.org/a-"), ("https://example.org/#", "https://example.org/#"),
     ("*https://example.org/a*", "https://example.org/a"), ("**https://example.org/a**", "https://example.org/a"),
     ("_https://example.org_", "https://example.org"), ("https://example.org/a's", "https://example.org/a"),
     # capitals
     ("Https://example.org/A", "https://example.org/A"), ("HTTPS://EXAMPLE.ORG", "https://EXAMPLE.ORG"),
     ("https://example.org/" + "a" * 3000, "https://example.org/" + "a" * 3000),
     ("https://203.0.113.7:8000/a", "https://203.0.113.7:8000/a")],
)  # fmt: skip
def test_an_address_ends_where_the_sentence_goes_on(text, address):
    assert [piece.value for piece in segments(text) if piece.kind == "url"] == [address]


@pytest.mark.parametrize(
    "mark", "”’“‘」』〉》】〕］｝»«…．～。，、；：！？·—\u200b\u2069\u202c\u202e\ufeff\u3000"
)
def test_no_mark_of_any_script_is_part_of_an_address(mark):
    for address in ("https://e.org", "https://e.org/q", "https://e.org/q?a=b#c"):
        found = [s.text for s in segments(f"{mark}{address}{mark}很好") if s.kind == "url"]
        assert found == [address]


@pytest.mark.parametrize(
    "text",
    [
        "http://",
        "https://",
        "https://...",
        "ftp://example.org",
        "HTTPS",
        "https:/x",
        "http:// x",
        "http://no-dot",
        "http://-a.org",
        "http://a_b.org",
        "http://foo!bar.com",
        "xhttps://example.org",
        "@https://example.org",
        "#https://example.org",
        "$https://example.org",
        "https://name.example@evil.org",
    ],
)
def test_what_is_no_address_stays_text(text):
    assert [piece.kind for piece in segments(text)] == ["text"]


def test_only_existing_accounts_become_links():
    assert html("@alice @nobody", handles=KNOWN) == (
        '<p><a class="u-url mention" href="/@alice">@alice</a> @nobody</p>'
    )


def test_every_account_that_is_named_may_become_a_link():
    assert 'href="/@nobody"' in html("@nobody", handles=None)
    assert line_html("@nobody\n#Tea") == (
        '<a class="u-url mention" href="/@nobody">@nobody</a>\n'
        '<a class="mention hashtag" href="/tags/tea" rel="tag">#<span>Tea</span></a>'
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
     ("https://example.org/" + "x" * 500, URL_CHARACTERS), ("see https://a.example", 4 + URL_CHARACTERS),
     ("@alice", 6),
     ("#微博#", 4), ("ก็", 1)],
)  # fmt: skip
def test_the_length_is_what_people_see(text, characters):
    assert length(text) == characters


def test_what_is_counted_in_graphemes_has_a_limit_in_code_points_too():
    assert not is_too_long("a" * 50, 50)
    assert is_too_long("a" * 51, 50)
    assert is_too_long("a" + "\u0301" * 1000, 50)
    assert not is_too_long("https://example.org/" + "x" * 500, 50)


def test_the_page_knows_addresses_by_the_same_pattern():
    script = (Path(__file__).resolve().parents[2] / "static/js/composer.js").read_text("utf-8")
    assert f"const ADDRESS = /{ADDRESS.pattern}/gu;\n" in script
    assert f'const EMPHASIS = "{EMPHASIS}";\n' in script
    assert f"const ADDRESS_LENGTH = {URL_CHARACTERS};\n" in script


PUMPS = ["@", "#", "a", "@a", "#a", "##", "http://", "https://x.", "https://x)", "\n", " \n", "e\u0301", "\u0301",
         "\u0315\u0300",
         "👩‍", "&", "<", "@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "#" + "a" * 120, "\u200d", "﷽",
         "https://x/" + "." * 50, "_", "@_", "https://x.yy/", "(a", "((", "()", "[", "a.", "a-", "·a", "中",
         "/#", "a/#",
         "//@", "@a@", "'s", "*", "~"]  # fmt: skip


def seconds_for(text):
    started = time.thread_time()
    stored = normalise(text)
    length(stored), mentioned_handles(stored), tags(stored), html(stored, handles=KNOWN)
    return time.thread_time() - started


@pytest.mark.long
@pytest.mark.waits("regular expressions match in C, where no steps can be counted")
@pytest.mark.parametrize("pump", PUMPS)
def test_no_text_is_slow(pump):
    """As long as the raw limit lets through. Most take about ten milliseconds of the processor."""
    text = (pump * RAW_MAX_CHARACTERS)[:RAW_MAX_CHARACTERS]
    assert seconds_for(text) < 0.7
    assert seconds_for(text[::-1]) < 0.7
    for start in ("https://e.org/", "*https://e.org/(", "https://", "@bob@", "#a"):
        assert seconds_for((start + text)[:RAW_MAX_CHARACTERS]) < 0.7
