"""Entry point of `./run docs`."""

import argparse
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

from runner.checkout import ROOT
from runner.terminal import say
from tools import run_tool
from tools.docs.site import build, lay_out

BUILT = ROOT / "var" / "docs"
EXAMPLES = """\
examples:
  ./run docs                        build the site, and serve it at http://127.0.0.1:8200 until Ctrl-C
  ./run docs --port 8300            at another port
  ./run docs --directory /tmp/site  build it there, for a web server
  ./run docs --check                build it from scratch; warnings, such as broken links, are errors
"""


def main(command_line: list[str]) -> int:
    """Build the documentation site, and serve it. Returns 1 if it cannot be built, or with --check after a warning."""
    options = command_parser().parse_args(command_line)
    if options.check:
        with TemporaryDirectory() as scratch:
            source = lay_out(Path(scratch) / "source")
            return 0 if build(source, Path(scratch) / "site", is_strict=True) else 1
    target = options.directory or BUILT / "site"
    if not build(lay_out(BUILT / "source"), target, is_strict=False):
        return 1
    if options.directory:
        say(f"The site is in {target}")
        return 0
    return _serve(target, options.port)


def _serve(directory: Path, port: int) -> int:
    handler = partial(_Quiet, directory=str(directory))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        say(f"Port {port} cannot be used: {error.strerror}. Choose another one with --port.")
        return 1
    with server:
        say(f"The documentation is at http://127.0.0.1:{port}; Ctrl-C ends it")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


class _Quiet(SimpleHTTPRequestHandler):
    """A file server that prints nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name in the standard library
        pass


def command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run docs",
        description="Builds the documentation as a website, and serves it on this machine.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="build it from scratch into a temporary directory, with warnings as errors, and stop",
    )
    parser.add_argument(
        "--port", type=int, default=8200, metavar="PORT", help="TCP port (default: 8200)"
    )
    parser.add_argument(
        "--directory", type=Path, metavar="DIR", help="build into this directory, and do not serve"
    )
    return parser


if __name__ == "__main__":
    run_tool(main)
