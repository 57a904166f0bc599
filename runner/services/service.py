"""The interface of the servers that the launcher runs."""

from typing import Protocol

from runner.processes import Child


class Service(Protocol):
    """`child` is None while the server is stopped."""

    name: str
    child: Child | None

    def start(self) -> None:
        """Start and wait until it answers. LaunchError."""

    def stop(self) -> None:
        """Stop within a bounded time; does nothing when stopped."""

    def settings(self) -> dict[str, str]:
        """The environment variables by which the site finds it."""


def restart(service: Service) -> None:
    service.stop()
    service.start()
