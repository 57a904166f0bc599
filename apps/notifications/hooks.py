"""The hooks with which optional apps extend notifications."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apps.accounts.models import User
from apps.events.hooks import Hook
from apps.notifications.models import Notification

# Called with the ids of new notifications, in the transaction that creates them; some of them may be held back.
CREATED = Hook[Callable[[Sequence[int]], None]]()
# Called with a viewer and some of their notifications. Returns a mapping from the ids of notifications that are not
# about a post to the objects that they are about; each object has the `url` of its page.
ABOUT = Hook[Callable[[User, Sequence[Notification]], Mapping[int, Any]]]()
