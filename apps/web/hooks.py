"""What optional apps add to the pages."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from django.urls import reverse

from apps.accounts.models import User
from apps.events.hooks import Hook

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class Tab(NamedTuple):
    """A tab beside the timelines, or a line of the menu at their end.

    `key`: the value of `tab` in the context of the tab's page; `place`: the order of the tabs.
    """

    place: int
    key: str | int
    url: "StrOrPromise"
    name: "StrOrPromise"
    is_written_by_people: bool = False  # if so, its direction follows from its text
    is_in_menu: bool = False


class SettingsTab(NamedTuple):
    """An entry of the list of settings, behind the one with the key `after` and in its group.

    The URL of its page is named `settings_` and the `key`; `about` says in one line what is there.
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
    """A template that stands at a `place` of a page of the core, with the context of that page."""

    place: str
    template: str
    applies: Callable[[], bool] = lambda: True


class ProfileLink(NamedTuple):
    """A link on profiles whose owner (`u.id`) makes an SQL expression true; the expression may use `%(viewer)s`.

    `path` is behind the address of the profile.
    """

    shown: str
    path: str
    name: "StrOrPromise"


class OtherForm(NamedTuple):
    """A format for other programs of the pages of public posts, at the address of the page with a suffix."""

    name: str
    suffix: str
    media_type: str


class DrawnPicture(NamedTuple):
    """A picture that other sites show for a public post without one, at the address of the post with a suffix."""

    suffix: str
    width: int
    height: int


PAGES = Hook[str]()  # the names of modules with `urlpatterns`: only web servers load them
TABS = Hook[Tab]()  # for everybody
OWN_TABS = Hook[Callable[[User | None], Iterable[Tab]]]()  # for one viewer; called for every page
SETTINGS = Hook[SettingsTab]()
INSERTS = Hook[Insert]()  # at the places that pages name by `inserts`
PROFILE_LINKS = Hook[ProfileLink]()  # not for who is blocked, or blocks the owner
OTHER_FORMS = Hook[OtherForm]()
DRAWN_PICTURES = Hook[DrawnPicture](maximum=1)
