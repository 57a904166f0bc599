"""Counts network round trips at the sockets.

Every request to a server is held until no other has arrived for a moment; then all held requests are passed on
together, as one wave. Code that sends to several servers before it reads the first answer makes one wave; code that
waits in between makes two. So the number of waves is the number of network delays that a page takes, however many
servers there are.
"""

import contextlib
import socket
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import rmtree
from urllib.parse import urlsplit

from feedcache import connections
from feedcache.topology import Node, Topology
from tests.support import clusters
from tests.support.memory import forget
from tests.support.services import running

QUIET_SECONDS = 0.08
REDIS = ["REDIS_URL", "REDIS_GRAPH_URL", "REDIS_COUNTERS_URL", "REDIS_EXISTENCE_URL"]


class Waves:
    """`sent`: the requests so far, a list of (server, request) for every wave."""

    def __init__(self):
        self.sent = []
        self.holds = False
        self._held = []
        self._last = 0.0
        self._changed = threading.Condition()
        threading.Thread(target=self._release, daemon=True).start()

    def pass_on(self, name, data, target):
        """Pass a request on to a server, or hold it for the next wave."""
        with self._changed:
            if not self.holds:
                target.sendall(data)
                return
            self._held.append((name, data, target))
            self._last = time.monotonic()
            self._changed.notify()

    @contextmanager
    def counted(self):
        """Collect the waves of the code within this context."""
        self.sent, self.holds = [], True
        try:
            yield self.sent
        finally:
            self.holds = False

    def _release(self):
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._held)
            while time.monotonic() - self._last < QUIET_SECONDS:
                time.sleep(0.005)
            with self._changed:
                wave, self._held = self._held, []
                self.sent.append([(name, data) for name, data, _target in wave])
            for _name, data, target in wave:
                with contextlib.suppress(OSError):
                    target.sendall(data)


class _Relay:
    def __init__(self, waves, name, place, to):
        self.waves, self.name, self.to = waves, name, to
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(place)
        self.socket.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def _accept(self):
        with contextlib.suppress(OSError), self.socket:
            while True:
                client, _address = self.socket.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self.to)
                for pair in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source, target, is_request):
        with contextlib.suppress(OSError), source, target:
            while data := source.recv(65536):
                if is_request:
                    self.waves.pass_on(self.name, data, target)
                else:
                    target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)


@contextmanager
def relayed(settings, *, apart):
    """Put all caches of this process behind relays: each Redis address behind its own, or all behind one."""
    directory, waves = Path(tempfile.mkdtemp(prefix="fst-")), Waves()
    with ExitStack() as stack:
        stack.callback(rmtree, directory, ignore_errors=True)

        def relay(name, to):
            place = str(directory / name)
            stack.callback(_Relay(waves, name, place, to).close)
            return place

        urls = {}
        redis = urlsplit(settings.REDIS_URL)
        for number, name in enumerate(REDIS):
            label = name if apart else "REDIS"
            place = directory / label
            if apart or not number:
                relay(label, redis.path)
            urls[name] = f"unix://{place}?{redis.query}"
        stack.callback(connections.forget_clients)
        stack.enter_context(clusters.addresses(settings, **urls))
        connections.forget_clients()
        stack.callback(_hang_up)
        node = running().memcached[0]
        place = relay("MEMCACHED", node.address.removeprefix("unix:"))
        stack.callback(forget)
        forget(Topology(0, (Node("main", f"unix:{place}", 64),)))
        yield waves


def _hang_up():
    for client in (
        connections.timelines,
        connections.graph,
        connections.counters,
        connections.existence,
    ):
        client().connection_pool.disconnect()


def redis_commands(sent):
    """The names of the commands that all Redis servers got; a script counts as one, whatever it calls."""
    requests = (data for wave in sent for name, data in wave if name != "MEMCACHED")
    return [name for data in requests for name in _names(data)]


def _names(data):
    while data:
        head, data = data.split(b"\r\n", 1)
        for number in range(int(head.removeprefix(b"*"))):
            length, data = data.split(b"\r\n", 1)
            size = int(length.removeprefix(b"$"))
            if number == 0:
                yield data[:size].decode()
            data = data[size + 2 :]
