"""Requests previews, fetches them in the background, and erases unused ones."""

import logging
from collections.abc import Collection
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from apps.events import leases
from apps.events.actions import enqueue
from apps.events.leases import State
from apps.events.live import announce
from apps.posts.cache import load_open
from apps.previews.cache import forget
from apps.previews.fetching import INTERNET, Network, Refused, Unreachable
from apps.previews.linked_page import page_at, picture_of
from apps.previews.models import (
    HOST_CHARACTERS,
    REFUSAL_CHARACTERS,
    Preview,
    PreviewedPost,
    PreviewHost,
    key_of,
    new_picture_name,
)
from apps.previews.queries import link_of
from apps.sql import purge, rows_of
from feedcache import stats

logger = logging.getLogger(__name__)

TASK = "apps.previews.tasks.fetch"
COUNTED = f"{stats.OUTGOING}previews"
# How long a preview, or a refusal, stays fresh: after that, the next post with the link causes a new fetch.
FRESH, REFUSED_FOR = timedelta(days=7), timedelta(days=1)
FETCH_LEASE = timedelta(minutes=2)  # for the row and its hosts; longer than the task may take
HOST_PAUSE = timedelta(seconds=2)
HOST_KEPT = timedelta(days=1)
CONCURRENCY = 2  # fetches at once
SWEEP_LIMIT = 20
# A new preview is announced for at most this many posts, the newest; older posts are rarely on a screen.
TOLD_POSTS = 20
# the interval of sweeps; messages expire after it, because the next sweep sends new ones
SWEEP_SECONDS = 5.0
BATCH = 500

_TAKE_TURN = """
INSERT INTO previews_previewhost (name, free_at) VALUES (%(name)s, statement_timestamp() + %(lease)s)
ON CONFLICT (name) DO UPDATE SET free_at = EXCLUDED.free_at
WHERE previews_previewhost.free_at <= statement_timestamp() RETURNING name
"""
_ERASE = """
DELETE FROM previews_preview WHERE id = ANY(%(ids)s)
AND NOT EXISTS (SELECT FROM previews_previewedpost WHERE preview_id = previews_preview.id)
RETURNING address, picture
"""


NOTHING_SHOWN: dict[str, Any] = {
    **dict.fromkeys(("url", "title", "description", "site_name", "author_name"), ""),
    **dict.fromkeys(("picture", "picture_alt", "blurhash", "refusal"), ""),
    "published_at": None,
    "width": 0,
    "height": 0,
}


class Busy(Exception):
    """Another worker is fetching from the same remote host, or has just done so."""


def ask_for(post_id: int) -> None:
    """Connect a post with the preview of its link (`link_of`), or withdraw its preview if it has none. Idempotent.

    The task that is enqueued fetches the page unless the last fetch is recent.
    """
    content = load_open([post_id]).get(post_id)
    address = link_of(content) if content else ""
    if not address:
        withdraw(post_id)
        return
    before = PreviewedPost.objects.filter(post_id=post_id).values_list("preview", flat=True).first()
    with transaction.atomic():
        preview, _is_new = Preview.objects.get_or_create(
            key=key_of(address), defaults={"address": address}
        )
        PreviewedPost.objects.update_or_create(post_id=post_id, defaults={"preview": preview})
        if _is_outdated(preview):
            _begin_again([preview.pk])
        transaction.on_commit(partial(enqueue, TASK, preview.pk))
    if before is not None and before != preview.pk:
        erase_unused([before])


def _is_outdated(preview: Preview) -> bool:
    kept = FRESH if preview.title and not preview.refusal else REFUSED_FOR
    finished = preview.finished_at
    return finished is not None and finished < timezone.now() - kept


def withdraw(post_id: int) -> None:
    """Remove the preview of a post that is deleted, hidden or without a link. Idempotent."""
    named = PreviewedPost.objects.filter(post_id=post_id)
    ids = list(named.values_list("preview", flat=True))
    named.delete()
    erase_unused(ids)


def erase_unused(preview_ids: Collection[int]) -> int:
    """Erase the given previews, with their pictures, unless a post uses them; returns the number erased."""
    erased = rows_of(_ERASE, {"ids": list(preview_ids)}) if preview_ids else []
    for address, picture in erased:
        _forget(address, picture)
    return len(erased)


def erase(preview_ids: Collection[int]) -> int:
    """Erase previews for staff; returns their number. A page is fetched again when a post that links to it is saved."""
    PreviewedPost.objects.filter(preview__in=preview_ids).delete()
    return erase_unused(preview_ids)


