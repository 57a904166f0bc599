"""Post ids: 63-bit integers, composite and time-prefixed.

    | 31 bits: seconds since 2015-01-01 UTC | 28 bits: author id | 4 bits: sequence |

The number sorts by time, then author, then sequence. From May 2022 until the range ends in 2083, its decimal form has
19 digits, so the strings in Redis, JSON and URLs have the same order as the numbers. The author and the time can be
read from the id without a lookup. The parts are those in the article on partitioned feed storage (source 004: author,
time, sequence), packed into 8 bytes instead of 14 base-36 characters; see docs/decisions/0002.

Ids are public and guessable: never use an id as a secret.
"""

import re
from collections.abc import Iterable

EPOCH = 1_420_070_400  # 2015-01-01T00:00:00Z as a Unix time
SECOND_BITS, AUTHOR_BITS, SEQUENCE_BITS = 31, 28, 4
MAX_AUTHOR_ID = (1 << AUTHOR_BITS) - 1  # 268,435,455 accounts
MAX_SEQUENCE = (1 << SEQUENCE_BITS) - 1  # 16 posts per author and second
MAX_ID = (1 << 63) - 1
# The first second whose ids have 19 digits.
FIRST_SECOND = EPOCH + (10**18 >> (AUTHOR_BITS + SEQUENCE_BITS)) + 1
LAST_SECOND = EPOCH + (1 << SECOND_BITS) - 1

_DECIMAL = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
_BASE36 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def compose(second: int, author_id: int, sequence: int) -> int:
    """The id of an author's post with the number `sequence` in a Unix second. Raises ValueError if a part is out of
    range.
    """
    if not FIRST_SECOND <= second <= LAST_SECOND:
        raise ValueError(f"second {second} is outside {FIRST_SECOND}..{LAST_SECOND}")
    if not 1 <= author_id <= MAX_AUTHOR_ID:
        raise ValueError(f"author id {author_id} is outside 1..{MAX_AUTHOR_ID}")
    if not 0 <= sequence <= MAX_SEQUENCE:
        raise ValueError(f"sequence {sequence} is outside 0..{MAX_SEQUENCE}")
    return ((second - EPOCH) << AUTHOR_BITS | author_id) << SEQUENCE_BITS | sequence


def second_of(post_id: int) -> int:
    """The Unix time of a post, in whole seconds."""
    return (post_id >> (AUTHOR_BITS + SEQUENCE_BITS)) + EPOCH


def author_of(post_id: int) -> int:
    return post_id >> SEQUENCE_BITS & MAX_AUTHOR_ID


def authors_of(ids: Iterable[int]) -> set[int]:
    return {post_id >> SEQUENCE_BITS & MAX_AUTHOR_ID for post_id in ids}


def answers_another(reply_to_id: int | None, author_id: int) -> bool:
    """Whether a post replies to another author. Continuing one's own thread does not count."""
    return reply_to_id is not None and author_of(reply_to_id) != author_id


def sequence_of(post_id: int) -> int:
    return post_id & MAX_SEQUENCE


def first_id_at(second: int) -> int:
    """The lower bound of all ids of a Unix second: `first_id_at(s) <= id < first_id_at(s + 1)`."""
    return (second - EPOCH) << (AUTHOR_BITS + SEQUENCE_BITS)


_FIRST_ID = first_id_at(FIRST_SECOND)


def is_possible(post_id: int) -> bool:
    return _FIRST_ID <= post_id <= MAX_ID


def possible_ids(ids: Iterable[int]) -> list[int]:
    return [post_id for post_id in ids if _FIRST_ID <= post_id <= MAX_ID]


def next_post_id(author_id: int, *, last_id: int, now: int) -> int:
    """The author's next id, strictly greater than `last_id` (0: none yet), even if the clock has gone back.

    In a second in which the author has already posted, the sequence grows; the 17th post gets the next second.
    """
    if last_id == 0 or now > second_of(last_id):
        return compose(now, author_id, 0)
    second, sequence = second_of(last_id), sequence_of(last_id)
    if sequence < MAX_SEQUENCE:
        return compose(second, author_id, sequence + 1)
    return compose(second + 1, author_id, 0)


def parse_id(text: str) -> int:
    """The id that a canonical decimal string contains. Raises ValueError for anything else, such as `+5` or
    digits of another script.
    """
    if not _DECIMAL.fullmatch(text):
        raise ValueError("not an id")
    number = int(text)
    if number > MAX_ID:
        raise ValueError("not an id")
    return number


def to_base36(post_id: int) -> str:
    """The 14 characters of source 004, with time (6) before author (6) and sequence (2). They sort like the number."""
    parts = (second_of(post_id) - EPOCH, 6), (author_of(post_id), 6), (sequence_of(post_id), 2)
    return "".join(_base36(number, width) for number, width in parts)


def from_base36(text: str) -> int:
    """The inverse of `to_base36`. Raises ValueError for any other string."""
    if len(text) != 14 or any(character not in _BASE36 for character in text):
        raise ValueError("not a base-36 id")
    return compose(int(text[:6], 36) + EPOCH, int(text[6:12], 36), int(text[12:], 36))


def _base36(number: int, width: int) -> str:
    digits = ""
    for _ in range(width):
        number, digit = divmod(number, 36)
        digits = _BASE36[digit] + digits
    return digits
