"""Threads published together: the posts after the first, each a reply to the previous one."""

from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.accounts.models import User
from apps.errors import DomainError, Invalid
from apps.posts.actions.attachments import lock_uploads
from apps.posts.actions.drafts import Draft, check_unique, clean_draft
from apps.posts.models import Post
from apps.timeline import publishing
from apps.web.forms.posts import OPTIONS, ComposeForm, NextPost


class Interrupted(Exception):
    """Publishing stopped in the middle of a thread."""

    def __init__(self, published: list[Post], left: list[NextPost], error: DomainError) -> None:
        super().__init__(error.message)
        self.published, self.left, self.error = published, left, error

    @property
    def account(self) -> str:
        """The error message for the author: how many posts were published, and why the others were not."""
        count = len(self.published)
        text = ngettext(
            "%(count)d post has been published; the rest is still here: %(reason)s",
            "%(count)d posts have been published; the rest is still here: %(reason)s",
            count,
        )
        return text % {"count": count, "reason": self.error.message}


def check_rest(author: User, form: ComposeForm, media_ids: Sequence[int]) -> None:
    """Validate the posts after the first before any post is published. `media_ids`: the uploads of the first post.

    Raises Invalid.
    """
    taken = set(media_ids)
    for place, draft in enumerate(_drafts(form), start=2):
        try:
            clean_draft(draft)
            check_unique([*taken, *draft.media_ids])
            taken.update(draft.media_ids)
            with transaction.atomic():
                lock_uploads(author.pk, draft.media_ids)
        except DomainError as error:
            text = _("Post %(place)d: %(reason)s") % {"place": place, "reason": error.message}
            raise Invalid(text) from None


def publish_rest(author: User, form: ComposeForm, first: Post) -> list[Post]:
    """Publish the rest of a thread in order; a repeated request continues after an interruption. Raises Interrupted."""
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
    """The form for the posts that were not published, as a reply to the last published post."""
    left = data.copy()
    for name in ("quote", "idempotency_key", "instead_of", "media_ids", *OPTIONS):
        left.pop(name, None)
    first, *rest = stop.left
    left["body"], left["reply_to"] = first.text, str(stop.published[-1].pk)
    left.setlist("media_ids", [str(number) for number in first.media_ids])
    left.setlist("more", [post.text for post in rest])
    left.setlist("more_media", [" ".join(map(str, post.media_ids)) for post in rest])
    return left


def _drafts(form: ComposeForm) -> list[Draft]:
    """The posts after the first, with the audience, warning and language of the first, but their own pictures."""
    first = replace(form.draft(), quote_of_id=None, poll=None)
    return [
        replace(
            first,
            body=post.text,
            media_ids=post.media_ids,
            sensitive=first.sensitive and bool(post.media_ids),
        )
        for post in form.more
    ]
