"""The streaming server in a separate process, and a client that reads its events as they arrive."""

import http.client
import json
import socket
import subprocess
import threading
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from runner import programs
from tests.support.ports import free_port
from tests.support.processes import environment, stop
from tests.support.waiting import wait_until

# A client that hangs up is blocked in http.client until it reads something: the next heartbeat.
OFTEN = {"STREAMING_HEARTBEAT_SECONDS": "1"}


@contextmanager
def streaming_server(directory, **settings):
    """Start a streaming server on the test database, and yield its address."""
    log, port = directory / "streaming.log", free_port()
    command = programs.streaming(host="127.0.0.1", port=port)
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, env=environment() | OFTEN | settings, stdout=output, stderr=output, start_new_session=True
        )  # fmt: skip
    try:
        wait_until(lambda: _is_healthy(port), lambda: f"streams are served: {log.read_text()}")
        yield f"http://127.0.0.1:{port}"
    finally:
        stop(process)


def _is_healthy(port):
    try:
        return get(f"http://127.0.0.1:{port}", "health")[0] == 200
    except OSError:
        return False


def get(address, path, token=None, **headers):
    """The status, headers and body of a response that the server ends."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)
    try:
        connection.request("GET", f"/api/v1/streaming/{path}", headers=_headers(token) | headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def _headers(token):
    return {"Authorization": f"Bearer {token}"} if token else {}


class RefusedError(Exception):
    """The stream did not open; the argument is the status of the response."""


class Listening:
    """A stream that is read by a thread; `events` holds (event, data) in order, `last_id` the last id."""

    def __init__(self, address, path, token, *, tls=None, last_event_id=""):
        self.last_id, headers = last_event_id, _headers(token)
        if last_event_id:
            headers["Last-Event-ID"] = last_event_id
        self.events, self.comments, self.ended = [], 0, threading.Event()
        place = urlsplit(address).netloc
        self._connection = (
            http.client.HTTPSConnection(place, timeout=60, context=tls)
            if tls
            else http.client.HTTPConnection(place, timeout=60)
        )
        self._connection.request("GET", f"/api/v1/streaming/{path}", headers=headers)
        self._socket = self._connection.sock
        self._answer = self._connection.getresponse()
        if self._answer.status != 200:
            self._answer.close()
            self._connection.close()
            raise RefusedError(self._answer.status)
        self.headers = self._answer.headers
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        name = number = ""
        try:
            for line in self._answer:
                field, _colon, value = line.decode().rstrip("\n").partition(": ")
                if field == "event":
                    name = value
                elif field == "id":
                    number = value
                elif field == "data":
                    self.events.append((name, json.loads(value)))
                    self.last_id = number
                elif field.startswith(":"):
                    self.comments += 1
        except (OSError, http.client.HTTPException, ValueError):
            pass
        self.ended.set()

    def wait(self, number):
        """Wait for `number` events, or for the end of the stream, and return the first `number`."""
        wait_until(
            lambda: len(self.events) >= number or self.ended.is_set(),
            lambda: f"{number} events: {self.events}",
        )
        return self.events[:number]

    def close(self):
        with suppress(OSError):  # the server may have been first
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._answer.close()
        self._connection.close()


@contextmanager
def listening(address, path, token, *, tls=None, last_event_id=""):
    """Listen to a stream; `tls` is the context of an address with TLS."""
    listener = Listening(address, path, token, tls=tls, last_event_id=last_event_id)
    try:
        yield listener
    finally:
        listener.close()
