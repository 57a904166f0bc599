"""The hook with which optional apps contribute to the demo data."""

from apps.events.hooks import Hook

SEEDING = Hook[str]()  # dotted names of functions that take a `World` with its accounts and posts
