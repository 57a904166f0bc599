"""Previews by address, the posts that link to these addresses, and the time of the next request to each host."""

import hashlib
import secrets
from datetime import timedelta

from django.contrib.postgres.indexes import HashIndex
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.events.leases import SlowRow, State

FOLDER = "previews/"
KEY_CHARACTERS = 64
TITLE_CHARACTERS, DESCRIPTION_CHARACTERS, NAME_CHARACTERS = 200, 300, 100
HOST_CHARACTERS = 255
REFUSAL_CHARACTERS = 200


def key_of(address: str) -> str:
    """The key of the preview of an address."""
    return hashlib.sha256(address.encode()).hexdigest()


def new_picture_name() -> str:
    """A new, unguessable name for a picture in the storage. It is part of the picture's URL, and never reused."""
    return f"{FOLDER}{secrets.token_hex(16)}.webp"


class Preview(SlowRow):
    """The preview of the page at an address, or the reason why there is none.

    `url` is the canonical address of the page at which the redirects from `address` ended; `picture` is a name in the
    storage. If there is no title, nothing is shown. While a page is being fetched again, the old preview stays.
    """

    key = models.CharField(max_length=KEY_CHARACTERS, unique=True)
    address = models.TextField(_("address"))
    url = models.TextField(blank=True, default="")
    title = models.CharField(_("title"), max_length=TITLE_CHARACTERS, blank=True, default="")
    description = models.CharField(max_length=DESCRIPTION_CHARACTERS, blank=True, default="")
    site_name = models.CharField(max_length=NAME_CHARACTERS, blank=True, default="")
    author_name = models.CharField(max_length=NAME_CHARACTERS, blank=True, default="")
    published_at = models.DateTimeField(null=True, blank=True)
    picture = models.CharField(max_length=100, blank=True, default="")
    picture_alt = models.CharField(max_length=DESCRIPTION_CHARACTERS, blank=True, default="")
    width = models.PositiveIntegerField(default=0)
    height = models.PositiveIntegerField(default=0)
    blurhash = models.CharField(max_length=100, blank=True, default="")
    refusal = models.CharField(
        _("why nothing is shown"), max_length=REFUSAL_CHARACTERS, blank=True, default=""
    )
    retry_after = timedelta(seconds=30)

    class Meta:
        verbose_name, verbose_name_plural = _("link preview"), _("link previews")
        indexes = [
            models.Index(
                fields=["due_at"], condition=models.Q(state=State.PENDING), name="preview_due"
            ),
            models.Index(
                fields=["picture"], condition=~models.Q(picture=""), name="preview_picture"
            ),
            HashIndex(fields=["url"], name="preview_url"),
        ]

    def __str__(self) -> str:
        return self.address


class PreviewedPost(models.Model):
    """Connects an open post with the preview of its first link. A preview without posts is erased."""

    post_id = models.BigIntegerField(primary_key=True)
    preview = models.ForeignKey(Preview, models.CASCADE, related_name="posts")

    class Meta:
        indexes = [models.Index(fields=["preview", "post_id"], name="previewed_posts_of")]

    def __str__(self) -> str:
        return str(self.post_id)


class PreviewHost(models.Model):
    """A server from which something was fetched; no worker fetches from it again before `free_at`."""

    name = models.CharField(max_length=HOST_CHARACTERS, primary_key=True)
    free_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["free_at"], name="preview_host_free")]

    def __str__(self) -> str:
        return self.name
