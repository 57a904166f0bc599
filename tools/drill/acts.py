"""The operations of a drill's people over HTTP, and how responses are recorded in the history."""

import random
import re
from collections import defaultdict
from collections.abc import Callable
from io import BytesIO
from typing import Any

from PIL import Image

from tools.drill.history import FAIL, OK, UNKNOWN, History, Operation
from tools.drill.known import KnownPosts, Published
from tools.drill.wire import Answer, NoAnswerError, Wire
from tools.drill.world import Person, SpareToken, World

PUBLISH_TRIES = 4
WALK_PAGES = 8
WORDS = ("river", "window", "lamp", "paper", "cloud", "garden", "bridge", "letter", "stone")
ANCHOR = re.compile(rb'<article [^>]*id="p(\d+)"')
LIKELY = 0.8
TAG = "drill"
BOUNDARY = "drill-boundary"
PIXELS = 64
PEOPLE = 80  # on a page of a list; nobody here follows more
TOKEN_USES = 4  # so that both web servers know the token
UNDOES = {
    "follow": "unfollow", "unfollow": "follow", "block": "unblock", "unblock": "follow", "mute": "unmute",
    "unmute": "mute",
}  # fmt: skip
NEXT = re.compile(r'[?&]max_id=(\d+)[^>]*>; rel="next"')
DEGRADED = "x-feed-degraded"  # lists sources missing from a page


