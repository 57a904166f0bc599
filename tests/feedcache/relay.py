"""A Unix socket in front of a server:
writes down what clients send, can be slow, and can be cut for its clients alone.
"""

import contextlib
import socket
import threading
import time
from pathlib import Path


class Relay:
    """Between one client and a node. `sent` is what the client sent, in order.

    A request waits for `delay_seconds`; `most_waiting` is how many reads did so at once.
    """

    def __init__(self, url, place):
        self.to = url.removeprefix("unix:")
        self.place = Path(place)
        self.address = f"unix:{place}"
        self.sent = b""
        self.delay_seconds = 0.0
        self.most_waiting = self._waiting = 0
        self._is_cut = False
        self._swallows = False
        self._open = []
        self._lock = threading.Lock()
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

    def _delay(self, *, is_read):
        if not self.delay_seconds:
            return
        with self._lock:
            self._waiting += is_read
            self.most_waiting = max(self.most_waiting, self._waiting)
        time.sleep(self.delay_seconds)
        with self._lock:
            self._waiting -= is_read

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
                    self._delay(is_read=data.startswith(b"gets "))
                if not self._swallows:
                    target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)
