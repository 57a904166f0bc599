"""What optional apps add to the pages."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from apps.accounts.models import User
from apps.events.hooks import Hook


class Tab(NamedTuple):
    """A tab beside the timelines. `key`: what the page of the tab says that it is; `place` orders the tabs."""

    place: int
    key: str | int
    url: str
    name: str
    is_written_by_people: bool = False  # its direction is that of its text


PAGES = Hook[str]()  # the names of modules with `urlpatterns`: only web servers load them
TABS = Hook[Callable[[User | None], Iterable[Tab]]]()
