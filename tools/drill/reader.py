"""Reads after the run: homes and counts over HTTP, and homes through the read path in this process."""

from apps.accounts.models import User
from apps.pagination import Cursor
from apps.timeline.home import home_timeline
from runner.terminal import LaunchError
from tools.drill.acts import NEXT, bearer
from tools.drill.wire import Answer, Wire
from tools.drill.world import Person

LIMIT = 40
PEOPLE = 80  # on a page of a list
PAGES = 1000


class Reader:
    """A patient client: everything is healed, so any failure now is a bug of the drill or of the site."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def publish(self, person: Person, text: str) -> Answer:
        """Publish a public post."""
        body = {"status": text, "visibility": "public"}
        return self._wire.write("POST", "/api/v1/statuses", bearer(person), body)

    def _read(self, path: str, person: Person) -> Answer:
        """The response to a read. LaunchError for a server error."""
        answer = self._wire.read(path, bearer(person))
        if answer.status >= 500:
            text = answer.body[:200].decode(errors="replace")
            raise LaunchError(f"after all faults, {path} is answered with {answer.status}: {text}")
        return answer

    def home(self, person: Person, *, maximum: int | None = None) -> list[int]:
        """The ids of a home, page after page: `maximum` of them, or all."""
        ids: list[int] = []
        cursor = ""
        for _page in range(PAGES):
            path = f"/api/v1/timelines/home?limit={LIMIT}{cursor}"
            answer = self._read(path, person)
            ids += [int(one["id"]) for one in answer.json()]
            following = NEXT.search(answer.headers.get("link", ""))
            if following is None or (maximum is not None and len(ids) >= maximum):
                break
            cursor = f"&max_id={following[1]}"
        return ids

    def people(self, person: Person, name: str) -> list[int]:
        """The ids of the person's own list, `followers` or `following`, page after page."""
        ids: list[int] = []
        path = f"/api/v1/accounts/{person.id}/{name}?limit={PEOPLE}"
        for _page in range(PAGES):
            answer = self._read(path, person)
            ids += [int(one["id"]) for one in answer.json()]
            following = NEXT.search(answer.headers.get("link", ""))
            if following is None:
                break
            path = f"/api/v1/accounts/{person.id}/{name}?limit={PEOPLE}&max_id={following[1]}"
        return ids

    def user_counts(self, person: Person) -> tuple[int, int, int]:
        """(followers, following, posts) as the API shows them."""
        shown = self._read(f"/api/v1/accounts/{person.id}", person).json()
        return shown["followers_count"], shown["following_count"], shown["statuses_count"]

    def post_counts(self, person: Person, post_id: int) -> tuple[int, int, int]:
        """(replies, reposts, likes) as the API shows them."""
        shown = self._read(f"/api/v1/statuses/{post_id}", person).json()
        return shown["replies_count"], shown["reblogs_count"], shown["favourites_count"]


def newest(reader_id: int, number: int) -> list[int]:
    """The newest ids of a home, through the read path in this process."""
    viewer = User.objects.get(pk=reader_id)
    ids: list[int] = []
    cursor: Cursor | None = Cursor(limit=LIMIT)
    while cursor is not None and len(ids) < number:
        page = home_timeline(viewer, cursor)
        ids += [item.id for item in page.items]
        cursor = None if page.older is None else Cursor(max_id=page.older, limit=LIMIT)
    return ids[:number]