class Acts:
    """The operations of one client thread; each returns once it is recorded."""

    def __init__(
        self, world: World, known: KnownPosts, wire: Wire, history: History, chance: random.Random
    ) -> None:
        self._world = world
        self._known = known
        self._wire = wire
        self._history = history
        self._chance = chance
        # (person, verb) -> accounts for which the verb makes a difference; at first, followees, who can be unfollowed,
        # blocked and muted
        self._stands: dict[tuple[int, str], list[int]] = defaultdict(list)
        people = {one.id for one in world.people}
        for follower, followee in sorted(world.follows):
            if follower in people:
                for verb in ("unfollow", "block", "mute"):
                    self._stands[follower, verb].append(followee)

    # --- writing -------------------------------------------------------------------------------

    def publish(self, person: Person, visibility: str = "public") -> None:
        """Publish a post; after a lost response the request is repeated with the same Idempotency-Key."""
        named = self._somebody(person) if visibility == "direct" else None
        circle = self._world.circles.get(person.id) if visibility == "circle" else None
        if visibility == "circle" and circle is None:
            visibility = "private"
        self._send_post(person, visibility, named=named.id if named else None, circle=circle)

    def answer(self, person: Person) -> None:
        parent = self._known.any_open(self._chance)
        if parent is not None:
            self._send_post(person, "public", reply_to=parent.id)

    def publish_tagged(self, person: Person) -> None:
        """Publish a post with a tag; then its author looks for it on the tag's page, which may come from a replica."""
        self._send_post(person, "public", tag=TAG)
        self.tag(person)

    def _send_post(self, person: Person, visibility: str, **about: Any) -> None:
        operation = self._history.invoke(person.id, "publish", visibility=visibility, **about)
        text = f"n{operation.number} " + " ".join(self._chance.choices(WORDS, k=6))
        if about.get("named"):
            text += f" @{self._handle(about['named'])}"
        body = {"status": text, "visibility": visibility}
        if about.get("tag"):
            body["status"] += f" #{about['tag']}"
        if about.get("circle"):
            body["circle_id"] = str(about["circle"])
        if about.get("reply_to"):
            body["in_reply_to_id"] = str(about["reply_to"])
        headers = {**bearer(person), "Idempotency-Key": f"drill-{operation.number}"}
        answer = self._post_stubbornly(headers, body)
        post_id = int(answer.json()["id"]) if answer is not None and answer.status == 200 else None
        self._finish(operation, answer, found=post_id)
        if post_id is not None:
            self._known.add(Published(post_id, person.id, visibility))

    def _post_stubbornly(self, headers: dict[str, str], body: dict[str, Any]) -> Answer | None:
        answer = None
        for _try in range(PUBLISH_TRIES):
            try:
                answer = self._wire.write("POST", "/api/v1/statuses", headers, body)
            except NoAnswerError:
                answer = None
                continue
            if answer.status < 500:
                break
        return answer

    def edit(self, person: Person) -> None:
        post = self._known.own_open(person.id, self._chance)
        if post is None:
            return
        text = f"edited {' '.join(self._chance.choices(WORDS, k=5))}"
        path = f"/api/v1/statuses/{post.id}"
        self._write(person, "edit", "PUT", path, {"status": text}, post=post.id)

    def delete(self, person: Person) -> None:
        """Delete one of the person's own posts; then somebody looks for it at once."""
        post = self._known.take_own(person.id, self._chance)
        if post is None:
            return
        path = f"/api/v1/statuses/{post.id}"
        if self._write(person, "delete", "DELETE", path, post=post.id):
            self.show(self._somebody(person), post.id)
            self.home(person)

    def upload(self, person: Person) -> None:
        """Upload a picture that no post uses."""
        operation = self._history.invoke(person.id, "upload")
        kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        try:
            answer: Answer | None = self._wire.write(
                "POST", "/api/v2/media", bearer(person) | kind, _form(_picture(operation.number))
            )
        except NoAnswerError:
            answer = None
        is_stored = answer is not None and answer.status == 200
        self._finish(
            operation, answer, found=answer.json()["url"] if answer and is_stored else None
        )

    def repost(self, person: Person) -> None:
        post = self._known.any_open(self._chance)
        if post is None:
            return
        operation = self._history.invoke(person.id, "repost", source=post.id)
        path = f"/api/v1/statuses/{post.id}/reblog"
        answer = self._answered(person, "POST", path)
        made = int(answer.json()["id"]) if answer is not None and answer.status == 200 else None
        self._finish(operation, answer, found=made)

    def mark(self, person: Person, verb: str) -> None:
        post = self._known.any_open(self._chance)
        if post is not None:
            path = f"/api/v1/statuses/{post.id}/{verb}"
            self._write(person, verb, "POST", path, post=post.id)

    def relate(self, person: Person, verb: str) -> None:
        """Follow, block or mute somebody, or the opposite; then look at the person's home, which must reflect it."""
        other = self._whom(person, verb)
        path = f"/api/v1/accounts/{other}/{verb}"
        if self._write(person, verb, "POST", path, other=other):
            self._stands[person.id, UNDOES[verb]].append(other)
            self.home(person)

    def _whom(self, person: Person, verb: str) -> int:
        """Usually an account for which the verb makes a difference."""
        standing = self._stands[person.id, verb]
        if standing and self._chance.random() < LIKELY:
            return standing.pop(self._chance.randrange(len(standing)))
        return self._somebody(person).id

    def end_token(self, person: Person) -> None:
        """Revoke a token that works, and use it again."""
        if not self._world.spare:
            return
        spare = self._world.spare.pop()
        for _time in range(TOKEN_USES):
            self._use_token(spare)
        operation = self._history.invoke(person.id, "end_token", token=spare.number)
        body = {**self._world.client, "token": spare.token}
        try:
            answer: Answer | None = self._wire.write("POST", "/oauth/revoke", {}, body)
        except NoAnswerError:
            answer = None
        self._finish(operation, answer)
        self._world.ended.append(spare)
        self._use_token(spare)

    def use_ended_token(self, _person: Person) -> None:
        if self._world.ended:
            self._use_token(self._chance.choice(self._world.ended))

    def _use_token(self, spare: SpareToken) -> None:
        operation = self._history.invoke(spare.owner, "use_token", token=spare.number)
        path, headers = "/api/v1/timelines/home?limit=1", {"Authorization": f"Bearer {spare.token}"}
        answer = self._got(operation, path, headers)
        if answer is not None:
            outcome = OK if answer.status == 200 else FAIL
            self._history.complete(operation, outcome, status=answer.status)

    # --- reading -------------------------------------------------------------------------------

    def home(self, person: Person) -> None:
        self._page(person, "home", "/api/v1/timelines/home?limit=20")

    def home_html(self, person: Person) -> None:
        operation = self._history.invoke(person.id, "home_html")
        answer = self._got(operation, "/", {"Cookie": f"sessionid={person.session}"})
        if answer is not None and answer.status == 200:
            ids = [int(found) for found in ANCHOR.findall(answer.body)]
            found = {"ids": ids, "degraded": _degraded(answer), "next": None}
            self._history.complete(operation, OK, status=200, found=found)

    def profile(self, person: Person) -> None:
        other = self._somebody(person)
        path = f"/api/v1/accounts/{other.id}/statuses?limit=20"
        self._page(person, "profile", path, other=other.id)

    def public(self, person: Person) -> None:
        self._page(person, "public", "/api/v1/timelines/public?limit=20")

    def tag(self, person: Person) -> None:
        self._page(person, "tag", f"/api/v1/timelines/tag/{TAG}?limit=20")

    def following(self, person: Person) -> None:
        """The accounts that the person follows."""
        path = f"/api/v1/accounts/{person.id}/following?limit={PEOPLE}"
        self._page(person, "following", path)

    def show(self, person: Person, post_id: int) -> None:
        operation = self._history.invoke(person.id, "show", post=post_id)
        answer = self._got(operation, f"/api/v1/statuses/{post_id}", bearer(person))
        if answer is not None:
            ids = [int(answer.json()["id"])] if answer.status == 200 else []
            found = {"ids": ids, "degraded": False, "next": None}
            self._history.complete(operation, OK, status=answer.status, found=found)

    def walk(self, person: Person) -> None:
        walk = self._history.invoke(person.id, "walk").number
        cursor: int | None = None
        for _page in range(self._chance.randint(2, WALK_PAGES)):
            path = "/api/v1/timelines/home?limit=20" + (f"&max_id={cursor}" if cursor else "")
            cursor = self._page(person, "home", path, walk=walk, max_id=cursor)
            if cursor is None:
                break

    def _page(self, person: Person, name: str, path: str, **args: Any) -> int | None:
        """Read a page. Returns the `max_id` of the next one, None at the end."""
        operation = self._history.invoke(person.id, name, **args)
        answer = self._got(operation, path, bearer(person))
        if answer is None:
            return None
        following = NEXT.search(answer.headers.get("link", ""))
        cursor = int(following[1]) if following else None
        ids = [int(one["id"]) for one in answer.json()] if answer.status == 200 else []
        found = {"ids": ids, "degraded": _degraded(answer), "next": cursor}
        outcome = OK if answer.status == 200 else FAIL
        self._history.complete(operation, outcome, status=answer.status, found=found)
        return cursor

    def _got(self, operation: Operation, path: str, headers: dict[str, str]) -> Answer | None:
        """The response to a read; None if there was none, or an error, which is then recorded."""
        try:
            answer = self._wire.read(path, headers)
        except NoAnswerError:
            self._history.complete(operation, UNKNOWN)
            return None
        if answer.status >= 500:
            self._history.complete(operation, FAIL, status=answer.status)
            return None
        return answer

    # --- both ----------------------------------------------------------------------------------

    def _write(
        self,
        person: Person,
        name: str,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        **args: Any,
    ) -> bool:
        operation = self._history.invoke(person.id, name, **args)
        answer = self._answered(person, method, path, body)
        self._finish(operation, answer)
        return answer is not None and answer.status == 200

    def _answered(
        self, person: Person, method: str, path: str, body: dict[str, Any] | None = None
    ) -> Answer | None:
        try:
            return self._wire.write(method, path, bearer(person), body)
        except NoAnswerError:
            return None

    def _finish(self, operation: Operation, answer: Answer | None, *, found: Any = None) -> None:
        """Record the outcome. After a server error the outcome is unknown."""
        if answer is None or answer.status >= 500:
            status = answer.status if answer else 0
            self._history.complete(operation, UNKNOWN, status=status)
        else:
            outcome = OK if answer.status == 200 else FAIL
            self._history.complete(operation, outcome, status=answer.status, found=found)

    def _somebody(self, person: Person) -> Person:
        while True:
            other = self._chance.choice(self._world.people)
            if other.id != person.id:
                return other

    def _handle(self, user_id: int) -> str:
        return next(one.handle for one in self._world.people if one.id == user_id)


