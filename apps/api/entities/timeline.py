"""Timelines as JSON: explanations, checks of pages, receipts, journeys, catch-up, conversations, unread statuses."""

from typing import Annotated, Literal, TypedDict

from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.base import DateTime, optional_timestamp, timestamp
from apps.api.entities.status import StatusJson, status_json
from apps.audit.explain import Explanation
from apps.audit.journey.post import Journey, Stage
from apps.audit.models import Kind
from apps.audit.own_page.check import PageCheck
from apps.notifications.conversations.queries import ConversationItem
from apps.timeline.fanout.author_receipts import AuthorReceipt
from apps.timeline.history.catch_up import CatchUp
from apps.timeline.models import Mode
from apps.timeline.pipeline.hooks import PROMOTERS
from apps.timeline.pipeline.reasons import Reason

OF_PROMOTERS = {Reason.PROMOTED, Reason.SPACED}
REASONS = [one.value for one in Reason if PROMOTERS or one not in OF_PROMOTERS]


class PageDifferenceJson(TypedDict):
    """A post that is missing from a page, or should not be on it."""

    what: Annotated[str, Kind]
    status_id: str


class PageCheckJson(TypedDict):
    """The comparison of a page of the home timeline with the database."""

    equal: bool
    statuses: Annotated[int, "The number of posts on the page."]
    late: Annotated[int, "Posts that belong on the page, and are still being delivered."]
    differences: list[PageDifferenceJson]
    max_id: Annotated[str | None, "The cursor of the next page; null at the end."]


def page_check_json(check: PageCheck) -> PageCheckJson:
    return {
        "equal": check.is_equal,
        "statuses": check.posts,
        "late": check.late,
        "differences": [
            {"what": one.kind.value, "status_id": str(one.post_id)} for one in check.wrong
        ],
        "max_id": str(check.older) if check.older else None,
    }


class DeliveryJson(TypedDict):
    """The state of the delivery chunk that contains the viewer."""

    policy: Annotated[str, "How the post was delivered: push, online or pull."]
    chunk: str
    attempts: int


class ExplanationJson(TypedDict):
    """Why a status is or is not on the home page."""

    id: str
    on_home: bool
    reason: Annotated[str, REASONS]
    text: Annotated[str, "The reason as a sentence, in the reader's language."]
    at: Annotated[
        DateTime | None,
        "When it was put on your page, when you followed its author, or when it will be tried.",
    ]
    delivery: DeliveryJson | None


def explanation_json(explanation: Explanation) -> ExplanationJson:
    delivery: DeliveryJson = {
        "policy": explanation.policy,
        "chunk": str(explanation.chunk),
        "attempts": explanation.attempts,
    }
    return {
        "id": str(explanation.item.id),
        "on_home": explanation.on_home,
        "reason": explanation.reason.value,
        "text": explanation.text,
        "at": optional_timestamp(explanation.when),
        "delivery": delivery if explanation.chunk is not None else None,
    }


class ReachedJson(TypedDict):
    """The number of readers that a post had reached after a number of seconds."""

    seconds: float
    reached: int


class ReceiptJson(TypedDict):
    """The delivery of a post, in numbers of readers. `expected` is the sum of the four numbers after it."""

    id: str
    text: Annotated[str, "The same as a sentence, in the reader's language."]
    mode: Annotated[
        str | None,
        f"{', '.join(Mode.values)}; null: not recorded yet. `pull` has no numbers: nothing is delivered.",
    ]
    expected: Annotated[int, "Followers at publication, or the addressees of a restricted post."]
    reached: Annotated[int, "Readers who were online, and have it on their home page."]
    when_they_come: Annotated[int, "Readers who get it when they return."]
    pending: int
    failed: int
    finished_at: Annotated[DateTime | None, "When the last reader so far was reached."]
    seconds: Annotated[float | None, "From publication to `finished_at`."]
    curve: Annotated[list[ReachedJson], "At most sixty points."]


def receipt_json(receipt: AuthorReceipt) -> ReceiptJson:
    return {
        "id": str(receipt.post_id),
        "text": receipt.text,
        "mode": receipt.mode or None,
        "expected": receipt.expected,
        "reached": receipt.reached,
        "when_they_come": receipt.dormant,
        "pending": receipt.pending,
        "failed": receipt.failed,
        "finished_at": optional_timestamp(receipt.finished_at),
        "seconds": receipt.seconds,
        "curve": [{"seconds": at, "reached": reached} for at, reached in receipt.curve],
    }


class ChunksJson(TypedDict):
    """The number of follower chunks in each state."""

    waiting: int
    running: int
    done: int
    failed: int
    longest_wait_seconds: Annotated[float | None, "The longest wait of a finished chunk."]


