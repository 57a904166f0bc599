"""One run from the first server to the last line: set up, load and faults, heal, check, report."""

import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

import django
from django.core.management import call_command
from rich.console import Console

from runner.terminal import LaunchError
from tools.drill.breaks import switched_on
from tools.drill.clocks import PACKAGE, find_library
from tools.drill.disks import Disks
from tools.drill.history import History
from tools.drill.older import OlderCode
from tools.drill.options import Options
from tools.drill.processes import Processes
from tools.drill.proxy import Proxy
from tools.drill.servers import Servers, servers_behind
from tools.scale import NotToBeHad
from tools.tables import make_tables


def conduct(options: Options, console: Console) -> int:
    """Run a drill. Returns 1 if an invariant was violated, 2 if it could not run."""
    if options.with_clocks and find_library() is None:
        console.print(
            f"libfaketime is not installed (apt-get install {PACKAGE}): clocks cannot be set."
        )
    place = Path(tempfile.mkdtemp(prefix="feedsite-drill-"))
    try:
        with ExitStack() as stack:
            disks = _disks(place, stack) if options.with_disks else None
            failed = True
            try:
                failed = _run(options, console, place, disks)
            finally:
                if (options.keep is not None or failed) and (place / "history.jsonl").exists():
                    kept = _keep(place, options)
                    console.print(f"history and logs: {kept}", highlight=False, soft_wrap=True)
    except (LaunchError, NotToBeHad) as error:
        console.print(f"The drill cannot run: {error}")
        return 2
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return 1 if failed else 0


def _disks(place: Path, stack: ExitStack) -> Disks:
    """The small disks, until the end of the run. Raises LaunchError if they cannot be mounted."""
    disks = Disks(place / "site")
    stack.callback(disks.unmount)
    try:
        disks.mount()
    except OSError as error:
        raise LaunchError(f"--with-disks mounts file systems, which needs root: {error}") from None
    return disks


def _run(options: Options, console: Console, place: Path, disks: Disks | None) -> bool:
    with ExitStack() as stack:
        proxy = stack.enter_context(Proxy())
        servers = stack.enter_context(servers_behind(proxy, place / "site", options, disks))
        if not servers.memcached:
            console.print("Memcached is not installed: its faults are left out.")
        older = OlderCode(options.upgrade, place / "older") if options.upgrade else None
        _set_up_django(servers, older)
        history = History(place / "history.jsonl")
        stack.callback(history.close)
        processes = Processes(
            servers.data.log,
            servers.data.beat,
            _environment(servers, options),
            proxy,
            servers.clocks,
            older,
            victims=servers.victims if options.with_tasks else None,
        )
        stack.callback(processes.stop)
        from tools.drill.run import Drill  # noqa: PLC0415 -- it imports models, and Django has just been set up

        return Drill(options, console, servers, processes, history, older).run()


def _environment(servers: Servers, options: Options) -> dict[str, str]:
    environment = servers.proxied_environment()
    if options.broken:
        environment = switched_on(environment, options.broken)
    return environment


def _set_up_django(servers: Servers, older: OlderCode | None) -> None:
    """Set up Django with direct connections to the servers, because no fault may affect the checks."""
    os.environ.update({**servers.environment(), "CACHE_TOPOLOGY_LISTENS": "0"})
    django.setup()
    if older is not None:
        older.set_up(os.environ)
    elif servers.cluster is None:
        make_tables(os.environ["DATABASE_URL"])
    else:  # Citus runs on another version of PostgreSQL than the stored tables
        call_command("migrate", verbosity=0)
        call_command("distribute", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)


def _keep(place: Path, options: Options) -> Path:
    kept = options.keep or Path(tempfile.mkdtemp(prefix=f"feedsite-drill-seed{options.seed}-"))
    kept.mkdir(parents=True, exist_ok=True)
    shutil.copy(place / "history.jsonl", kept)
    shutil.copytree(place / "site" / "log", kept / "log", dirs_exist_ok=True)
    return kept
