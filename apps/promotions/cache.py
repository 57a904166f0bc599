"""Entries in Memcached that every home page needs for promotions: one per reader, and one with all live campaigns.

Every change calls `forget_readers` or `forget_campaigns` after its commit; the handlers of `virtual_follow_changed`,
`segments_changed`, `campaign_begun` and `campaign_stopped` call them again. Other changes, such as an impression, have
no such event: if the process dies right after the commit, the entry is outdated until the next change or its expiry.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import orjson

from apps.posts.visibility import is_open
from apps.sql import rows_of
from apps.timeline.sources.sql import Slice
from feedcache.ids import MAX_ID
from feedcache.local_cache import CachedDecoder
from feedcache.read_through import ReadThrough
from feedcache.read_through.envelope import pack, unpack

logger = logging.getLogger(__name__)

BATCH_SIZE = 1000
MAX_DECODED = 512  # reader entries that a process caches decoded, per generation of `CachedDecoder`
ALL = 0  # the key of the live campaigns
MAX_READER_BYTES = 256 * 1024  # at most 100 campaigns with 16 pages each, and 100 segments
MAX_CAMPAIGNS_BYTES = 4 * 1024 * 1024  # 100 campaigns with 20 segments each, and their rules

# The rules of a segment as [[kind, value], ...]; the values are shown to people.
FACTS = """
SELECT jsonb_agg(jsonb_build_array(r.kind, coalesce(
    trait.name, nullif(r.language, ''), account.handle, tag.name, r.days::text, r.since::text
)) ORDER BY r.id)::text
FROM promotions_segmentrule r
LEFT JOIN promotions_trait trait ON trait.id = r.trait_id
LEFT JOIN accounts_user account ON account.id = r.account_id
LEFT JOIN tags_tag tag ON tag.id = r.tag_id
WHERE r.segment_id = {segment}
"""
_READERS = """
SELECT u.id,
    ARRAY(SELECT account_id FROM promotions_virtualfollow WHERE user_id = u.id ORDER BY account_id),
    ARRAY(SELECT segment_id FROM promotions_segmentmembership WHERE user_id = u.id ORDER BY segment_id),
    (SELECT jsonb_agg(jsonb_build_array(campaign_id, day, number, pages))::text
     FROM promotions_readerimpressions WHERE user_id = u.id AND day >= %(today)s)
FROM unnest(%(users)s::bigint[]) AS u (id)
"""
_CAMPAIGNS = f"""
SELECT c.id, c.account_id, p.sponsor, extract(epoch FROM c.starts_at)::float, extract(epoch FROM c.ends_at)::float,
    c.frequency_cap,
    (SELECT jsonb_agg(jsonb_build_array(s.id, s.description, ({FACTS.format(segment="s.id")})) ORDER BY s.id)::text
     FROM promotions_campaign_segments cs JOIN promotions_segment s ON s.id = cs.segment_id AND s.is_active
     WHERE cs.campaign_id = c.id)
FROM promotions_campaign c JOIN promotions_promotedaccount p ON p.user_id = c.account_id
WHERE c.is_live AND EXISTS (SELECT FROM promotions_promotionswitch WHERE is_on) AND NOT EXISTS (
    SELECT FROM promotions_campaigncount t WHERE t.campaign_id = c.id AND t.impressions >= c.budget_impressions
) ORDER BY c.id
"""  # noqa: S608 -- constants


class Shown(NamedTuple):
    """The number of pages on which a reader saw a campaign on a day (UTC), and hashes of the newest pages' ids."""

    campaign_id: int
    day: str
    number: int
    pages: list[int]


@dataclass(frozen=True, slots=True)
class ReaderEntry:
    """The accounts that a reader follows virtually, the reader's segments, and the campaigns shown today."""

    followees: tuple[int, ...] = ()
    segments: tuple[int, ...] = ()
    shown: tuple[Shown, ...] = ()


class LiveSegment(NamedTuple):
    """An active segment of a campaign; `facts` is the JSON that `FACTS` selects."""

    id: int
    people: str
    facts: str | None


@dataclass(frozen=True, slots=True)
class LiveCampaign:
    """A campaign that makes virtual follows and has budget left; times in Unix seconds.

    `newest_id` is the id of the only post that it shows; 0 if there is none.
    """

    id: int
    account_id: int
    sponsor: str
    starts_at: float
    ends_at: float
    frequency_cap: int
    newest_id: int
    segments: tuple[LiveSegment, ...]


