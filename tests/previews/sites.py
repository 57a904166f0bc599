"""Sites of the test's own that pages are fetched from, and a network in which they are the internet."""

import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from apps.previews.fetching import Network
from tests.support.pictures import picture

PUBLIC, PRIVATE = "127.0.0.1", "127.0.0.2"
HEAD = """<!doctype html><html><head><title>Plain title</title>
<meta property="og:title" content="Tea at the river">
<meta property="og:description" content="Fog, two herons.">
<meta property="og:site_name" content="River News">
<meta property="og:image" content="/picture.png">
<meta property="og:image:alt" content="A boat.">
<meta name="author" content="Mei Lin">
<meta property="article:published_time" content="2026-11-20T08:00:00Z">
</head><body>Text.</body></html>"""


class Site:
    """A server; `pages` are functions of the handler by path. `asked`: the requests it has seen."""

    def __init__(self, host, port=0, pages=None):
        self.asked = []
        self.pages = pages or {}
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.asked.append((self.path, dict(self.headers)))
                page = site.pages.get(self.path)
                with suppress(OSError):  # who asked has left
                    page(self) if page else self.send_error(404)

            def log_message(self, *_arguments):
                pass

        self.server = ThreadingHTTPServer((host, port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port

    @property
    def paths(self):
        return [path for path, _headers in self.asked]

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

    def network(self, **names):
        """The internet: this site under any name, or under `names` other addresses; only PUBLIC is public."""
        return Network(
            resolve=lambda host, _port: names.get(host.replace(".", "_"), [PUBLIC]),
            may_reach=lambda address: address == PUBLIC,
            ports=frozenset({self.port}),
        )


def answer(body, content_type="text/html; charset=utf-8", status=200, **headers):
    """A page."""
    data = body if isinstance(body, bytes) else body.encode()

    def page(handler):
        handler.send_response(status)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return page


def redirect(address, status=302):
    return answer("", status=status, Location=address)


def article():
    """The pages of a site with one article and its picture."""
    return {"/tea": answer(HEAD), "/picture.png": answer(picture(), "image/png")}
