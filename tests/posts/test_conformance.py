"""The grammar of texts against the public conformance files of twitter-text, and the composer's counter against the
server's. Release 1.10.0 is the last on npm that carries the files; nothing of them is in this repository.

Where the grammars differ, Twitter's own rules decide. `DIFFERENT` lists each case with the reason why ours is right.
"""

import json
import re
import subprocess
from html import unescape
from pathlib import Path

import pytest
import yaml

from apps.posts.content.text import length, segments
from apps.texts import normalise
from tests.support.npm import installed, node

pytestmark = pytest.mark.flows

SCRIPT = Path(__file__).resolve().parents[2] / "static" / "js" / "composer.js"
SCHEME = "an address begins with http or https: a name with a dot in it is often a file, a version or a typing error"
SHORTENER = "Twitter's own shortener: its addresses end after letters and digits"
LENGTH = "handles have up to 30 characters here"
MONEY = "there are no tags for shares here"
DIFFERENT = {
    ("urls", "Extract URLs without protocol on (com|org|edu|gov|net) domains"): SCHEME,
    ("urls", "Extract URLs without protocol not on (com|org|edu|gov|net) domains"): SCHEME,
    ("urls", "Extract URLs without protocol on ccTLD with slash"): SCHEME,
    ("urls", "Extract URLs beginning with a space"): SCHEME,
    ("urls", "Extract URLs beginning with a non-breaking space (U+00A0)"): SCHEME,
    ("urls", "Extract long URL without protocol surrounded by CJK characters"): SCHEME,
    ("urls", "Extract short URL without protocol surrounded by CJK characters"): SCHEME,
    ("urls", "Extract URLs with and without protocol surrounded by CJK characters"): SCHEME,
    ("urls", "Extract some (tv|co) short URLs without protocol on ccTLD domains without path"): SCHEME,
    ("urls", "Extract valid URL ELPAÍS.com"): SCHEME,
    ("urls", "Extract URL before newline"): SCHEME,
    ("urls", "Extract a t.co URL with a trailing hyphen"): SHORTENER,
    ("urls_with_indices", "Extract URLs without protocol on ccTLD with slash"): SCHEME,
    ("urls_with_indices", "Extract URLs without protocol surrounded by CJK characters"): SCHEME,
    ("urls_with_indices", "Extract URLs with and without protocol surrounded by CJK characters"): SCHEME,
    ("urls_with_indices", "Extract t.co URLs skipping trailing characters and adjusting indices correctly"): SHORTENER,
    ("usernames", "DO NOT Autolink username over 20 characters"): LENGTH,
    ("all", "Autolink a cashtag"): MONEY,
}  # fmt: skip
# Parts of extract.yml: the kind here, and the key of the entity where positions are told. Lists, places in a
# conversation and shares are things of Twitter.
EXTRACT = {
    "mentions": ("mention", None),
    "mentions_with_indices": ("mention", "screen_name"),
    "mentions_or_lists_with_indices": ("mention", "screen_name"),
    "urls": ("url", None),
    "urls_with_indices": ("url", "url"),
    "hashtags": ("tag", None),
    "hashtags_with_indices": ("tag", "hashtag"),
}
AUTOLINK = {
    "usernames": {"mention"},
    "hashtags": {"tag"},
    "urls": {"url"},
    "all": {"mention", "tag", "url"},
}
LINK = re.compile(r"<a [^>]*>(.*?)</a>", re.DOTALL)
SIGNS = "#＃@＠"


@pytest.fixture(scope="module")
def conformance():
    """`conformance(name)`: the parts of a file."""
    folder = installed(Path(__file__).parent / "twitter_text", "twitter-text")

    def parts(name):
        path = folder / "test" / "twitter-text-conformance" / f"{name}.yml"
        return yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]

    return parts


def found(text, kinds):
    """The entities of a text without their signs, and where they begin."""
    place = 0
    for segment in segments(text):
        if segment.kind in kinds:
            yield segment.text.strip(SIGNS) if segment.kind != "url" else segment.text, place
        place += len(segment.text)


def compare(cases):
    """How many agree, of how many; that the others are those that are listed."""
    cases = list(cases)
    differ = {(part, title) for part, title, is_equal in cases if not is_equal}
    names = {(part, title) for part, title, _is_equal in cases}
    assert differ == DIFFERENT.keys() & names
    return sum(is_equal for *_name, is_equal in cases) / len(cases)


def extracted(parts):
    for part, (kind, key) in EXTRACT.items():
        for case in parts[part]:
            ours, theirs = list(found(case["text"], {kind})), case["expected"]
            if key is None:
                ours = [text for text, _place in ours]
            else:
                theirs = [(entity[key], entity["indices"][0]) for entity in theirs]
            yield part, case["description"], ours == theirs


def linked(parts):
    for part, kinds in AUTOLINK.items():
        for case in parts[part]:
            labels = [
                unescape(re.sub("<[^>]*>", "", link)) for link in LINK.findall(case["expected"])
            ]
            ours = [text for text, _place in found(case["text"], kinds)]
            yield part, case["description"], ours == [label.lstrip(SIGNS) for label in labels]


def test_what_is_extracted(conformance):
    assert compare(extracted(conformance("extract"))) >= 0.9


def test_what_becomes_a_link(conformance):
    assert compare(linked(conformance("autolink"))) >= 0.95


def test_every_difference_is_of_a_case_that_exists(conformance):
    cases = [*extracted(conformance("extract")), *linked(conformance("autolink"))]
    assert DIFFERENT.keys() <= {(part, title) for part, title, _is_equal in cases}


EXAMPLES = [
    "", " a ", "👩‍🚀🇨🇳e\u0301", "#نرم\u200cافزار\u200d", "*https://e.org/a_(b)*很好", "\u200d#tag\ufe0f",
    "a\u0001b\u000bc",
    "one\n\u200b\n\u3164\n\ntwo\t\n", "a\u2028b\u0085c\ufeff", "#https://e.org", "https://e.org/" + "a" * 3000, "http://x",
    "看https://例子.测试/路（好）", "@bob@localhost https://e.org/?q=北京…", "\u0301#\u0301a", "_https://e.org_", "ﷺ﷽ ｈttps://e.org",
]  # fmt: skip


def test_the_page_counts_as_the_server_does(conformance):
    texts = [*EXAMPLES, *(case["text"] for name in ("extract", "autolink", "validate")
                          for part in conformance(name).values() for case in part)]  # fmt: skip
    counted = f"console.log(JSON.stringify({json.dumps(texts)}.map(length)));"
    program = f"{SCRIPT.read_text(encoding='utf-8')}\n{counted}"
    done = subprocess.run(
        [node(), "--input-type=module", "-"],
        input=program,
        capture_output=True,
        text=True,
        check=True,
    )
    page = json.loads(done.stdout)
    differ = {
        text: (seen, length(normalise(text)))
        for text, seen in zip(texts, page, strict=True)
        if seen != length(normalise(text))
    }
    assert differ == {}
