"""What is text: strings that PostgreSQL and the drivers can take."""

from collections.abc import Iterable


def is_malformed(texts: Iterable[str]) -> bool:
    """Whether any text has a NUL or a lone surrogate."""
    return any(
        "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text)
        for text in texts
    )
