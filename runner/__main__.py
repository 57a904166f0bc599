"""Entry point of `./run`."""

import os
import sys
import time
from collections.abc import Callable
from functools import partial

from runner import arguments, checks, lint, manage, packages, site, stop, testing, tools
from runner.datadir import DataDir
from runner.terminal import LaunchError, complain

# These verbs need the development packages too: pytest, Hypothesis, Playwright, drivers, watchfiles, Sphinx.
DEVELOPMENT = ("dev", "docs", "test", "check", "lint", "fuzz", "mutate", "scale", "vitals")


def main(command_line: list[str]) -> int:
    """Parse a command line and run it. Returns the exit status."""
    request = arguments.parse(command_line)
    os.environ.setdefault(testing.STARTED, str(time.monotonic()))
    try:
        if request.verb in ("check", "lint"):
            lint.refuse_syntax_errors()  # before anything is installed
        if request.verb not in ("stop", "reset"):
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
        "dev": lambda: site.serve(data, request.serve),
        "stop": lambda: stop.stop(data),
        "reset": lambda: stop.reset(data, confirmed=request.confirmed),
        "manage": lambda: manage.manage(data, request.rest),
        "test": lambda: testing.test(request.rest),
        "check": lambda: checks.check(nightly=request.nightly, since=request.since),
        "lint": lambda: lint.lint(request.rest, quick=request.quick, fix=request.fix),
        **{verb: partial(tools.run, verb, request.rest) for verb in tools.MODULES},
    }
    return verbs[request.verb]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
