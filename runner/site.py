"""`./run`: start everything in order, keep it running, stop it in reverse order."""

import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from socket import socket

from runner import dev, preparation, programs
from runner.datadir import DataDir, in_use
from runner.environment import site_environment, to_save
from runner.forkserver import ForkServer
from runner.leftovers import end_leftovers
from runner.ports import answers, hold_free_port, hold_port, site_address
from runner.processes import MARK, Child, spawn
from runner.services.binaries import install_command
from runner.services.group import plan_services
from runner.services.service import Service
from runner.signals import StopRequested, on_second_interrupt, raise_on_stop_signals
from runner.supervisor import Supervisor, Unit
from runner.terminal import LaunchError, complain, say

READY_SECONDS = 60
SERVICE_STOP_SECONDS = 15
WEB_STOP_SECONDS = 10
# after this time, running tasks are killed; their messages are delivered again, because they were not acknowledged
WORKER_STOP_SECONDS = 12
BEAT_STOP_SECONDS = 5
STREAMING_STOP_SECONDS = 10
STREAMING_OFFSET = 100
VITAL = {"PostgreSQL", "web"}  # the site still works without the others
VITAL_IN_DEVELOPMENT = {"PostgreSQL"}  # the next edit may fix the others
DEVELOPMENT_STOP_SECONDS = 4
DEMO_LOGINS = "alice, bob, carol, admin"
DEMO_PASSWORD = "rill-demo"  # noqa: S105 -- printed for everybody to use


@dataclass(frozen=True)
class ServeOptions:
    """The options of `./run`."""

    host: str = "127.0.0.1"
    port: int = 8000
    demo: str | None = None  # None: the small demo for new data; existing data stays unchanged
    workers: int = 2
    streaming_port: int | None = None  # None: the first free port from `port` + 100 on
    in_development: bool = False  # `./run dev`


def serve(data: DataDir, options: ServeOptions) -> int:
    """Run the site until it is stopped. LaunchError if it cannot run."""
    with ExitStack() as held:
        ports = _hold_ports(data, options, held)
        data.prepare()
        held.enter_context(data.held("site"))
        site = _Site(data, options, ports)
        raise_on_stop_signals()
        try:
            site.start()
            site.run()
        except StopRequested:
            say("\nStopping ...")
        finally:
            on_second_interrupt(site.kill)
            site.stop()
    return 0


@dataclass(frozen=True)
class _Ports:
    """The listening sockets of the site, which the launcher holds from before the start until the stop."""

    web: socket
    streaming: socket


def _hold_ports(data: DataDir, options: ServeOptions, held: ExitStack) -> _Ports:
    """Bind the ports before anything starts; if the same site is running, the error says so."""
    holder = data.holder()
    if holder is not None:
        raise LaunchError(in_use(holder, data.path))
    web = held.enter_context(hold_port(options.host, options.port))
    if options.streaming_port is None:
        streaming = hold_free_port(options.host, options.port + STREAMING_OFFSET)
    else:
        streaming = hold_port(options.host, options.streaming_port)
    return _Ports(web, held.enter_context(streaming))


