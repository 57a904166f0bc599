"""What optional apps add to the demo."""

from apps.events.hooks import Hook

SEEDING = Hook[str]()  # dotted names of functions of a `World` that has its accounts and posts
