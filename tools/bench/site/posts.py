"""The cost of a home page as the number of posts grows, measured while they are written.

Over HTTP, one request at a time.
"""

from pathlib import Path

from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.site.growth import NAIVE, OURS, Curve, home, line_of, naive_home, visitors, warmed
from tools.bench.site.world import FOLLOWEES, make_readers, people, world, write_crowd

POSTS = (10_000, 100_000, 1_000_000)
NAIVE_QUIET = f"{NAIVE}, quiet followees"


def run(directory: Path) -> list[Line]:
    """Measure new readers at every size: some of active authors, others of authors who wrote before all the others."""
    here = people()
    curves: dict[str, Curve] = {OURS: {}, NAIVE: {}, NAIVE_QUIET: {}}
    with visitors(directory) as (ours, naive):
        for posts in POSTS:
            write_crowd(posts)
            busy = make_readers(f"grown{posts}x", here.crowd, FOLLOWEES, 1)
            quiet = make_readers(f"silent{posts}x", here.quiet, FOLLOWEES, 1)
            doing(f"a page among {posts:,} posts")
            ways = {
                OURS: home(ours, busy),
                NAIVE: naive_home(naive, busy),
                NAIVE_QUIET: naive_home(naive, quiet),
            }
            for name, taken in warmed(ways).items():
                curves[name][posts] = taken
    world()
    return [line_of("home page, by number of newer posts", "newer posts by everybody", curves)]
