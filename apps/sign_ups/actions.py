"""Refuses sign-ups, and deletes blocks that have ended."""

from ipaddress import ip_interface, ip_network

from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from apps.accounts.signals import SignUp
from apps.errors import Invalid, invalid
from apps.sign_ups.models import Kind, SignUpBlock
from apps.sign_ups.queries import block_of, current_wave
from apps.sql import purge as purge_rows
from apps.throttling import check_rate_limit

_NETWORKS = {
    4: 24,
    6: 48,
}  # the networks whose sign-ups a wave slows down: prefix lengths, by the version of IP


def refuse_blocked(sign_up: SignUp) -> None:
    """Raise Invalid if staff have blocked the address, the mail domain or the handle; the block counts refusals."""
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
    raise Invalid(_("Nobody can sign up from your network at the moment."), code="blocked")


def slow_down_wave(sign_up: SignUp) -> None:
    """Raise TooMany during a wave of sign-ups if LIMIT_SIGN_UP_WAVE is used up for the client's network."""
    if sign_up.address and current_wave():
        check_rate_limit("sign_up_wave", network_of(sign_up.address))


def network_of(address: str) -> str:
    """The network of a client: the /24 of an IPv4 address, the /48 of an IPv6 one."""
    client = ip_interface(address)
    return str(ip_network((client.ip, _NETWORKS[client.version]), strict=False))


def purge() -> int:
    """Delete blocks that have ended. Returns how many."""
    return purge_rows(SignUpBlock.objects.filter(expires_at__lt=Now()).order_by("expires_at"))
