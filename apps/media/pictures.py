"""Pictures that strangers send, decoded and written anew by a process that can do nothing else (`reencoding`)."""

import json
from dataclasses import dataclass

from apps.media.sandbox import decoded


@dataclass(frozen=True, slots=True)
class ReencodedPicture:
    """A picture fit to be served, as WebP: its bytes, those of its preview, its size in pixels, its BlurHash, whether it moves."""

    data: bytes
    preview: bytes
    width: int
    height: int
    blurhash: str
    moves: bool = False


def rewritten(data: bytes) -> ReencodedPicture:
    """A JPEG, PNG, WebP or GIF written anew: upright, at most 2,048 pixels, without metadata. Invalid when it is unfit."""
    line, _newline, parts = decoded("apps.media.reencode", data, field="file").partition(b"\n")
    facts = json.loads(line)
    (width, height), (length, _rest) = facts["size"], facts["bytes"]
    return ReencodedPicture(
        parts[:length], parts[length:], width, height, facts["blurhash"], facts["moves"]
    )
