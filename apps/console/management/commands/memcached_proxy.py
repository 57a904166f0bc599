"""`manage memcached_proxy`: serves the caches to programs in other languages over Memcached's text protocol."""

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.console.memcached_proxy import MemcachedProxy

MAX_PORT = 65_535


def _address(text: str) -> tuple[str, int]:
    host, _colon, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > MAX_PORT:
        raise ArgumentTypeError(f"{text!r} is no address such as 127.0.0.1:11311")
    return host, int(port)


class Command(BaseCommand):
    help = """Serve L1, Main and Backup to programs in other languages, as one Memcached.

Their keys are separate from the site's. There is no password: listen only where nobody else can connect. Runs until it
is interrupted. Example:

    manage memcached_proxy --listen 127.0.0.1:11311"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--listen",
            type=_address,
            default=("127.0.0.1", 11311),
            metavar="HOST:PORT",
            help="address to listen on (default: 127.0.0.1:11311)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            server = MemcachedProxy(options["listen"])
        except OSError as error:
            raise CommandError(f"Nothing can listen there: {error}") from None
        with server:
            host, port = server.server_address[:2]
            self.stdout.write(f"Memcached's text protocol at {host!s}:{port}")
            self.stdout.flush()
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                self.stdout.write("Stopped.")
