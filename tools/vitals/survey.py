"""Looks at every page, in both languages, in a narrow and a wide window."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from playwright.sync_api import Browser

from tools.vitals.browser import chromium
from tools.vitals.look import Look, Sizes, look_at, tab_in
from tools.vitals.pages import LANGUAGES, Page
from tools.vitals.stage import Scene

WIDTHS = (390, 1280)


def survey(
    scene: Scene,
    pages: Sequence[Page],
    *,
    languages: Sequence[str] = LANGUAGES,
    widths: Sequence[int] = WIDTHS,
    known: Sequence[Look] = (),
    done: Callable[[Look], None] = lambda _look: None,
) -> list[Look]:
    """Look at pages, with a browser for each language in parallel.

    Pages in `known` are not opened again. `done` is called for every new look, in the thread that looked.
    """
    stopped = Event()
    seen = {(look.page, look.language, look.width): look for look in known}

    def one(language: str) -> list[Look]:
        looks: list[Look] = []
        sizes: Sizes = {}
        with chromium() as browser:
            for width in widths:
                missing = [page for page in pages if (page, language, width) not in seen]
                for look in _looks(browser, scene, missing, language, width, sizes):
                    looks.append(look)
                    done(look)
                    if stopped.is_set():
                        return looks
        return looks

    with ThreadPoolExecutor(len(languages)) as pool:
        try:
            new = [look for looks in pool.map(one, languages) for look in looks]
        finally:
            stopped.set()  # after Ctrl-C, do not wait for the rest
    return [*seen.values(), *new]


def _looks(
    browser: Browser,
    scene: Scene,
    pages: Sequence[Page],
    language: str,
    width: int,
    sizes: Sizes,
) -> Iterator[Look]:
    if not pages:
        return
    who = {page.who for page in pages}
    with scene.windows(browser, who, width=width, language=language) as people:
        tabs = {who: tab_in(context) for who, context in people.items()}
        for page in pages:
            yield look_at(tabs[page.who], page, scene.address(page), language=language, sizes=sizes)
