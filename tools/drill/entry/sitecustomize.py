"""Runs before anything else in the processes of a site that a drill breaks on purpose."""

import os

if name := os.environ.get("FEEDSITE_DRILL_BREAK"):
    from tools.drill.breaks import install

    install(name)