def repertoire(acts: Acts) -> list[tuple[Callable[[Person], None], int, bool]]:
    """Tuples of (act, weight, whether active writers do it more often)."""
    return [
        (acts.publish, 64, True),
        (lambda one: acts.publish(one, "private"), 6, True),
        (lambda one: acts.publish(one, "direct"), 3, True),
        (lambda one: acts.publish(one, "circle"), 3, True),
        (lambda one: acts.publish(one, "unlisted"), 3, True),
        (acts.answer, 4, False),
        (acts.edit, 3, True),
        (acts.delete, 4, True),
        (acts.repost, 4, False),
        (lambda one: acts.mark(one, "favourite"), 4, False),
        (lambda one: acts.mark(one, "unfavourite"), 1, False),
        (lambda one: acts.mark(one, "bookmark"), 1, False),
        (lambda one: acts.relate(one, "follow"), 2, False),
        (lambda one: acts.relate(one, "unfollow"), 1, False),
        (lambda one: acts.relate(one, "block"), 1, False),
        (lambda one: acts.relate(one, "unblock"), 1, False),
        (lambda one: acts.relate(one, "mute"), 1, False),
        (lambda one: acts.relate(one, "unmute"), 1, False),
        (acts.end_token, 2, False),
        (acts.use_ended_token, 4, False),
        (acts.home, 8, False),
        (acts.home_html, 3, False),
        (acts.walk, 1, False),
        (acts.profile, 2, False),
        (acts.public, 1, False),
    ]


