"""Requests to stop: Ctrl-C, SIGTERM, SIGHUP."""

import signal
import time
from collections.abc import Callable
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# One Ctrl-C can arrive twice, from the terminal and from a parent such as make.
SECOND_PRESS_SECONDS = 0.5


class StopRequested(BaseException):
    """A request to stop. Derives from BaseException so that no error handler catches it."""


def raise_on_stop_signals() -> None:
    """Raise StopRequested at the first stop signal, once. A SIGHUP ignored by nohup stays ignored."""
    for number in STOP_SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _ask)


def on_second_interrupt(action: Callable[[], None]) -> None:
    """While stopping, call `action` at another Ctrl-C, and ignore other stop signals."""
    started = time.monotonic()

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        if time.monotonic() - started > SECOND_PRESS_SECONDS:
            action()

    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGINT, interrupted)


def _ask(_number: int, _frame: FrameType | None) -> None:
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise StopRequested
