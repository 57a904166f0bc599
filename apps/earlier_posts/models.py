"""Posts from other sites with their original dates, and their pictures."""

import secrets

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.media.addresses import RESTRICTED_FOLDER
from apps.posts.models import Visibility

FOLDER = "earlier/"
FOLLOWERS_FOLDER = f"{RESTRICTED_FOLDER}earlier/"  # its files are served only at signed addresses
ADDRESS_CHARACTERS = 500
VISIBILITIES = [
    (one.value, one.label) for one in (Visibility.PUBLIC, Visibility.UNLISTED, Visibility.FOLLOWERS)
]


def new_picture_name(*, is_open: bool) -> str:
    """A name in the storage that cannot be guessed and is never used again."""
    return f"{FOLDER if is_open else FOLLOWERS_FOLDER}{secrets.token_hex(16)}.webp"


class EarlierPost(models.Model):
    """A post that its owner imported. `origin` is its original address, which identifies it.

    `reply_to` is the address of the post that it answers.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    origin = models.CharField(_("address"), max_length=ADDRESS_CHARACTERS)
    written_at = models.DateTimeField(_("written"))
    edited_at = models.DateTimeField(_("edited"), null=True)
    visibility = models.CharField(_("visibility"), max_length=10, choices=VISIBILITIES)
    body = models.TextField(_("text"), blank=True)
    content_warning = models.TextField(_("content warning"), blank=True)
    sensitive = models.BooleanField(_("sensitive"), default=False)
    language = models.CharField(_("language"), max_length=10, blank=True)
    reply_to = models.CharField(max_length=ADDRESS_CHARACTERS, blank=True)
    created_at = models.DateTimeField(_("imported at"), db_default=Now())

    class Meta:
        verbose_name, verbose_name_plural = _("earlier post"), _("earlier posts")
        constraints = [models.UniqueConstraint("owner", "origin", name="earlier_post_once")]
        indexes = [models.Index(fields=["owner", "-written_at", "-id"], name="earlier_post_list")]

    def __str__(self) -> str:
        return self.origin


class EarlierPicture(models.Model):
    """A picture of an earlier post, re-encoded like other pictures; both files have random names.

    `preview` is smaller, and never animated. `size` is the total size of both files in bytes.
    """

    post = models.ForeignKey(EarlierPost, models.CASCADE, related_name="pictures", db_index=False)
    position = models.PositiveSmallIntegerField()
    file = models.CharField(max_length=100)
    preview = models.CharField(max_length=100)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    alt = models.TextField(_("description"), blank=True)
    blurhash = models.CharField(max_length=40, blank=True)
    moves = models.BooleanField(default=False)
    focus_x = models.FloatField(default=0)
    focus_y = models.FloatField(default=0)
    size = models.PositiveBigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint("post", "position", name="earlier_picture_position")]
        indexes = [
            # looked up whenever a file is served
            models.Index(fields=["file"], name="earlier_picture_file"),
            models.Index(fields=["preview"], name="earlier_picture_preview"),
        ]

    def __str__(self) -> str:
        return self.alt or self.file
