"""Every page, looked at in both languages, in a narrow and a wide window."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import Browser

from vitals.browser import chromium
from vitals.look import Look, look_at
from vitals.pages import Page
from vitals.stage import Scene

LANGUAGES = ("en", "zh-hans")
WIDTHS = (390, 1280)


def survey(
    scene: Scene,
    pages: Sequence[Page],
    *,
    languages: Sequence[str] = LANGUAGES,
    widths: Sequence[int] = WIDTHS,
    done: Callable[[Look], None] = lambda _look: None,
) -> list[Look]:
    """Look at pages; a browser of its own for each language, at the same time. `done` hears of every look."""

    def one(language: str) -> list[Look]:
        looks = []
        with chromium() as browser:
            for width in widths:
                for look in _looks(browser, scene, pages, language, width):
                    looks.append(look)
                    done(look)
        return looks

    with ThreadPoolExecutor(len(languages)) as pool:
        return [look for looks in pool.map(one, languages) for look in looks]


def _looks(
    browser: Browser, scene: Scene, pages: Sequence[Page], language: str, width: int
) -> Iterator[Look]:
    with scene.windows(browser, width=width, language=language) as people:
        for page in pages:
            yield look_at(
                people[page.who], page, scene.address(page), width=width, language=language
            )
