"""Tools that measure and test feedsite; no part of the site imports them."""

import signal
import sys
from collections.abc import Callable


def run_tool(main: Callable[[list[str]], int]) -> None:
    """Exit with the result of `main`. On SIGTERM the tool exits as after an error, and stops the servers it started."""
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    sys.exit(main(sys.argv[1:]))
