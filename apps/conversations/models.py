"""Who is in which thread among mentioned people, and what was said last."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.posts.models import Post


class Conversation(models.Model):
    """A thread as `user` has it: `last_post` is the newest post for mentioned people that the user wrote or is named in.

    It shows nothing by itself: whether the post may be seen is decided at every read.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    thread_id = models.BigIntegerField(_("thread"))
    last_post = models.ForeignKey(Post, models.CASCADE, related_name="+", db_index=False)
    is_unread = models.BooleanField(_("unread"), default=False)

    class Meta:
        verbose_name, verbose_name_plural = _("conversation"), _("conversations")
        constraints = [models.UniqueConstraint("user", "thread_id", name="conversation_once")]
        indexes = [
            models.Index(fields=["user", "-last_post"], name="conversation_list"),
            models.Index(fields=["last_post"], name="conversation_last"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.thread_id}"
