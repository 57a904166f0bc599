"""Facts over time, from the operations of a history, with all possibilities that lost responses leave open.

Each fact is a register written by operations. During a read it may have had several values; only a result that
contradicts all of them is a violation.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tools.drill.history import FAIL, OK, Operation
from tools.drill.world import World

EVER = float("inf")


@dataclass(frozen=True, slots=True)
class _Write:
    begin: float
    settled: float
    value: bool
    is_certain: bool


@dataclass(slots=True)
class Register:
    initial: bool
    writes: list[_Write] = field(default_factory=list)

    def write(self, operation: Operation, *, value: bool) -> None:
        """Add an operation that set the fact to `value`, or may have done so."""
        is_certain = operation.outcome == OK
        self.writes.append(_Write(operation.begin, operation.settled, value, is_certain))

    def possible(self, begin: float, end: float) -> set[bool]:
        return {
            write.value
            for write in (_Write(-EVER, -EVER, self.initial, is_certain=True), *self.writes)
            if write.begin <= end and not self._is_past(write, begin)
        }

    def _is_past(self, write: _Write, begin: float) -> bool:
        """Whether another write certainly came after this one, and before `begin`."""
        return any(
            later.is_certain and later.begin > write.settled and later.settled < begin
            for later in self.writes
        )

    def surely(self, value: object, begin: float, end: float) -> bool:
        """Whether the fact had this value the whole time."""
        return self.possible(begin, end) == {value}


class Facts:
    def __init__(self, operations: Iterable[Operation], world: World) -> None:
        self.follows: dict[tuple[int, int], Register] = {}
        self.blocks: dict[tuple[int, int], Register] = {}
        self.mutes: dict[tuple[int, int], Register] = {}
        self.deleted: dict[int, Register] = {}
        self.named: dict[int, int] = {}  # post -> the person it mentions
        self.published: dict[int, Operation] = {}
        self.touched: dict[
            tuple[int, int], float
        ] = {}  # two people -> when their relation first changed
        self._parted: dict[tuple[int, int], Register] = {}
        self._initial = world.follows
        self._members = world.members
        self._owners = {circle: owner for owner, circle in world.circles.items()}
        for operation in sorted(operations, key=lambda one: one.begin):
            if operation.outcome != FAIL:
                self._take(operation)

    def _take(self, operation: Operation) -> None:
        if operation.name in ("publish", "repost") and operation.found is not None:
            self.published[operation.found] = operation
            if operation.args.get("named"):
                self.named[operation.found] = operation.args["named"]
        elif operation.name == "delete":
            post = operation.args["post"]
            self.deleted.setdefault(post, Register(initial=False)).write(operation, value=True)
        elif "other" in operation.args and operation.name not in ("profile",):
            self._relate(operation, operation.actor, operation.args["other"])

    def _relate(self, operation: Operation, one: int, other: int) -> None:
        self.touched.setdefault(_pair(one, other), operation.begin)
        verb = operation.name
        if verb in ("follow", "unfollow"):
            self._follow(one, other).write(operation, value=verb == "follow")
        elif verb in ("mute", "unmute"):
            self.mutes.setdefault((one, other), Register(initial=False)).write(
                operation, value=verb == "mute"
            )
        elif verb in ("block", "unblock"):
            self.blocks.setdefault((one, other), Register(initial=False)).write(
                operation, value=verb == "block"
            )
        if verb == "block":
            self._follow(one, other).write(operation, value=False)
            self._follow(other, one).write(operation, value=False)
            self._parted.setdefault(_pair(one, other), Register(initial=False)).write(
                operation, value=True
            )

    def _follow(self, one: int, other: int) -> Register:
        pair = (one, other)
        return self.follows.setdefault(pair, Register(initial=pair in self._initial))

    def may_follow(self, one: int, other: int, begin: float, end: float) -> bool:
        """Whether one may have followed the other at some moment."""
        register = self.follows.get((one, other))
        if register is None:
            return (one, other) in self._initial
        return True in register.possible(begin, end)

    def surely_blocked(self, one: int, other: int, begin: float, end: float) -> bool:
        """Whether there was a block between two people the whole time."""
        pairs = ((one, other), (other, one))
        return any(
            register.surely(True, begin, end)  # noqa: FBT003 -- the value asked for
            for pair in pairs
            if (register := self.blocks.get(pair)) is not None
        )

    def surely_muted(self, one: int, other: int, begin: float, end: float) -> bool:
        """Whether one muted the other the whole time."""
        register = self.mutes.get((one, other))
        return register is not None and register.surely(True, begin, end)  # noqa: FBT003 -- as above

    def surely_deleted(self, post: int, begin: float, end: float) -> bool:
        """Whether a post was deleted the whole time."""
        register = self.deleted.get(post)
        return register is not None and register.surely(True, begin, end)  # noqa: FBT003 -- as above

    def may_be_deleted(self, post: int, end: float) -> bool:
        """Whether somebody may have deleted a post by then."""
        register = self.deleted.get(post)
        return register is not None and any(write.begin <= end for write in register.writes)

    def may_belong(self, circle: int, user: int, begin: float, end: float) -> bool:
        """Whether somebody may have belonged to a circle at some moment. A block ends the membership for good."""
        owner = self._owners.get(circle)
        if owner == user:
            return True
        if user not in self._members.get(circle, ()) or owner is None:
            return False
        register = self._parted.get(_pair(owner, user))
        return register is None or False in register.possible(begin, end)

    def is_untouched(self, one: int, other: int, end: float) -> bool:
        """Whether nothing between two people had changed until then."""
        return self.touched.get(_pair(one, other), EVER) > end

    def always_follows(self, one: int, other: int, end: float) -> bool:
        """Whether one has followed the other from the start until then."""
        return (one, other) in self._initial and self.is_untouched(one, other, end)


def _pair(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)
