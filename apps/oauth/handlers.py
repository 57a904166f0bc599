"""What happens to tokens when accounts change."""

from apps.accounts.models import User
from apps.events.registry import Payload, handles
from apps.oauth.actions import end_all_access


@handles("password_changed")
def end_access_by_old_password(payload: Payload) -> None:
    """Applications that somebody let in who knew the old password."""
    end_all_access(payload["user_id"])


@handles("account_changed")
def end_access_of_suspended(payload: Payload) -> None:
    """Applications of a suspended account have to ask again after its restoration; until then nobody gets in anyway."""
    if User.objects.filter(pk=payload["user_id"]).exclude(suspended_at=None).exists():
        end_all_access(payload["user_id"])
