"""The command line of `./run`."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner import lint
from runner.checkout import DEFAULT_DATA_DIR
from runner.site import ServeOptions

DEMO_SIZES = ("small", "medium", "large", "none")
MAX_WORKERS = 64
VERBS = (
    "serve",
    "dev",
    "stop",
    "reset",
    "manage",
    "test",
    "check",
    "lint",
    "bench",
    "capacity",
    "docs",
    "drill",
    "fuzz",
    "house",
    "mutate",
    "scale",
    "vitals",
)
# Verbs whose arguments are passed on unchanged, --help included.
PASSED_ON = (
    "test",
    "manage",
    "bench",
    "capacity",
    "docs",
    "drill",
    "fuzz",
    "house",
    "mutate",
    "scale",
    "vitals",
)
SUMMARY = """\
Starts the site with everything it needs, and its tools.

  ./run [options]            set up, start, and serve until Ctrl-C
  ./run dev [options]        the same for development: reloads templates, styles and code
  ./run stop                 stop the site of a data directory
  ./run reset                delete the data of a site
  ./run manage COMMAND ...   a Django management command in the site's environment
  ./run test                 the quick tests (units and integration on real servers), in four minutes
  ./run test --all           every test, including slow ones and those with processes, browsers or clusters
  ./run test PATH -k WORD    only these tests; all other arguments are passed to pytest
  ./run test --matrix        the whole authorization matrix, with its figures
  ./run lint                 format, lint, imports, templates, types, migrations, schema; see --help
  ./run check                what CI runs: lint, the quick tests, and every tool in its shortest form
  ./run check --nightly      all tests, tools and benchmarks; takes a few hours
  ./run bench SUITE          benchmarks against the usual alternatives; see --help
  ./run capacity             the servers that a given number of people need; see --help
  ./run docs                 the documentation as a website; see --help
  ./run drill                load and faults on a separate site, then checks; see --help
  ./run fuzz                 random requests to every endpoint and form; see --help
  ./run house                the size of the code, and how much of it a page uses; see --help
  ./run mutate               removes mechanisms to check that tests fail; see --help
  ./run scale                the site on each engine for larger sites; see --help
  ./run vitals               every page in a browser: accessibility, weight, speed; see --help
"""
EXAMPLES = """\
examples:
  ./run                                      http://127.0.0.1:8000 with a small demo
  ./run --port 8001 --data-dir /tmp/second   a second site at the same time
  ./run --host 0.0.0.0 --demo none           empty, for the local network
  ./run manage create_user dora --password 'correct horse battery'
  ./run test tests/runner -x
  ./run reset --yes

environment:
  FEEDSITE_DATA_DIR   the default for --data-dir
  FEEDSITE_VENV       directory for the Python packages (default: .venv in the checkout)
  DATABASE_URL, REDIS_URL, MEMCACHED_URLS and the rest of .env.example: a server whose address
  is set is not started.
"""
CHECK_EXAMPLES = """\
examples:
  ./run check                    what CI runs, in ten minutes
  ./run check --since main       the same, without the tests that this branch cannot break
  ./run check --nightly          every test, client, cluster, mutant and benchmark; logs in var/nightly
"""
LINT_EXAMPLES = """\
examples:
  ./run lint                 all steps, within a minute
  ./run lint --quick         the quick steps, in a few seconds; useful before a commit
  ./run lint types schema    only these steps
  ./run lint --fix           formats, fixes and generates, then checks
