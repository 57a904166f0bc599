"""Switching policies while everything runs: announce, then act.

To pull: (1) the author is merged, committed; (2) the version is announced to all readers; (3) only then pushes end. Back:
pushes begin at once; a backfill brings the posts of the pull period to the windows, through the same ledger as any
delivery; only then the author is not merged any more. So whatever a reader merges contains every author with a post that
windows may lack, at any moment and wherever a switch is interrupted: `settle` goes on from the rows alone.

The whole site goes to pull in the same three steps. It comes back without a backfill: another generation of home windows
begins empty, and each is rebuilt from PostgreSQL when its reader comes.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from apps.accounts.models import User, UserCounts
from apps.events import leases
from apps.events.actions import enqueue
from apps.posts.models import OPEN, Post
from apps.timeline import policy as policies
from apps.timeline.models import (
    AuthorPolicy,
    Backfill,
    BackfillChunk,
    Mode,
    Policy,
    PolicyChange,
    SitePolicy,
)
from apps.timeline.sources.home_cache import HOME
from feedcache.redis_servers.connections import timelines

AUTHORS_BATCH_SIZE = 500  # authors settled in one go


def set_author_policy(author: User, policy: Policy, *, by: str, reason: str = "") -> AuthorPolicy:
    """Ask for a policy for one author; in force when this returns, but for the backfill, which goes on behind."""
    with transaction.atomic():
        row, _created = AuthorPolicy.objects.select_for_update().get_or_create(author=author)
        PolicyChange.objects.create(author=author, before=row.policy, after=policy, made_by=by, reason=reason)  # fmt: skip
        row.policy, row.reason = policy, reason
        row.save(update_fields=["policy", "reason"])
    apply_mode(author.pk, _asked(policy, row.mode))
    row.refresh_from_db()
    return row


def set_site_policy(policy: Policy, *, by: str, reason: str = "") -> SitePolicy:
    """Ask for the policy of the whole site, which holds for every author without one of their own."""
    if policy == Policy.SITE:
        raise ValueError("the site has no site above it")
    with transaction.atomic():
        row = _site()
        PolicyChange.objects.create(before=row.policy, after=policy, made_by=by, reason=reason)
        row.policy = policy
        row.save(update_fields=["policy"])
    apply_site_policy()
    return SitePolicy.objects.get(pk=1)


def apply_mode(author_id: int, mode: Mode | None) -> None:
    """Bring an author to a mode, or to that of the site; again and again, wherever it was interrupted, until it is so."""
    if mode == Mode.PULL:
        since = _merge(author_id)
        _announce()  # a Redis that does not answer leaves it at that: pushes go on
        _pull(author_id, since)
    elif backfill_id := _push(author_id, mode):
        enqueue("apps.timeline.tasks.split_backfill", backfill_id)
    else:
        stop_pulling(author_id)


def apply_site_policy() -> None:
    """Bring the site to the mode of its policy, wherever that was interrupted."""
    with transaction.atomic():
        row = _site()
        wanted = _site_mode(row)
        if wanted == Mode.PULL and not row.pulls_all:
            SitePolicy.objects.filter(pk=1).update(pulls_all=True)
            _bump()
    _announce()
    with transaction.atomic():
        row = _site()
        wanted, leaves = _site_mode(row), row.mode == Mode.PULL
        if wanted != row.mode and (wanted != Mode.PULL or row.pulls_all):
            generation = row.generation + (leaves and wanted != Mode.PULL)
            SitePolicy.objects.filter(pk=1).update(mode=wanted, generation=generation)
            _bump()
    _announce()
    with transaction.atomic():
        row = _site()
        if row.pulls_all and row.mode != Mode.PULL:
            SitePolicy.objects.filter(pk=1).update(pulls_all=False)
            _bump()
    _announce()


def maintain() -> None:
    """Go on with switches that were interrupted, and end the merging of authors whose posts are handed over."""
    apply_site_policy()
    waiting = AuthorPolicy.objects.filter(
        Q(policy=Policy.PULL) & ~Q(mode=Mode.PULL) | ~Q(policy=Policy.PULL) & Q(merged_since__isnull=False)
    )  # fmt: skip
    for row in waiting.order_by("pk")[:AUTHORS_BATCH_SIZE]:
        apply_mode(row.pk, _asked(row.policy, row.mode))
    with (
        transaction.atomic()
    ):  # while nobody switches, and so exactly: a restored database may have an older version
        timelines().set(policies.VERSION_KEY, _site().version)


def stop_pulling(author_id: int) -> None:
    """End the merging of an author who is not pulled, unless something is still to be handed over."""
    unfinished = BackfillChunk.objects.filter(job=OuterRef("pk")).exclude(state=leases.State.DONE)
    owed = Q(Exists(unfinished)) | ~Q(state=leases.State.DONE)
    with transaction.atomic():
        row = AuthorPolicy.objects.select_for_update().filter(pk=author_id).first()
        if row is None or row.merged_since is None or row.mode == Mode.PULL:
            return
        if Backfill.objects.filter(owed, author=author_id).exists():
            return
        AuthorPolicy.objects.filter(pk=author_id).update(merged_since=None)
        _bump()
    _announce()


def _asked(policy: str, mode: str | None) -> Mode | None:
    """The mode of a policy; `auto` stays at the one it has chosen."""
    if policy == Policy.SITE:
        return None
    return (Mode(mode) if mode else None) if policy == Policy.AUTO else Mode(policy)


def _site_mode(row: SitePolicy) -> Mode:
    return Mode.ONLINE if row.policy == Policy.AUTO else Mode(row.policy)


def _site() -> SitePolicy:
    row, _created = SitePolicy.objects.select_for_update().get_or_create(pk=1)
    return row


def _bump() -> None:
    _site()
    SitePolicy.objects.filter(pk=1).update(version=F("version") + 1)


def _announce() -> None:
    version = SitePolicy.objects.values_list("version", flat=True).filter(pk=1).first()
    policies.announce(version or 0)


def _merge(author_id: int) -> datetime:
    """Merge an author's outbox from now on, or say since when that is done."""
    with transaction.atomic():
        row = AuthorPolicy.objects.select_for_update().get(pk=author_id)
        if row.merged_since is None:
            row.merged_since = timezone.now()
            row.save(update_fields=["merged_since"])
            _bump()
        return row.merged_since


