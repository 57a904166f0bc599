"""The load: people who read, publish, like, follow and listen to streams, by the clock."""

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from io import BytesIO
from typing import NamedTuple

import numpy as np
import orjson
from PIL import Image

from tools.bench.site.mix import STATUSES
from tools.bench.site.systems import HOME
from tools.bench.site.visitor import Form, Visitor, bearer

RATE = 20  # requests per second
# Kinds of requests, with their shares in percent.
MIX = {
    "home, API": 30,
    "home, HTML": 22,
    "profile, HTML": 10,
    "thread, HTML": 9,
    "notifications, API": 6,
    "public timeline, HTML": 4,
    "search, HTML": 2,
    "explore, HTML": 1,
    "like": 7,
    "publication": 4,
    "reply": 1,
    "publication with a picture": 0.5,
    "repost": 1,
    "follow": 0.75,
    "unfollow": 0.75,
    "opened stream": 1,
}
OPENED, HEARD = "opened", "events heard"
THREADS = 16
STREAM_SECONDS = 60  # how long a stream stays open
READ_SECONDS = 20  # longer than a stream is silent between two heartbeats
WORDS = (
    "river", "window", "lamp", "paper", "cloud", "garden", "bridge", "letter", "stone", "early", "quiet", "green",
    "under", "harbour", "seven",
)  # fmt: skip
PICTURE = (1200, 800)
BOUNDARY = "feedsite-soak"


class Person(NamedTuple):
    id: int
    url: str
    token: str
    cookie: str


class Load:
    """Requests of a crowd. `milliseconds` from the due time to the response, by kind; `events` heard on streams."""

    def __init__(
        self, web: int, streaming: int, crowd: list[Person], posts: list[tuple[int, str]]
    ) -> None:
        self.visitor = Visitor(web)
        self.milliseconds: dict[str, list[float]] = defaultdict(list)
        self.events: Counter[str] = Counter()
        self.latest = posts  # the newest posts: ids, and paths of their threads
        self._streaming = streaming
        self._crowd = crowd
        self._dice = random.Random(len(crowd))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def count_again(self) -> str:
        """Forget all responses so far, which came from cold caches. Returns what failed among them."""
        said = f"{self.visitor.complaint} in the first third"
        self.milliseconds.clear()
        self.visitor.failures.clear()
        self.events.clear()
        return said

    def stop(self) -> None:
        """Returns when all requests are answered and all streams closed."""
        self._stop.set()
        self._thread.join()

    @property
    def stream_errors(self) -> int:
        """How many streams did not open, or broke."""
        return sum(number for what, number in self.events.items() if what not in (OPENED, HEARD))

    @property
    def heard(self) -> str:
        return ", ".join(f"{number:,} {what}" for what, number in self.events.items())

    def _run(self) -> None:
        kinds, shares = list(MIX), list(MIX.values())
        begin, number = time.perf_counter(), 0
        with (
            ThreadPoolExecutor(THREADS) as threads,
            ThreadPoolExecutor(RATE * STREAM_SECONDS) as streams,
        ):
            while not self._stop.is_set():
                due = begin + number / RATE
                time.sleep(max(due - time.perf_counter(), 0))
                [kind] = self._dice.choices(kinds, shares)
                person, other = self._dice.sample(self._crowd, 2)
                post = self._dice.choice(self.latest)
                if kind == "opened stream":
                    streams.submit(self._hear, person)
                else:
                    threads.submit(self._send, kind, due, self._request(kind, person, other, post))
                number += 1

    def _send(self, kind: str, due: float, request: Callable[[], object]) -> None:
        request()
        self.milliseconds[kind].append((time.perf_counter() - due) * 1000)

    def _request(
        self, kind: str, person: Person, other: Person, post: tuple[int, str]
    ) -> Callable[[], object]:
        post_id, thread = post
        pages = {
            "home, HTML": "/", "profile, HTML": other.url, "thread, HTML": thread, "public timeline, HTML": "/public",
            "search, HTML": f"/search?q={self._dice.choice(WORDS)}", "explore, HTML": "/explore",
        }  # fmt: skip
        if kind in pages:
            return partial(self.visitor.send, pages[kind], ("Cookie", person.cookie))
        text, status = self._text(), f"/api/v1/statuses/{post_id}"
        if kind == "publication with a picture":
            return partial(self._publish_picture, person, text, self._dice.getrandbits(32))
        path, body = {
            "home, API": (HOME, None),
            "notifications, API": ("/api/v1/notifications", None),
            "like": (f"{status}/favourite", {}),
            "repost": (f"{status}/reblog", {}),
            "follow": (f"/api/v1/accounts/{other.id}/follow", {}),
            "unfollow": (f"/api/v1/accounts/{other.id}/unfollow", {}),
            "publication": (STATUSES, {"status": text}),
            "reply": (STATUSES, {"status": text, "in_reply_to_id": str(post_id)}),
        }[kind]
        return partial(self.visitor.send, path, bearer(person.token), body)

    def _text(self) -> str:
        text = " ".join(self._dice.choices(WORDS, k=self._dice.randint(5, 35)))
        return f"{text} #{self._dice.choice(WORDS)}" if self._dice.random() < 0.2 else text

    def _publish_picture(self, person: Person, text: str, seed: int) -> None:
        answer = self.visitor.send("/api/v2/media", bearer(person.token), picture_form(seed))
        if answer:
            body = {"status": text, "media_ids": [orjson.loads(answer)["id"]]}
            self.visitor.send(STATUSES, bearer(person.token), body)

    def _hear(self, person: Person) -> None:
        """Open a person's stream, and read it for a while."""
        connection = HTTPConnection("127.0.0.1", self._streaming, timeout=READ_SECONDS)
        end = time.monotonic() + STREAM_SECONDS
        begin = time.perf_counter()
        try:
            connection.request(
                "GET",
                "/api/v1/streaming/user",
                headers=dict([bearer(person.token), ("Host", "localhost")]),
            )
            answer = connection.getresponse()
            if answer.status != HTTPStatus.OK:
                self.events[f"status {answer.status}"] += 1
                return
            self.events[OPENED] += 1
            self.milliseconds["opened stream"].append((time.perf_counter() - begin) * 1000)
            while (
                time.monotonic() < end and not self._stop.is_set() and (line := answer.readline())
            ):
                self.events[HEARD] += line.startswith(b"event:")
        except (OSError, HTTPException) as error:
            self.events[type(error).__name__] += 1
        finally:
            connection.close()


def picture_form(seed: int) -> Form:
    """An upload of a JPEG of about the size of a phone's preview; each seed gives another picture."""
    noise = np.random.default_rng(seed).integers(
        0, 256, (PICTURE[1] // 25, PICTURE[0] // 25, 3), dtype=np.uint8
    )
    file = BytesIO()
    Image.fromarray(noise).resize(PICTURE, Image.Resampling.BICUBIC).save(file, "JPEG", quality=85)
    head = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="picture.jpg"\r\n'
        "Content-Type: image/jpeg\r\n\r\n"
    )
    content = head.encode() + file.getvalue() + f"\r\n--{BOUNDARY}--\r\n".encode()
    return Form(f"multipart/form-data; boundary={BOUNDARY}", content)
