"""Entry point of `./run`: parse, set up the packages where the verb needs them, do it."""

import sys
from collections.abc import Callable

from runner import arguments, checks, ending, joining, packages, site
from runner.datadir import DataDir
from runner.problems import LaunchError
from runner.says import complain


def main(command_line: list[str]) -> int:
    """Do what the command line asks; returns the exit status."""
    request = arguments.parse(command_line)
    try:
        if request.verb in (
            "serve",
            "manage",
            "test",
            "check",
            "bench",
            "capacity",
            "drill",
            "fuzz",
            "house",
            "vitals",
        ):
            packages.enter(development=request.verb in ("test", "check", "fuzz", "vitals"))
        return perform(request)
    except LaunchError as error:
        complain(str(error))
    except KeyboardInterrupt:
        complain("Interrupted")
        return 130
    return 1


def perform(request: arguments.Request) -> int:
    """Dispatch to the verb."""
    data = DataDir(request.data_dir)
    verbs: dict[str, Callable[[], int]] = {
        "serve": lambda: site.serve(data, request.serve),
        "stop": lambda: ending.stop(data),
        "reset": lambda: ending.reset(data, confirmed=request.confirmed),
        "manage": lambda: joining.manage(data, request.rest),
        "test": lambda: checks.test(request.rest),
        "check": checks.check,
        "bench": lambda: checks.bench(request.rest),
        "capacity": lambda: checks.capacity(request.rest),
        "drill": lambda: checks.drill(request.rest),
        "fuzz": lambda: checks.fuzz(request.rest),
        "house": lambda: checks.house(request.rest),
        "vitals": lambda: checks.vitals(request.rest),
    }
    return verbs[request.verb]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