def _encode_reader(entry: ReaderEntry) -> bytes:
    return pack(orjson.dumps((entry.followees, entry.segments, entry.shown), default=tuple))


def _decode_reader(data: bytes) -> ReaderEntry:
    """Decode a reader's entry. Raises ValueError for malformed bytes."""
    try:
        followees, segments, shown = orjson.loads(unpack(data, max_bytes=MAX_READER_BYTES))
        return ReaderEntry(tuple(followees), tuple(segments), tuple(Shown(*one) for one in shown))
    except TypeError as error:
        raise ValueError("not a reader's entry") from error


def _encode_campaigns(campaigns: Sequence[LiveCampaign]) -> bytes:
    return pack(orjson.dumps([astuple(one) for one in campaigns], default=tuple))


def _decode_campaigns(data: bytes) -> tuple[LiveCampaign, ...]:
    """Decode the live campaigns. Raises ValueError for malformed bytes."""
    try:
        rows = orjson.loads(unpack(data, max_bytes=MAX_CAMPAIGNS_BYTES))
        return tuple(_campaign(*row) for row in rows)
    except TypeError as error:
        raise ValueError("not an entry of campaigns") from error


def _campaign(*row: Any) -> LiveCampaign:
    segments = tuple(LiveSegment(*segment) for segment in row[-1])
    return LiveCampaign(*(*row[:-1], segments))


READERS: ReadThrough[int, ReaderEntry] = ReadThrough(
    name="promotions",
    version=1,
    ttl_seconds=24 * 3600,
    key_of=str,
    encode=_encode_reader,
    decode=CachedDecoder(_decode_reader, maximum=MAX_DECODED),
    family="content",
    negative_ttl_seconds=0,
    is_personal=True,
)
CAMPAIGNS: ReadThrough[int, tuple[LiveCampaign, ...]] = ReadThrough(
    name="campaigns",
    version=2,
    ttl_seconds=3600,
    key_of=str,
    encode=_encode_campaigns,
    decode=CachedDecoder(_decode_campaigns, maximum=4, max_bytes=MAX_CAMPAIGNS_BYTES),
    family="content",
    negative_ttl_seconds=0,
)


def today() -> date:
    """The current day in UTC; frequency caps are per day."""
    return datetime.now(UTC).date()


def load_readers(user_ids: Collection[int]) -> dict[int, ReaderEntry]:
    """The entries of these readers, in one query."""
    return {
        user_id: ReaderEntry(
            tuple(followees),
            tuple(segments),
            tuple(Shown(*one) for one in orjson.loads(shown or "[]")),
        )
        for user_id, followees, segments, shown in rows_of(
            _READERS, {"users": list(user_ids), "today": today()}
        )
    }


def load_campaigns(_keys: Collection[int]) -> dict[int, tuple[LiveCampaign, ...]]:
    """All live campaigns with budget left, under the key `ALL`, from two queries; none while the switch is off."""
    rows = rows_of(_CAMPAIGNS, {})
    newest = _newest_posts({row[1] for row in rows})
    return {
        ALL: tuple(
            _campaign(*row, newest.get(row[1], 0), orjson.loads(of or "[]")) for *row, of in rows
        )
    }


def _newest_posts(account_ids: Collection[int]) -> dict[int, int]:
    """The id of each account's newest open post that is no repost, quote or reply."""
    if not account_ids:
        return {}
    # other people's words must not appear as promoted by this account
    own = f"hidden_at IS NULL AND {is_open()} AND kind NOT IN ('repost', 'quote') AND reply_to_id IS NULL"
    scan = Slice(is_ascending=False, limit=1).scan("%(accounts)s::bigint[]", own)
    values = {"accounts": list(account_ids), "newest": MAX_ID, "oldest": 0}
    return dict(rows_of(f"SELECT author.user_id, post.id {scan}", values))


def forget_readers(user_ids: Sequence[int]) -> None:
    """Drop the entries of these readers. Call this only after the commit of the change."""
    for start in range(0, len(user_ids), BATCH_SIZE):
        if not READERS.forget(user_ids[start : start + BATCH_SIZE]):
            logger.warning(
                "cached promotions of readers may be outdated until the event is handled"
            )


def forget_campaigns() -> None:
    """Drop the entry with the live campaigns. Call this only after the commit of the change."""
    if not CAMPAIGNS.forget([ALL]):
        logger.warning("cached campaigns may be outdated until the event is handled")
