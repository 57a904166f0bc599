"""The checkout of an older commit, whose processes run at the same time as those of this one (`--upgrade`)."""

import json
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.checkout import ROOT
from runner.terminal import LaunchError

MAKE_WORLD = """
import dataclasses, json, sys
import django
django.setup()
from tools.drill.world import make_world
world = make_world(int(sys.argv[1]), people=int(sys.argv[2]), crowd=int(sys.argv[3]))
json.dump(dataclasses.asdict(world), sys.stdout, default=list)
"""


class OlderCode:
    """The checkout of a commit, in a separate folder. LaunchError for a commit that does not exist."""

    def __init__(self, commit: str, place: Path) -> None:
        self.commit = (
            _git("rev-parse", "--short", "--verify", f"{commit}^{{commit}}").decode().strip()
        )
        self.root = place
        place.mkdir(parents=True)
        archive = place.with_suffix(".tar")
        archive.write_bytes(_git("archive", self.commit))
        with tarfile.open(archive) as packed:
            packed.extractall(place, filter="data")
        archive.unlink()

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The environment in which processes run the older code, with separate static files."""
        return {
            **environment,
            "PYTHONPATH": str(self.root),
            "STATIC_ROOT": str(self.root / "var" / "static"),
        }

    def command(self, command: Sequence[str]) -> list[str]:
        """The command with the programs of the older code; the interpreter stays this checkout's."""
        interpreter, *rest = command
        return [interpreter, *(part.replace(f"{ROOT}/", f"{self.root}/") for part in rest)]

    def set_up(self, environment: Mapping[str, str]) -> None:
        """Make the tables and collect the static files."""
        for command in (
            ["migrate", "--verbosity", "0"],
            ["collectstatic", "--noinput", "--verbosity", "0"],
        ):
            self._run([str(self.root / "manage.py"), *command], environment)

    def make_world(
        self, seed: int, *, people: int, crowd: int, environment: Mapping[str, str]
    ) -> Any:
        """People made by the older code, because its tables are in the database; `world.world_of` reads the result."""
        made = self._run(["-c", MAKE_WORLD, str(seed), str(people), str(crowd)], environment)
        return json.loads(made.splitlines()[-1])

    def _run(self, arguments: Sequence[str], environment: Mapping[str, str]) -> bytes:
        done = subprocess.run(  # noqa: S603 -- our own
            [sys.executable, "-P", *arguments],
            env=self.environment(environment),
            cwd=self.root,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            text = done.stderr.decode(errors="replace").strip().splitlines() or ["no output"]
            raise LaunchError(f"{self.commit}: {' '.join(arguments)[:80]}: {text[-1]}")
        return done.stdout


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)  # noqa: S603, S607 -- the git of the PATH
    if done.returncode:
        raise LaunchError(f"git {' '.join(arguments)}: {done.stderr.decode().strip()}")
    return done.stdout
