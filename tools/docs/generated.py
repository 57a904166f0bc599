"""The documents that are generated from the code: `python -m tools.docs.generated`.

Prints the names of those that are out of date, and fails if there are any; `--write` writes them.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from io import StringIO

import django
from django.core.management import call_command

from runner.checkout import ROOT


def documents() -> Mapping[str, Callable[[], str]]:
    """The function that makes the text of each generated document, by path. Django has to be set up."""
    from tools.docs import commands, drawings, settings  # noqa: PLC0415 -- need Django

    return {
        "docs/commands.md": lambda: _page(commands.document()),
        "docs/events.md": lambda: _printed_by("events"),
        "docs/retention.md": lambda: _printed_by("retention"),
        "docs/settings.md": lambda: _page(settings.document()),
        **drawings.drawings(),
    }


def _page(lines: Iterator[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"


def _printed_by(command: str) -> str:
    out = StringIO()
    call_command(command, stdout=out)
    return out.getvalue()


def out_of_date() -> dict[str, str]:
    """The documents that are out of date, by path, with their new texts."""
    found = {}
    for name, made in documents().items():
        text, path = made(), ROOT / name
        if not path.exists() or path.read_text() != text:
            found[name] = text
    return found


def main(arguments: list[str]) -> int:
    django.setup()
    found = out_of_date()
    if arguments == ["--write"]:
        for name, text in found.items():
            (ROOT / name).write_text(text)
            sys.stdout.write(f"wrote {name}\n")
        return 0
    sys.stdout.writelines(f"{name} is out of date\n" for name in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
