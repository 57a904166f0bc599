"""Style sheets and scripts get smaller on their way to readers, and mean the same."""

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles.finders import get_finders
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage

from feedsite.files.staticfiles import UncompressedStorage, minify, minify_script

STATIC = Path(__file__).parents[3] / "static"
SHEET, SCRIPTS = (STATIC / "css/app.css").read_text(), STATIC / "js"


@pytest.mark.parametrize(
    ("sheet", "served"),
    [
        ("a {\n  color: red;\n}\n", "a{color:red}"),
        (".foot :is(a, b):hover > i { x: 1 }", ".foot :is(a,b):hover > i{x:1}"),
        ("@media (min-width: 48rem) { a { b: calc(1px + 2px) } }", "@media (min-width:48rem){a{b:calc(1px + 2px)}}"),
        ('a::after { content: " ; /* no */ "; }', 'a::after{content:" ; /* no */ "}'),
        ("a { b: 1px /* one */ 2px }", "a{b:1px 2px}"),
        ('@import url("a.css") ;  b { }', '@import url("a.css");b{}'),
        ("a { b: 1 } /* one */ c { d: 2 } /* two */ { e: 3 }", "a{b:1}c{d:2}{e:3}"),
        ("/* one **/ a { b: 1 }\n/* two */\nc { d: 2 }", "a{b:1}c{d:2}"),
    ],
)  # fmt: skip
def test_nothing_but_white_space_and_comments_goes(sheet, served):
    assert minify(sheet) == served


def test_minifying_twice_changes_nothing():
    once = minify(SHEET)
    assert minify(once) == once
    assert "/*" not in once
    assert re.sub(r"[\s;]", "", once) == re.sub(r"/\*.*?\*/|[\s;]", "", SHEET)


def test_scripts_lose_comments_and_indentation():
    script = "// one\nif (a) {\n  // two\n\n  b = 'https://c'; // it's three\n}\n"
    assert minify_script(script) == "if (a) {b = 'https://c';\n}\n"


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.js")), ids=lambda path: path.name)
def test_no_string_of_a_script_spans_lines(script):
    """Otherwise what looks like a comment or an indentation could be part of it."""
    code = [re.split(r"(?:^|[ \t])//[ \t]", line)[0] for line in script.read_text().splitlines()]
    for quote in "`\"'":
        assert [line for line in code if line.count(quote) % 2] == []
    assert "/*" not in script.read_text()


def test_what_is_served_is_small_and_whole(tmp_path):
    source = FileSystemStorage(location=tmp_path / "source")
    storage = UncompressedStorage(location=tmp_path / "served", base_url="/static/")
    for name in ("css/a.css", "css/a.txt", "admin/css/a.css"):
        source.save(name, ContentFile(b"a { b: 1 }"))
        with source.open(name) as file:
            storage.save(name, file)
    done = {name: hashed for name, hashed, _ in storage.post_process({
        name: (source, name) for name in ("css/a.css", "css/a.txt", "admin/css/a.css")
    })}  # fmt: skip
    assert (tmp_path / "served" / done["css/a.css"]).read_bytes() == b"a{b:1}"
    for name in ("css/a.txt", "admin/css/a.css"):
        assert (tmp_path / "served" / done[name]).read_bytes() == b"a { b: 1 }"


def test_an_address_tells_what_was_made_of_a_source(tmp_path, monkeypatch):
    """A browser keeps an address for good: what is served differently from now on needs another one."""
    storage, source = UncompressedStorage(location=tmp_path), ContentFile(b"a { b: 1 }")
    before = storage.hashed_name("css/a.css", source)
    monkeypatch.setattr("feedsite.files.staticfiles.EDITION", 99)
    assert storage.hashed_name("css/a.css", source) != before


def _collected():
    """All style sheets that `collectstatic` finds, the admin's and the API reference's too."""
    found = (each for finder in get_finders() for each in finder.list([]))
    return {name: storage for name, storage in found if name.endswith(".css")}


def _essence(css):
    """A sheet without comments and white space, read character by character: strings stay as they are."""
    kept, at, quote = [], 0, ""
    while at < len(css):
        one = css[at]
        if not quote and css.startswith("/*", at):
            at = css.index("*/", at) + 2
            continue
        if one == "\\":
            one = css[at : at + 2]
        elif one == quote:
            quote = ""
        elif not quote and one in "\"'":
            quote = one
        if quote or not one.isspace():
            kept.append(one)
        at += len(one)
    return "".join(kept).replace(";}", "}")


def test_the_sheets_of_the_admin_are_among_those_compared():
    assert {"admin/css/base.css", "admin/css/responsive.css", "css/app.css"} <= _collected().keys()
    assert _essence("a { b: ' /* ' } /* } */ c { d: 1; }") == "a{b:' /* '}c{d:1}"


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("name", sorted(_collected()))
def test_no_sheet_loses_a_rule_on_its_way(name, tmp_path):
    with _collected()[name].open(name) as file:
        source = file.read().decode()
        served = UncompressedStorage(location=tmp_path, base_url="/static/")
        served.save(name, file)
    assert _essence((tmp_path / name).read_text()) == _essence(source)
    assert _essence(minify(source)) == _essence(source)  # whichever are minified, one day
