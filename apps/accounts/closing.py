"""The end of an account, as far as its own row goes: at once, in one transaction. All else is erased by and by (`personal`)."""

import secrets
from functools import partial

from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.author_cache import card_changed
from apps.accounts.models import AccessToken, FormerHandle, Mail, User, UserCounts, access_revoked
from apps.accounts.passwords import check_own_password
from apps.accounts.signals import announce_visibility
from apps.errors import Invalid, NotAllowed
from apps.throttling import Origin


def leave(user: User, *, password: str, origin: Origin | None = None) -> None:
    """Delete what the account's row says of its owner, and hide the account and all it wrote from the next request on.

    The row stays, nameless: the number is in the id of every post. The handle is given to nobody else, so that nobody can pose
    as who is gone. Invalid for a wrong password; NotAllowed for staff, who would lock themselves out of the admin.
    """
    if not check_own_password(user, password, origin):
        message = _("This is not your password.")
        raise Invalid(message, errors={"password": message})
    if user.is_staff or user.is_superuser:
        raise NotAllowed(
            _("An account of staff cannot be deleted. Ask another administrator to take its rights first.")
        )  # fmt: skip
    _make_nameless(user)


@transaction.atomic
def _make_nameless(user: User) -> None:
    UserCounts.objects.select_for_update().get(pk=user.pk)  # the lock of every write of an author
    FormerHandle.objects.get_or_create(digest=FormerHandle.digests_of(user.handle)[0])
    for file in (user.avatar, user.header):
        if file.name:
            transaction.on_commit(partial(default_storage.delete, file.name))
    now = timezone.now()
    blank = User(
        id=user.pk,
        handle=_nameless(user.pk),
        is_active=False,
        is_discoverable=False,
        is_indexable=False,
        suspended_at=now,
        erased_at=now,
        created_at=user.created_at,
    )
    blank.set_unusable_password()
    blank.save(force_update=True)
    access_revoked.send(User, user_id=user.pk)
    AccessToken.objects.filter(user=user.pk).delete()
    Mail.objects.filter(user=user.pk).delete()
    if user.email:
        Mail.objects.filter(address=user.email).delete()
    card_changed(user.pk)
    announce_visibility(user.pk)


def _nameless(number: int) -> str:
    handle = f"deleted_{number}"
    taken = User.objects.filter(handle=handle).exists()
    return f"{handle}_{secrets.token_hex(4)}" if taken else handle
