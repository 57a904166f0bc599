"""Entry point of `python -m tools.compose`."""

import argparse
import tempfile
import time
from pathlib import Path

from rich.console import Console

from tools import run_tool
from tools.compose.alerts import AlertsWrong, examine
from tools.compose.containers import enter
from tools.compose.file import PROFILES
from tools.compose.flow import FlowFailed, Say, flow
from tools.compose.project import Project, ServiceFailed, project

EXAMPLES = """\
examples:
  python -m tools.compose                     both profiles, one after another
  python -m tools.compose small --alerts      only this one; then each alert of ops/rules.yml with its fault
  python -m tools.compose large --engines     with RabbitMQ and PgBouncer, as docs/deployment.md describes them
"""


def main(command_line: list[str]) -> int:
    """Start each profile, and use its site. Returns 1 if one fails."""
    options = command_parser().parse_args(command_line)
    enter()
    console = Console(highlight=False, soft_wrap=True)
    failed = [
        profile for profile in options.profiles or PROFILES if not _works(profile, options, console)
    ]
    return 1 if failed else 0


def _works(profile: str, options: argparse.Namespace, console: Console) -> bool:
    def say(line: str) -> None:
        console.print(f"  {line}", markup=False)

    console.print(f"docker-compose.yml with the profiles {profile} and proxy", style="bold")
    with tempfile.TemporaryDirectory(prefix="feedsite-compose-") as place:
        directory = Path(place)
        directory.chmod(0o755)  # the users of the images read it
        try:
            more = {"with_engines": options.engines, "with_replica": options.alerts}
            with project(directory, profile, **more) as made:
                _start(made, say)
                flow(made, say)
                say("back up")
                made.start("backup")
                wrong = examine(made, say) if options.alerts else []
        except (AlertsWrong, FlowFailed, ServiceFailed) as error:
            wrong = [str(error)]
    for one in wrong:
        say(f"wrong: {one}")
    return not wrong


def _start(made: Project, say: Say) -> None:
    for name in made.services:
        if name != "backup":  # by hand or by cron
            begin = time.monotonic()
            made.start(name)
            say(f"{name}: {time.monotonic() - begin:.1f} s")


def command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.compose",
        description="Starts docker-compose.yml with the programs of this machine, and uses the site through its proxy.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("profiles", nargs="*", metavar="PROFILE", help=f"of {', '.join(PROFILES)}")
    parser.add_argument("--engines", action="store_true", help="with RabbitMQ and PgBouncer")
    parser.add_argument(
        "--alerts",
        action="store_true",
        help="with a replica of PostgreSQL; then cause each fault, with a Prometheus",
    )
    return parser


if __name__ == "__main__":
    run_tool(main)
