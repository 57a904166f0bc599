"""After healing: every home matches the tables, cached or rebuilt, and so does every count."""

from collections.abc import Sequence

from apps.audit.comparison.explanations import compare
from apps.audit.oracle import Oracle
from apps.engagement import reconcile
from apps.engagement.reconcile import SUBJECTS
from apps.timeline.sources.home_cache import HOME, INBOX
from tools.drill.reader import Reader, newest
from tools.drill.verdict import Verdicts
from tools.drill.world import World

WALKED_TO_THE_END = 12  # readers; for the others only some pages are read
SOME = 80
POSTS_COUNTED = 100


def homes(verdicts: Verdicts, world: World, oracle: Oracle, reader: Reader) -> None:
    """I1, for the readers: pages over HTTP match the tables."""
    every = max(1, len(world.people) // WALKED_TO_THE_END)
    for number, person in enumerate(world.people):
        maximum = None if number % every == 0 else SOME
        found, wanted = reader.home(person, maximum=maximum), oracle.home(person.id)
        wanted = wanted if maximum is None or len(found) < maximum else wanted[: len(found)]
        verdicts["I1"].checked += len(wanted)
        _compare(verdicts, "I1", f"the home of {person.id}", found, wanted)


def explanations(verdicts: Verdicts, pairs: int, *, seed: int) -> None:
    """I22: explanations of random pairs of reader and post match the tables."""
    for outcome in compare(pairs, seed=seed):
        verdicts["I22"].checked += 1
        if outcome.fault:
            told = (
                f"{outcome.post_id} for {outcome.viewer.pk}: {outcome.reason}, but {outcome.fault}"
            )
            verdicts["I22"].violate(told)


def rebuilt(verdicts: Verdicts, readers: Sequence[int], oracle: Oracle) -> None:
    """I21: for every reader the cached and the rebuilt windows give the same pages."""
    for reader in readers:
        verdicts["I21"].checked += 1
        kept = newest(reader, HOME.length)
        HOME.drop(reader)
        INBOX.drop(reader)
        built = newest(reader, HOME.length)
        _compare(verdicts, "I21", f"the kept home of {reader}", kept, built)
        wanted = oracle.home(reader)[: HOME.length]
        _compare(verdicts, "I21", f"the rebuilt home of {reader}", built, wanted)


def counts(verdicts: Verdicts, world: World, oracle: Oracle, reader: Reader) -> None:
    """I4: after a reconciliation the counts on pages match the rows."""
    for subject in SUBJECTS:
        after: int | None = -1
        while after is not None:
            after = reconcile.reconcile_batch(subject, after, reconcile.Report(), fix=True)
    verdict = verdicts["I4"]
    for person in world.people:
        verdict.checked += 1
        shown, right = reader.user_counts(person), oracle.user_counts(person.id)
        if shown != right:
            verdict.violate(f"account {person.id} shows {shown} and has {right}")
    viewer = world.people[0]
    for post_id in oracle.home(viewer.id)[:POSTS_COUNTED]:
        if oracle.posts[post_id]["kind"] == "repost":
            continue
        verdict.checked += 1
        shown, right = reader.post_counts(viewer, post_id), oracle.counts(post_id)
        if shown != right:
            verdict.violate(f"post {post_id} shows {shown} and has {right}")


def _compare(
    verdicts: Verdicts, name: str, what: str, found: Sequence[int], wanted: Sequence[int]
) -> None:
    if list(found) == list(wanted):
        return
    missing, extra = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    if missing:
        told = f"{what} lacks {len(missing)} posts: {missing[:5]}"
        verdicts[name].violate(told, lost=len(missing))
    if extra:
        verdicts["I2"].violate(f"{what} shows {len(extra)} posts too many: {extra[:5]}")
    if not missing and not extra:
        verdicts["I3"].violate(f"{what} is in another order, or shows something twice")
