"""The applications that ask people for access, and the codes that they used. Codes and tokens are django-oauth-toolkit's own tables."""

from hashlib import sha256
from typing import ClassVar
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from oauth2_provider.models import AbstractApplication

OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"  # the code is shown on a page, for the reader to copy
_GRANTS = frozenset(
    {
        AbstractApplication.GRANT_AUTHORIZATION_CODE,
        AbstractApplication.GRANT_PASSWORD,
        AbstractApplication.GRANT_CLIENT_CREDENTIALS,
    }
)


class Application(AbstractApplication):
    """A program that registered itself. It gets no more than the scopes it named then."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+")
    website = models.TextField(_("website"), blank=True)
    scopes = models.TextField(_("scopes"))

    objects: ClassVar[models.Manager["Application"]] = models.Manager()

    class Meta(AbstractApplication.Meta):
        verbose_name, verbose_name_plural = _("application"), _("applications")

    def allows_grant_type(self, *grant_types: str) -> bool:
        """Mastodon's clients ask for a token in several ways with one registration."""
        return not _GRANTS.isdisjoint(grant_types)

    def redirect_uri_allowed(self, uri: str) -> bool:
        """Whether a code may be sent to an address: one that was registered, on a loopback with any port."""
        try:
            return bool(super().redirect_uri_allowed(uri))
        except ValueError:  # an address whose port or host is none
            return False

    def get_allowed_schemes(self) -> list[str]:
        """The schemes of the addresses that were registered: programs on phones have their own."""
        return sorted({urlsplit(address).scheme for address in self.redirect_uris.split()})


class UsedCode(models.Model):
    """A code that was exchanged already. Whoever sends it again ends what the first exchange gave (RFC 6749, 4.1.2)."""

    digest = models.CharField(max_length=64, unique=True)  # SHA-256: codes are long and random
    application = models.ForeignKey(Application, models.CASCADE, related_name="+")
    token_family = models.UUIDField()  # of all tokens that came of it, also by renewal
    used_at = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return self.digest

    @staticmethod
    def digest_of(code: str) -> str:
        """What is stored of a code."""
        return sha256(code.encode()).hexdigest()
