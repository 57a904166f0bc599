import os
import subprocess
import time

import pytest

from runner.services import debian


@pytest.fixture(autouse=True)
def not_installed(monkeypatch):
    monkeypatch.setattr(debian, "on_path", lambda _name: None)


def failing(limits):
    def download(_name, _work, deadline):
        limits.append(round(deadline - time.monotonic()))
        raise subprocess.CalledProcessError(100, "apt-get")

    return download


def test_a_failed_download_is_tried_again_at_every_start_within_a_shorter_time(
    place, monkeypatch, capsys
):
    limits: list[int] = []
    monkeypatch.setattr(debian, "_download", failing(limits))
    found = [debian.find_memcached(place / "memcached") for _ in range(3)]
    assert found == [None] * 3
    assert limits == [60, 10, 10]
    assert [entry.name for entry in place.iterdir()] == ["memcached"]
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "Looking for memcached among the system's packages, for 60 s at most ..."
    assert said[1].startswith("failed after ")


def test_a_download_that_works_the_second_time_is_used(place, monkeypatch):
    def download(_name, work, _deadline):
        program = work / "root" / "usr" / "bin" / "memcached"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\necho memcached 1.6.18\n")
        program.chmod(0o755)

    monkeypatch.setattr(debian, "_download", failing([]))
    assert debian.find_memcached(place / "memcached") is None
    monkeypatch.setattr(debian, "_download", download)
    unpacked = place / "memcached" / "usr" / "bin" / "memcached"
    assert debian.find_memcached(place / "memcached") == unpacked


def test_lists_of_packages_that_are_missing_or_old_are_fetched(place, monkeypatch):
    """As in a container: the system's own know no package until they are."""
    (place / "work").mkdir()
    asked = []

    def call(command, _work, _deadline):
        lists = next((word for word in command if word.startswith("Dir::State::lists=")), None)
        asked.append((command[0], *command[-2:], lists is not None))
        if command[-2:] == ["download", "memcached"] and lists is None:
            raise subprocess.CalledProcessError(100, "apt-get")
        if "download" in command:
            (place / "work" / "memcached_1.deb").touch()
        return ""

    monkeypatch.setattr(debian, "_call", call)
    debian._download("memcached", place / "work", 0)
    assert [(words[-3:]) for words in asked if words[0] == "apt-get"] == [
        ("download", "memcached", False),
        ("Acquire::Languages=none", "update", True),
        ("download", "memcached", True),
    ]


def test_without_debians_tools_there_is_none_and_nothing_is_waited_for(place, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(place))
    assert debian.find_memcached(place / "memcached") is None
    assert capsys.readouterr().err == ""


def test_a_slow_download_is_cut_off(place, monkeypatch):
    monkeypatch.setattr(debian, "FIRST_SECONDS", 0.3)
    slow = place / "apt-get"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    failures, call = [], debian._call

    def noted(*arguments):
        try:
            return call(*arguments)
        except subprocess.SubprocessError as error:
            failures.append(type(error))
            raise

    monkeypatch.setattr(debian, "_call", noted)
    assert debian.find_memcached(place / "memcached") is None
    assert failures == [subprocess.TimeoutExpired]


def test_an_unpacked_package_is_used_without_asking_again(place, monkeypatch):
    program = place / "memcached" / "usr" / "bin" / "memcached"
    program.parent.mkdir(parents=True)
    program.touch()
    monkeypatch.setattr(debian, "_download", failing([]))
    assert debian.find_memcached(place / "memcached") == program


def test_a_program_that_cannot_run_counts_as_missing(place, monkeypatch):
    def download(_name, work, _deadline):
        broken = work / "root" / "usr" / "bin" / "memcached"
        broken.parent.mkdir(parents=True)
        broken.write_text("not a program")
        broken.chmod(0o755)

    monkeypatch.setattr(debian, "_download", download)
    assert debian.find_memcached(place / "memcached") is None
