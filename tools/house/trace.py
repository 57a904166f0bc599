"""Which of our own functions a call runs through."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any


@dataclass(slots=True)
class Trace:
    """Calls of our own functions in their order, as (file, qualified name)."""

    calls: list[tuple[str, str]] = field(default_factory=list)
    package_changes: int = 0  # how often it goes from one folder to another, returns included

    @property
    def files(self) -> int:
        """How many files one would have open to follow it."""
        return len({file for file, _name in self.calls})

    @property
    def functions(self) -> int:
        """How many different functions; comprehensions and lambdas belong to what they stand in."""
        return len({call for call in self.calls if not call[1].endswith(">")})


def trace(action: Callable[[], object], root: Path, packages: Iterable[str]) -> Trace:
    """Run something and note the calls in this thread of functions in `packages`, folders of `root`."""
    found, stack = Trace(), list[Path]()
    folders = tuple(f"{root / package}/" for package in packages)

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event not in {"call", "return"} or not code.co_filename.startswith(folders):
            return
        path = Path(code.co_filename)
        if event == "call":
            found.calls.append((str(path.relative_to(root)), code.co_qualname))
            found.package_changes += bool(stack) and stack[-1] != path.parent
            stack.append(path.parent)
        elif stack:
            stack.pop()
            found.package_changes += bool(stack) and stack[-1] != path.parent

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(before)
    return found
