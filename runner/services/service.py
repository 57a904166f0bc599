"""The interface of the servers that the launcher runs."""

from typing import Protocol

from runner.processes import Child


class Service(Protocol):
    """A server. `child` is None while it is stopped."""

    name: str
    child: Child | None

    def start(self) -> None:
        """Start the server and wait until it responds. Raises LaunchError."""

    def stop(self) -> None:
        """Stop within a bounded time; does nothing if it is stopped."""

    def settings(self) -> dict[str, str]:
        """The environment variables through which the site finds the server."""


def restart(service: Service) -> None:
    service.stop()
    service.start()
