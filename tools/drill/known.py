"""Posts that clients can reply to, repost, edit and delete. Shared by all client threads."""

import random
import threading
from collections import defaultdict, deque
from dataclasses import dataclass

KEPT = 400
KEPT_OF_ONE = 30
OPEN = ("public", "unlisted")


@dataclass(frozen=True, slots=True)
class Published:
    """An acknowledged post; `visibility` as in the API."""

    id: int
    author: int
    visibility: str


class KnownPosts:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: deque[Published] = deque(maxlen=KEPT)
        self._of: dict[int, deque[Published]] = defaultdict(lambda: deque(maxlen=KEPT_OF_ONE))

    def add(self, post: Published) -> None:
        with self._lock:
            self._of[post.author].append(post)
            if post.visibility in OPEN:
                self._open.append(post)

    def any_open(self, chance: random.Random) -> Published | None:
        """A public or unlisted post of anybody; it may have been deleted."""
        with self._lock:
            return chance.choice(self._open) if self._open else None

    def own_open(self, author: int, chance: random.Random) -> Published | None:
        with self._lock:
            mine = [post for post in self._of[author] if post.visibility in OPEN]
            return chance.choice(mine) if mine else None

    def take_own(self, author: int, chance: random.Random) -> Published | None:
        """One of an author's posts, of any kind; it is not returned again."""
        with self._lock:
            mine = self._of[author]
            if not mine:
                return None
            post = chance.choice(mine)
            mine.remove(post)
            return post
