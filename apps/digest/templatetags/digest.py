"""A template tag that returns whether a member gets the weekly e-mail."""

from django import template

from apps.accounts.models import User
from apps.digest.models import DigestReader

register = template.Library()


@register.simple_tag
def wants_digest(viewer: User) -> bool:
    return DigestReader.objects.filter(user=viewer).exists()
