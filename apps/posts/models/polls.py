"""Polls."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.posts.models.posts import Post


class Poll(models.Model):
    """The poll of a post. What was voted is counted here, in the transaction of the votes."""

    post = models.OneToOneField(Post, models.CASCADE, primary_key=True, related_name="poll")
    options = ArrayField(models.TextField(), verbose_name=_("options"))
    multiple = models.BooleanField(_("several choices"), default=False)
    hide_totals = models.BooleanField(_("hidden until the end"), default=False)
    expires_at = models.DateTimeField(_("ends"))
    votes = ArrayField(models.PositiveIntegerField(), verbose_name=_("votes"))  # of each option
    voters = models.PositiveIntegerField(_("voters"), default=0)
    is_ended = models.BooleanField(default=False)  # and that it has, is told

    class Meta:
        verbose_name, verbose_name_plural = _("poll"), _("polls")
        indexes = [
            models.Index(
                fields=["expires_at"], condition=models.Q(is_ended=False), name="poll_running"
            )
        ]

    def __str__(self) -> str:
        return " / ".join(self.options)