def _pull(author_id: int, since: datetime) -> None:
    """End the pushes of an author whose merging has been announced, and has gone on since."""
    AuthorPolicy.objects.filter(pk=author_id, merged_since=since).update(mode=Mode.PULL)


def _push(author_id: int, mode: Mode | None) -> int | None:
    """Put a pushing mode in force; the backfill that this makes necessary, if the author was pulled."""
    with transaction.atomic():
        row = AuthorPolicy.objects.select_for_update().get(pk=author_id)
        AuthorPolicy.objects.filter(pk=author_id).update(mode=mode)
        if row.mode != Mode.PULL:
            return None
        # all posts of the pull are in the ledger: the transactions that wrote them down held this row
        backfill = Backfill.objects.create(
            author_id=author_id,
            post_ids=_pulled(row),
            followers=UserCounts.objects.values_list("followers", flat=True).get(pk=author_id),
        )
        return backfill.pk


def _pulled(row: AuthorPolicy) -> list[int]:
    """The newest posts that were not pushed, as many as a window holds."""
    posts = Post.objects.filter(
        author=row.author_id, deleted_at=None, visibility__in=OPEN,
        fanout__mode=Mode.PULL, fanout__created_at__gte=row.merged_since,
    )  # fmt: skip
    return list(posts.order_by("-pk").values_list("pk", flat=True)[: HOME.length])
