"""Threads written in one go: the posts behind the first, each an answer to the one before it."""

from dataclasses import replace

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.accounts.models import User
from apps.errors import DomainError, Invalid
from apps.posts.actions.drafts import Draft, clean_draft
from apps.posts.models import Post
from apps.timeline import publishing
from apps.web.forms.posts import OPTIONS, ComposeForm


class Interrupted(Exception):
    """A thread that could not be published to its end."""

    def __init__(self, published: list[Post], left: list[str], error: DomainError) -> None:
        super().__init__(error.message)
        self.published, self.left, self.error = published, left, error

    @property
    def account(self) -> str:
        """What was published, and why not the rest."""
        count = len(self.published)
        text = ngettext(
            "%(count)d post is published, the rest is here: %(reason)s",
            "%(count)d posts are published, the rest is here: %(reason)s",
            count,
        )
        return text % {"count": count, "reason": self.error.message}


def check_rest(form: ComposeForm) -> None:
    """Refuse a thread before anything of it is published. Invalid."""
    for place, draft in enumerate(_drafts(form), start=2):
        try:
            clean_draft(draft)
        except DomainError as error:
            text = _("Post %(place)d: %(reason)s") % {"place": place, "reason": error.message}
            raise Invalid(text) from None


def publish_rest(author: User, form: ComposeForm, first: Post) -> list[Post]:
    """The whole thread, published in order; sent again it goes on where it was interrupted. Interrupted."""
    posts, key = [first], form.cleaned_data["idempotency_key"][:190]
    for place, draft in enumerate(_drafts(form), start=1):
        answer = replace(draft, reply_to_id=posts[-1].pk)
        try:
            published = publishing.publish(
                author, answer, idempotency_key=f"{key}:{place}" if key else ""
            )
        except DomainError as error:
            raise Interrupted(posts, form.more[place - 1 :], error) from error
        posts.append(published.post)
    return posts


def data_of_rest(data: QueryDict, stop: Interrupted) -> QueryDict:
    """The form with what could not be published, as an answer to what was."""
    left = data.copy()
    for name in ("quote", "idempotency_key", "instead_of", "media_ids", *OPTIONS):
        left.pop(name, None)
    left["body"], left["reply_to"] = stop.left[0], str(stop.published[-1].pk)
    left.setlist("more", stop.left[1:])
    return left


def _drafts(form: ComposeForm) -> list[Draft]:
    """The posts behind the first: they have its audience, warning and language, and words alone."""
    like = replace(form.draft(), quote_of_id=None, poll=None, sensitive=False)
    return [replace(like, body=text) for text in form.more]
