"""What statuses say of a promotion."""

from typing import Annotated, TypedDict

from django.utils.translation import gettext as _

from apps.addresses import absolute
from apps.api.entities.base import Uri
from apps.api.hooks import StatusField
from apps.timeline.pipeline.items import FeedItem


class PromotionJson(TypedDict):
    """Why a status of an account that the viewer does not follow is on the home timeline. Show it with the status."""

    label: Annotated[str, "“Promoted”, in the reader's language, as is the reason."]
    sponsor: Annotated[str, "Who pays for it."]
    reason: Annotated[str, "“Promoted to first-year students because …”."]
    settings_url: Annotated[Uri, "Where the reader ends all promoted posts."]


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
        "Null unless it is promoted; on home timelines that were asked for with `promoted=true`.",
    ],
    _promotion,
)
