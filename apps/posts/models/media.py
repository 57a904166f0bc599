"""Pictures."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.posts.models.posts import Post


class Attachment(models.Model):
    """A picture of a post. Width and height are stored, so that a page never moves when it loads."""

    post = models.ForeignKey(Post, models.CASCADE, related_name="attachments", db_index=False)
    position = models.PositiveSmallIntegerField(_("position"), default=0)
    file = models.FileField(_("file"), upload_to="pictures/")
    width = models.PositiveIntegerField(_("width"), editable=False)
    height = models.PositiveIntegerField(_("height"), editable=False)
    alt = models.TextField(_("description"), max_length=1500, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("attachment"), _("attachments")
        constraints = [models.UniqueConstraint("post", "position", name="attachment_position")]

    def __str__(self) -> str:
        return self.alt or str(self.file)
