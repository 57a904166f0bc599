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
    ways_in: int = 0  # how often it goes from one folder into another; ways back are not counted

    @property
    def files(self) -> int:
        """How many files one would have open to follow it."""
        return len({file for file, _name in self.calls})

    @property
    def functions(self) -> int:
        """How many different functions; comprehensions and lambdas belong to what they stand in."""
        return len({call for call in self.calls if not call[1].endswith(">")})


def trace(
    action: Callable[[], object], root: Path, packages: Iterable[str], *, library: str
) -> Trace:
    """Run something and note the calls in this thread of functions in `packages`, folders of `root`.

    The package `library` is a door: the way into it is counted, and nothing inside, as nobody opens a library to follow
    a page. What it calls back is noted.
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
