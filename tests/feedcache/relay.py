"""A Unix socket in front of a server:
writes down what clients send, can hold their reads, and can be cut for its clients alone.
"""

import contextlib
import socket
import threading
from pathlib import Path


class Relay:
    """Between one client and a node. `sent` is what the client sent, in order.

    After `hold` its reads wait for `let_go`; `waiting` is how many do.
    """

    def __init__(self, url, place):
        self.to = url.removeprefix("unix:")
        self.place = Path(place)
        self.address = f"unix:{place}"
        self.sent = b""
        self.waiting = 0
        self._holds = False
        self._let_go = 0  # how often
        self._is_cut = False
        self._swallows = False
        self._open = []
        self._lock = threading.Lock()
        self._gate = threading.Condition()
        self._listen()

    def _listen(self):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(self.place))
        self._socket.listen(64)
        threading.Thread(target=self._accept, args=[self._socket], daemon=True).start()

    def cut(self):
        """All connections break, and there are no new ones."""
        self._is_cut = True
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.place.unlink()
        self._break()

    def swallow(self):
        """From now on the client sends into the void, and hears nothing."""
        self._swallows = True

    def join(self):
        """As if nothing had been."""
        self._swallows = False
        if self._is_cut:
            self._is_cut = False
            self._listen()
        else:
            self._break()

    def close(self):
        if not self._is_cut:
            self.cut()

    def hold(self):
        with self._gate:
            self._holds = True

    def let_go(self):
        """Those that wait go on, and those that come after them wait; how many went on."""
        with self._gate:
            gone, self.waiting = self.waiting, 0
            self._let_go += 1
            self._gate.notify_all()
            return gone

    def open(self):
        """Nobody waits any more."""
        self._holds = False
        self.let_go()

    def take(self):
        """What was sent since the last time."""
        with self._lock:
            taken, self.sent = self.sent, b""
        return taken

    def _break(self):
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._open = []

    def _wait(self):
        with self._gate:
            if not self._holds:
                return
            before = self._let_go
            self.waiting += 1
            self._gate.wait_for(lambda: self._let_go > before)

    def _accept(self, listening):
        with contextlib.suppress(OSError):
            while True:
                client, _address = listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self.to)
                self._open += [client, server]
                for pair in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source, target, is_request):
        with contextlib.suppress(OSError), source, target:
            while data := source.recv(65536):
                if is_request:
                    with self._lock:
                        self.sent += data
                    if data.startswith(b"gets "):
                        self._wait()
                if not self._swallows:
                    target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)
