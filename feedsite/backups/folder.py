"""The folder of a backup.

backup.json       what the backup contains; written at the start, and again when the backup is complete
database.dump     the output of pg_dump, in its custom format
media/ private/   the files that the site serves, and private ones such as archives; missing if they are in a bucket
keys/             unless left out: a file for each key, in the form that SECRET_KEY_FILE and similar settings accept
SHA256SUMS        the checksums of all files except backup.json, in the format of `sha256sum --check`
"""

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils.crypto import salted_hmac

from feedsite import __version__
from feedsite.backups.progress import Advance

PROGRAM, FORMAT = "feedsite", 1
MANIFEST, SUMS, DUMP, KEYS = "backup.json", "SHA256SUMS", "database.dump", "keys"
KEY_SETTINGS = ("SECRET_KEY", "SECRET_KEY_FALLBACKS", "PAGE_SIGNING_KEY", "VAPID_PRIVATE_KEY")
BLOCK_BYTES = 1 << 20


def trees() -> dict[str, Path]:
    """The folders with this site's files, by their names in a backup; none if the files are in a bucket."""
    if settings.MEDIA_BUCKET:
        return {}
    return {"media": Path(settings.MEDIA_ROOT), "private": Path(settings.PRIVATE_ROOT)}


@dataclass(frozen=True)
class Backup:
    """A complete backup."""

    folder: Path
    manifest: dict[str, Any]

    @property
    def made_at(self) -> str:
        return str(self.manifest["ended_at"])[:16].replace("T", " ") + " UTC"

    @property
    def migrations(self) -> set[tuple[str, str]]:
        """The migrations applied to the backed-up database, as (app, name) pairs."""
        return {(app, name) for app, name in self.manifest["migrations"]}

    @property
    def dump(self) -> Path:
        return self.folder / DUMP

    def sums(self) -> dict[str, str]:
        """The SHA-256 of each file, by its path in the folder. Raises CommandError if the list itself was changed."""
        text = _read(self.folder / SUMS)
        if hashlib.sha256(text.encode()).hexdigest() != self.manifest["sums"]:
            raise CommandError(f"{self.folder / SUMS} was changed after the backup was made.")
        pairs = [line.partition("  ") for line in text.splitlines()]
        return {name: digest for digest, _spaces, name in pairs}

    def files_of(self, tree: str) -> Iterator[str]:
        """The paths, in the backup's folder, of all files in `media` or `private`."""
        return (name for name in self.sums() if name.startswith(f"{tree}/"))


def open_backup(folder: Path) -> Backup:
    """The backup in a folder. Raises CommandError if there is none, it is incomplete, or its format is newer."""
    if not folder.is_dir():
        raise CommandError(f"There is no folder {folder}.")
    if not (folder / MANIFEST).is_file():
        if found := backups_in(folder):
            newest = found[-1].folder
            raise CommandError(f"{folder} has {len(found)} backups: name one, such as {newest}.")
        raise CommandError(f"{folder} is not a backup of feedsite: it has no {MANIFEST}.")
    manifest: dict[str, Any] = {}
    try:
        manifest = json.loads(_read(folder / MANIFEST))
        is_ours = manifest["program"] == PROGRAM
        is_complete, number = manifest["is_complete"], int(manifest["format"])
    except (ValueError, KeyError, TypeError):
        is_ours, is_complete, number = False, False, 0
    if not is_ours:
        raise CommandError(
            f"{folder} is not a backup of feedsite: its {MANIFEST} has another format."
        )
    if number > FORMAT:
        raise CommandError(
            f"{folder} was made by feedsite {manifest['version']}, which is newer than this {__version__}."
        )
    if not is_complete:
        raise CommandError(
            f"{folder} is an interrupted backup, and incomplete. Use another one, and remove the folder."
        )
    return Backup(folder, manifest)


def backups_in(folder: Path) -> list[Backup]:
    """The complete backups in the subfolders of a folder, oldest first."""
    found = []
    for manifest in sorted(folder.glob(f"*/{MANIFEST}")):
        try:
            found.append(open_backup(manifest.parent))
        except CommandError:
            continue  # interrupted, unreadable, or made by newer or other software
    return sorted(found, key=lambda backup: str(backup.manifest["ended_at"]))


