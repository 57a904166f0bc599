"""Revokes applications' tokens when all access to an account is revoked, and drops changed tokens from caches."""

from typing import Any

from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.utils import timezone
from oauth2_provider.models import AccessToken

from apps.accounts.cache import viewer_changed
from apps.accounts.signals import access_revoked
from apps.oauth.actions import end_access
from apps.oauth.models import Application


@receiver(access_revoked)
def end_access_of_applications(user_id: int, **_kwargs: Any) -> None:
    """Revoke the tokens of all applications, for example after a new password or a suspension of the account."""
    end_access(user_id)


@receiver([post_save, post_delete], sender=AccessToken)
def forget_token(instance: Any, *, created: bool = False, **_more: Any) -> None:
    """Make processes read a changed or deleted token again. Expired tokens are refused by their date anyway."""
    if not created and instance.user_id is not None and instance.expires > timezone.now():
        viewer_changed(instance.user_id)


@receiver(post_save, sender=Application)
def forget_tokens_of(instance: Application, *, created: bool = False, **_more: Any) -> None:
    """Make processes read the tokens of a changed application again, because they cache both together."""
    if not created:
        tokens = AccessToken.objects.filter(application=instance, expires__gt=timezone.now())
        viewer_changed(*tokens.exclude(user=None).values_list("user", flat=True).distinct())
