"""Collections, and the accounts in them."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.graph.models import account_field
from apps.moderation.models import Report
from apps.tags.names import NAME_MAX_CHARACTERS as TAG_MAX_CHARACTERS

NAME_MAX_CHARACTERS = 40
DESCRIPTION_MAX_CHARACTERS = 100


class Collection(models.Model):
    """Accounts that `owner` recommends. Everybody may look at the collection; profiles list only discoverable ones.

    `updated_at` is when the owner last changed one of the fields; adding and removing accounts does not change it.
    """

    owner = account_field()
    name = models.CharField(_("name"), max_length=NAME_MAX_CHARACTERS)
    description = models.CharField(
        _("description"), max_length=DESCRIPTION_MAX_CHARACTERS, blank=True, default=""
    )
    language = models.CharField(_("language"), max_length=10, blank=True, default="")
    # the normalized name of a tag, or empty
    tag = models.CharField(_("tag"), max_length=TAG_MAX_CHARACTERS, blank=True, default="")
    is_sensitive = models.BooleanField(_("sensitive"), default=False)
    is_discoverable = models.BooleanField(_("listed on the profile"), default=True)
    created_at = models.DateTimeField(_("created at"), default=timezone.now)
    updated_at = models.DateTimeField(_("updated at"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("collection"), _("collections")
        indexes = [models.Index(fields=["owner", "-id"], name="collection_list")]

    def __str__(self) -> str:
        return self.name

    @property
    def url(self) -> str:
        return f"/collections/{self.pk}"


class CollectionItem(models.Model):
    """`member` is in a collection. The row stays after a member has left, so that nobody adds them again."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+", db_index=False)
    member = account_field()
    created_at = models.DateTimeField(_("since"), default=timezone.now)
    left_at = models.DateTimeField(_("left"), null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = (
            _("account in a collection"),
            _("accounts in collections"),
        )
        constraints = [models.UniqueConstraint("collection", "member", name="collection_item_once")]
        indexes = [models.Index(fields=["member", "-id"], name="collection_item_of_member")]

    def __str__(self) -> str:
        return f"{self.member_id} in {self.collection_id}"


class ReportedCollection(models.Model):
    """A reported collection, with copies of its texts, because its owner may change or delete the collection."""

    report = models.ForeignKey(Report, models.CASCADE, related_name="+", db_index=False)
    collection_id = models.BigIntegerField()
    name = models.CharField(_("name"), max_length=NAME_MAX_CHARACTERS)
    description = models.CharField(
        _("description"), max_length=DESCRIPTION_MAX_CHARACTERS, blank=True
    )

    class Meta:
        verbose_name, verbose_name_plural = _("reported collection"), _("reported collections")
        constraints = [
            models.UniqueConstraint("report", "collection_id", name="reported_collection_once")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def url(self) -> str:
        return f"/collections/{self.collection_id}"