def interrupted_in(folder: Path, *, before: datetime) -> list[Path]:
    """The incomplete backups that were begun before a time, in the subfolders of a folder."""
    found = []
    for file in folder.glob(f"*/{MANIFEST}"):
        try:
            manifest = json.loads(file.read_text())
            is_one = manifest["program"] == PROGRAM and not manifest["is_complete"]
            if is_one and datetime.fromisoformat(manifest["began_at"]) < before:
                found.append(file.parent)
        except (OSError, ValueError, KeyError, TypeError):
            continue  # made by other software
    return found


def verify_sums(backup: Backup, advance: Advance) -> None:
    """Read all files. Raises CommandError if files are missing or were changed."""
    wrong = []
    for name, digest in backup.sums().items():
        file = _inside(backup.folder, name)
        if not file.is_file() or digest_of(file, advance) != digest:
            wrong.append(name)
    if wrong:
        raise CommandError(
            f"{len(wrong)} files of the backup {backup.folder} are missing or were changed after it was made,"
            f" such as {wrong[0]}. Nothing was restored."
        )


def size_of(backup: Backup) -> int:
    files = sum(one["bytes"] for one in backup.manifest["files"].values())
    return int(files + backup.manifest["database_bytes"])


def put_back(backup: Backup, tree: str, root: Path, advance: Advance) -> int:
    """Copy the files of `media` or `private` that the site lacks or has in another size. Returns their number.

    Files that are not in the backup are not deleted, but no row of the restored database refers to them.
    """
    number = 0
    for name in backup.files_of(tree):
        source = _inside(backup.folder, name)
        target = _inside(root, name.removeprefix(f"{tree}/"))
        size = source.stat().st_size
        if not target.is_file() or target.stat().st_size != size:
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_name(f".{target.name}.restored")
            copy(source, unfinished)
            unfinished.replace(target)
            number += 1
        advance(size)
    return number


def fingerprints() -> dict[str, str]:
    """A fingerprint of each key of this site, except the fallbacks. It identifies the key without revealing it."""
    return {
        name: _fingerprint(getattr(settings, name))
        for name in ("SECRET_KEY", "PAGE_SIGNING_KEY", "VAPID_PRIVATE_KEY")
    }


def other_keys(backup: Backup) -> list[str]:
    """The settings whose keys differ from the backup's, except SECRET_KEY if the backup's key is a fallback now."""
    now, then = fingerprints(), backup.manifest["keys"]
    fallbacks = {_fingerprint(key) for key in settings.SECRET_KEY_FALLBACKS}
    return [
        name
        for name, fingerprint in now.items()
        if fingerprint != then[name] and not (name == "SECRET_KEY" and then[name] in fallbacks)
    ]


def _fingerprint(key: str) -> str:
    return salted_hmac("feedsite.backups", "", secret=key, algorithm="sha256").hexdigest()