class _Site:
    def __init__(self, data: DataDir, options: ServeOptions, ports: _Ports) -> None:
        self.data = data
        self.options = options
        self.ports = ports
        self.url = site_address(options.host, options.port)
        self.supervisor = Supervisor([])
        self.environment: dict[str, str] = {}
        self.fork_server: ForkServer | None = None
        self.own: list[Unit] = []

    def start(self) -> None:
        """Start the servers, migrate, start the processes, and print the URLs."""
        end_leftovers(self.data)
        self.data.note("site", url=self.url)
        self._start_servers()
        say("Updating the database tables")
        preparation.migrate(self.data, self.environment)
        if not self.options.in_development:  # in development they are served from their sources
            preparation.collect_static(self.data, self.environment)
        self.data.save_environment(to_save(self.environment))
        has_demo = preparation.seed(self.data, self.environment, self.options.demo)
        self.environment["DEMO"] = str(int(has_demo))
        self.fork_server = self._new_fork_server()
        self.own = self._own_processes()
        for unit in self.own:
            self.supervisor.add(unit)
        self._wait_for_web()
        self.data.note("site", url=self.url, ready=True)
        self._greet(has_demo=has_demo)

    def run(self) -> None:
        """Keep the site running; in development restart it when its code changes."""
        if self.options.in_development:
            dev.follow(self.data, self.environment, self.supervisor.check, self.start_again)
        else:
            self.supervisor.run()

    def start_again(self) -> None:
        """Restart the site's processes with the current code. LaunchError if it cannot be imported.

        The old processes serve until the import is done. The web server is restarted first.
        """
        new = self._new_fork_server()
        if new is not None:
            new.start()
        old, self.fork_server = self.fork_server, new
        for unit in reversed(self.own):
            self.supervisor.restart(unit)
        if old is not None:
            old.stop()

    def stop(self) -> None:
        """Stop web, streaming, worker, beat, then the servers."""
        started = time.monotonic()
        for port in (self.ports.web, self.ports.streaming):
            port.close()  # new connections are then refused as soon as the servers close their copies
        killed = self.supervisor.stop()
        if self.fork_server is not None:
            self.fork_server.stop()
        note = f" (killed because they did not stop in time: {', '.join(killed)})" if killed else ""
        say(
            f"Stopped in {time.monotonic() - started:.1f} s{note}; the data stays in {self.data.path}"
        )

    def kill(self) -> None:
        complain("Killing the remaining processes")
        self.supervisor.kill()

    def _start_servers(self) -> None:
        data = self.data
        services = plan_services(
            data=data.path, sockets=data.socket_dir(), log=data.log, site=str(data.path)
        )
        say(f"Starting {services.describe() or 'with the servers given by the environment'}")
        for service in services.all():
            self.supervisor.add(_service_unit(service))
        if services.memcached_missing:
            say(_without_memcached())
        self.environment = site_environment(
            data,
            services.settings(),
            host=self.options.host,
            port=self.options.port,
            streaming_port=self.ports.streaming.getsockname()[1],
        )
        if self.options.in_development:
            self.environment["DEBUG"] = "1"

    def _new_fork_server(self) -> ForkServer | None:
        if sys.platform != "linux":
            return None
        environment = {**self.environment, MARK: str(self.data.path)}
        return ForkServer(
            programs.PRELOAD, environment=environment, log=self.data.log / "preload.log"
        )

    def _own_processes(self) -> list[Unit]:
        """The site's processes in the order of starting; the web server is last, so that it stops first."""
        options = self.options
        beat = programs.beat(schedule=self.data.beat / "schedule")
        worker = programs.worker(concurrency=options.workers)
        web, streaming = self.ports.web.fileno(), self.ports.streaming.fileno()
        return [
            self._unit("beat", beat, BEAT_STOP_SECONDS),
            self._unit("worker", worker, WORKER_STOP_SECONDS),
            self._unit(
                "streaming", programs.streaming(socket=streaming), STREAMING_STOP_SECONDS, streaming
            ),
            self._unit("web", programs.web(socket=web), WEB_STOP_SECONDS, web),
        ]

    def _unit(self, name: str, command: list[str], stop_seconds: float, *sockets: int) -> Unit:
        log = self.data.log / f"{name}.log"

        def start() -> Child:
            if self.fork_server is not None:
                return self.fork_server.fork(name, command, log=log, sockets=sockets)
            environment = {**self.environment, MARK: str(self.data.path)}
            return spawn(name, command, log=log, environment=environment, sockets=sockets)

        if self.options.in_development:
            return Unit(
                name, start, DEVELOPMENT_STOP_SECONDS, is_vital=name in VITAL_IN_DEVELOPMENT
            )
        return Unit(name, start, stop_seconds, is_vital=name in VITAL)

    def _wait_for_web(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        hosts = self.environment["ALLOWED_HOSTS"]
        while not answers(self.options.host, self.options.port, allowed_hosts=hosts):
            if time.monotonic() > deadline:
                raise LaunchError(
                    f"The site is not ready after {READY_SECONDS} s (logs: {self.data.log})"
                )
            self.supervisor.check()
            time.sleep(0.05)

    def _greet(self, *, has_demo: bool) -> None:
        live = [
            "  Development    edits appear at the next request; processes restart by themselves"
        ]
        demo = [f"  Demo logins    {DEMO_LOGINS} (password {DEMO_PASSWORD})"]
        lines = [
            f"  {self.environment.get('SITE_NAME') or 'Rill'} is ready: {self.url}/",
            "",
            *(live if self.options.in_development else []),
            *(demo if has_demo else []),
            f"  Staff pages    {self.url}/admin/",
            f"  API reference  {self.url}/api/docs",
            f"  Streams        {self.environment['STREAMING_URL']}",
            f"  Data, logs     {self.data.path}",
            "  Stop           Ctrl-C",
        ]
        say("\n" + "\n".join(lines) + "\n")


def _without_memcached() -> str:
    """The message for a start without Memcached: its effect, and the remedy."""
    command = install_command("memcached") or "(the package memcached, as this system installs it)"
    return (
        "Memcached was not found, so the cache has none of its three tiers (L1, Main, Backup): posts, profiles and\n"
        "the outboxes of authors are read from PostgreSQL. Pages are the same, but slower. To add the tiers:\n"
        f"    {command}\n"
        "and start again."
    )


def _service_unit(service: Service) -> Unit:
    def start() -> Child:
        service.start()
        if service.child is None:
            raise LaunchError(f"{service.name} did not start")
        return service.child

    return Unit(service.name, start, SERVICE_STOP_SECONDS, is_vital=service.name in VITAL)
