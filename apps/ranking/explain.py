"""Adds the reader's newest order to explanations of the home page, and the scores in Redis to the auditor's checks."""

from collections.abc import Collection, Mapping

from django.template.loader import render_to_string
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.audit.hooks import AuditedCache, Compared, Section
from apps.audit.models import Subject
from apps.ranking.ordering import newest_scores
from apps.ranking.rank_timeline import drop, is_consistent, online


def section(viewer: User, post_id: int) -> Section | None:
    """The factors of a post's score; None if the post is not in the reader's newest order."""
    scored = newest_scores(viewer).get(post_id)
    if scored is None:
        return None
    factors = render_to_string("ranking/_factors.html", {"scored": scored})
    return Section(_("In your ranked timeline"), factors)


def notes(viewer: User) -> Mapping[int, str]:
    """A note with the score of each post in the reader's newest order."""
    return {
        post_id: _("score in your ranked timeline: %(score)s")
        % {"score": number_format(scored.score, 2)}
        for post_id, scored in newest_scores(viewer).items()
    }


def _compare(reader_ids: Collection[int]) -> Compared:
    answers = {reader_id: is_consistent(reader_id) for reader_id in online(list(reader_ids))}
    wrong = {reader_id for reader_id, is_right in answers.items() if is_right is False}
    return sum(is_right is not None for is_right in answers.values()), wrong


CACHE = AuditedCache("ranked", Subject.ACCOUNTS, _compare, drop)
