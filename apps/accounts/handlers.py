"""What accounts do when something has to be done again."""

from apps.accounts.cache import USER_COUNTS
from apps.accounts.cards import forget_cards
from apps.accounts.counting import put_missed
from apps.events.registry import Payload, handles


@handles("counts_missed")
def put_missed_user_counts(payload: Payload) -> None:
    """Put counts that Redis did not take."""
    put_missed(USER_COUNTS, payload["kind"], payload["ids"])


@handles("account_changed")
def forget_changed_card(payload: Payload) -> None:
    """What whoever changed the account may not have come to."""
    forget_cards([payload["user_id"]])
