"""The text of a post in HTML: the words that people saw, addresses in full."""

import sys

import pytest

from apps.earlier_posts.html_text import host_of, text_of

LINK = (
    '<a href="https://example.org/a/long/way" rel="nofollow"><span class="invisible">https://</span>'
    '<span class="ellipsis">example.org/a/lo</span><span class="invisible">ng/way</span></a>'
)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One</p><p>Two<br>Three</p>", "One\n\nTwo\nThree"),
        ("<p>One<br />Two</p>", "One\nTwo"),
        (f"<p>See {LINK}!</p>", "See https://example.org/a/long/way!"),
        ('<a href="https://example.org/x">this</a>', "this (https://example.org/x)"),
        ('<a href="https://example.org/">example.org</a>', "https://example.org/"),
        ('<a href="https://old.example/tags/tea" class="mention hashtag">#<span>tea</span></a>', "#tea"),
        ('<a href="javascript:alert(1)">press</a>', "press"),
        ("<p>a &lt;b&gt; &amp; c</p>", "a <b> & c"),
        ("<ul><li>one</li><li>two</li></ul>", "- one\n- two"),
        ("<p>seen</p><script>alert(1)</script><style>p{}</style><!-- not -->", "seen"),
        ("one\ntwo", "one two"),
        ("<p>:blobcat: 猫</p>", ":blobcat: 猫"),
        ("", ""),
    ],
)  # fmt: skip
def test_text_of_html(html, text):
    assert text_of(html, []) == text


def mention(name, site="old.example"):
    return f'<a href="https://{site}/@{name}" class="u-url mention">@<span>{name}</span></a>'


def test_people_are_named_in_full():
    html = f"<p>{mention('bob')} {mention('cleo', 'social.far.example')} hi</p>"
    assert text_of(html, ["@cleo@far.example"]) == "@bob@old.example @cleo@far.example hi"


def test_two_people_of_one_name_are_told_apart_by_the_link():
    assert (
        text_of(mention("bob", "b.example"), ["@bob@a.example", "@bob@b.example"])
        == "@bob@b.example"
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "html",
    ["<p>" * 16_000, "<" * 50_000, "<a href='" * 5000, "<!--" * 12_000, "<b><i>" * 8000 + "x", "&" * 50_000,
     "<![CDATA[" * 5000, "</" * 25_000, "<a b='c" * 7000, "<ul><li>" * 6000, "<a href=x><div>" * 3000],
)  # fmt: skip
def test_the_longest_html_is_read_in_few_steps(html):
    """Of Python's parser alone, some of these take more than ten million."""
    steps = 0

    def count(_frame, event, _argument):
        nonlocal steps
        steps += event == "call"

    sys.setprofile(count)
    try:
        text_of(html, [])
    finally:
        sys.setprofile(None)
    assert steps < 3_000_000


def test_addresses_without_a_host_are_none():
    assert [host_of(one) for one in ("https://a.example:8/x", "ftp://a", "x", "https://[", "")] == [
        "a.example:8", "", "", "", "",
    ]  # fmt: skip
