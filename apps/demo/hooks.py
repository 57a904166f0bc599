"""What optional apps add to the demo."""

from apps.events.hooks import Hook

SEEDING = Hook[
    str
]()  # dotted names of functions that take the `World`, when it has its accounts and posts