def repertoire_of_follows(acts: Acts) -> list[tuple[Callable[[Person], None], int, bool]]:
    """Additional operations for `--with-replica`, on follows and tags: their weights add two fifths to the others'."""
    return [
        (lambda one: acts.relate(one, "follow"), 16, False),
        (lambda one: acts.relate(one, "unfollow"), 16, False),
        (acts.following, 8, False),
        (acts.publish_tagged, 5, True),
        (acts.tag, 8, False),
    ]


def repertoire_of_uploads(acts: Acts) -> list[tuple[Callable[[Person], None], int, bool]]:
    """Additional operations for `--with-disks`."""
    return [(acts.upload, 8, False)]  # each starts a process that decodes it


def _picture(number: int) -> bytes:
    """A PNG that cannot be compressed much, so that it needs several blocks of a disk."""
    chance = random.Random(number)  # noqa: S311 -- can be repeated
    written = BytesIO()
    Image.frombytes("RGB", (PIXELS, PIXELS), chance.randbytes(PIXELS * PIXELS * 3)).save(
        written, "PNG"
    )
    return written.getvalue()


def _form(picture: bytes) -> bytes:
    head = (
        'Content-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png'
    )
    return b"--%b\r\n%b\r\n\r\n%b\r\n--%b--\r\n" % (
        BOUNDARY.encode(),
        head.encode(),
        picture,
        BOUNDARY.encode(),
    )


def bearer(person: Person) -> dict[str, str]:
    return {"Authorization": f"Bearer {person.token}"}


def _degraded(answer: Answer) -> bool:
    return DEGRADED in answer.headers
