"""What optional apps add to the pages."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from apps.accounts.models import User
from apps.events.hooks import Hook

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class Tab(NamedTuple):
    """A tab beside the timelines, or a line of the menu at their end.

    `key`: what the page of the tab says that it is; `place` orders the tabs.
    """

    place: int
    key: str | int
    url: "StrOrPromise"
    name: "StrOrPromise"
    is_written_by_people: bool = False  # its direction is that of its text
    is_in_menu: bool = False


PAGES = Hook[str]()  # the names of modules with `urlpatterns`: only web servers load them
TABS = Hook[Tab]()  # of everybody
OWN_TABS = Hook[Callable[[User | None], Iterable[Tab]]]()  # of one viewer: asked with every page
