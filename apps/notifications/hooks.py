"""The hook with which optional apps extend notifications."""

from collections.abc import Callable, Sequence

from apps.events.hooks import Hook

# Called with the ids of new notifications, in the transaction that creates them; some of them may be held back.
CREATED = Hook[Callable[[Sequence[int]], None]]()
