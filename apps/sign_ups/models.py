"""Sign-up blocks, set by staff."""

import re
from hashlib import sha256
from ipaddress import ip_network

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

VALUE_CHARACTERS = 253  # the maximum length of a host name
REASON_CHARACTERS = 500
WIDEST = {4: 8, 6: 16}  # the shortest prefix of a range, by IP version
_DOMAIN = re.compile(r"(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_HANDLE = re.compile(r"[a-z0-9_]{1,30}|[a-z0-9_]{3,29}\*")


class Kind(models.TextChoices):
    RANGE = "range", _("address range")
    DOMAIN = "domain", _("mail domain")
    EMAIL = "email", _("e-mail address")
    HANDLE = "handle", _("handle")


class SignUpBlock(models.Model):
    """Blocks sign-ups from an address range, with an e-mail address, with any address of a domain and its subdomains,
    or with a handle.

    `value` is normalised: a network with its prefix length, which for IPv6 is at most 64; a domain in lower case, in
    punycode; the digest of an e-mail address, because the site does not keep addresses of people who have no account; a
    handle, or the beginning of handles followed by `*`.
    """

    kind = models.CharField(_("kind"), max_length=6, choices=Kind)
    value = models.CharField(
        _("value"),
        max_length=VALUE_CHARACTERS,
        help_text=_(
            "A range such as 203.0.113.0/24 or 2001:db8::/32; a domain such as example.org, which includes its"
            " subdomains; an e-mail address, of which only a hash is stored; a handle, or the beginning of one, such"
            " as spam*."
        ),
    )
    reason = models.CharField(
        _("reason"), max_length=REASON_CHARACTERS, blank=True, help_text=_("For staff only.")
    )
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        related_name="+",
        null=True,
        editable=False,
        verbose_name=_("by"),
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    expires_at = models.DateTimeField(
        _("ends at"), null=True, blank=True, help_text=_("Leave empty for a permanent block.")
    )
    refused = models.PositiveIntegerField(_("refused sign-ups"), default=0, editable=False)

    class Meta:
        verbose_name, verbose_name_plural = _("sign-up block"), _("sign-up blocks")
        constraints = [models.UniqueConstraint("kind", "value", name="sign_up_block_once")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.value}"

    def clean(self) -> None:
        """Normalise the value. Raises ValidationError if it does not fit its kind."""
        self.value = normalised(self.kind, self.value)


def normalised(kind: str, value: str) -> str:
    """The value as it is stored. Raises ValidationError."""
    value = value.strip().lower()
    if kind == Kind.RANGE:
        return _range(value)
    if kind == Kind.EMAIL:
        return value if _DIGEST.fullmatch(value) else _email(value)
    if kind == Kind.DOMAIN:
        value = ascii_domain(value.removeprefix("@").rstrip("."))
    pattern, message = (
        (_DOMAIN, _("Enter a domain such as example.org."))
        if kind == Kind.DOMAIN
        else (_HANDLE, _("Enter a handle, or at least its first three characters followed by *."))
    )
    if not pattern.fullmatch(value):
        raise ValidationError({"value": message})
    return value


def _range(value: str) -> str:
    try:
        network = ip_network(value, strict=False)
    except ValueError:
        raise ValidationError({"value": _("Enter a range such as 203.0.113.0/24.")}) from None
    if network.prefixlen < WIDEST[network.version]:
        raise ValidationError({"value": _("This range is too wide.")})
    if network.version == 6 and network.prefixlen > 64:
        # of an IPv6 client, only the /64 network is known (`client_address`)
        network = network.supernet(new_prefix=64)
    return str(network)


def _email(value: str) -> str:
    try:
        validate_email(value)
    except ValidationError:
        raise ValidationError({"value": _("Enter an e-mail address.")}) from None
    return email_digest(value)


def email_digest(email: str) -> str:
    """SHA-256 of an address as Mastodon normalizes it: in lower case, without dots and `+...` before the @.

    The domain is in punycode, because mail to other spellings of it goes to the same mailbox.
    """
    name, _at, domain = email.strip().lower().rpartition("@")
    name = name.partition("+")[0].replace(".", "")
    return sha256(f"{name}@{ascii_domain(domain)}".encode()).hexdigest()


def ascii_domain(domain: str) -> str:
    """A domain in punycode, with characters such as full-width letters replaced, as Django does before it sends mail.

    Empty if this is impossible.
    """
    try:
        return domain.encode("idna").decode()
    except UnicodeError:
        return ""
