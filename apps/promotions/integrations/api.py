"""The field of a status that describes its promotion."""

from typing import Annotated, TypedDict

from django.utils.translation import gettext as _

from apps.addresses import absolute
from apps.api.entities.base import Uri
from apps.api.hooks import StatusField
from apps.timeline.pipeline.items import FeedItem


class PromotionJson(TypedDict):
    """The reason why the viewer gets a status by an account they do not follow. Clients should show it."""

    label: Annotated[str, "“Promoted” in the reader's language."]
    sponsor: Annotated[str, "Who pays for it."]
    reason: Annotated[
        str, "A sentence in the reader's language: “Promoted to first-year students because …”."
    ]
    settings_url: Annotated[Uri, "Where the reader can switch off all promoted posts."]


def _promotion(item: FeedItem) -> PromotionJson | None:
    if item.promotion is None:
        return None
    return {
        "label": _("Promoted"),
        "sponsor": item.promotion.sponsor,
        "reason": item.promotion.reason(),
        "settings_url": absolute(item.promotion.settings_url),
    }


FIELD = StatusField(
    "promotion",
    Annotated[
        PromotionJson | None,
        "Null unless the status is promoted. Only responses to requests with `promoted=true` have promoted statuses.",
    ],
    _promotion,
)
