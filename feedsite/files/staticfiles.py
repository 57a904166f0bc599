"""Storages of static files, with hashed names, and with the site's own style sheets and scripts minified.

This module minifies them itself, because no minifier has a wheel for every platform that `./run` supports. Files of
libraries are not minified.
"""

import hashlib
import re
from typing import Any

from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.core.files.base import ContentFile, File
from whitenoise.storage import CompressedManifestStaticFilesStorage

# Browsers cache a URL forever: raise this when the same source produces different bytes.
EDITION = 5

# Never matches beyond the first `*/`, unlike `/\*.*?\*/`, which goes on if the rest of a pattern does not match there.
_COMMENT = r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/"
_BLANK = rf"(?:\s|{_COMMENT})"
# Strings are matched first, so that nothing inside them is taken for a comment or for white space.
_TOKENS = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    rf"|{_BLANK}*(?P<mark>[{{}};,]){_BLANK}*"
    rf"|(?P<value>(?<=:){_BLANK}+)"  # in declarations only: selectors have no space after a colon
    rf"|(?P<space>{_BLANK}+)",
    re.DOTALL,  # strings may contain an escaped line break
)


# For scripts, whose strings never span lines or contain the start of a comment
# (tests/feedsite/files/test_staticfiles.py). Comments are a sixth of the bytes; gzip compresses long names and spaces
# inside lines well enough.
_COMMENTS = re.compile(r"^[ \t]*//.*\n|^[ \t]+|^\n|[ \t]+//[ \t].*$", re.MULTILINE)
# Line breaks after the first or before the second set of characters have no meaning. Lines that may contain a comment
# are left alone.
_LINE_ENDS = re.compile(r"^((?!.*//).*)(?:(?<=[;{,(\[])\n|\n(?=[}.?:&|]))", re.MULTILINE)


def minify_script(script: str) -> str:
    """The script without comments, indentation, and unnecessary line breaks."""
    return _LINE_ENDS.sub(r"\1", _COMMENTS.sub("", script))


def minify(css: str) -> str:
    """The style sheet without comments and unnecessary white space."""

    def replacement(match: re.Match[str]) -> str:
        if match["string"] or match["mark"]:
            return match["string"] or match["mark"]
        return " " if match["space"] else ""

    return _TOKENS.sub(replacement, css).strip().replace(";}", "}")


# Files of libraries are in other folders.
OWN = {("css/", ".css"): minify, ("js/", ".js"): minify_script}


class UncompressedStorage(ManifestStaticFilesStorage):
    """For `./run`, because compressing the scripts of the API reference takes half a minute and is useless there."""

    def file_hash(self, name: str, content: Any = None) -> str | None:
        """A hash of the source and of EDITION."""
        digest = super().file_hash(name, content)
        if digest is None:
            return None
        return hashlib.md5(f"{EDITION} {digest}".encode(), usedforsecurity=False).hexdigest()[:12]

    def _save(self, name: str, content: "File[bytes]") -> str:
        """Minify the site's own style sheets and scripts; their names contain the hash of the source."""
        for (folder, kind), smaller in OWN.items():
            if name.startswith(folder) and name.endswith(kind):
                content.seek(0)  # it has been read for its hash
                content = ContentFile(smaller(content.read().decode()).encode())
        saved: str = super()._save(name, content)  # type: ignore[misc]  # the stubs lack this method
        return saved


class MinifiedStorage(UncompressedStorage, CompressedManifestStaticFilesStorage):
    """For production: also writes gzip and Brotli copies of files that become smaller."""