"""


@dataclass(frozen=True)
class Request:
    verb: str
    serve: ServeOptions = field(default_factory=ServeOptions)
    data_dir: Path = DEFAULT_DATA_DIR
    confirmed: bool = False
    rest: list[str] = field(default_factory=list)
    quick: bool = False
    fix: bool = False
    nightly: bool = False
    since: str = ""


def parse(arguments: Sequence[str]) -> Request:
    """Parse a command line; on errors argparse prints the usage and exits with status 2."""
    verb, rest = (arguments[0], list(arguments[1:])) if arguments else ("serve", [])
    if verb in PASSED_ON:
        return Request(verb, data_dir=_default_data_dir(), rest=rest)
    if not verb.startswith("-") and verb not in VERBS:
        command_parser().error(f"{verb!r} is not a verb; choose from {', '.join(VERBS)}")
    parsed = command_parser().parse_args(_with_default_verb(arguments))
    if parsed.verb in ("serve", "dev"):
        options = ServeOptions(
            parsed.host,
            parsed.port,
            parsed.demo,
            parsed.workers,
            parsed.streaming_port,
            in_development=parsed.verb == "dev",
        )
        return Request(parsed.verb, serve=options, data_dir=parsed.data_dir)
    return Request(
        parsed.verb,
        data_dir=getattr(parsed, "data_dir", _default_data_dir()),
        confirmed=getattr(parsed, "yes", False),
        rest=getattr(parsed, "steps", []),
        quick=getattr(parsed, "quick", False),
        fix=getattr(parsed, "fix", False),
        nightly=getattr(parsed, "nightly", False),
        since=getattr(parsed, "since", ""),
    )


def _with_default_verb(arguments: Sequence[str]) -> list[str]:
    """Use the verb `serve` if there is none."""
    is_serve = not arguments or (
        arguments[0].startswith("-") and arguments[0] not in ("-h", "--help")
    )
    return ["serve", *arguments] if is_serve else list(arguments)


def command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run",
        usage="./run [VERB] [options]",
        description=SUMMARY,
        epilog=_option_lines() + EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verbs = parser.add_subparsers(
        dest="verb", metavar="VERB", required=True, help=argparse.SUPPRESS
    )
    _add_serve_options(verbs.add_parser("serve", prog="./run", allow_abbrev=False))
    _add_serve_options(verbs.add_parser("dev", prog="./run dev", allow_abbrev=False))
    _add_data_dir(verbs.add_parser("stop", prog="./run stop", allow_abbrev=False))
    reset = verbs.add_parser("reset", prog="./run reset", allow_abbrev=False)
    _add_data_dir(reset)
    reset.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    check = verbs.add_parser(
        "check",
        prog="./run check",
        epilog=CHECK_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    check.add_argument(
        "--nightly", action="store_true", help="all tests, tools and benchmarks; takes a few hours"
    )
    check.add_argument(
        "--since",
        default="",
        metavar="COMMIT",
        help="leave out the tests of feedcache, runner and tools if these have not changed since this commit",
    )
    _add_lint_options(verbs)
    return parser


def _option_lines() -> str:
    """The options of `serve`, for the combined page of --help."""
    parser = argparse.ArgumentParser(prog="./run", add_help=False)
    _add_serve_options(parser)
    return parser.format_help().partition("options:")[2].join(("options:", "\n"))


def _add_serve_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=_port, default=8000, help="TCP port of the site (default: 8000)"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)"
    )
    parser.add_argument(
        "--streaming-port",
        type=_port,
        metavar="PORT",
        help="TCP port of the streams (default: the first free port from PORT + 100 on)",
    )
    _add_data_dir(parser)
    parser.add_argument(
        "--demo",
        choices=DEMO_SIZES,
        help="size of the demo data (default: small for new data, otherwise unchanged)",
    )
    parser.add_argument(
        "--workers",
        type=_workers,
        default=2,
        metavar="N",
        help="processes for background tasks (default: 2)",
    )


def _add_lint_options(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "lint",
        prog="./run lint",
        description="Checks the code without running the site; needs no servers.",
        epilog=LINT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "steps",
        nargs="*",
        type=_step,
        metavar="STEP",
        help=f"run only these steps: {', '.join(lint.NAMES)}",
    )
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(lint.QUICK)}")
    parser.add_argument("--fix", action="store_true", help="first fix errors where possible")


def _add_data_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data-dir", type=Path, default=_default_data_dir(), metavar="DIR",
        help="directory for all data (default: var in the checkout)",
    )  # fmt: skip


def _default_data_dir() -> Path:
    path = os.environ.get("FEEDSITE_DATA_DIR")
    return Path(path) if path else DEFAULT_DATA_DIR


def _step(text: str) -> str:
    if text not in lint.NAMES:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(lint.NAMES)}")
    return text


def _port(text: str) -> int:
    return _number(text, 1, 65535)


def _workers(text: str) -> int:
    return _number(text, 1, MAX_WORKERS)


def _number(text: str, minimum: int, maximum: int) -> int:
    if not text.isascii() or not text.isdigit() or not minimum <= int(text) <= maximum:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {minimum} to {maximum}")
    return int(text)
