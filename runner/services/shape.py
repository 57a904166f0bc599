"""What PostgreSQL, Redis and Memcached have in common for the launcher."""

from typing import Protocol

from runner.processes import Child


class Service(Protocol):
    """A server the launcher can start, stop and start again; `child` is None while it is stopped."""

    name: str
    child: Child | None

    def start(self) -> None:
        """Start and wait until it answers. Raises LaunchError when it does not."""

    def stop(self) -> None:
        """Stop within a bounded time; nothing happens when it is stopped already."""

    def settings(self) -> dict[str, str]:
        """The environment variables by which the site finds it."""


def restart(service: Service) -> None:
    """Stop a service and start it with the data it has."""
    service.stop()
    service.start()
