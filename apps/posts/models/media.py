"""Pictures: of a post, or uploaded and waiting for one."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.posts.models.posts import Post, ScheduledPost


class Attachment(models.Model):
    """A picture. Width and height are stored, so that a page never moves when it loads.

    Until its owner publishes it, it has no post; one that waits for a scheduled post says for which. `preview` is a
    smaller one that never moves; both lie under random names. `moves`: it has several frames. `focus_x` and `focus_y` say what must stay in sight when it is cropped:
    from -1 (left, bottom) to 1.
    """

    post = models.ForeignKey(
        Post, models.CASCADE, null=True, blank=True, related_name="attachments", db_index=False
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )
    scheduled = models.ForeignKey(
        ScheduledPost,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="attachments",
        db_index=False,
    )
    position = models.PositiveSmallIntegerField(_("position"), default=0)
    file = models.FileField(_("file"), upload_to="pictures/")
    preview = models.FileField(_("preview"), upload_to="pictures/", blank=True, db_default="")
    width = models.PositiveIntegerField(_("width"), editable=False)
    height = models.PositiveIntegerField(_("height"), editable=False)
    alt = models.TextField(_("description"), max_length=1500, blank=True)
    blurhash = models.CharField(_("blurred"), max_length=40, blank=True, db_default="")
    moves = models.BooleanField(_("moving"), default=False, db_default=False, editable=False)
    focus_x = models.FloatField(default=0, db_default=0)
    focus_y = models.FloatField(default=0, db_default=0)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("attachment"), _("attachments")
        # those that wait have no post, and no place in it
        constraints = [models.UniqueConstraint("post", "position", name="attachment_position")]
        indexes = [
            # who a file belongs to, asked whenever it is served
            models.Index(fields=["file"], name="attachment_file"),
            models.Index(fields=["preview"], name="attachment_preview"),
            models.Index(
                fields=["created_at"], condition=models.Q(post=None), name="attachment_waiting"
            ),
            models.Index(
                fields=["scheduled"],
                condition=~models.Q(scheduled=None),
                name="attachment_scheduled",
            ),
        ]

    def __str__(self) -> str:
        return self.alt or str(self.file)
