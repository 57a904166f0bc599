"""Runs before anything else in the processes of a site that a drill breaks, or whose clocks it sets."""

import os

if name := os.environ.get("FEEDSITE_DRILL_BREAK"):
    from tools.drill.breaks import install

    install(name)

if "FAKETIME_TIMESTAMP_FILE" in os.environ:
    # libfaketime does not support the kind of sleep that Python has used since 3.11
    import select
    import time
    from typing import SupportsIndex

    def sleep(seconds: float | SupportsIndex) -> None:
        select.select([], [], [], float(seconds))

    time.sleep = sleep
