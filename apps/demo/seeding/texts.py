"""Texts of generated accounts: each written line once, then
sentences from patterns, repeated as rarely as possible.
"""

from collections.abc import Iterator
from random import Random

from apps.demo.content.loader import Content, Pattern

PLAIN_TRIES, TRIES = 3, 10  # after PLAIN_TRIES two sentences, of which there are millions
WRITTEN_SHARE, JOINED_SHARE, TAGGED_SHARE = 0.3, 0.12, 0.22


class Texts:
    def __init__(self, content: Content, rng: Random) -> None:
        self._content, self._rng = content, rng
        self._written = {
            language: _shuffled(lines, rng) for language, lines in content.passages.items()
        }
        self._used: set[str] = set()

    def text(self, language: str) -> str:
        if self._rng.random() < WRITTEN_SHARE and (line := next(self._written[language], "")):
            return line
        text = ""
        for attempt in range(TRIES):
            text = self._sentence(
                language, is_joined=attempt >= PLAIN_TRIES or self._rng.random() < JOINED_SHARE
            )
            if text not in self._used:
                break
        self._used.add(text)
        return text

    def _sentence(self, language: str, *, is_joined: bool) -> str:
        patterns = self._content.patterns[language]
        pattern = self._rng.choice(
            [pattern for pattern in patterns if pattern.opens] if is_joined else patterns
        )
        sentence = self._fill(pattern)
        if is_joined:
            pattern = self._rng.choice([pattern for pattern in patterns if pattern.follows])
            sentence += ("" if language == "zh" else " ") + self._fill(pattern)
        if pattern.tags and self._rng.random() < TAGGED_SHARE:
            sentence += f" {self._rng.choice(pattern.tags)}"
        return sentence

    def _fill(self, pattern: Pattern) -> str:
        return pattern.frame.format(
            **{name: self._rng.choice(words) for name, words in pattern.slots.items()}
        )


def _shuffled(lines: tuple[str, ...], rng: Random) -> Iterator[str]:
    return iter(rng.sample(lines, len(lines)))
