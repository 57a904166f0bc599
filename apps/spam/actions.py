"""Examines posts. Reports spam and takes measures against it in the name of the site itself, as the policy says."""

import unicodedata
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from hashlib import sha256
from secrets import token_hex

from django.apps import apps
from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override

from apps.accounts.actions import register
from apps.accounts.models import User
from apps.accounts.staff import CHANGE_USERS, require_permission
from apps.errors import Invalid, TooMany
from apps.moderation.actions import file_report, hide_post, is_taken, limit_user
from apps.moderation.models import COMMENT_MAX_CHARACTERS, Category, Measure, Report
from apps.posts.actions.publish import DELETE_POSTS
from apps.posts.cache import load_contents
from apps.posts.content.text import segments
from apps.posts.models import Post
from apps.spam.heuristics import Candidate, Finding, available, judge, sentences
from apps.spam.models import Fingerprint, Policy, SiteAccount, Verdict
from apps.spam.queries import candidates, policy_in_force, used_by
from apps.sql import purge as purge_rows
from feedcache.ids import first_id_at

CHANGE_POLICY = "spam.change_policy"
HANDLE = "site"  # a reserved handle, which members cannot choose
LEAST_CHARACTERS = 12  # shorter texts are not compared with others
VERDICT_RETENTION = timedelta(days=30)
FINGERPRINT_RETENTION = timedelta(
    days=3
)  # a dry run compares yesterday's posts with those of the day before
SWEEP_LIMIT = 30


def examine(post_id: int) -> None:
    """Examine a post, and do what the policy says about its score. A post with a verdict is not examined again."""
    policy = policy_in_force()
    if policy.lowest is None or Verdict.objects.filter(post_id=post_id).exists():
        return
    posts = candidates([post_id])
    remember(posts)
    finding = judge(used_by(policy), posts).get(post_id)
    if finding is not None and finding.score >= policy.lowest:
        _act(posts[0], finding, policy)


def remember(posts: Sequence[Candidate]) -> None:
    """Store the fingerprints of posts of new accounts, with which later posts are compared."""
    Fingerprint.objects.bulk_create(
        (
            Fingerprint(digest=digest, is_link=is_link, post_id=post.id, author_id=post.author_id)
            for post in posts
            if post.is_by_newcomer
            for digest, is_link in _digests(post)
        ),
        ignore_conflicts=True,
    )


def _digests(post: Candidate) -> Iterator[tuple[int, bool]]:
    """The digest of a post's text (without mentions, links, case and blanks), and the digest of each of its links."""
    plain = (one.text for one in segments(post.body) if one.kind in {"text", "tag"})
    text = unicodedata.normalize("NFKC", " ".join("".join(plain).split())).casefold()
    if len(text) >= LEAST_CHARACTERS:
        yield _digest(text), False
    for link in post.links:
        yield _digest(link.partition("://")[2].rstrip("/")), True


def _digest(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:8], signed=True)


@transaction.atomic
def _act(post: Candidate, finding: Finding, policy: Policy) -> None:
    """Record the verdict, and do what the policy says about its score, unless the author is suspended."""
    # locked, so that posts of one author that are examined at once share a report
    author = User.objects.select_for_update(no_key=True).get(pk=post.author_id)
    if author.is_suspended:
        return
    acts = policy.acts_at(finding.score)
    if not has_measures():
        acts = [act for act in acts if act == "report"]
    verdict, is_new = Verdict.objects.get_or_create(
        post_id=post.id,
        defaults={
            "author": author,
            "score": finding.score,
            "reasons": finding.reasons,
            "acts": acts,
            "is_waiting": "report" in acts,
        },
    )
    if not is_new or not acts:
        return
    site = site_account()
    report = _file(verdict, author, site) if verdict.is_waiting else None
    with override(author.interface_language or settings.LANGUAGE_CODE):
        text = " ".join([
            _("The site did this automatically, because it took one of your posts for spam. Staff will check it."),
            *sentences(finding.reasons),
        ])  # fmt: skip
    if "hide" in acts:
        hide_post(post.id, by=site, reason=text, report=report)
    if "limit" in acts and not is_taken(Measure.LIMIT, author):
        limit_user(author, by=site, reason=text, report=report)


def has_measures() -> bool:
    """Whether the site may hide posts and limit accounts: only with `apps.strikes`, so that people can appeal."""
    return apps.is_installed("apps.strikes")


def _file(verdict: Verdict, author: User, site: User) -> Report | None:
    """Report the post, or use the site's open report about its author. None while the site's rate limit is used up."""
    report = Report.objects.filter(reporter=site, target=author, resolved_at=None).first()
    if report is None:
        with override(settings.LANGUAGE_CODE):
            score = _("Examined by the site. Score: %(score)d.") % {"score": verdict.score}
            comment = " ".join([score, *sentences(verdict.reasons)])[:COMMENT_MAX_CHARACTERS]
        try:
            report = file_report(
                site,
                author,
                category=Category.SPAM,
                comment=comment,
                post_ids=[verdict.post_id],
                contents=load_contents([verdict.post_id]),
            )
        except TooMany:
            return None
    verdict.report, verdict.is_waiting = report, False
    verdict.save(update_fields=["report", "is_waiting"])
    return report


