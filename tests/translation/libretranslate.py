"""A server that speaks LibreTranslate's API: it translates by writing the language before each text."""

import json
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LANGUAGES = [
    {"code": "de", "name": "German", "targets": ["de", "en", "zh-Hans"]},
    {"code": "en", "name": "English", "targets": ["de", "en", "zh-Hans"]},
    {"code": "zh-Hans", "name": "Chinese", "targets": ["de", "en", "zh-Hans"]},
]


class Service:
    """`asked`: the bodies of requests for translations. `answer`: what it sends in their place, if set."""

    def __init__(self):
        self.asked = []
        self.answer: Any = None
        self.goes_on = threading.Event()
        self.goes_on.set()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send(200, LANGUAGES)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.asked.append(body)
                service.goes_on.wait(60)
                if service.answer is not None:
                    self.send(*service.answer)
                    return
                answer: dict[str, Any] = {
                    "translatedText": [f"{body['target']}: {text}" for text in body["q"]]
                }
                if body["source"] == "auto":
                    answer["detectedLanguage"] = [{"language": "de", "confidence": 90}] * len(
                        body["q"]
                    )
                self.send(200, answer)

            def send(self, status, value):
                with suppress(OSError):  # who asked has left
                    self.write(status, value)

            def write(self, status, value):
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    @contextmanager
    def hanging(self):
        """It takes requests and does not answer them."""
        self.goes_on.clear()
        try:
            yield
        finally:
            self.goes_on.set()

    @contextmanager
    def running(self):
        thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield self
        finally:
            self.server.shutdown()
            thread.join()
            self.server.server_close()
