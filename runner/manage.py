"""`./run manage`: a management command in the environment of a site.

The command joins a running site. If the site is not running, the servers run for the duration of the command.
"""

import os
import signal
import subprocess
from collections.abc import Mapping
from typing import NoReturn

from runner.datadir import DataDir, Holder, in_use
from runner.environment import joined_environment, site_environment
from runner.leftovers import end_leftovers
from runner.preparation import manage_command, migrate
from runner.processes import child_setup
from runner.services.group import plan_services
from runner.signals import StopRequested, on_second_interrupt, raise_on_stop_signals
from runner.terminal import LaunchError


def manage(data: DataDir, arguments: list[str]) -> int:
    """Run a management command, with the terminal's input, output and Ctrl-C. Returns its exit status.

    A command that joins a running site replaces this process.
    """
    holder = data.holder()
    if holder is not None:
        _join(data, holder, arguments)
    return _with_own_servers(data, arguments)


def _join(data: DataDir, holder: Holder, arguments: list[str]) -> NoReturn:
    saved = data.saved_environment()
    if holder.what != "site" or not saved:
        raise LaunchError(in_use(holder, data.path))
    command = manage_command(*arguments)
    os.execve(command[0], command, joined_environment(saved))  # noqa: S606 -- no shell needed


def _with_own_servers(data: DataDir, arguments: list[str]) -> int:
    data.prepare()
    is_new = not (data.path / "postgres").exists()
    with data.held("manage"):
        end_leftovers(data)
        raise_on_stop_signals()
        services = plan_services(
            data=data.path, sockets=data.socket_dir(), log=data.log, site=str(data.path)
        )
        try:
            services.start()
            environment = site_environment(data, services.settings())
            if is_new:  # the command may run before the first start of the site
                migrate(data, environment)
            return _run(manage_command(*arguments), environment)
        except StopRequested:
            return 128 + signal.SIGINT
        finally:
            on_second_interrupt(lambda: None)
            services.stop()


def _run(command: list[str], environment: Mapping[str, str]) -> int:
    """Run in the foreground. Ctrl-C reaches the command from the terminal; SIGTERM is forwarded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    setup = child_setup(signal.SIGTERM)
    with subprocess.Popen(command, env=dict(environment), preexec_fn=setup) as process:  # noqa: PLW1509 -- no threads here
        try:
            status = process.wait()
        except StopRequested:
            process.terminate()
            status = process.wait()
    return 128 - status if status < 0 else status
