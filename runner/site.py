"""`./run`: start everything in order, keep it alive, stop it in the opposite order."""

import time
from dataclasses import dataclass

from runner import preparation, programs
from runner.datadir import DataDir, in_use
from runner.environment import site_environment, to_save
from runner.leftovers import end_leftovers
from runner.ports import answers, check_port, free_port, site_address
from runner.problems import LaunchError
from runner.processes import MARK, Child, spawn
from runner.says import complain, say
from runner.services.group import plan_services
from runner.services.shape import Service
from runner.signals import StopAskedError, on_second_interrupt, stop_when_asked
from runner.supervisor import Supervisor, Unit

READY_SECONDS = 60
SERVICE_STOP_SECONDS = 15
WEB_STOP_SECONDS = 10
WORKER_STOP_SECONDS = 12  # then running tasks are killed; late acknowledgement delivers them again
BEAT_STOP_SECONDS = 5
STREAMING_STOP_SECONDS = 10
STREAMING_OFFSET = 100
DEMO_LOGINS = "alice, bob, carol, admin"
DEMO_PASSWORD = "rill-demo"  # noqa: S105 -- printed for everybody to use


@dataclass(frozen=True)
class ServeOptions:
    """What `./run` was asked for."""

    host: str = "127.0.0.1"
    port: int = 8000
    demo: str | None = None  # None: the small one for new data, else what is there
    workers: int = 2
    streaming_port: int | None = None  # None: the first free one from a hundred above `port`


def serve(data: DataDir, options: ServeOptions) -> int:
    """Run the site until it is asked to stop. Returns 0; raises LaunchError when it cannot run."""
    _check_free(data, options)
    data.prepare()
    with data.held("site"):
        site = _Site(data, options)
        stop_when_asked()
        try:
            site.start()
            site.supervisor.watch()
        except StopAskedError:
            say("\nStopping ...")
        finally:
            on_second_interrupt(site.kill)
            site.stop()
    return 0


def _check_free(data: DataDir, options: ServeOptions) -> None:
    """Complain before anything is made or started; the same site running explains more than a taken port."""
    holder = data.holder()
    if holder is not None:
        raise LaunchError(in_use(holder, data.path))
    check_port(options.host, options.port)
    if options.streaming_port is not None:
        check_port(options.host, options.streaming_port)


class _Site:
    """The servers and processes of one site."""

    def __init__(self, data: DataDir, options: ServeOptions) -> None:
        self.data = data
        self.options = options
        self.url = site_address(options.host, options.port)
        self.streaming_port = options.streaming_port or free_port(
            options.host, options.port + STREAMING_OFFSET
        )
        self.supervisor = Supervisor([])
        self.environment: dict[str, str] = {}

    def start(self) -> None:
        """Start the servers, prepare tables and files, start the processes, and say where to look."""
        end_leftovers(self.data)
        self.data.note("site", url=self.url)
        self._start_servers()
        say("Bringing the tables up to date")
        preparation.migrate(self.data, self.environment)
        preparation.collect_static(self.data, self.environment)
        self.data.save_environment(to_save(self.environment))
        has_demo = preparation.seed(self.data, self.environment, self.options.demo)
        for unit in self._own_processes():
            unit.child = unit.start()
            self.supervisor.units.append(unit)
        self._wait_for_web()
        self.data.note("site", url=self.url, ready=True)
        self._greet(has_demo=has_demo)

    def stop(self) -> None:
        """Stop what was started: web, streaming, worker, beat, then the servers."""
        begin = time.monotonic()
        killed = self.supervisor.stop()
        note = f" (killed, not having stopped in time: {', '.join(killed)})" if killed else ""
        say(
            f"Stopped in {time.monotonic() - begin:.1f} s{note}; the data stays in {self.data.path}"
        )

    def kill(self) -> None:
        """End everything at once."""
        complain("Killing what is left")
        self.supervisor.kill()

    def _start_servers(self) -> None:
        data = self.data
        services = plan_services(
            data=data.path, sockets=data.socket_dir(), log=data.log, site=str(data.path)
        )
        say(f"Starting {services.describe() or 'with the servers given by the environment'}")
        for service in services.all():
            unit = _service_unit(service)
            unit.child = unit.start()
            self.supervisor.units.append(unit)
        if services.memcached_missing:
            say("Memcached is not installed: pages come from PostgreSQL, which is slower")
        self.environment = site_environment(
            data,
            services.settings(),
            host=self.options.host,
            port=self.options.port,
            streaming_port=self.streaming_port,
        )

    def _own_processes(self) -> list[Unit]:
        """In the order of starting; the web server comes last, so that it is stopped first."""
        options = self.options
        beat = programs.beat(schedule=self.data.beat / "schedule")
        worker = programs.worker(concurrency=options.workers)
        streaming = programs.streaming(host=options.host, port=self.streaming_port)
        web = programs.web(host=options.host, port=options.port)
        return [
            self._unit("beat", beat, BEAT_STOP_SECONDS),
            self._unit("worker", worker, WORKER_STOP_SECONDS),
            self._unit("streaming", streaming, STREAMING_STOP_SECONDS),
            self._unit("web", web, WEB_STOP_SECONDS),
        ]

    def _unit(self, name: str, command: list[str], stop_seconds: float) -> Unit:
        environment = {**self.environment, MARK: str(self.data.path)}
        log = self.data.log / f"{name}.log"
        return Unit(
            name, lambda: spawn(name, command, log=log, environment=environment), stop_seconds
        )

    def _wait_for_web(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        hosts = self.environment["ALLOWED_HOSTS"]
        while not answers(self.options.host, self.options.port, allowed_hosts=hosts):
            if time.monotonic() > deadline:
                raise LaunchError(
                    f"The site is not ready after {READY_SECONDS} s (logs: {self.data.log})"
                )
            self.supervisor.look()
            time.sleep(0.05)

    def _greet(self, *, has_demo: bool) -> None:
        demo = [f"  Demo logins    {DEMO_LOGINS} (password {DEMO_PASSWORD})"]
        lines = [
            f"  {self.environment.get('SITE_NAME') or 'Rill'} is ready: {self.url}/",
            "",
            *(demo if has_demo else []),
            f"  Staff pages    {self.url}/admin/",
            f"  API reference  {self.url}/api/docs",
            f"  Streams        {self.environment['STREAMING_URL']}",
            f"  Data, logs     {self.data.path}",
            "  Stop           Ctrl-C",
        ]
        say("\n" + "\n".join(lines) + "\n")


def _service_unit(service: Service) -> Unit:
    def start() -> Child:
        service.start()
        if service.child is None:
            raise LaunchError(f"{service.name} did not start")
        return service.child

    return Unit(service.name, start, SERVICE_STOP_SECONDS)
