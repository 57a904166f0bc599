"""Being asked to stop: Ctrl-C, SIGTERM, or the terminal going away."""

import signal
import time
from collections.abc import Callable
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# One key press can arrive twice, through the terminal and through a parent such as make.
SECOND_PRESS_SECONDS = 0.5


class StopAskedError(BaseException):
    """Not an error: it derives from BaseException so that nothing that handles errors catches it."""


def stop_when_asked() -> None:
    """From now on the first such signal raises StopAskedError, once. A hang-up ignored by nohup stays ignored."""
    for number in STOP_SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _ask)


def on_second_interrupt(action: Callable[[], None]) -> None:
    """While stopping: call `action` at another Ctrl-C, and ignore every other wish to stop."""
    begin = time.monotonic()

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        if time.monotonic() - begin > SECOND_PRESS_SECONDS:
            action()

    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGINT, interrupted)


def _ask(_number: int, _frame: FrameType | None) -> None:
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise StopAskedError
