"""Lists of people, and who is in them."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

TITLE_MAX_CHARACTERS = 100


class RepliesPolicy(models.TextChoices):
    """Which replies a list shows, besides those to oneself and to its owner."""

    FOLLOWED = "followed", _("Replies to anyone you follow")
    LIST = "list", _("Replies to people in the list")
    NONE = "none", _("No replies")


class UserList(models.Model):
    """A list of its owner's. Who is in an exclusive list is read there and not on the home page."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    title = models.CharField(_("title"), max_length=TITLE_MAX_CHARACTERS)
    replies_policy = models.CharField(
        _("replies"), max_length=8, choices=RepliesPolicy.choices, default=RepliesPolicy.LIST
    )
    is_exclusive = models.BooleanField(_("exclusive"), default=False)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("list"), _("lists")
        indexes = [models.Index(fields=["owner", "id"], name="list_of_owner")]

    def __str__(self) -> str:
        return self.title


class ListMember(models.Model):
    """`member` is in `user_list`. Only followed accounts count; the row of one who is not any more is tidied away."""

    user_list = models.ForeignKey(UserList, models.CASCADE, related_name="members", db_index=False)
    member = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("list member"), _("list members")
        constraints = [models.UniqueConstraint("user_list", "member", name="list_member_once")]
        indexes = [
            models.Index(fields=["user_list", "-id"], name="list_member_page"),
            models.Index(fields=["member", "user_list"], name="list_member_mine"),
        ]

    def __str__(self) -> str:
        return f"{self.member_id} in {self.user_list_id}"
