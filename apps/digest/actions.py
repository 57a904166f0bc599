"""Subscribes members to the weekly e-mail, and unsubscribes them, either in the settings or by a link in the e-mail."""

from django.core import signing
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.digest.models import DigestReader
from apps.errors import NotFound

SALT = "apps.digest.end"


def choose(user: User, *, wants: bool) -> None:
    if wants:
        DigestReader.objects.get_or_create(user=user)
    else:
        DigestReader.objects.filter(user=user).delete()


def end_token(user: User) -> str:
    """The token in an unsubscribe link. It only unsubscribes, and works until the SECRET_KEY that signed it is gone."""
    return signing.dumps(user.pk, salt=SALT)


def reader_of(token: str) -> User:
    """The member for whom an unsubscribe link was made, subscribed or not. Raises NotFound for an invalid link."""
    try:
        number = signing.loads(token, salt=SALT)
    except signing.BadSignature:
        raise _dead_link() from None
    user = User.objects.filter(pk=number, is_active=True).first()
    if user is None:
        raise _dead_link()
    return user


def _dead_link() -> NotFound:
    return NotFound(_("This link does not work. Log in to stop the weekly e-mail."))
