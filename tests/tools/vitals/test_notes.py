"""A run that was stopped goes on where it was."""

from argparse import Namespace

import pytest
from rich.console import Console

from tools.vitals import __main__ as command
from tools.vitals.look import Look, Violation
from tools.vitals.notes import NAME, Notes
from tools.vitals.pages import PAGES, named


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path)


def seen(name="home", language="en", **values):
    return Look(named([name])[0], language, 390, **values)


def test_what_was_seen_is_kept(notes):
    looks = [
        seen(status=200, violations=[Violation("image-alt", "dark", ("img", "p"))], wide=["320: 400"]),
        seen(language="zh-hans", shift=0.1),
        seen("thread", complaints=["Refused"], policy="default-src 'self'"),
    ]  # fmt: skip
    for look in looks:
        notes.add(look)
    assert notes.read(PAGES) == looks
    assert notes.read(named(["thread"])) == looks[2:]


def test_the_newer_look_at_the_same_thing_counts(notes):
    notes.add(seen(shift=0.1))
    notes.add(seen())
    assert notes.read(PAGES) == [seen()]


def test_a_line_that_was_cut_off_counts_for_nothing(notes, tmp_path):
    notes.add(seen())
    with (tmp_path / NAME).open("a") as file:
        file.write('{"page": "thr')
    assert notes.read(PAGES) == [seen()]


def test_nothing_is_left_when_it_is_cleared(notes):
    notes.clear()
    notes.add(seen())
    notes.clear()
    assert notes.read(PAGES) == []


@pytest.mark.parametrize(("look", "left"), [(seen(status=200), []), (seen(status=500), ["home"])])
def test_pages_with_findings_can_be_measured_again(look, left, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "survey", lambda *_whatever, done, **_options: done(look))
    options = Namespace(only=None, short=False, resume=True, directory=tmp_path)
    command._look(options, Console(quiet=True), None, [])
    assert [one.page.name for one in Notes(tmp_path).read(PAGES)] == left
