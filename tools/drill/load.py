"""The clients: threads, each of which acts for its own people, so that one person's operations are sequential."""

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence

from tools.drill.acts import Acts, repertoire, repertoire_of_follows, repertoire_of_uploads
from tools.drill.history import History
from tools.drill.known import KnownPosts
from tools.drill.wire import Wire
from tools.drill.world import World

THREADS = 12
JOIN_SECONDS = 60.0


class Load:
    """All client threads. `errors` are failures of the drill itself."""

    def __init__(  # noqa: PLR0913 -- what a run asks for
        self,
        world: World,
        addresses: Sequence[str],
        history: History,
        *,
        seed: int,
        per_second: float,
        with_follows: bool = False,
        with_uploads: bool = False,
    ) -> None:
        self._with_follows = with_follows
        self._with_uploads = with_uploads
        self.errors: list[str] = []
        self._stop = threading.Event()
        self._may_act = threading.Event()
        self._may_act.set()
        known = KnownPosts()
        self._wires = [Wire(addresses, first=number) for number in range(THREADS)]
        self._threads = [
            threading.Thread(
                target=self._run,
                args=(number, world, known, self._wires[number], history, seed),
                name=f"client-{number}",
                daemon=True,
            )
            for number in range(THREADS)
        ]
        self._pause = THREADS / per_second  # between two operations of a thread

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def ease(self, *, is_behind: bool) -> None:
        """Pause while the workers are behind: overload is not part of the drill."""
        if is_behind:
            self._may_act.clear()
        else:
            self._may_act.set()

    def answered(self) -> Counter[int]:
        """How often each status was answered, repeated requests included."""
        return sum((wire.answered for wire in self._wires), Counter())

    def stop(self) -> None:
        self._stop.set()
        self._may_act.set()
        for thread in self._threads:
            thread.join(JOIN_SECONDS)
            if thread.is_alive():
                self.errors.append(f"{thread.name} does not end")

    def _run(
        self, number: int, world: World, known: KnownPosts, wire: Wire, history: History, seed: int
    ) -> None:
        chance = random.Random(f"{seed}/client/{number}")  # noqa: S311 -- can be repeated
        doer = Acts(world, known, wire, history, chance)
        acts = repertoire(doer) + (repertoire_of_follows(doer) if self._with_follows else [])
        acts += repertoire_of_uploads(doer) if self._with_uploads else []
        weights = [weight for _, weight, _ in acts]
        people, often = world.people[number::THREADS], world.weights[number::THREADS]
        due = time.monotonic() + chance.uniform(0, self._pause)
        try:
            while not self._stop.wait(max(0.0, due - time.monotonic())):
                self._may_act.wait()
                act, _, active = chance.choices(acts, weights)[0]
                act(chance.choices(people, often)[0] if active else chance.choice(people))
                due = max(due + self._pause, time.monotonic() - self._pause)
        except Exception as error:  # noqa: BLE001 -- reported at the end; the other threads continue
            self.errors.append(f"client-{number}: {type(error).__name__}: {error}")
        finally:
            wire.close()