def file_waiting() -> None:
    """File reports that waited for the rate limit, oldest first, unless the post is deleted or the author suspended."""
    waiting = Verdict.objects.filter(is_waiting=True).order_by("pk")
    for verdict_id, author_id in waiting.values_list("pk", "author_id")[:SWEEP_LIMIT]:
        with transaction.atomic():
            author = User.objects.select_for_update(no_key=True).get(pk=author_id)
            rows = Verdict.objects.select_for_update().filter(pk=verdict_id, is_waiting=True)
            verdict = rows.first()
            if verdict is None:  # filed or deleted by now
                continue
            there = Post.objects.filter(pk=verdict.post_id, deleted_at=None).exists()
            if author.is_suspended or not there:
                verdict.is_waiting = False
                verdict.save(update_fields=["is_waiting"])
            elif (report := _file(verdict, author, site_account())) is None:
                return
            elif has_measures():
                _link_measures(verdict, report)


def _link_measures(verdict: Verdict, report: Report) -> None:
    """Add to the report the strikes for measures that were taken before it could be filed."""
    from apps.strikes.models import Strike  # noqa: PLC0415 -- optional

    about = Q(post_id=verdict.post_id) | Q(post_id=None)
    rows = Strike.objects.filter(about, user=verdict.author_id, by=report.reporter_id, report=None)
    rows.update(report=report)


def site_account() -> User:
    """The site's own account, which is created when it is first needed.

    It is suspended, so that nobody sees, follows or blocks it, and has no password.
    """
    account_id = policy_in_force().account_id
    if account_id is None:
        Policy.objects.get_or_create(pk=1)
        with transaction.atomic():
            policy = Policy.objects.select_for_update().get(pk=1)
            if policy.account_id is None:
                policy.account_id = _make_account()
                policy.save(update_fields=["account"])
            account_id = policy.account_id
    account = SiteAccount.objects.get(pk=account_id)
    account.is_staff = True  # in memory only: the row has no rights
    return account


def _make_account() -> int:
    is_taken_by_another = User.objects.filter(handle=HANDLE).exists()
    user = register(
        handle=f"{HANDLE}_{token_hex(4)}" if is_taken_by_another else HANDLE,
        email=None,
        password=token_hex(32),
        display_name=settings.SITE_NAME,
        by_operator=True,
    )
    user.set_unusable_password()
    user.is_active = user.is_discoverable = user.is_indexable = False
    user.is_bot, user.suspended_at = True, timezone.now()
    user.suspension_reason = "The account of the site itself, for its reports and measures."
    user.save()
    return user.pk


@transaction.atomic
def save_policy(
    *,
    by: User,
    switched_off: Collection[str],
    report_from: int | None,
    hide_from: int | None,
    limit_from: int | None,
) -> None:
    """Save the policy, and log the change. Raises NotAllowed without the permission, or if `by` sets the threshold of
    a measure that `by` may not take; Invalid in the cases of `require_sound`.
    """
    require_permission(by, CHANGE_POLICY)
    row, _is_new = Policy.objects.get_or_create(pk=1)
    row = Policy.objects.select_for_update().get(pk=1)
    for name, value, permission in (
        ("hide_from", hide_from, DELETE_POSTS),
        ("limit_from", limit_from, CHANGE_USERS),
    ):
        if value is not None and value != getattr(row, name):
            require_permission(by, permission)
    row.report_from, row.hide_from, row.limit_from = report_from, hide_from, limit_from
    row.switched_off = sorted(set(switched_off) & available().keys())
    require_sound(row)
    row.save(update_fields=["report_from", "hide_from", "limit_from", "switched_off"])
    off = ", ".join(row.switched_off) or "none"
    text = f"Report from {report_from}, hide from {hide_from}, limit from {limit_from}; switched off: {off}."
    LogEntry.objects.log_actions(by.pk, [row], CHANGE, text, single_object=True)


def require_sound(policy: Policy) -> None:
    """Raise Invalid for thresholds out of range, and for measures without a report or without `apps.strikes`."""
    errors: dict[str, str] = {}
    try:
        policy.clean_fields(exclude=["account", "id", "switched_off"])
    except ValidationError as error:
        errors = {name: texts[0] for name, texts in error.message_dict.items()}
    for name in ("hide_from", "limit_from"):
        value = getattr(policy, name)
        if value is None or name in errors:
            continue
        if not has_measures():
            errors[name] = _("This needs apps.strikes, so that people can appeal.")
        elif policy.report_from is None or value < policy.report_from:
            errors[name] = _("At least the score of a report, so that staff check each measure.")
    if errors:
        raise Invalid(" ".join(errors.values()), errors=errors)


def purge() -> None:
    """Delete verdicts and fingerprints after their retention."""
    before = first_id_at(int((timezone.now() - FINGERPRINT_RETENTION).timestamp()))
    purge_rows(Fingerprint.objects.filter(post_id__lt=before).order_by("post_id"))
    purge_rows(
        Verdict.objects.filter(created_at__lt=Now() - VERDICT_RETENTION).order_by("created_at")
    )
