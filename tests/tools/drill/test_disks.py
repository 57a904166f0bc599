"""Small disks that are filled and freed, and what is said of a site that writes false things meanwhile."""

import errno
import os
from itertools import pairwise
from pathlib import Path

import pytest

from tools.drill import disks
from tools.drill.__main__ import command_parser
from tools.drill.disks import BLOCK, MEDIA, ORDER, WAL, Disk, Disks, Look
from tools.drill.faults import BROKER, POSTGRES, Kind
from tools.drill.history import FAIL, OK, UNKNOWN, Operation
from tools.drill.verdict import Verdicts


@pytest.fixture
def disk(tmp_path):
    if disks.why_not():
        pytest.skip(disks.why_not())
    try:
        made = Disk(tmp_path / "small", 1)
    except OSError as error:
        pytest.skip(f"this machine does not allow mounts: {error}")
    yield made
    made.unmount()


def test_a_full_disk_takes_no_block_and_has_room_again_when_it_is_freed(disk):
    (disk.place / "before").write_bytes(b"x" * 100)
    disk.fill()
    with pytest.raises(OSError, match="No space left") as refused:
        (disk.place / "new").write_bytes(b"x" * BLOCK)
    assert refused.value.errno == errno.ENOSPC
    assert (disk.place / "before").read_bytes() == b"x" * 100
    disk.free()
    (disk.place / "new").write_bytes(b"x" * BLOCK)


def test_a_mount_is_gone_with_its_files_although_one_is_open(disk):
    with (disk.place / "open").open("wb"):
        Disk(disk.place / "inner", 1).unmount()
        assert not os.path.ismount(disk.place / "inner")


@pytest.mark.parametrize("seconds", [60, 120, 600])
def test_each_disk_is_full_once_and_one_after_the_other(seconds):
    planned = disks.plan(seconds=seconds)
    assert [one.target for one in planned] == list(ORDER)
    assert {one.kind for one in planned} == {Kind.DISK}
    for one, following in pairwise(planned):
        assert one.at + one.seconds < following.at
    assert planned[-1].at + planned[-1].seconds < seconds


def test_there_are_none_by_default():
    assert not command_parser().parse_args([]).with_disks
    assert command_parser().parse_args(["--with-disks"]).with_disks


def act(name, status, *, at=103.0):
    outcome = OK if status == 200 else UNKNOWN if status >= 500 else FAIL
    return Operation(1, 1, name, at, {}, at + 0.5, outcome, status)


REFUSED = [act("publish", 503), act("upload", 503, at=203.0)]
TRUE = [
    Look(105, "web0/healthz/ready", 200, {"postgresql writes": False, "media": True}),
    Look(205, "web0/healthz/ready", 200, {"postgresql writes": True, "media": False}),
    Look(300, "web0/healthz/ready", 200, {"postgresql writes": True, "media": True}),
]


def judged(*operations, looks=TRUE, refused=REFUSED):
    full, verdicts = Disks(Path(), times={POSTGRES: (100, 110), MEDIA: (200, 210)}), Verdicts()
    for number, name in enumerate(set(ORDER) - {POSTGRES, MEDIA}):
        full.times[name] = (1000 + number, 1000 + number)
    disks.judge(verdicts, full, looks, [*refused, *operations])
    return verdicts["I36"].found


def test_a_site_that_reads_and_refuses_and_says_so_is_right():
    assert judged(act("home", 200), act("publish", 200), act("publish", 422)) == []


@pytest.mark.parametrize(("name", "status"), [("home", 503), ("home", 500), ("publish", 500)])
def test_an_error_of_the_site_is_a_violation(name, status):
    [found] = judged(act(name, status))
    assert f"{name} answered {status}: no space for the postgres" in found


def test_health_that_sees_nothing_is_a_violation():
    [found] = judged(looks=[Look(105, "web0/metrics", 200, {"postgresql writes": True}), *TRUE])
    assert found == "web0/metrics says that postgresql writes works: no space for the postgres"


def test_health_that_does_not_recover_is_a_violation():
    [found] = judged(looks=[*TRUE, Look(301, "web1/metrics", 200, {"media": False})])
    assert found == "web1/metrics says at the end that media does not work"


def test_a_disk_that_refused_nothing_was_not_full():
    assert judged(refused=[]) == [
        "without space for the media, no upload was refused",
        "without space for the postgres, no publish was refused",
    ]


def test_checks_are_read_from_both_pages():
    health = b'{"status": "degraded", "checks": {"broker": {"ok": false}, "redis": {"ok": true}}}'
    metrics = b'feedsite_check_ok{check="broker"} 0.0\nfeedsite_check_ok{check="redis"} 1.0\n'
    assert (
        disks._of_health(health) == disks._of_metrics(metrics) == {"broker": False, "redis": True}
    )
    assert {WAL, BROKER} <= disks.CHECKS.keys()
