"""The mutants: small changes of the code that each remove one mechanism, as data in mutants.toml."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

MUTANTS = Path(__file__).with_name("mutants.toml")


@dataclass(frozen=True)
class Mutant:
    """In `file`, `old`, which occurs once, is replaced by `new`; then `test` must fail."""

    row: str
    what: str
    file: str
    old: str
    new: str
    test: str

    def apply(self, root: Path) -> None:
        """Change the file below `root`. ValueError unless the text occurs exactly once."""
        path = root / self.file
        source = path.read_text("utf-8")
        if source.count(self.old) != 1:
            raise ValueError(
                f"{self.row}, {self.what}: {self.file} has {source.count(self.old)} times\n{self.old}"
            )
        path.write_text(source.replace(self.old, self.new), "utf-8")


def load() -> list[Mutant]:
    """The mutants in the order of the file, which is that of the rows."""
    tables = tomllib.loads(MUTANTS.read_text("utf-8"))["mutant"]
    return [Mutant(**{name: text.strip("\n") for name, text in table.items()}) for table in tables]
