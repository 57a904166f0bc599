"""The fuzzer's requests, as the bytes to send, and odd texts to put into them."""

import random
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

SHOWN_BYTES = 2000  # of a body, in a report

WORDS: Sequence[str] = (
    "", " ", "\x00", "a\x00b", "\ufeff", "\u202e", "é́́́", "ﷺ" * 20, "👩‍👩‍👧‍👦" * 10, "𝕬" * 50, "\ud7ff\ue000", "İ",
    "ß" * 300,
    "-1", "0", "1", "2147483648", "9223372036854775807", "9223372036854775808", "1" * 400, "1e400", "NaN", "-0", "+5",
    "٣", "１２", "1_000", "0x10",
    "true", "null", "undefined", "[]", "{}", "[[[[[[[[]]]]]]]]", "'", '"', "';--", "%", "%00", "%zz", "%(x)s", "{0}",
    "{{7*7}}", "<script>", "</textarea>",
    "../../etc/passwd", "\\", "//evil.example", "https://evil.example/", "javascript:alert(1)", "a@b", "@" * 200,
    "#" * 200, "@a " * 400, "#a1 " * 400,
    "2026-02-30", "0000-00-00T00:00:00Z", "9999-12-31T23:59:59.999999Z", "1969-12-31", "2026-11-22T25:61:61+99:99",
    "x" * 501, "x" * 20_000,
    "\r\nSet-Cookie: a=b", "\n" * 600, "\t", "a,b;c", "en-US-x-" + "a" * 100, "multipart", "public", "direct", "circle",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """One request. `label` names the operation or the form, for the report."""

    label: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def with_headers(self, *headers: tuple[str, str]) -> "Case":
        """The same request with more headers, which replace those of the same name."""
        names = {name.lower() for name, _value in headers}
        rest = tuple(pair for pair in self.headers if pair[0].lower() not in names)
        return Case(self.label, self.method, self.path, (*rest, *headers), self.body)

    def curl(self, origin: str) -> str:
        parts = ["curl", "-i", "-X", self.method]
        for name, value in self.headers:
            parts += ["-H", f"{name}: {value}"]
        if self.body:
            parts += ["--data-binary", _shown(self.body)]
        return " ".join([*(shlex.quote(part) for part in parts), shlex.quote(origin + self.path)])


def _shown(body: bytes) -> str:
    cut = body[:SHOWN_BYTES]
    text = cut.decode("utf-8", "backslashreplace")
    return text if len(cut) == len(body) else f"{text}... ({len(body)} bytes)"


def any_text(chance: random.Random) -> str:
    """A word of the list, or characters from all of Unicode; sometimes a very long text."""
    if chance.random() < 0.6:
        return chance.choice(WORDS)
    ranges = (
        (32, 126),
        (0, 31),
        (0xA0, 0x2FF),
        (0x600, 0x6FF),
        (0x4E00, 0x9FFF),
        (0x1F300, 0x1FAFF),
        (0x10000, 0x10FFFF),
    )
    length = chance.choice((1, 3, 20, 200, 2000))
    return "".join(chr(chance.randint(*chance.choice(ranges))) for _one in range(length))
