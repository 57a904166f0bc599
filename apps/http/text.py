"""Text that PostgreSQL cannot store."""

import re
from collections.abc import Iterable

_has_bad_character = re.compile("[\x00\ud800-\udfff]").search


def is_malformed(texts: Iterable[str]) -> bool:
    """Whether any text has a NUL or a lone surrogate."""
    return any(map(_has_bad_character, texts))
