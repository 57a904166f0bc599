"""Hooks with which optional apps add to the files that the site serves."""

from collections.abc import Callable
from typing import NamedTuple

from apps.events.hooks import Hook


class ServedFolder(NamedTuple):
    """A folder of the storage; `serves` returns whether a file in it may be served now."""

    name: str
    serves: Callable[[str], bool]


SERVED_FOLDERS = Hook[ServedFolder]()
