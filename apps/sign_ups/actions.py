"""Refuses sign-ups, changes blocks for staff, and deletes blocks that have ended."""

from ipaddress import ip_interface, ip_network
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.signals import SignUp
from apps.accounts.staff import require_permission
from apps.errors import Invalid, invalid
from apps.sign_ups.models import Kind, SignUpBlock
from apps.sign_ups.queries import block_of, current_wave
from apps.sql import purge as purge_rows
from apps.throttling import check_rate_limit

# The permissions of the staff page.
ADD_BLOCKS, CHANGE_BLOCKS, DELETE_BLOCKS = (
    f"sign_ups.{act}_signupblock" for act in ("add", "change", "delete")
)
_NETWORKS = {
    4: 24,
    6: 48,
}  # prefix lengths of the networks that are limited separately during a wave, by IP version


def refuse_blocked(sign_up: SignUp) -> None:
    """Raise Invalid if staff have blocked the network, e-mail address, mail domain or handle; count the refusal."""
    block = block_of(sign_up)
    if block is None:
        return
    SignUpBlock.objects.filter(pk=block.id).update(refused=F("refused") + 1)
    if block.kind == Kind.HANDLE:
        raise invalid(
            "handle", _("This handle cannot be used here. Choose another one."), "blocked"
        )
    if block.kind == Kind.DOMAIN:
        raise invalid("email", _("Addresses of this mail provider cannot be used here."), "blocked")
    if block.kind == Kind.EMAIL:
        raise invalid("email", _("This e-mail address cannot be used here."), "blocked")
    raise Invalid(_("Nobody can sign up from your network at the moment."), code="blocked")


def slow_down_wave(sign_up: SignUp) -> None:
    """Raise TooMany during a wave of sign-ups if LIMIT_SIGN_UP_WAVE is used up for the client's network."""
    if sign_up.address and current_wave():
        check_rate_limit("sign_up_wave", network_of(sign_up.address))


def network_of(address: str) -> str:
    """The network of a client: the /24 of an IPv4 address, or the /48 of an IPv6 address."""
    client = ip_interface(address)
    return str(ip_network((client.ip, _NETWORKS[client.version]), strict=False))


@transaction.atomic
def save_block(row: SignUpBlock, *, by: User, **values: Any) -> SignUpBlock:
    """Save a new block, or changes to a block, and log this for staff. Raises NotAllowed without the permission, or
    Invalid, which names the fields with invalid values.
    """
    is_new = row.pk is None
    require_permission(by, ADD_BLOCKS if is_new else CHANGE_BLOCKS)
    for name, value in values.items():
        setattr(row, name, value)
    try:
        row.full_clean()
        with transaction.atomic():
            row.save()
    except ValidationError as error:
        raise _invalid(error) from None
    except IntegrityError:  # the same block was added in the meantime
        raise Invalid(_("This is blocked already."), code="blocked_already") from None
    if is_new:
        row.refresh_from_db()  # the database sets `created_at`
    _log(by, row, ADDITION if is_new else CHANGE)
    return row


def _invalid(error: ValidationError) -> Invalid:
    """Convert the error. A violated unique constraint names no field: the value is blocked already."""
    fields = {name: texts[0] for name, texts in error.message_dict.items()}
    if NON_FIELD_ERRORS in fields:
        text = _("This is blocked already.")
        return Invalid(text, code="blocked_already", errors={"value": text})
    return Invalid(" ".join(fields.values()), errors=fields)


@transaction.atomic
def remove_block(row: SignUpBlock, *, by: User) -> None:
    """Delete a block. Raises NotAllowed without the permission."""
    require_permission(by, DELETE_BLOCKS)
    _log(by, row, DELETION)
    row.delete()


def _log(by: User, row: SignUpBlock, flag: int) -> None:
    """Write an entry in the admin's history."""
    LogEntry.objects.log_actions(by.pk, [row], flag, "", single_object=True)


def purge() -> int:
    """Delete blocks that have ended. Returns how many."""
    return purge_rows(SignUpBlock.objects.filter(expires_at__lt=Now()).order_by("expires_at"))
