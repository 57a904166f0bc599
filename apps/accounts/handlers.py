"""What accounts do when something has to be done again."""

from apps.accounts.cache import USER_COUNTS
from apps.accounts.counting import put_missed
from apps.events.registry import Payload, handles


@handles("counts_missed")
def put_missed_user_counts(payload: Payload) -> None:
    """Put counts that Redis did not take."""
    put_missed(USER_COUNTS, payload["kind"], payload["ids"])
