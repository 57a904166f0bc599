"""Why a post is on a home page that did not get there in the plain way, in words."""

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.timeline.pipeline.page import FeedItem


def reasons(item: FeedItem) -> list[str]:
    """What the page says above a post that came by a followed tag or is older than the follow; for most nothing."""
    tag = item.followed_tag and _("Because of #%(tag)s") % {"tag": item.followed_tag}
    return [text for text in (tag, older_than_follow(item)) if text]


def older_than_follow(item: FeedItem) -> str:
    """That the viewer followed the author after the post was written; empty once that was before yesterday."""
    if item.followed_at is None:
        return ""
    name = {"name": item.author.name}
    days = (timezone.localdate() - timezone.localdate(item.followed_at)).days
    if days == 0:
        return _("Older: you followed %(name)s today") % name
    return _("Older: you followed %(name)s yesterday") % name if days == 1 else ""
