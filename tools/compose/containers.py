"""Containers without images: processes with a root directory, a network address and a host name of their own.

The root directory is the machine's with a layer of its own above it: a program sees what is installed here, and its
changes are gone when it ends. Volumes are bind mounts. This needs Linux and root. The tool itself runs in a network and
mount namespace of its own (`enter`), so nothing of this is visible outside, and everything ends with it.
"""

import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from runner.processes import Child, spawn

NETWORK = "10.77.0."
GATEWAY = f"{NETWORK}1"  # the machine itself, as containers see it
INSIDE = "FEEDSITE_COMPOSE_INSIDE"
STOP_SECONDS = 30.0
_ROOT = """
mount -t tmpfs tmpfs {place}
mkdir {place}/upper {place}/work {place}/root
mount -t overlay overlay -o lowerdir=/,upperdir={place}/upper,workdir={place}/work {place}/root
cd {place}/root
for folder in dev proc sys; do mount --rbind /$folder $folder; done
chmod 755 root  # of the layer: an interpreter may lie below it
hostname {name}
ip link set lo up
{mounts}
exec chroot --userspec={user} . /usr/bin/env --chdir={directory} -- {command}
"""


def enter() -> None:
    """Run this program again in namespaces of its own, unless it already does. Raises SystemExit without root."""
    if os.environ.get(INSIDE):
        return
    if sys.platform != "linux" or os.geteuid() != 0:
        raise SystemExit("This needs Linux and root, for namespaces. Nothing was run.")
    os.environ[INSIDE] = "1"
    command = ["unshare", "--net", "--mount", "--", *sys.orig_argv]
    os.execvp(command[0], command)  # noqa: S606 -- our own


class Network:
    """A bridge, and the addresses of its containers by name."""

    def __init__(self, names: Sequence[str], hosts: Path, others: Mapping[str, str]) -> None:
        """`others`: further names with their addresses, for the file `hosts`."""
        self.addresses = {name: f"{NETWORK}{number}" for number, name in enumerate(names, 2)}
        self.hosts = hosts
        lines = {"localhost": "127.0.0.1", **others, **self.addresses}
        hosts.write_text("".join(f"{address} {name}\n" for name, address in lines.items()))
        Path("/run/netns").mkdir(exist_ok=True)
        run("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
        run("mount", "--bind", hosts, "/etc/hosts")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "bridge", "type", "bridge")
        run("ip", "address", "add", f"{GATEWAY}/24", "dev", "bridge")
        run("ip", "link", "set", "bridge", "up")
        for number, (name, address) in enumerate(self.addresses.items()):
            run("ip", "netns", "add", name)
            run(
                "ip",
                "link",
                "add",
                f"v{number}",
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                name,
            )
            run("ip", "link", "set", f"v{number}", "master", "bridge", "up")
            run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            run("ip", "-n", name, "link", "set", "eth0", "up")
            run("ip", "-n", name, "route", "add", "default", "via", GATEWAY)


class Container:
    """One container; `start` after `stop` or `kill` begins with an empty layer, but with the same volumes."""

    def __init__(  # noqa: PLR0913 -- what an image and a service together say
        self,
        name: str,
        command: Sequence[str],
        *,
        place: Path,
        environment: Mapping[str, str],
        volumes: Mapping[str, Path],
        user: str = "0:0",
        directory: str = "/",
        is_on_host: bool = False,
    ) -> None:
        """`place`: a directory for its layer and log. `volumes`: paths in the container, and what is there."""
        self.name, self.command, self.place = name, list(command), place
        self.environment, self.volumes = environment, volumes
        self.user, self.directory, self.is_on_host = user, directory, is_on_host
        self.child: Child | None = None
        self._lock = threading.Lock()  # against a restart of what is being stopped
        (place / "layer").mkdir(parents=True)

    @property
    def log(self) -> Path:
        return self.place / "log"

    def start(self) -> None:
        mounts = [self._mount(target, source) for target, source in self.volumes.items()]
        script = _ROOT.format(
            place=shlex.quote(str(self.place / "layer")),
            name=self.name,
            mounts="\n".join(mounts),
            user=self.user,
            directory=shlex.quote(self.directory),
            command=shlex.join(self.command),
        )
        network = [] if self.is_on_host else ["ip", "netns", "exec", self.name]
        command = [*network, "unshare", "--mount", "--uts", "--", "sh", "-euc", script]
        self.child = spawn(self.name, command, log=self.log, environment=self.environment)

    def _mount(self, target: str, source: Path) -> str:
        place = shlex.quote(target.lstrip("/"))
        made = (
            f"mkdir -p {place}"
            if source.is_dir()
            else f"mkdir -p $(dirname {place}); touch {place}"
        )
        return f"{made}; mount --bind {shlex.quote(str(source))} {place}"

    @property
    def pid(self) -> int:
        if self.child is None:
            raise RuntimeError(f"{self.name} does not run")
        return self.child.pid

    def running(self) -> bool:
        return self.child is not None and self.child.running()

    def wait(self) -> int:
        """Wait for its end. Returns its exit status."""
        assert self.child is not None
        return int(self.child.popen.wait() or 0)

    def execute(
        self, command: Sequence[str], *, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside, as `docker compose exec`. Raises subprocess.TimeoutExpired."""
        uid, gid = self.user.split(":")
        inside = [
            "nsenter", "--target", str(self.pid), "--net", "--mount", "--uts", "--root",
            "--setuid", uid, "--setgid", gid, "--", "/usr/bin/env", f"--chdir={self.directory}", "--", *command,
        ]  # fmt: skip
        return subprocess.run(  # noqa: S603 -- the project's own commands
            inside, env=dict(self.environment), capture_output=True, text=True, check=False, timeout=timeout,
        )  # fmt: skip

    def stop(self) -> None:
        with self._lock:
            if self.child is not None:
                self.child.stop(STOP_SECONDS)
                self.child = None

    def kill(self) -> None:
        """SIGKILL, as when its machine is lost."""
        with self._lock:
            if self.child is not None:
                self.child.kill()
                self.child = None

    def restart_if_ended(self) -> bool:
        """Start it again if it has ended by itself. Returns whether it had."""
        with self._lock:
            if self.child is None or self.child.running():
                return False
            self.child.kill()  # what it has left behind
            self.start()
            return True


def run(*command: str | Path) -> None:
    """Run a command of the system. Raises RuntimeError if it fails."""
    done = subprocess.run(  # noqa: S603 -- our own
        list(map(str, command)), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{shlex.join(map(str, command))}: {done.stderr.strip()}")
