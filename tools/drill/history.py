"""Operations of clients, their results, and faults of servers: JSON lines, written as they happen.

Each operation has two lines: `invoke` before the request is sent, and its outcome: `ok`, `fail` (refused: it did not
happen), or `unknown` (no response: it may have happened, or may happen within `UNKNOWN_SECONDS`). Times are seconds of
one clock.
"""

import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OK, FAIL, UNKNOWN = "ok", "fail", "unknown"
# after this time a request without response has been executed or never will be
UNKNOWN_SECONDS = 30.0


@dataclass(slots=True)
class Operation:
    number: int
    actor: int
    name: str
    begin: float  # seconds since the epoch
    args: dict[str, Any] = field(default_factory=dict)
    end: float = 0.0
    outcome: str = UNKNOWN
    status: int = 0
    found: Any = None  # ids of a page, the id of a post

    @property
    def settled(self) -> float:
        return self.end if self.outcome == OK else self.begin + UNKNOWN_SECONDS


class History:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.operations: list[Operation] = []
        self._lock = threading.Lock()
        self._file = path.open("w", encoding="utf-8")

    def invoke(self, actor: int, name: str, **args: Any) -> Operation:
        with self._lock:
            operation = Operation(len(self.operations), actor, name, time.time(), args)
            self.operations.append(operation)
            self._write(
                t=operation.begin, n=operation.number, do="invoke", actor=actor, op=name, **args
            )
        return operation

    def complete(
        self, operation: Operation, outcome: str, *, status: int = 0, found: Any = None
    ) -> None:
        with self._lock:
            operation.end, operation.outcome = time.time(), outcome
            operation.status, operation.found = status, found
            self._write(t=operation.end, n=operation.number, do=outcome, status=status, found=found)

    def published(self, post_id: int) -> float:
        """When a post was acknowledged."""
        ends = (one.end for one in self.operations if one.found == post_id)
        return next(ends)

    def note(self, **line: Any) -> None:
        with self._lock:
            self._write(t=time.time(), **line)

    def close(self) -> None:
        """Close the file; later operations are not recorded."""
        self._file.close()

    def _write(self, **line: Any) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
