"""Traces which of our own functions a call runs through."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any


@dataclass(slots=True)
class Trace:
    """Calls of our own functions in order, as (file, qualified name)."""

    calls: list[tuple[str, str]] = field(default_factory=list)
    ways_in: int = 0  # calls from one folder into another; returns are not counted

    @property
    def files(self) -> int:
        """The number of files that one would open to follow the call."""
        return len({file for file, _name in self.calls})

    @property
    def functions(self) -> int:
        """The number of different functions; comprehensions and lambdas count as part of their function."""
        return len({call for call in self.calls if not call[1].endswith(">")})


def trace(
    action: Callable[[], object], root: Path, packages: Iterable[str], *, library: str
) -> Trace:
    """Run an action and record the calls, in this thread, of functions in `packages`, folders of `root`.

    Calls into the package `library` only count as ways in. Functions inside it are not recorded, because nobody opens a
    library to follow a page; our functions that it calls back are.
    """
    found, folders = Trace(), list[str]()
    door = f"{root / library}/"
    noted = (*(f"{root / package}/" for package in packages), door)

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event not in {"call", "return"} or not code.co_filename.startswith(noted):
            return
        if event == "return":
            if folders:
                folders.pop()
            return
        is_inside = code.co_filename.startswith(door)
        file = Path(code.co_filename).relative_to(root)
        folder = library if is_inside else str(file.parent)
        found.ways_in += bool(folders) and folders[-1] != folder
        if not is_inside:
            found.calls.append((str(file), code.co_qualname))
        folders.append(folder)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(before)
    return found
