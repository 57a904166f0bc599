"""What is taken for a list of another site, and what is refused in plain words."""

import pytest

from apps.errors import Invalid
from apps.privacy.models import ImportKind
from apps.privacy.moving import files
from apps.privacy.moving.files import read_lines

FOLLOWS = (
    'Account address,Show boosts,Notify on new posts,Languages\nbob@a.example,true,false,"en, zh"\n'
)


def test_follows_as_mastodon_writes_them():
    (line,) = read_lines(ImportKind.FOLLOWS, FOLLOWS.encode())
    assert line == (2, ["bob@a.example", "true", "false", "en, zh"])


def test_a_byte_order_mark_other_line_ends_and_empty_lines_change_nothing():
    data = b"\xef\xbb\xbf" + FOLLOWS.replace("\n", "\r\n").encode() + b"\r\n\r\n"
    assert read_lines(ImportKind.FOLLOWS, data) == [
        (2, ["bob@a.example", "true", "false", "en, zh"])
    ]


def test_columns_are_found_by_their_names():
    data = b"Account address,Languages\nbob,zh\n"
    assert read_lines(ImportKind.FOLLOWS, data) == [(2, ["bob", "", "", "zh"])]


@pytest.mark.parametrize(
    ("kind", "data", "cells"),
    [
        ("blocks", "bob@a.example\n", ["bob@a.example"]),
        ("blocks", "bob@a.example,,more\n", ["bob@a.example"]),
        ("blocks", "Account address\nbob@a.example\n", ["bob@a.example"]),
        (
            "mutes",
            "Account address,Hide notifications\nbob@a.example,false\n",
            ["bob@a.example", "false"],
        ),
        ("lists", "Cooks,bob@a.example\n", ["Cooks", "bob@a.example"]),
        ("lists", "List,Account address\n'=1+1,bob\n", ["=1+1", "bob"]),
        ("lists", "List,bob@a.example\n", ["List", "bob@a.example"]),
        ("lists", "Account address,bob\n", ["Account address", "bob"]),
        ("bookmarks", "https://a.example/@bob/1\n", ["https://a.example/@bob/1"]),
        (
            "bookmarks",
            "post,since\nhttps://a.example/@bob/1,x\n",
            ["https://a.example/@bob/1", "x"],
        ),
    ],
)
def test_each_kind_with_and_without_the_names_of_columns(kind, data, cells):
    assert read_lines(ImportKind(kind), data.encode())[-1][1] == cells


@pytest.mark.parametrize(
    ("kind", "data", "code"),
    [
        ("follows", b"\xff\xfeb\x00o\x00b\x00", "encoding"),
        ("follows", b"PK\x03\x04\x00\x00", "encoding"),
        ("follows", "bób".encode("latin-1"), "encoding"),
        ("follows", b'"bob\n', "not_csv"),
        ("follows", b'"' + b"b" * 200_000 + b'"\n', "not_csv"),
        ("follows", b"", "wrong_columns"),
        ("follows", b"Account address\n", "wrong_columns"),
        ("follows", b"Account address,Hide notifications\nbob,true\n", "wrong_columns"),
        ("blocks", FOLLOWS.encode(), "wrong_columns"),
        ("bookmarks", FOLLOWS.encode(), "wrong_columns"),
        ("lists", FOLLOWS.encode(), "wrong_columns"),
        ("lists", b"bob@a.example\n", "wrong_columns"),
        ("follows", b"<html>,<body>\n", "wrong_columns"),
    ],
)
def test_what_is_no_such_file_is_refused(kind, data, code):
    with pytest.raises(Invalid) as refused:
        read_lines(ImportKind(kind), data)
    assert (refused.value.code, list(refused.value.errors)) == (code, ["file"])


def test_size_and_number_of_lines_are_bounded(monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 5)
    with pytest.raises(Invalid, match="KB"):
        read_lines(ImportKind.BLOCKS, b"bob\nann\n")
    monkeypatch.undo()
    monkeypatch.setattr(files, "MAX_LINES", 1)
    with pytest.raises(Invalid, match="more than 1 lines"):
        read_lines(ImportKind.BLOCKS, b"bob\nann\n")


def test_a_cell_is_cut():
    ((_number, (cell,)), _other) = read_lines(ImportKind.BLOCKS, b"b" * 5000 + b"\nann\n")
    assert len(cell) == files.MAX_CELL
