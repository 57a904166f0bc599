import os
import subprocess
import time

import pytest

from runner.services import debian


@pytest.fixture(autouse=True)
def not_installed(monkeypatch):
    monkeypatch.setattr(debian, "on_path", lambda _name: None)


def failing(calls):
    def download(_name, _work, _deadline):
        calls.append(1)
        raise subprocess.CalledProcessError(100, "apt-get")

    return download


def test_a_failed_download_is_remembered_for_a_day(place, monkeypatch):
    calls: list[int] = []
    monkeypatch.setattr(debian, "_download", failing(calls))
    found = [debian.find_memcached(place / "memcached") for _ in range(3)]
    assert found == [None] * 3
    assert len(calls) == 1
    day_ago = time.time() - debian.RETRY_AFTER_SECONDS - 1
    os.utime(place / "memcached" / "unavailable", (day_ago, day_ago))
    assert debian.find_memcached(place / "memcached") is None
    assert len(calls) == 2
    assert [entry.name for entry in place.iterdir()] == ["memcached"]


def test_without_debians_tools_there_is_none(place, monkeypatch):
    monkeypatch.setenv("PATH", str(place))
    assert debian.find_memcached(place / "memcached") is None


def test_a_slow_download_is_cut_off(place, monkeypatch):
    monkeypatch.setattr(debian, "LIMIT_SECONDS", 0.3)
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
