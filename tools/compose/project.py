"""The services of docker-compose.yml as containers, started in their order and checked as the file says."""

import base64
import grp
import json
import os
import pwd
import re
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from runner.checkout import ROOT
from runner.environment import UNCOMPRESSED
from runner.processes import Child, spawn
from tools.compose import file
from tools.compose.containers import GATEWAY, Container, Network
from tools.compose.engines import engines, replica
from tools.compose.file import Service

DOMAIN = "feed.example.org"  # as in the examples and deploy/nginx.conf
SITE_USER = "10001:10001"  # as in the Dockerfile
PATHS = (
    f"{Path(sys.executable).parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)
RESTART_SECONDS = 2.0  # until a service that has ended is started again
START_SECONDS = 240.0  # for a healthy service, on a busy machine
_OF_SITE = {  # ENV in the Dockerfile
   
    "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1",
    "STATIC_ROOT": "/app/collected", "MEDIA_ROOT": "/data/media",
}  # fmt: skip
_OF_RABBITMQ = {"HOME": "/var/lib/rabbitmq", "RABBITMQ_NODENAME": "rabbit@localhost"}
# What the entry point of the official image does before it starts the server.
_POSTGRES_ENTRY = """
if [ "$1" = postgres ] && [ ! -s $PGDATA/PG_VERSION ]; then
    printf %s "$POSTGRES_PASSWORD" > /tmp/password
    initdb --username="$POSTGRES_USER" --pwfile=/tmp/password $POSTGRES_INITDB_ARGS
    echo "listen_addresses = '*'" >> $PGDATA/postgresql.conf
    pg_ctl --wait start -o "-c listen_addresses="
    createdb --username="$POSTGRES_USER" --maintenance-db=postgres "$POSTGRES_DB" || true
    pg_ctl --wait stop
    echo "host all all all scram-sha-256" >> $PGDATA/pg_hba.conf
    echo "host replication all all scram-sha-256" >> $PGDATA/pg_hba.conf  # as docs/deployment.md says, for replicas
fi
exec "$@"
"""
# The main file of the official image, which includes the one of the site.
_NGINX = """
worker_processes auto;
error_log /var/log/nginx/error.log notice;
pid /run/nginx.pid;
events { worker_connections 1024; }
http {
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    access_log off;
    sendfile on;
    keepalive_timeout 65;
    include /etc/nginx/conf.d/default.conf;
}
"""


class ServiceFailed(Exception):
    """A service ended, or did not become healthy."""


@dataclass
class Project:
    """A running project. `env`: the variables of its .env. `restarted`: services that ended by themselves."""

    directory: Path
    env: dict[str, str]
    services: dict[str, Service]
    network: Network
    containers: dict[str, Container] = field(default_factory=dict)
    certificate: Path = Path()
    forwarders: list[Child] = field(default_factory=list)
    restarted: list[str] = field(default_factory=list)
    _healthy: set[str] = field(default_factory=set)
    _is_stopping: threading.Event = field(default_factory=threading.Event)

    def start(self, name: str) -> None:
        """Start a service that does not run, and wait until it is healthy, or has ended if it is to end."""
        container = self.containers[name]
        container.start()
        service = self.services[name]
        if service.get("restart") == "no":
            if status := container.wait():
                raise ServiceFailed(f"{name} ended with {status}: {_tail(container.log)}")
            return
        for published in service.get("ports", ()):
            self._forward(name, published)
        self.wait_until_healthy(name)
        self._healthy.add(name)

    def restart_ended(self) -> None:
        """Start services again that have ended by themselves, as `restart: unless-stopped` says, until `stop`."""
        while not self._is_stopping.wait(RESTART_SECONDS):
            for name in list(self._healthy):
                if self.containers[name].restart_if_ended():
                    self.restarted.append(name)

    def wait_until_healthy(self, name: str) -> None:
        """Run the service's own health check until it passes. Raises ServiceFailed."""
        container, end = self.containers[name], time.monotonic() + START_SECONDS
        while not self.is_healthy(name):
            if not container.running():
                raise ServiceFailed(f"{name} has ended: {_tail(container.log)}")
            if time.monotonic() > end:
                raise ServiceFailed(f"{name} is not healthy: {_tail(container.log)}")
            time.sleep(0.5)

    def is_healthy(self, name: str) -> bool:
        """The result of one run of a service's health check; True for a service without one."""
        check = self.services[name].get("healthcheck")
        if check is None:
            return self.containers[name].running()
        kind, *words = check["test"]
        command = ["/bin/sh", "-c", *words] if kind == "CMD-SHELL" else words
        try:
            done = self.containers[name].execute(command, timeout=file.seconds(check["timeout"]))
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def manage(self, *words: str) -> str:
        """The output of `docker compose exec web python manage.py ...`. Raises ServiceFailed."""
        done = self.containers["web"].execute(["python", "manage.py", *words], timeout=120)
        if done.returncode:
            raise ServiceFailed(f"manage.py {' '.join(words)}: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def run(self, name: str) -> None:
        """`docker compose run` for a service that ends by itself. Raises ServiceFailed."""
        self.start(name)

    def stop(self) -> None:
        self._is_stopping.set()
        for forwarder in self.forwarders:
            forwarder.stop(2)
        for container in reversed(self.containers.values()):
            container.stop()

    def _forward(self, name: str, published: str) -> None:
        """Publish a port on the host, as Docker's proxy does."""
        host, outside, inside = published.split(":")
        listen = f"TCP-LISTEN:{outside},bind={host},fork,reuseaddr"
        command = ["socat", listen, f"TCP:{self.network.addresses[name]}:{inside}"]
        if not any(one.name == f"port {outside}" for one in self.forwarders):
            log = self.directory / "ports.log"
            self.forwarders.append(spawn(f"port {outside}", command, log=log))


@contextmanager
def project(
    directory: Path, profile: str, *, with_engines: bool = False, with_replica: bool = False
) -> Iterator[Project]:
    """The containers of a profile with proxy and backup, none of them started; perhaps with more of `engines`."""
    env = make_env(profile, directory)
    found: dict[str, Service] = {}
    if with_engines:
        settings, found = engines(env, directory)
        env |= settings
    if with_replica:
        settings, services = replica(env)
        env |= settings
        found |= services
    found |= file.services(env, profile, "proxy", "backup")
    order = file.in_order(found)
    network = Network(order, directory / "hosts", {"mail": GATEWAY, DOMAIN: "127.0.0.1"})
    made = Project(directory, env, {name: found[name] for name in order}, network)
    made.certificate = _certificate(directory)
    app = _app(directory, env)
    for name in order:
        made.containers[name] = _container(made, name, app)
    restarts = threading.Thread(target=made.restart_ended, daemon=True)
    restarts.start()
    try:
        yield made
    finally:
        made.stop()
        restarts.join()


def make_env(profile: str, directory: Path) -> dict[str, str]:
    """The .env of an operator who has followed the comments of the example."""
    password = secrets.token_urlsafe(16)
    key = secrets.token_bytes(32)
    given = file.example(profile) | {
        "SECRET_KEY": secrets.token_urlsafe(50),
        "POSTGRES_PASSWORD": password,
        "PAGE_SIGNING_KEY": base64.b64encode(key).decode(),
        "VAPID_PRIVATE_KEY": base64.urlsafe_b64encode(key).decode(),
        "EMAIL_URL": "smtp://mail:25",
        "METRICS_TOKEN": secrets.token_urlsafe(32),
        # a busy machine is not a dead server
        "REDIS_TIMEOUT_SECONDS": "5",
        "MEMCACHED_TIMEOUT_SECONDS": "2",
        "REQUEST_BUDGET_SECONDS": "10",
        "SLO_HOME_SECONDS": "2",
        # one failure among the few hundred requests of a trial is within the budget
        "SLO_AVAILABILITY": "0.99",
        "COMPOSE_PROFILES": f"{profile},proxy",
        "MEDIA_ACCEL_URL": "/_media/",
        "BACKUPS": str(directory / "backups"),
        "CERTIFICATES": str(directory / "letsencrypt"),
        "ACME": str(directory / "acme"),
    }
    return {name: value.replace("replace-me", password) for name, value in given.items()}


def _certificate(directory: Path) -> Path:
    """A self-signed certificate where certbot would put it. Returns its file."""
    live = directory / "letsencrypt" / "live" / DOMAIN
    live.mkdir(parents=True)
    signed = live / "fullchain.pem"
    subprocess.run(  # noqa: S603 -- our own
        ["/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", f"/CN={DOMAIN}", "-addext", f"subjectAltName=DNS:{DOMAIN}",
         "-keyout", str(live / "privkey.pem"), "-out", str(signed)],
        check=True, capture_output=True,
    )  # fmt: skip
    return signed


def _app(directory: Path, env: Mapping[str, str]) -> Path:
    """What the Dockerfile copies to /app, and the static files; they are not compressed, because that takes minutes."""
    app = directory / "app"
    app.mkdir()
    for line in (ROOT / "Dockerfile").read_text().splitlines():
        if line.startswith("COPY ") and "requirements" not in line:
            *sources, target = line.split()[1:]
            for source in sources:
                place = app / target / (Path(source).name if len(sources) > 1 else "")
                place.parent.mkdir(parents=True, exist_ok=True)
                if (ROOT / source).is_dir():
                    shutil.copytree(
                        ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__")
                    )
                else:
                    shutil.copy(ROOT / source, place)
    collected = {**env, "STATIC_ROOT": str(app / "collected"), "STATICFILES_BACKEND": UNCOMPRESSED}
    command = [sys.executable, "manage.py", "collectstatic", "--noinput", "-v0"]
    subprocess.run(command, cwd=app, env=collected, check=True)  # noqa: S603 -- as in the Dockerfile
    subprocess.run(["chown", "-R", SITE_USER, str(app)], check=True)  # noqa: S603, S607 -- a constant
    return app


def _container(made: Project, name: str, app: Path) -> Container:
    service = made.services[name]
    user = _user(service["image"].partition(":")[0])
    image = _image_of(made, name, user, app)
    return Container(
        name,
        image.command,
        place=made.directory / "containers" / name,
        environment={
            "PATH": PATHS,
            "LANG": "C.UTF-8",
            **service.get("environment", {}),
            **image.environment,
        },
        volumes={
            "/etc/hosts": made.network.hosts,
            **image.volumes,
            **_volumes(made, service, user),
        },
        user=user,
        directory=image.directory,
        is_on_host=service.get("network_mode") == "host",
    )


class _Image(NamedTuple):
    """What an image adds to a service."""

    command: list[str]
    environment: Mapping[str, str] = {}
    volumes: Mapping[str, Path] = {}
    directory: str = "/"


def _image_of(made: Project, name: str, user: str, app: Path) -> _Image:
    service = made.services[name]
    command = service.get("command", [])
    own = (
        made.directory / f"{name}-data"
    )  # if the image declares a volume that the service does not name
    match service["image"].partition(":")[0]:
        case "feedsite":
            places = {"/app": app, "/data/beat": _owned(made.directory / "schedule", user)}
            image = _Image(command or _default_command(), _OF_SITE | made.env, places, "/app")
        case "postgres":
            programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
            entry = ["sh", "-ec", _POSTGRES_ENTRY, "entry", *command]
            variables = {"PATH": f"{programs}:{PATHS}", "PGDATA": "/var/lib/postgresql/data"}
            image = _Image(entry, variables, {"/run/postgresql": _owned(own, user)})
        case "pgbouncer":
            image = _Image(command, {}, {"/run/postgresql": _owned(own, user)})
        case "rabbitmq":
            image = _Image(command, _OF_RABBITMQ)
        case "redis":  # the image is built without protected mode
            command = [*command, "--protected-mode", "no"]
            image = _Image(command, {}, {"/data": _owned(own, user)}, "/data")
        case "nginx":
            main = made.directory / "nginx.conf"
            main.write_text(_NGINX)
            image = _Image(command, {}, {"/etc/nginx/nginx.conf": main})
        case _:
            image = _Image(command)
    return image


def _user(program: str) -> str:
    """The user of an image: the numbers of Debian's user, or of the Dockerfile's. Raises ServiceFailed."""
    if program == "feedsite":
        return SITE_USER
    if program == "nginx":
        return "0:0"  # it gives root up itself
    name = {"memcached": "memcache", "pgbouncer": "postgres"}.get(program, program)
    try:
        return f"{pwd.getpwnam(name).pw_uid}:{grp.getgrnam(name).gr_gid}"
    except KeyError:
        raise ServiceFailed(f"there is no user {name}: install {program}") from None


def _volumes(made: Project, service: Service, user: str) -> dict[str, Path]:
    """The volumes of a service; a named volume belongs to the user of the image that uses it first."""
    found = {}
    for text in service.get("volumes", ()):
        source, target, *_read_only = text.split(":")
        if source.startswith("./deploy"):
            found[target] = ROOT / source
        elif source.startswith("/"):
            place = Path(source)
            found[target] = place if place.exists() else _owned(place, user)
        else:
            found[target] = _owned(made.directory / "volumes" / source, user)
    return found


def _owned(place: Path, user: str) -> Path:
    """A directory that belongs to a user; made if it is missing."""
    place.mkdir(parents=True, exist_ok=True)
    uid, gid = map(int, user.split(":"))
    os.chown(place, uid, gid)
    return place


def _default_command() -> list[str]:
    [found] = re.findall(r"^CMD (.*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    command: list[str] = json.loads(found)
    return command


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-2500:]
