"""How static files are stored for serving: under hashed names, the site's own style sheets without what only people read.

By hand, because no minifier comes as a wheel for every platform that `./run` starts on. Sheets of libraries are served
as they came: nobody here knows what is in them, and no budget counts them.
"""

import hashlib
import re
from typing import Any

from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.core.files.base import ContentFile, File
from whitenoise.storage import CompressedManifestStaticFilesStorage

# Browsers keep an address for good. Where the same source is to be served as other bytes from now on, this number grows.
EDITION = 2
OWN_SHEETS = (
    "css/"  # the folder of the site's own; those of libraries lie in folders with their names
)

# A comment is spelled out, so that no way of matching it runs past its first end. `/\*.*?\*/` does where more must follow.
_COMMENT = r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/"
_BLANK = rf"(?:\s|{_COMMENT})"
# Strings are matched first, so that nothing inside them is touched.
_PIECES = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    rf"|{_BLANK}*(?P<mark>[{{}};,]){_BLANK}*"
    rf"|(?P<value>(?<=:){_BLANK}+)"  # in a declaration; a selector has no space behind its colon
    rf"|(?P<space>{_BLANK}+)",
    re.DOTALL,  # a string may hold an escaped line end
)


def minified(css: str) -> str:
    """The same style sheet without comments and needless white space."""

    def shorter(found: re.Match[str]) -> str:
        if found["string"] or found["mark"]:
            return found["string"] or found["mark"]
        return " " if found["space"] else ""

    return _PIECES.sub(shorter, css).strip().replace(";}", "}")


class UncompressedStorage(ManifestStaticFilesStorage):
    """For `./run`: compressing the API reference's scripts takes half a minute, and a loopback gains nothing from it."""

    def file_hash(self, name: str, content: Any = None) -> str | None:
        """The part of a name that differs where bytes differ: those of the source, and what is made of sources."""
        found = super().file_hash(name, content)
        if found is None:
            return None
        return hashlib.md5(f"{EDITION} {found}".encode(), usedforsecurity=False).hexdigest()[:12]

    def _save(self, name: str, content: "File[bytes]") -> str:
        """The site's own style sheets are minified before their names are hashed."""
        if name.startswith(OWN_SHEETS) and name.endswith(".css"):
            content.seek(0)  # it has been read for its hash
            content = ContentFile(minified(content.read().decode()).encode())
        saved: str = super()._save(name, content)  # type: ignore[misc]  # unknown to the stubs
        return saved


class MinifiedStorage(UncompressedStorage, CompressedManifestStaticFilesStorage):
    """For production: gzip and Brotli files lie beside each file."""
