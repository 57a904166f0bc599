"""For whom a new post is: what its author asks for, within what it answers."""

from django.utils.translation import gettext as _

from apps.errors import NotAllowed
from apps.graph.circle_queries import circles_known, require_may_post
from apps.posts.actions.drafts import Draft, invalid
from apps.posts.content.post import PostContent
from apps.posts.models import Visibility

# From the widest to the narrowest. The circle of a circle post is inherited as it is and never compared.
_REACH = [
    Visibility.PUBLIC, Visibility.UNLISTED, Visibility.FOLLOWERS, Visibility.CIRCLE, Visibility.MENTIONED,
]  # fmt: skip


def audience(author_id: int, draft: Draft, parent: PostContent | None) -> tuple[str, int | None]:
    """The visibility of a new post and its circle: a reply to a restricted post never reaches further than that.

    Invalid when circle and visibility do not fit; NotFound, NotAllowed when the author may not post there.
    """
    if parent is not None and parent.circle_id is not None:
        return Visibility.CIRCLE, _inherited(author_id, parent.circle_id)
    _check_fit(draft)
    asked = Visibility(draft.visibility)
    if draft.circle_id is not None:
        require_may_post(author_id, draft.circle_id)
    if parent is None or parent.is_open:
        return asked, draft.circle_id
    reach = max(asked, Visibility(parent.visibility), key=_REACH.index)
    return reach, draft.circle_id if reach == Visibility.CIRCLE else None


def _inherited(author_id: int, circle_id: int) -> int:
    # authors still see what they wrote before they left, and answer nobody there
    if circle_id not in circles_known(author_id, [circle_id]):
        raise NotAllowed(_("You don't belong to this circle any more."))
    return circle_id


def _check_fit(draft: Draft) -> None:
    if draft.visibility == Visibility.CIRCLE and draft.circle_id is None:
        raise invalid("circle_id", _("Choose a circle."), "blank")
    # a circle beside a wider visibility is a mistake that would show the post to everybody
    if draft.visibility != Visibility.CIRCLE and draft.circle_id is not None:
        raise invalid("circle_id", _("Only a post for a circle has one."), "unknown")
