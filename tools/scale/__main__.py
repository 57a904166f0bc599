"""Entry point of `./run scale`."""

import argparse
from collections.abc import Sequence

from rich.console import Console

from runner.terminal import LaunchError
from tools import run_tool

EXAMPLES = """\
examples:
  ./run scale                      every engine, one after another: three to five minutes
  ./run scale replica rabbitmq     only these engines
  ./run scale --short              two engines, in seconds
  ./run scale --list               the names of the engines

Prints a line per engine: "works", "refused" (with the message of the system check), "not available" (with the
reason) or "fails".
"""
SHORT = ("common", "counters")  # one that works, and one that the site refuses


def main(command_line: list[str]) -> int:
    """Run the flow on each engine. Returns 1 if one fails, 2 if nothing could be run."""
    from tools.scale.engines import ENGINES  # noqa: PLC0415 -- needs the packages

    options = command_parser().parse_args(command_line)
    console = Console(highlight=False)
    if options.list:
        for name, (title, _engine) in ENGINES.items():
            console.print(f"{name:<10} {title}")
        return 0
    try:
        engines = SHORT if options.short else options.engines or list(ENGINES)
        return 1 if _run(engines, console) else 0
    except LaunchError as error:
        console.print(f"Nothing could be run: {error}")
        return 2


def _run(names: Sequence[str], console: Console) -> bool:
    """Run the flow on these engines. Returns whether one failed."""
    from tools.scale.engines import ENGINES  # noqa: PLC0415 -- --help needs no Django
    from tools.scale.site import common_servers, verdict  # noqa: PLC0415 -- as above

    failed = False
    with console.status("starting the common servers") as status, common_servers() as common:
        for name in sorted(names, key=list(ENGINES).index):
            title, engine = ENGINES[name]

            def step(doing: str, title: str = title) -> None:
                status.update(f"{title}: {doing}")

            found = verdict(name, engine, common, step)
            failed |= found.startswith("fails")
            console.print(f"{title:<50} {found}", soft_wrap=True)
    return failed


def command_parser() -> argparse.ArgumentParser:
    from tools.scale.engines import ENGINES  # noqa: PLC0415 -- as above

    parser = argparse.ArgumentParser(
        prog="./run scale",
        description="Starts every engine for larger sites that is installed on this machine. On each, two"
        " people follow, publish, read, page down, like and stream. Exit status 1 if one fails.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "engines",
        nargs="*",
        type=_engine,
        metavar="ENGINE",
        help=f"one or more of: {', '.join(ENGINES)}",
    )
    parser.add_argument(
        "--short", action="store_true", help="two engines, in seconds, to check that it works"
    )
    parser.add_argument("--list", action="store_true", help="list the engines and stop")
    return parser


def _engine(name: str) -> str:
    from tools.scale.engines import ENGINES  # noqa: PLC0415 -- as above

    if name not in ENGINES:
        raise argparse.ArgumentTypeError(f"unknown engine {name!r}; ./run scale --list prints all")
    return name


if __name__ == "__main__":
    run_tool(main)
