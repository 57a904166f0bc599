"""What feedsite is measured and tried with; no part of the site imports it."""

import signal
import sys
from collections.abc import Callable


def run_tool(main: Callable[[list[str]], int]) -> None:
    """End with what `main` returns. SIGTERM ends it as an error does, so that it stops the servers that it started."""
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    sys.exit(main(sys.argv[1:]))
