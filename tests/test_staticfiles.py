"""Style sheets get smaller on their way to readers, and mean the same."""

import re
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage

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


def test_what_is_served_is_small_and_whole(tmp_path):
    source = FileSystemStorage(location=tmp_path / "source")
    storage = UncompressedStorage(location=tmp_path / "served", base_url="/static/")
    for name in ("a.css", "a.txt"):
        source.save(name, ContentFile(b"a { b: 1 }"))
        with source.open(name) as file:
            storage.save(name, file)
    done = {name: hashed for name, hashed, _ in storage.post_process({
        name: (source, name) for name in ("a.css", "a.txt")
    })}  # fmt: skip
    assert (tmp_path / "served" / done["a.css"]).read_bytes() == b"a{b:1}"
    assert (tmp_path / "served" / done["a.txt"]).read_bytes() == b"a { b: 1 }"
