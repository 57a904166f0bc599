"""OAuth applications, and used authorization codes. django-oauth-toolkit provides the tables for codes and tokens."""

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
    """A registered client. Its tokens get no scopes beyond those of its registration."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+")
    website = models.TextField(_("website"), blank=True)
    scopes = models.TextField(_("scopes"))

    objects: ClassVar[models.Manager["Application"]] = models.Manager()

    class Meta(AbstractApplication.Meta):
        verbose_name, verbose_name_plural = _("application"), _("applications")

    def allows_grant_type(self, *grant_types: str) -> bool:
        """Allow all supported grant types: Mastodon's clients use several with one registration."""
        return not _GRANTS.isdisjoint(grant_types)

    def redirect_uri_allowed(self, uri: str) -> bool:
        """Allow registered URIs only; those of http://127.0.0.1 and http://[::1] may have any port."""
        try:
            return bool(super().redirect_uri_allowed(uri))
        except ValueError:  # a malformed host or port
            return False

    def get_allowed_schemes(self) -> list[str]:
        """The schemes of the registered URIs: mobile apps have custom schemes."""
        return sorted({urlsplit(uri).scheme for uri in self.redirect_uris.split()})


class UsedCode(models.Model):
    """A code that was exchanged for tokens. Using it again revokes these tokens (RFC 6749, 4.1.2)."""

    digest = models.CharField(max_length=64, unique=True)  # unsalted SHA-256: codes are random
    application = models.ForeignKey(Application, models.CASCADE, related_name="+")
    token_family = models.UUIDField()  # shared by all tokens from the code, also refreshed ones
    used_at = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return self.digest

    @staticmethod
    def digest_of(code: str) -> str:
        return sha256(code.encode()).hexdigest()
