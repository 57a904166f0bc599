"""What is text: strings that PostgreSQL and the drivers can take."""

import re
from collections.abc import Iterable

_is_bad_in = re.compile("[\x00\ud800-\udfff]").search


def is_malformed(texts: Iterable[str]) -> bool:
    """Whether any text has a NUL or a lone surrogate."""
    return any(map(_is_bad_in, texts))