def fetch_again(preview_ids: Collection[int]) -> int:
    """Enqueue new fetches of the pages; until they end, the old previews stay.

    Returns the number of previews that were not being fetched already.
    """
    number = _begin_again(preview_ids)
    for preview_id in preview_ids:
        enqueue(TASK, preview_id)
    return number


def _begin_again(preview_ids: Collection[int]) -> int:
    ended = Preview.objects.filter(pk__in=preview_ids).exclude(state=State.PENDING)
    return ended.update(state=State.PENDING, attempts=0, due_at=Now(), finished_at=None)


def sweep() -> None:
    """Enqueue fetches that are due; they would take too long in the sweep itself."""
    if not settings.LINK_PREVIEWS:
        return
    for preview_id in leases.due_ids(Preview, limit=SWEEP_LIMIT):
        enqueue(TASK, preview_id, expires=SWEEP_SECONDS)


def purge_unused() -> None:
    """Erase unused previews that a race has left behind, and rows of hosts from which nothing was fetched recently."""
    unused = Preview.objects.filter(posts=None, created_at__lt=Now() - HOST_KEPT)
    erase_unused(list(unused.values_list("pk", flat=True)[:BATCH]))
    purge(PreviewHost.objects.filter(free_at__lt=Now() - HOST_KEPT).order_by("free_at"))


def run_due(*, limit: int, only: list[int] | None = None, network: Network = INTERNET) -> int:
    """Fetch the pages of due previews; returns the number of claimed rows.

    All workers together fetch about `CONCURRENCY` pages at a time: fetches that began over 30 s ago are not counted.
    """
    if not settings.LINK_PREVIEWS:
        return 0
    free = leases.free_places(Preview, CONCURRENCY)
    rows = leases.claim(Preview, limit=min(limit, free), only=only) if free else []
    for row in rows:
        with leases.under_way(row):
            _run(row, network)
    return len(rows)


def _run(row: Preview, network: Network) -> None:
    """Fetch a preview and record the outcome. `leases.run` is not used: it logs every unreachable page as an error."""
    taken: set[str] = set()
    try:
        _fetch(row, taken, network)
        outcome = "shown"
    except Refused as error:
        _write(row, refusal=str(error)[:REFUSAL_CHARACTERS])
        outcome = "refused"
    except Busy:
        leases.postpone(row)
        outcome = "postponed"
    except Unreachable as error:
        leases.fail(row, error)
        outcome = "failed"
    except Exception as error:
        logger.exception("could not fetch the preview of %s, attempt %s", row, row.attempts)
        leases.fail(row, error)
        outcome = "failed"
    finally:
        PreviewHost.objects.filter(name__in=taken).update(free_at=Now() + HOST_PAUSE)
    stats.count(COUNTED, {outcome: 1})


def _fetch(row: Preview, taken: set[str], network: Network) -> None:
    def take_turn(host: str) -> None:
        name = host[:HOST_CHARACTERS]
        if name not in taken:
            if not rows_of(_TAKE_TURN, {"name": name, "lease": FETCH_LEASE}):
                raise Busy
            taken.add(name)

    Preview.objects.filter(pk=row.pk, attempts=row.attempts).update(due_at=Now() + FETCH_LEASE)
    page = page_at(row.address, take_turn=take_turn, network=network)
    picture = picture_of(page, take_turn=take_turn, network=network)
    values: dict[str, Any] = {
        "url": page.url,
        "title": page.title,
        "description": page.description,
        "site_name": page.site_name,
        "author_name": page.author_name,
        "published_at": page.published_at,
    }
    if picture:
        values |= {
            "picture": default_storage.save(new_picture_name(), ContentFile(picture.data)),
            "picture_alt": page.picture_alt,
            "width": picture.width,
            "height": picture.height,
            "blurhash": picture.blurhash,
        }
    _write(row, **values)


def _write(row: Preview, **values: Any) -> None:
    """Replace the preview, unless its row has been erased or taken over in the meantime."""
    claimed = Preview.objects.filter(pk=row.pk, state=State.PENDING, attempts=row.attempts)
    done = {"state": State.DONE, "finished_at": Now(), "last_error": ""}
    is_written = claimed.update(**{**NOTHING_SHOWN, **values, **done})
    _forget(row.address, row.picture if is_written else values.get("picture", ""))
    if is_written and (row.title or values.get("title")):
        posts = row.posts.order_by("-post_id").values_list("post_id", flat=True)
        for post_id in posts[:TOLD_POSTS]:
            announce("post_previewed", post_id=post_id)


def _forget(address: str, picture: str) -> None:
    """Drop a preview from the caches and delete its picture; called only after the commit."""
    forget(address)
    if picture:
        default_storage.delete(picture)
