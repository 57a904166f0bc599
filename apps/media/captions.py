"""Checks WebVTT files with captions, and rewrites them so that only the cues remain.

The format: https://www.w3.org/TR/webvtt1/. Style sheets, regions and comments of an upload are left out.
"""

import re

MAX_BYTES = 256 * 1024
MAX_CUES = 5000
_TIME = r"(?:\d{2,4}:)?[0-5]\d:[0-5]\d\.\d{3}"
_TIMING = re.compile(rf"({_TIME})[ \t]+-->[ \t]+({_TIME})(?:[ \t].*)?")
_LEFT_OUT = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")


def clean_captions(data: bytes) -> bytes:
    """The cues of a file, in UTF-8. Raises ValueError if it is too large, not WebVTT, or has too many cues or none."""
    if len(data) > MAX_BYTES:
        raise ValueError("too large")
    text = data.decode("utf-8-sig")  # UnicodeDecodeError is a ValueError
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    header, *blocks = re.split(r"\n{2,}", text.strip("\n"))
    if header.split("\n")[0].split(" ")[0].split("\t")[0] != "WEBVTT" or "\0" in text:
        raise ValueError("not WebVTT")
    cues = [_cue(block) for block in blocks if block and not _LEFT_OUT.match(block)]
    if not 0 < len(cues) <= MAX_CUES:
        raise ValueError("no cues, or too many")
    return ("\n\n".join(["WEBVTT", *cues]) + "\n").encode()


def _cue(block: str) -> str:
    """A cue with its timing and its text, but without its name and its position on the picture."""
    lines = block.split("\n")
    if "-->" not in lines[0]:
        lines = lines[1:]
    timing = _TIMING.fullmatch(lines[0].strip()) if lines else None
    if timing is None or any("-->" in line for line in lines[1:]):
        raise ValueError("not a cue")
    return "\n".join([f"{timing[1]} --> {timing[2]}", *lines[1:]])
