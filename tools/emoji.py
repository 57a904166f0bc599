"""Writes static/emoji/*.json from an unpacked npm package `emojibase-data`: emoji by group, with names and keywords.

  npm pack emojibase-data && tar xzf emojibase-data-*.tgz && python -m tools.emoji package

Each group is a list of strings: the character, its name, its short name (GitHub's, if it has one) and keywords,
separated by "|". Skin tones and the letters of flags are left out: scripts add tones, and flags are included as a
whole.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "static" / "emoji"
LANGUAGES = {"en": "en", "zh-hans": "zh"}  # the site's code -> the package's folder
COMPONENTS = 2  # the group of skin tones and hair, which are not emoji by themselves
MAX_KEYWORDS = 8


def groups(entries: Iterable[Any], short_names: dict[str, str | list[str]]) -> list[list[str]]:
    """The lines of each group, in Unicode's order."""
    found: dict[int, list[str]] = {}
    for entry in sorted(entries, key=lambda one: one.get("order", 0)):
        if entry.get("group", COMPONENTS) != COMPONENTS:
            names = short_names.get(entry["hexcode"], [])
            short, *more = [names] if isinstance(names, str) else names or [""]
            keywords = _new_words(entry["label"], [*more, *entry.get("tags", [])])
            line = "|".join([entry["emoji"], entry["label"], short, *keywords])
            found.setdefault(entry["group"], []).append(line)
    return [found[group] for group in sorted(found)]


def _new_words(name: str, keywords: Iterable[str]) -> list[str]:
    """Keywords that are not part of the name or of an earlier keyword."""
    found: list[str] = []
    for word in keywords:
        if not any(word in other for other in (name, *found)):
            found.append(word)
    return found[:MAX_KEYWORDS]


def main(package: Path) -> None:
    for language, folder in LANGUAGES.items():
        entries = json.loads((package / folder / "data.json").read_text())
        codes = package / folder / "shortcodes" / "github.json"
        short_names = json.loads(codes.read_text()) if codes.exists() else {}
        text = json.dumps(groups(entries, short_names), ensure_ascii=False, separators=(",", ":"))
        (FOLDER / f"{language}.json").write_text(text.replace('","', '",\n"') + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
