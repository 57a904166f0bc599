"""`--with-disks`: the files of PostgreSQL, its write-ahead log, Redis, the media and the logs are on small disks, which
are filled completely and freed again, one after the other.

The disks are file systems in memory (tmpfs). Only root may mount them.
"""

import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from runner.services.redis import ask
from tools.drill.faults import BROKER, POSTGRES, TIMELINES, Fault, Kind
from tools.drill.history import OK, Operation
from tools.drill.verdict import Verdict, Verdicts
from tools.drill.wire import NoAnswerError, Wire

WAL, MEDIA, LOG = "write-ahead log", "media", "log"
MEGABYTES = {POSTGRES: 256, WAL: 256, BROKER: 32, TIMELINES: 32, MEDIA: 16, LOG: 64}
# PostgreSQL ends when it cannot write its log, and the site cannot work without PostgreSQL. So this disk comes last,
# and errors meanwhile are excused, as when PostgreSQL is killed.
ORDER = (LOG, MEDIA, BROKER, TIMELINES, POSTGRES, WAL)
BEGIN, END, SHARE = 0.05, 0.85, 0.6  # shares of the load; SHARE: of the time that each disk has
LONGEST_SECONDS = 15.0
BLOCK = 4096
# By disk, the check of /healthz/ready that must fail while the disk is full; the other checks may say anything.
CHECKS = {
    POSTGRES: "postgresql writes",
    WAL: "postgresql",
    BROKER: "broker",
    TIMELINES: "redis",
    MEDIA: "media",
}
NOTICE_SECONDS = 3.0  # until something has been written, and the health check has run again
RECOVERY_SECONDS = 10.0  # Redis saves again 5 s after a failure
LOOK_SECONDS = 0.5
TOP_UP_SECONDS = 0.2
READS = ("home", "home_html", "profile", "public", "show")
SERVER_ERROR, BUSY = 500, 503
WRITTEN_TO = {POSTGRES: "publish", MEDIA: "upload"}  # the operations that must be refused meanwhile
SWITCHES = 40  # more than there are recycled segments of the log
CHECK = re.compile(r'^feedsite_check_ok{check="([^"]+)"} (\S+)$', re.MULTILINE)
SAVE_EVERY_SECOND, SAVE_NEVER = b'CONFIG SET save "1 1"\r\n', b'CONFIG SET save ""\r\n'


def why_not() -> str:
    """Why this machine cannot have the disks; empty if it can."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return "only root can mount the small disks of --with-disks"
    return ""


def plan(*, seconds: float) -> list[Fault]:
    """Fill each disk for a while, one after the other."""
    every = seconds * (END - BEGIN) / len(ORDER)
    lasts = round(min(LONGEST_SECONDS, every * SHARE), 2)
    return [
        Fault(round(seconds * BEGIN + number * every, 2), Kind.DISK, target, lasts)
        for number, target in enumerate(ORDER)
    ]


class Disk:
    """A file system in memory, mounted on a directory. OSError if the machine does not allow that."""

    def __init__(self, place: Path, megabytes: int) -> None:
        self.place = place
        place.mkdir(parents=True, exist_ok=True)
        options = f"size={megabytes}m,mode=755"
        command = ["mount", "-t", "tmpfs", "-o", options, "feedsite-drill", str(place)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own directory
        if done.returncode:
            place.rmdir()
            raise OSError(done.stderr.strip())

    def fill(self) -> None:
        """Leave no free block."""
        with suppress(OSError), self._filler.open("wb", buffering=0) as filler:
            free = os.statvfs(self.place)
            os.posix_fallocate(filler.fileno(), 0, free.f_bavail * free.f_frsize)
        self.top_up()

    def top_up(self) -> None:
        """Fill the blocks that have become free since the last call."""
        with suppress(OSError), self._filler.open("ab", buffering=0) as filler:
            while filler.write(b"\0" * BLOCK):
                pass

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)

    def unmount(self) -> None:
        """Remove the disk with its files, even if a process still uses them."""
        subprocess.run(["umount", "--lazy", str(self.place)], check=True)  # noqa: S603, S607 -- as above

    @property
    def _filler(self) -> Path:
        return self.place / "filler"


@dataclass
class Disks:
    """The mounted disks by the name of what they hold; `times` has when each was full, in seconds since the epoch."""

    site: Path
    by_name: dict[str, Disk] = field(default_factory=dict)
    times: dict[str, tuple[float, float]] = field(default_factory=dict)

    def mount(self) -> None:
        """Mount all disks. Raises OSError if this machine does not allow it."""
        own = {MEDIA: self.site / "media", LOG: self.site / "log"}  # as in DataDir
        for name in ORDER:
            place = own.get(name, self.site / "sockets" / "disks" / name.split("-")[0])
            self.by_name[name] = Disk(place, MEGABYTES[name])

    def unmount(self) -> None:
        for disk in self.by_name.values():
            disk.unmount()

    def place(self, name: str) -> Path:
        return self.by_name[name].place

    def begin(self, fault: Fault, services: Mapping[str, Any]) -> Callable[[], None]:
        """Fill a disk. Returns a function that frees it, and restarts PostgreSQL if the disk was that of its log."""
        disk, began = self.by_name[fault.target], time.time()
        postgres = services[POSTGRES]
        if fault.target == TIMELINES:
            ask(services[TIMELINES].socket, SAVE_EVERY_SECOND)
        full = threading.Event()
        full.set()
        filling = threading.Thread(target=_keep_full, args=(disk, full), daemon=True)
        disk.fill()
        filling.start()
        if fault.target == WAL:
            _use_up_log(postgres.settings()["DATABASE_URL"])

        def free() -> None:
            full.clear()
            filling.join()
            disk.free()
            if fault.target == WAL:
                postgres.stop()
                postgres.start()
            self.times[fault.target] = (began, time.time())
            if fault.target == TIMELINES:
                threading.Timer(
                    RECOVERY_SECONDS, ask, [services[TIMELINES].socket, SAVE_NEVER]
                ).start()

        return free


def _keep_full(disk: Disk, full: threading.Event) -> None:
    """Take the blocks that files give back, as long as the event is set."""
    while full.is_set():
        disk.top_up()
        time.sleep(TOP_UP_SECONDS)


def _use_up_log(url: str) -> None:
    """Let PostgreSQL use its recycled segments, until it needs a new one and ends."""
    with (
        suppress(psycopg.OperationalError),
        closing(psycopg.connect(url, autocommit=True)) as session,
    ):
        for number in range(SWITCHES):
            session.execute("SELECT pg_logical_emit_message(false, 'drill', %s)", [str(number)])
            session.execute("SELECT pg_switch_wal()")


@dataclass(frozen=True, slots=True)
class Look:
    """What a web server said of its checks at a moment; `checks` is empty if it said nothing."""

    at: float
    where: str
    status: int
    checks: Mapping[str, bool]


class Watch:
    """Reads the health checks and the metrics of the web servers until `stop`."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self.looks: list[Look] = []
        self._wires = [Wire([address]) for address in addresses]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch-disks", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            for number, wire in enumerate(self._wires):
                for path, read in (("/healthz/ready", _of_health), ("/metrics", _of_metrics)):
                    began = time.time()
                    try:
                        answer = wire.send("GET", path, {})
                    except NoAnswerError:
                        continue
                    found = read(answer.body) if answer.status in (200, BUSY) else {}
                    self.looks.append(Look(began, f"web{number}{path}", answer.status, found))


