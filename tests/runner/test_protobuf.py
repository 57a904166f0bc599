import shutil
import sys

import pytest

from runner import protobuf
from runner.checkout import ROOT
from runner.terminal import LaunchError

PLACE = "apps/posts/wire"
MESSAGE, TYPES = f"{PLACE}/post_pb2.py", f"{PLACE}/post_pb2.pyi"


@pytest.fixture
def copy(tmp_path):
    """A checkout with nothing in it but one `.proto` and its code."""
    shutil.copytree(ROOT / PLACE, tmp_path / PLACE)
    return tmp_path


def names(paths):
    return [path.as_posix() for path in paths]


def test_the_committed_code_is_what_its_sources_say(capfd):
    assert protobuf.main(["--check"]) == 0
    assert capfd.readouterr().err == ""


def test_a_changed_source_is_noticed_until_its_code_is_made_anew(copy):
    source = copy / PLACE / "post.proto"
    source.write_text(source.read_text().replace("reserved 15;", "string place = 15;"))
    assert names(protobuf.outdated(copy)) == [MESSAGE, TYPES]
    assert names(protobuf.generate(copy, copy)) == [MESSAGE, TYPES]
    assert protobuf.outdated(copy) == []


def test_code_that_is_missing_or_has_no_source_is_noticed(copy):
    (copy / MESSAGE).rename(copy / PLACE / "older_pb2.py")
    assert names(protobuf.outdated(copy)) == [f"{PLACE}/older_pb2.py", MESSAGE]


def test_a_source_that_is_wrong_is_a_plain_message(copy):
    (copy / PLACE / "post.proto").write_text("syntax = nonsense")
    with pytest.raises(LaunchError, match="protoc failed"):
        protobuf.outdated(copy)


def test_no_compiler_is_a_plain_message(copy, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(LaunchError, match="Cannot run"):
        protobuf.outdated(copy)
