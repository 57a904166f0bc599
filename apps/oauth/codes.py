"""Codes that were exchanged for tokens: a second use ends what came of the first."""

from hashlib import sha256

from oauth2_provider.models import RefreshToken

from apps.events.live import announce
from apps.oauth.models import Application, UsedCode


def remember_code(code: str, application: Application, *, refresh_token: str) -> None:
    """Note what a code was exchanged for, in the transaction of the exchange."""
    checksum = sha256(refresh_token.encode()).hexdigest()
    family = RefreshToken.objects.values_list("token_family", flat=True).get(
        token_checksum=checksum
    )
    UsedCode.objects.create(
        digest=UsedCode.digest_of(code), application=application, token_family=family
    )


def end_used_code(code: str, application: Application) -> None:
    """End all tokens that came of a code, which its own application has sent again; nothing for an unknown one."""
    used = UsedCode.objects.filter(digest=UsedCode.digest_of(code), application=application).first()
    if used is None:
        return
    owners = RefreshToken.objects.filter(token_family=used.token_family).values_list("user", flat=True)  # fmt: skip
    for user_id in set(owners):
        announce("tokens_ended", user_id=user_id)
    RefreshToken.revoke_family(used.token_family)
