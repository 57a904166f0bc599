"""A file with the looks so far, so that a stopped run can be resumed."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Any

from tools.vitals.look import Look, Violation
from tools.vitals.pages import Page

NAME = "vitals.notes"


class Notes:
    """A file with one look per line. Safe for threads."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._place = directory / NAME
        self._lock = Lock()

    def add(self, look: Look) -> None:
        row = {**asdict(look), "page": look.page.name}
        with self._lock, self._place.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def read(self, pages: Sequence[Page]) -> list[Look]:
        """The latest look at each of these pages, by language and width. A line that was cut off is ignored."""
        by_name = {page.name: page for page in pages}
        looks: dict[str, Look] = {}
        for line in self._place.read_text().splitlines() if self._place.exists() else []:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if row["page"] in by_name:
                look = _look(row, by_name[row["page"]])
                looks[look.where] = look
        return list(looks.values())

    def clear(self) -> None:
        self._place.unlink(missing_ok=True)


def _look(row: dict[str, Any], page: Page) -> Look:
    violations = [
        Violation(one["rule"], one["theme"], tuple(one["targets"])) for one in row["violations"]
    ]
    return Look(**{**row, "page": page, "violations": violations})
