import os
import shutil
import stat

import pytest

from runner import datadir
from runner.datadir import DataDir, Holder
from runner.terminal import LaunchError
from tests.runner.onlookers import end, held_by_another_process


def test_prepare_makes_a_private_directory_that_is_ours(data):
    assert data.is_ours()
    assert stat.S_IMODE(data.path.stat().st_mode) == 0o700
    data.prepare()  # twice is fine


def test_prepare_refuses_a_directory_with_other_files(place):
    (place / "thesis.txt").touch()
    with pytest.raises(LaunchError, match="holds other files"):
        DataDir(place).prepare()
    assert not (place / ".feedsite").exists()


def test_prepare_takes_over_files_that_django_made_there(place):
    (place / "static").mkdir()
    DataDir(place).prepare()


def test_prepare_explains_a_path_that_is_a_file(place):
    (place / "file").touch()
    with pytest.raises(LaunchError, match="Cannot use the data directory .*File exists"):
        DataDir(place / "file").prepare()


def test_prepare_explains_a_full_disk(place, monkeypatch):
    usage = shutil._ntuple_diskusage(10, 10, 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(LaunchError, match="is full: 0 MB free, 200 MB needed"):
        DataDir(place / "data").prepare()


def test_the_secret_is_made_once_and_private(data):
    secret = data.secret_key()
    assert len(secret) >= 50
    assert data.secret_key() == secret
    assert stat.S_IMODE((data.path / "secret_key").stat().st_mode) == 0o600


def test_nobody_holds_a_new_directory(data):
    assert data.holder() is None


def test_only_one_process_can_hold_a_directory(data):
    process = held_by_another_process(data.path)
    holder = data.holder()
    assert holder is not None
    assert (holder.pid, holder.what) == (process.pid, "site")
    with (
        pytest.raises(LaunchError, match=rf"already starting .*\(pid {process.pid}\)"),
        data.held("site"),
    ):
        pass
    end(process)


def test_a_killed_holder_holds_no_longer(data):
    end(held_by_another_process(data.path))
    assert (data.path / "site.json").exists()
    assert data.holder() is None
    with data.held("manage"):
        pass
    assert not (data.path / "site.json").exists()


def test_a_note_of_a_dead_process_is_not_believed(data):
    process = held_by_another_process(data.path)
    datadir.write_private(data.path / "site.json", '{"pid": 1, "started": "never", "what": "site"}')
    assert data.holder() == Holder(pid=0, started="", what="site")
    end(process)


def test_a_ready_site_is_named_with_its_address(data):
    url = "http://127.0.0.1:8000"
    assert (
        datadir.in_use(Holder(12, "", "site", url), data.path)
        == f"feedsite is already running (pid 12) at {url}"
    )


def test_sockets_of_a_long_path_go_to_a_short_private_one(place):
    data = DataDir(place / ("d" * 100))
    data.prepare()
    sockets = data.socket_dir()
    assert len(str(sockets)) <= 80
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert data.socket_dir() == sockets
    data.remove()
    assert not sockets.exists()


def test_a_short_socket_directory_of_somebody_else_is_not_used(place):
    data = DataDir(place / ("d" * 100))
    data.prepare()
    sockets = data.socket_dir()
    sockets.chmod(0o777)
    with pytest.raises(LaunchError, match="belongs to somebody else"):
        data.socket_dir()
    sockets.rmdir()


def test_remove_deletes_only_what_is_ours(data):
    data.secret_key()
    (data.path / "notes.txt").write_text("mine")
    data.remove()
    assert [entry.name for entry in data.path.iterdir()] == ["notes.txt"]


def test_remove_does_not_follow_links(data, place):
    (place / "pictures").mkdir()
    (place / "pictures" / "cat.png").touch()
    data.media.rmdir()
    data.media.symlink_to(place / "pictures")
    data.remove()
    assert (place / "pictures" / "cat.png").exists()
    assert not data.path.exists()


def test_remove_refuses_a_directory_without_our_mark(place):
    (place / "log").mkdir()
    with pytest.raises(LaunchError, match="was not made by feedsite"):
        DataDir(place).remove()
    assert (place / "log").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_prepare_explains_a_directory_that_cannot_be_written(place):
    place.chmod(0o500)
    with pytest.raises(LaunchError, match="Permission denied"):
        DataDir(place / "data").prepare()