@dataclass
class NewBackup:
    """A backup that is being written to an empty folder. Files that `earlier` also has are linked to its copies."""

    folder: Path
    earlier: Backup | None = None
    sums: dict[str, str] = field(default_factory=dict)
    began_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        self._earlier_sums = self.earlier.sums() if self.earlier else {}

    def begin(self) -> None:
        """Create the folder. Raises CommandError if it is not empty, because nothing is overwritten."""
        if self.folder.exists() and any(self.folder.iterdir()):
            raise CommandError(_occupied(self.folder))
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._write_manifest({"is_complete": False})

    def add_tree(self, tree: str, root: Path, advance: Advance = lambda _number: None) -> None:
        """Add the files that are not yet in the backup. A second call adds files that are new or have grown since."""
        for file in _files_below(root):
            self._add(file, f"{tree}/{file.relative_to(root).as_posix()}", advance)

    def _add(self, file: Path, name: str, advance: Advance) -> None:
        target = self.folder / name
        try:
            size = file.stat().st_size
            if target.exists() and target.stat().st_size == size:
                return
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)  # the file was still growing at the first call
            self.sums[name] = self._linked(name, size, target) or copy(file, target)
        except FileNotFoundError:  # deleted meanwhile
            return
        advance(size)

    def _linked(self, name: str, size: int, target: Path) -> str:
        """Link to the file of the earlier backup, if it has one of this size: stored files never change.

        Returns the checksum, or "" if the file must be copied.
        """
        if self.earlier is None or name not in self._earlier_sums:
            return ""
        try:
            if (self.earlier.folder / name).stat().st_size != size:
                return ""
            os.link(self.earlier.folder / name, target)
        except OSError:  # the earlier file is gone, or the file system refuses links
            return ""
        return self._earlier_sums[name]

    def add_keys(self) -> None:
        (self.folder / KEYS).mkdir(mode=0o700)
        for name in KEY_SETTINGS:
            value = getattr(settings, name)
            if text := value if isinstance(value, str) else ",".join(value):
                file = self.folder / KEYS / name.lower()
                file.touch(mode=0o600)
                file.write_text(text)
                self.sums[f"{KEYS}/{file.name}"] = digest_of(file)

    def complete(self, *, migrations: Collection[tuple[str, str]], server: str) -> Backup:
        """Write the list of files, and mark the backup as complete."""
        text = "".join(f"{digest}  {name}\n" for name, digest in sorted(self.sums.items()))
        (self.folder / SUMS).write_text(text)
        os.sync()  # before the backup is marked as complete
        self._write_manifest({
            "is_complete": True,
            "ended_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "postgresql": server,
            "migrations": sorted(migrations),
            "database_bytes": (self.folder / DUMP).stat().st_size,
            "files": {tree: self._tally(tree) for tree in trees()},
            "bucket": settings.MEDIA_BUCKET,
            "keys": fingerprints(),
            "has_keys": (self.folder / KEYS).is_dir(),
            "sums": hashlib.sha256(text.encode()).hexdigest(),
        })  # fmt: skip
        return open_backup(self.folder)

    def _tally(self, tree: str) -> dict[str, int]:
        names = [name for name in self.sums if name.startswith(f"{tree}/")]
        total = sum((self.folder / name).stat().st_size for name in names)
        return {"number": len(names), "bytes": total}

    def _write_manifest(self, content: dict[str, Any]) -> None:
        head = {
            "program": PROGRAM, "format": FORMAT, "version": __version__, "site": settings.SITE_URL,
            "began_at": self.began_at.isoformat(timespec="seconds"),
        }  # fmt: skip
        unfinished = self.folder / f".{MANIFEST}"
        unfinished.write_text(json.dumps({**head, **content}, indent=2) + "\n")
        unfinished.replace(self.folder / MANIFEST)


def _occupied(folder: Path) -> str:
    try:
        made_at = open_backup(folder).made_at
    except CommandError:
        return f"{folder} is not empty: name a new folder, so that nothing in it is overwritten."
    return f"{folder} has a backup of {made_at} already: name a new folder."


def copy(source: Path, target: Path, advance: Advance = lambda _number: None) -> str:
    """Copy a file. Returns its SHA-256."""
    with source.open("rb") as file:
        return write(target, lambda: file.read(BLOCK_BYTES), advance)


def write(target: Path, read: Callable[[], bytes], advance: Advance) -> str:
    """Write everything that `read` returns, until it returns nothing. Returns the SHA-256."""
    digest = hashlib.sha256()
    with target.open("wb") as file:
        while block := read():
            file.write(block)
            digest.update(block)
            advance(len(block))
    return digest.hexdigest()


def digest_of(file: Path, advance: Advance = lambda _number: None) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(BLOCK_BYTES):
            digest.update(block)
            advance(len(block))
    return digest.hexdigest()


def bytes_below(root: Path) -> int:
    """The size of all files in a folder; files that are deleted during the count are ignored."""
    total = 0
    for file in _files_below(root):
        try:
            total += file.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _files_below(root: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(root):
        names.sort()
        yield from (Path(folder) / name for name in sorted(files))


def _inside(folder: Path, name: str) -> Path:
    """The path of a file in a folder. Raises CommandError if it is outside: anybody may have written the list."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        raise CommandError(f"The backup names a file outside of its folder: {name}.")
    return folder / path


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}.") from None
