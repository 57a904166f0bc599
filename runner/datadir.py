"""The data directory of a site: its files, a lock, and a marker that shows that the launcher created it."""

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import socket
import stat
import tempfile
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from runner import identity
from runner.terminal import LaunchError

MARKER = ".feedsite"
NAMES = frozenset({
    MARKER, "lock", "site.json", "environment.json", "secret_key", "page_signing_key", "vapid_private_key", "demo",
    "static-stamp", "postgres", "postgres.new", "redis", "memcached", "sockets", "static", "media", "beat", "log",
})  # fmt: skip
# The path of a Unix socket is limited to 103 bytes on macOS, 107 on Linux; PostgreSQL adds 18 bytes to the directory.
SOCKET_DIR_LIMIT = 80
NEEDED_FREE_BYTES = 200 * 1024 * 1024


@dataclass(frozen=True)
class Holder:
    """The process that uses a data directory: a running site, a `manage` command, or a `reset`."""

    pid: int
    started: str
    what: str
    url: str = ""
    ready: bool = False


class DataDir:
    """Paths and files of a data directory. Nothing is created before `prepare`."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()
        self.postgres = self.path / "postgres"
        self.redis = self.path / "redis"
        self.memcached = self.path / "memcached"
        self.static = self.path / "static"
        self.media = self.path / "media"
        self.beat = self.path / "beat"
        self.log = self.path / "log"
        self._lock: int | None = None

    def is_ours(self) -> bool:
        return (self.path / MARKER).is_file()

    def prepare(self) -> None:
        """Create missing directories. LaunchError if the data directory is not ours or not writable, or lacks space."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            foreign = (
                []
                if self.is_ours()
                else [e.name for e in self.path.iterdir() if e.name not in NAMES]
            )
            if foreign:
                raise LaunchError(
                    f"{self.path} holds other files ({foreign[0]}); choose another --data-dir."
                )
            self._check_space()
            (self.path / MARKER).write_text("Made by feedsite's ./run; ./run reset removes it.\n")
            for directory in (self.media, self.beat, self.log):
                directory.mkdir(exist_ok=True)
        except OSError as error:
            raise LaunchError(
                f"Cannot use the data directory {self.path}: {error.strerror}; choose another --data-dir."
            ) from None

    def _check_space(self) -> None:
        free = shutil.disk_usage(self.path).free
        if free < NEEDED_FREE_BYTES:
            needed, left = NEEDED_FREE_BYTES >> 20, free >> 20
            raise LaunchError(
                f"The disk of {self.path} is full: {left} MB free, {needed} MB needed."
            )

    def secret_key(self) -> str:
        """The secret key, created on first use, and readable by its owner only."""
        return self._secret("secret_key", secrets.token_urlsafe(50))

    def page_signing_key(self) -> str:
        """Like `secret_key`, for the Ed25519 key that signs pages: 32 bytes in base64, as the settings expect."""
        return self._secret("page_signing_key", b64encode(secrets.token_bytes(32)).decode())

    def vapid_private_key(self) -> str:
        """Like `secret_key`, for the VAPID key that signs push messages to devices: 32 bytes in base64url."""
        return self._secret(
            "vapid_private_key", urlsafe_b64encode(secrets.token_bytes(32)).decode()
        )

    def _secret(self, name: str, new: str) -> str:
        file = self.path / name
        if not file.exists():
            write_private(file, new)
        return file.read_text().strip()

    def socket_dir(self) -> Path:
        """A private directory for Unix sockets: in the data directory, or a short path if that does not work."""
        inside = self.path / "sockets"
        if len(os.fsencode(inside)) <= SOCKET_DIR_LIMIT and _sockets_work(inside):
            return inside
        outside = self._short_socket_dir()
        outside.mkdir(mode=0o700, exist_ok=True)
        status = outside.lstat()
        if (
            not stat.S_ISDIR(status.st_mode)
            or status.st_uid != os.geteuid()
            or status.st_mode & 0o077
        ):
            raise LaunchError(
                f"{outside} belongs to somebody else; choose a --data-dir with a shorter path."
            )
        return outside

    def _short_socket_dir(self) -> Path:
        name = f"feedsite-{os.geteuid()}-{hashlib.sha256(os.fsencode(self.path)).hexdigest()[:10]}"
        path = Path(tempfile.gettempdir()) / name
        return path if len(os.fsencode(path)) <= SOCKET_DIR_LIMIT else Path("/tmp") / name  # noqa: S108 -- `socket_dir` checks owner and mode

    def holder(self) -> Holder | None:
        """The process that holds the lock now, regardless of stale files; None if there is none."""
        try:
            descriptor = os.open(self.path / "lock", os.O_RDWR)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return self._recorded_holder()
        finally:
            os.close(descriptor)
        return None

    def _recorded_holder(self) -> Holder:
        """The holder according to its own record; without a valid record, a site that is still starting."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            note = Holder(**json.loads((self.path / "site.json").read_text()))
            if identity.alive(note.pid, note.started):
                return note
        return Holder(pid=0, started="", what="site")

    @contextmanager
    def held(self, what: str) -> Iterator[None]:
        """Hold the lock for this process ("site", "manage" or "reset"). LaunchError if another process holds it."""
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise LaunchError(in_use(self._recorded_holder(), self.path)) from None
        try:
            self.note(what)
            yield
        finally:
            for name in ("site.json", "environment.json"):
                (self.path / name).unlink(missing_ok=True)
            os.close(descriptor)

    def note(self, what: str, *, url: str = "", ready: bool = False) -> None:
        """Record the holder, its start time, and the URL of the site."""
        holder = Holder(os.getpid(), identity.start_time(os.getpid()), what, url, ready)
        write_private(self.path / "site.json", json.dumps(asdict(holder)))

    def save_environment(self, environment: dict[str, str]) -> None:
        """Save the site's settings for `manage` commands that join it. The file is private: it contains secrets."""
        write_private(self.path / "environment.json", json.dumps(environment, indent=1))

    def saved_environment(self) -> dict[str, str]:
        """The settings of the running site; {} while it is starting."""
        try:
            saved: dict[str, str] = json.loads((self.path / "environment.json").read_text())
        except (OSError, ValueError):
            return {}
        return saved

    def remove(self) -> None:
        """Delete everything that the launcher created, and the directory if it is then empty.

        LaunchError if the launcher did not create the directory.
        """
        if not self.is_ours():
            raise LaunchError(f"{self.path} was not made by feedsite; nothing is deleted.")
        shutil.rmtree(self._short_socket_dir(), ignore_errors=True)
        for name in sorted(NAMES - {MARKER, "lock"}):
            _delete(self.path / name)
            # left by a `write_private` that was killed
            for unfinished in self.path.glob(f".{name}-*"):
                _delete(unfinished)
        _delete(self.path / MARKER)
        _delete(self.path / "lock")  # last: the caller holds it
        with contextlib.suppress(OSError):
            self.path.rmdir()


def in_use(holder: Holder, path: Path) -> str:
    if holder.what == "manage":
        return f"A ./run manage command (pid {holder.pid}) is using {path}; wait for it, or start the site with ./run."
    if holder.what == "reset":
        return f"{path} is being deleted by ./run reset (pid {holder.pid})."
    if holder.url:
        return f"feedsite is already running (pid {holder.pid}) at {holder.url}"
    return f"feedsite is already starting with {path}" + (
        f" (pid {holder.pid})" if holder.pid else ""
    )


def write_private(file: Path, text: str) -> None:
    """Replace a file atomically by one that only its owner can read."""
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    with os.fdopen(descriptor, "w") as output:
        output.write(text)
    Path(name).replace(file)


def _delete(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def _sockets_work(directory: Path) -> bool:
    """Whether sockets can be created here: some shared and network file systems do not support them."""
    probe = directory / f"probe-{os.getpid()}"
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        with socket.socket(socket.AF_UNIX) as attempt:
            attempt.bind(str(probe))
        probe.unlink()
    except OSError:
        return False
    return True