def _of_health(body: bytes) -> dict[str, bool]:
    return {name: check["ok"] for name, check in json.loads(body).get("checks", {}).items()}


def _of_metrics(body: bytes) -> dict[str, bool]:
    return {name: value == "1.0" for name, value in CHECK.findall(body.decode())}


def judge(
    verdicts: Verdicts, disks: Disks, looks: Iterable[Look], operations: Sequence[Operation]
) -> None:
    """I36: while a disk is full, reads go on, the rest is done or gets 503, and the checks say what is wrong."""
    verdict = verdicts["I36"]
    looks = list(looks)
    for target in ORDER:
        if target not in disks.times:
            verdict.violate(f"the disk of the {target} was never full")
            continue
        since, until = disks.times[target]
        for one in operations:
            if one.begin < since or (one.end or one.begin) > until:
                continue
            verdict.checked += 1
            is_read = one.name in READS and target != WAL
            if one.status >= SERVER_ERROR and (is_read or one.status != BUSY):
                verdict.violate(
                    f"n={one.number} {one.name} answered {one.status}: no space for the {target}"
                )
        refused = WRITTEN_TO.get(target)
        if refused and not any(
            one.name == refused and one.status == BUSY and since < one.begin < until
            for one in operations
        ):
            verdict.violate(f"without space for the {target}, no {refused} was refused")
        if target in CHECKS:
            _judge_looks(verdict, target, since, until, looks)


def _judge_looks(
    verdict: Verdict, target: str, since: float, until: float, looks: list[Look]
) -> None:
    name = CHECKS[target]
    for look in looks:
        if name in look.checks and since + NOTICE_SECONDS < look.at < until - NOTICE_SECONDS:
            verdict.checked += 1
            if look.checks[name]:
                verdict.violate(f"{look.where} says that {name} works: no space for the {target}")
    last = {look.where: look.checks[name] for look in looks if name in look.checks}
    for where, works in last.items():
        if not works:
            verdict.violate(f"{where} says at the end that {name} does not work")


def pictures(verdicts: Verdicts, operations: Iterable[Operation], addresses: Sequence[str]) -> None:
    """I36: every picture whose upload was acknowledged can be read."""
    verdict, wire = verdicts["I36"], Wire(addresses)
    for one in operations:
        if one.name != "upload" or one.outcome != OK:
            continue
        verdict.checked += 1
        answer = wire.read(urlsplit(one.found).path, {})
        if answer.status != 200 or not answer.body:
            verdict.violate(
                f"n={one.number} the picture {one.found} answers {answer.status}", lost=1
            )


def told(disks: Disks, operations: Sequence[Operation]) -> list[str]:
    """The lines of the report: what happened to the operations while each disk was full."""
    found = []
    for target, (since, until) in disks.times.items():
        meanwhile = Counter(
            one.outcome if one.outcome == OK else str(one.status or "no answer")
            for one in operations
            if since < one.begin < one.end < until
        )
        acts = ", ".join(f"{number} {answer}" for answer, number in sorted(meanwhile.items()))
        found.append(f"no space for the {target} for {until - since:.1f} s; acts: {acts}")
    return found
