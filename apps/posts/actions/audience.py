"""Who may see a new post: what its author chose, within the visibility of the post it answers."""

from django.utils.translation import gettext as _

from apps.errors import NotAllowed
from apps.graph.circle_queries import circles_known, require_may_post
from apps.posts.actions.drafts import Draft, invalid
from apps.posts.content.post import PostContent
from apps.posts.models import Visibility

# From the widest to the narrowest. Replies inherit the circle of a circle post, without a
# comparison.
_REACH = [
    Visibility.PUBLIC,
    Visibility.UNLISTED,
    Visibility.FOLLOWERS,
    Visibility.CIRCLE,
    Visibility.MENTIONED,
]


def audience(author_id: int, draft: Draft, parent: PostContent | None) -> tuple[str, int | None]:
    """The visibility of a new post and its circle: a reply never reaches further than a restricted
    post it answers.

    Invalid when circle and visibility contradict; NotFound, NotAllowed when the author may not post
    to the circle.
    """
    if parent is not None and parent.circle_id is not None:
        return Visibility.CIRCLE, _inherited(author_id, parent.circle_id)
    _check_fit(draft)
    visibility = Visibility(draft.visibility)
    if draft.circle_id is not None:
        require_may_post(author_id, draft.circle_id)
    if parent is None or parent.is_open:
        return visibility, draft.circle_id
    reach = max(visibility, Visibility(parent.visibility), key=_REACH.index)
    return reach, draft.circle_id if reach == Visibility.CIRCLE else None


def _inherited(author_id: int, circle_id: int) -> int:
    # authors still see their own posts in a circle they left, but may not answer there
    if circle_id not in circles_known(author_id, [circle_id]):
        raise NotAllowed(_("You don't belong to this circle any more."))
    return circle_id


def _check_fit(draft: Draft) -> None:
    if draft.visibility == Visibility.CIRCLE and draft.circle_id is None:
        raise invalid("circle_id", _("Choose a circle."), "blank")
    # probably a mistake, which would show the post to everybody
    if draft.visibility != Visibility.CIRCLE and draft.circle_id is not None:
        raise invalid("circle_id", _("Only a post for a circle has one."), "unknown")
