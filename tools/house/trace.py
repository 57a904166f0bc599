"""Which of our own functions a call runs through."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePath
from types import FrameType
from typing import Any


@dataclass(slots=True)
class Trace:
    """Calls of our own functions in their order, as (file, qualified name)."""

    calls: list[tuple[str, str]] = field(default_factory=list)

    @property
    def files(self) -> int:
        """How many files one would have open to follow it."""
        return len({file for file, _name in self.calls})

    @property
    def functions(self) -> int:
        """How many different functions; comprehensions and lambdas belong to what they stand in."""
        return len({call for call in self.calls if not call[1].endswith(">")})

    @property
    def package_changes(self) -> int:
        """How often a call is in another folder than the one before it."""
        folders = [PurePath(file).parent for file, _name in self.calls]
        return sum(before != after for before, after in pairwise(folders))


def trace(action: Callable[[], object], root: Path, packages: Iterable[str]) -> Trace:
    """Run something and note the calls in this thread of functions in `packages`, folders of `root`."""
    found = Trace()
    folders = tuple(f"{root / package}/" for package in packages)

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(folders):
            found.calls.append((str(Path(code.co_filename).relative_to(root)), code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(before)
    return found
