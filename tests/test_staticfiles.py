"""Style sheets get smaller on their way to readers, and mean the same."""

import re
from pathlib import Path

import pytest
from django.core.files.base import ContentFile

from feedsite.staticfiles import UncompressedStorage, minified

SHEET = (Path(__file__).parents[1] / "static/css/app.css").read_text()


@pytest.mark.parametrize(
    ("sheet", "served"),
    [
        ("a {\n  color: red;\n}\n", "a{color:red}"),
        (".foot :is(a, b):hover > i { x: 1 }", ".foot :is(a,b):hover > i{x:1}"),
        ("@media (min-width: 48rem) { a { b: calc(1px + 2px) } }", "@media (min-width:48rem){a{b:calc(1px + 2px)}}"),
        ('a::after { content: " ; /* no */ "; }', 'a::after{content:" ; /* no */ "}'),
        ("a { b: 1px /* one */ 2px }", "a{b:1px 2px}"),
        ('@import url("a.css") ;  b { }', '@import url("a.css");b{}'),
    ],
)  # fmt: skip
def test_nothing_but_white_space_and_comments_goes(sheet, served):
    assert minified(sheet) == served


def test_minifying_twice_changes_nothing():
    once = minified(SHEET)
    assert minified(once) == once
    assert "/*" not in once
    assert re.sub(r"[\s;]", "", once) == re.sub(r"/\*.*?\*/|[\s;]", "", SHEET)


def test_the_storage_keeps_small_sheets_and_other_files_as_they_are(tmp_path):
    storage = UncompressedStorage(location=tmp_path, base_url="/static/")
    storage.save("a.css", ContentFile(b"a { b: 1 }"))
    storage.save("a.txt", ContentFile(b"a { b: 1 }"))
    assert (tmp_path / "a.css").read_bytes() == b"a{b:1}"
    assert (tmp_path / "a.txt").read_bytes() == b"a { b: 1 }"
