"""A picture of the journey of a post: a tree of its chunks, with the readers of each as dots below it.

The table next to the picture has the same information. Coordinates are in SVG units.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apps.audit.journey.post import ChunkPlace, Journey, Stage

WIDTH, TOP, BOX_TOP, DOTS_TOP = 600, 12, 96, 126
MAX_BOXES, MAX_DOTS = 40, 520
# Pairs: a number of dots, and the distance between the dots if there are at most that many.
PITCHES = ((60, 24.0), (160, 18.0), (MAX_DOTS, 12.0))
TICKS = 24  # of the replay; the style sheet sets their length
REPLAY_SECONDS = 6


@dataclass(frozen=True, slots=True)
class Dots:
    """The coordinates of dots of one kind: reached, dormant, waiting or failed."""

    kind: str
    path: str


@dataclass(frozen=True, slots=True)
class Box:
    """Neighbouring chunks, drawn as one box with a wire leading to it and its readers below.

    `when` is a CSS class: the tick of the replay at which the box's last chunk was done, "new" if one of its receipts
    is new on the page, or empty.
    """

    stage: str
    when: str
    x: float
    width: float
    wire: str
    dots: Sequence[Dots]


@dataclass(frozen=True, slots=True)
class Picture:
    boxes: Sequence[Box]
    height: int
    dot: float  # the diameter of a dot
    hole: float  # the diameter of the hole in a dot drawn as a ring
    readers_of_dot: int
    chunks_of_box: int
    width: int = WIDTH


def picture_of(journey: Journey, *, after: int | None = None) -> Picture | None:
    """The picture; None if there is nothing to draw.

    `after` is the highest receipt number that the page already shows; None for a new page, which replays a finished
    delivery.
    """
    if journey.is_pulled:  # nothing is pushed: one box, the outbox
        outbox = ChunkPlace(Stage.DONE, 0, journey.followers, dormant=journey.followers)
        groups: list[Sequence[ChunkPlace]] = [[outbox]] if journey.followers else []
    else:
        groups = _grouped(journey.chunks)
    if not groups:
        return None
    in_groups = sum(chunk.expected for group in groups for chunk in group)
    readers = max(in_groups, journey.receipt.expected)  # some readers are in no chunk yet
    readers_of_dot = _round_number(readers / MAX_DOTS)
    counts = [_dots_of(group, readers_of_dot) for group in groups]
    pitch = next(pitch for most, pitch in PITCHES if readers / readers_of_dot <= most)
    room = WIDTH / len(groups)
    columns = max(1, round(room / pitch))
    rows = max(math.ceil(sum(count.values()) / columns) for count in counts)
    replayed = after is None and not journey.is_under_way
    last = max((chunk.done_after or 0.0 for chunk in journey.chunks), default=0.0)
    boxes = []
    for place, (group, count) in enumerate(zip(groups, counts, strict=True)):
        x, width = (place + 0.5) * room, min(room * 0.7, 40)
        boxes.append(
            Box(
                _stage_of(group),
                _tick(group, last) if replayed else _newness(group, after),
                round(x - width / 2, 1),
                round(width, 1),
                f"M{WIDTH // 2} {TOP}C{WIDTH // 2} {TOP + 50} {x:.0f} {BOX_TOP - 50} {x:.0f} {BOX_TOP}",
                list(_laid_out(count, x, min(room / columns, pitch), columns, pitch)),
            )
        )
    chunks_of_box = max(map(len, groups))
    height = round(DOTS_TOP + (rows - 0.5) * pitch)
    dot, hole = round(pitch * 0.66, 1), round(pitch * 0.36, 1)
    return Picture(boxes, height, dot, hole, readers_of_dot, chunks_of_box)


def _grouped(chunks: Sequence[ChunkPlace]) -> list[Sequence[ChunkPlace]]:
    size = math.ceil(len(chunks) / MAX_BOXES) or 1
    return [chunks[start : start + size] for start in range(0, len(chunks), size)]


def _round_number(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50 ... that is not less than `least`."""
    size = 1
    while True:
        for factor in (1, 2, 5):
            if factor * size >= least:
                return factor * size
        size *= 10


def _dots_of(group: Sequence[ChunkPlace], readers_of_dot: int) -> dict[str, int]:
    """The number of dots of each kind; at least one for a kind that has readers."""
    readers = {
        "reached": sum(chunk.delivered for chunk in group),
        "dormant": sum(chunk.dormant for chunk in group),
        "failed": sum(_undone(chunk) for chunk in group if chunk.stage is Stage.FAILED),
        "waiting": sum(_undone(chunk) for chunk in group if chunk.stage is not Stage.FAILED),
    }
    return {kind: max(1, round(n / readers_of_dot)) for kind, n in readers.items() if n}


def _undone(chunk: ChunkPlace) -> int:
    return chunk.expected - chunk.delivered - chunk.dormant


def _laid_out(
    count: dict[str, int], x: float, step: float, columns: int, pitch: float
) -> Iterator[Dots]:
    """The dots of a box, in rows centred below the box."""
    total, place = sum(count.values()), 0
    columns = math.ceil(total / math.ceil(total / columns))  # all rows of one length, if possible
    left = x - (columns - 1) / 2 * step
    for kind, number in count.items():
        points = (divmod(place + dot, columns) for dot in range(number))
        moves = (
            f"M{left + column * step:.1f} {DOTS_TOP + row * pitch:.0f}h0" for row, column in points
        )
        yield Dots(kind, "".join(moves))
        place += number


def _stage_of(group: Sequence[ChunkPlace]) -> str:
    """The most urgent stage among several chunks: failed, running, waiting, done."""
    stages = {chunk.stage for chunk in group}
    order = (Stage.FAILED, Stage.RUNNING, Stage.WAITING, Stage.DONE)
    return next(stage.value for stage in order if stage in stages)


def _tick(group: Sequence[ChunkPlace], last: float) -> str:
    done = max((chunk.done_after or 0.0 for chunk in group), default=0.0)
    return f"at-{math.ceil(done / last * TICKS) if last else 0}"


def _newness(group: Sequence[ChunkPlace], after: int | None) -> str:
    return "new" if after is not None and any(chunk.number > after for chunk in group) else ""