class SecondJson(TypedDict):
    second: Annotated[int, "The second since acceptance, from 0; 600 includes all later ones."]
    reached: int


class LayerJson(TypedDict):
    name: Annotated[str, "l1, main or backup; l1 may occur several times."]
    serves: Annotated[bool, "Whether it has the post."]


class CorrectionJson(TypedDict):
    kind: Annotated[str, Kind]
    found: int
    repaired: int


class JourneyJson(TypedDict):
    """The delivery of a post to its readers, from the ledger. Times are in seconds after `accepted_at`."""

    id: str
    accepted_at: DateTime
    committed: Annotated[float | None, "When the post was committed; null after some days."]
    taken: Annotated[float | None, "When a worker took the event; null after some days."]
    job: Annotated[float | None, "When its delivery was recorded."]
    receipt: ReceiptJson
    chunks: ChunksJson
    per_second: Annotated[list[SecondJson], "Home pages reached in each second."]
    first_read: Annotated[float | None, "When a follower first opened it; null for few readers."]
    reads_count: Annotated[int | None, "People who opened it."]
    layers: Annotated[list[LayerJson], "The tiers of Memcached; empty for a restricted post."]
    corrections: Annotated[list[CorrectionJson], "The auditor's findings about it."]


def journey_json(journey: Journey) -> JourneyJson:
    stages = journey.stages
    return {
        "id": str(journey.post_id),
        "accepted_at": timestamp(journey.accepted_at),
        "committed": journey.committed,
        "taken": journey.taken,
        "job": journey.job,
        "receipt": receipt_json(journey.receipt),
        "chunks": {
            "waiting": stages[Stage.WAITING],
            "running": stages[Stage.RUNNING],
            "done": stages[Stage.DONE],
            "failed": stages[Stage.FAILED],
            "longest_wait_seconds": journey.longest_wait,
        },
        "per_second": [
            {"second": second, "reached": reached} for second, reached in journey.per_second
        ],
        "first_read": journey.first_read,
        "reads_count": journey.reads,
        "layers": [{"name": name, "serves": serves} for name, serves in journey.layers],
        "corrections": [
            {"kind": kind.value, "found": found, "repaired": repaired}
            for kind, found, repaired in journey.findings
        ],
    }


class AuthorPostsJson(TypedDict):
    """The posts of one account on a home timeline."""

    account: AccountJson
    reactions_count: Annotated[int, "Likes, reposts and replies to these statuses."]
    status_ids: Annotated[list[str], "Newest first."]


class CatchUpJson(TypedDict):
    """The posts on a home timeline since its reader last stopped reading."""

    since: Annotated[DateTime, "All statuses are newer than this."]
    last_read_id: Annotated[str | None, "The marker of home; null without one."]
    bound: Annotated[
        Literal["days", "posts"] | None, "The limit reached before the marker; null if none."
    ]
    max_id: Annotated[str | None, "The cursor for the home timeline below these statuses."]
    statuses_count: int
    accounts: Annotated[list[AuthorPostsJson], "Those with the most posts come first."]
    status_ids: Annotated[list[str], "All of them, those with the most reactions first."]


def catch_up_json(found: CatchUp, last_read_id: int | None) -> CatchUpJson:
    return {
        "since": timestamp(found.since),
        "last_read_id": None if last_read_id is None else str(last_read_id),
        "bound": found.bound,
        "max_id": None if found.older is None else str(found.older),
        "statuses_count": len(found.items),
        "accounts": [
            {
                "account": account_json(share.author),
                "reactions_count": share.reactions,
                "status_ids": [str(item.id) for item in share.items],
            }
            for share in found.by_author
        ],
        "status_ids": [str(item.id) for item in found.by_reactions],
    }


class ConversationFeedsiteJson(TypedDict):
    """Fields that Mastodon does not have."""

    request: Annotated[bool, "Started by a stranger, and neither accepted nor answered."]
    muted: bool


class ConversationJson(TypedDict):
    """A thread of private posts, among their authors and the people whom they mention."""

    id: str
    unread: bool
    accounts: list[AccountJson]
    last_status: StatusJson
    feedsite: ConversationFeedsiteJson


def conversation_json(conversation: ConversationItem) -> ConversationJson:
    return {
        "id": str(conversation.id),
        "unread": conversation.is_unread,
        "accounts": [account_json(person) for person in conversation.people],
        "last_status": status_json(conversation.item),
        "feedsite": {"request": conversation.is_request, "muted": conversation.is_muted},
    }


class ActivityJson(TypedDict):
    """The unread statuses, newest first."""

    items: list[StatusJson]
    last_id: Annotated[str, "The `last_id` to send with the next request."]
    more: Annotated[bool, "Whether there are more new statuses."]
