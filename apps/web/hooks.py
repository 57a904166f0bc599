"""Hooks with which optional apps extend the pages."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from django.urls import reverse

from apps.accounts.models import User
from apps.events.hooks import Hook

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class Tab(NamedTuple):
    """A tab next to the timelines' tabs, or an entry of the menu after them.

    `key` is the value of `tab` in the context of the tab's page; `place` sorts the tabs.
    """

    place: int
    key: str | int
    url: "StrOrPromise"
    name: "StrOrPromise"
    is_written_by_people: bool = False  # whether the text direction is taken from the name
    is_in_menu: bool = False


class SettingsTab(NamedTuple):
    """An entry in the list of settings. An app's entry follows the core entry with the key `after`, in the same group.

    The URL of its page is named `settings_` plus the `key`; `about` describes the page in one line.
    """

    key: str
    name: "StrOrPromise"
    after: str = ""
    icon: str = "settings"
    about: "StrOrPromise" = ""

    @property
    def url(self) -> str:
        return reverse(f"settings_{self.key}")


class Insert(NamedTuple):
    """A template inserted at a `place` in a core page, with the context of that page, if `applies` returns True."""

    place: str
    template: str
    applies: Callable[[], bool] = lambda: True


class ProfileLink(NamedTuple):
    """A link on profiles for which `shown`, an SQL expression with `%(owner)s` and `%(viewer)s`, is true.

    `path` is appended to the address of the profile.
    """

    shown: str
    path: str
    name: "StrOrPromise"


class OtherForm(NamedTuple):
    """A machine-readable format of the pages that list public posts, at the address of the page plus a suffix."""

    name: str
    suffix: str
    media_type: str


class DrawnPicture(NamedTuple):
    """A picture that other sites show for a public post without visible pictures, at its address plus a suffix."""

    suffix: str
    width: int
    height: int


PAGES = Hook[str]()  # the names of modules with `urlpatterns`: only web servers load them
TABS = Hook[Tab]()  # for everybody
OWN_TABS = Hook[
    Callable[[User | None], Iterable[Tab]]
]()  # for one viewer; called for every page with tabs
SETTINGS = Hook[SettingsTab]()
INSERTS = Hook[Insert]()  # at the places where pages use the tag `inserts`
PROFILE_LINKS = Hook[ProfileLink]()  # hidden if either account blocks the other
OTHER_FORMS = Hook[OtherForm]()
# Returns the URL of a page that tells the owner of a closed account why it is closed, or "". Called at a login with the
# correct password.
CLOSED = Hook[Callable[[User], str]](maximum=1)
DRAWN_PICTURES = Hook[DrawnPicture](maximum=1)
