"""What the launcher tells the person at the terminal."""

import contextlib
import sys


def say(text: str) -> None:
    """Print to standard output; a terminal that went away is no reason to die."""
    with contextlib.suppress(OSError, ValueError):
        print(text, flush=True)


def complain(text: str) -> None:
    """Print to standard error, like `say`."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)
