"""Entry point of `./run`."""

import sys
from collections.abc import Callable

from runner import arguments, checks, lint, manage, packages, site, stop
from runner.datadir import DataDir
from runner.terminal import LaunchError, complain

# What these verbs run needs the development packages, too: pytest, Hypothesis, Playwright, drivers.
DEVELOPMENT = ("test", "check", "lint", "fuzz", "mutate", "scale", "vitals")


def main(command_line: list[str]) -> int:
    """Parse a command line and carry it out; the exit status."""
    request = arguments.parse(command_line)
    try:
        if request.verb in ("check", "lint"):
            lint.refuse_syntax_errors()  # said before anything is installed
        if request.verb in (
            "serve",
            "manage",
            "test",
            "check",
            "lint",
            "bench",
            "capacity",
            "drill",
            "fuzz",
            "house",
            "mutate",
            "scale",
            "vitals",
        ):
            packages.enter(development=request.verb in DEVELOPMENT)
        return perform(request)
    except LaunchError as error:
        complain(str(error))
    except KeyboardInterrupt:
        complain("Interrupted")
        return 130
    return 1


def perform(request: arguments.Request) -> int:
    data = DataDir(request.data_dir)
    verbs: dict[str, Callable[[], int]] = {
        "serve": lambda: site.serve(data, request.serve),
        "stop": lambda: stop.stop(data),
        "reset": lambda: stop.reset(data, confirmed=request.confirmed),
        "manage": lambda: manage.manage(data, request.rest),
        "test": lambda: checks.test(request.rest),
        "check": checks.check,
        "lint": lambda: lint.lint(request.rest, quick=request.quick, fix=request.fix),
        "bench": lambda: checks.bench(request.rest),
        "capacity": lambda: checks.capacity(request.rest),
        "drill": lambda: checks.drill(request.rest),
        "fuzz": lambda: checks.fuzz(request.rest),
        "house": lambda: checks.house(request.rest),
        "mutate": lambda: checks.mutate(request.rest),
        "scale": lambda: checks.scale(request.rest),
        "vitals": lambda: checks.vitals(request.rest),
    }
    return verbs[request.verb]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
