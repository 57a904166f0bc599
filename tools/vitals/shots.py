"""Screenshots of the pages, for the README and for review."""

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import BrowserContext

from tools.vitals.browser import chromium
from tools.vitals.pages import LANGUAGES, Page, named
from tools.vitals.stage import Scene

SHOWN = (
    "home", "thread", "profile", "notifications", "search", "compose", "explain", "settings-appearance", "landing",
    "login",
)  # fmt: skip


def shoot(
    scene: Scene,
    pages: Sequence[Page],
    directory: Path,
    *,
    done: Callable[[], None] = lambda: None,
) -> list[Path]:
    """Take `<page>-<theme>-<width>.png` of each page. Returns the paths. `done` is called for every page and width."""
    directory.mkdir(parents=True, exist_ok=True)
    made = []
    with chromium() as browser:
        for width in (390, 1280):
            who = {page.who for page in pages}
            with scene.windows(browser, who, width=width) as people:
                for page in pages:
                    made += _shots(people[page.who], page, scene.address(page), directory, width)
                    done()
    return made


# wide enough for the column beside the feed; twice the size at which it is shown
LANDING = (1088, 612)
QUALITY = 78


def shoot_landing(scene: Scene, directory: Path) -> list[Path]:
    """Take `home-<language>-<theme>.webp` for the landing page."""
    made = []
    width, height = LANDING
    home = named(["home"])[0]
    with chromium() as browser:
        for language in LANGUAGES:
            with scene.windows(browser, [home.who], width=width, language=language) as people:
                context = people[home.who]
                context.add_cookies([{"name": "tour", "value": "over", "url": scene.site}])
                tab = context.new_page()
                tab.set_viewport_size({"width": width, "height": height})
                for theme in ("light", "dark"):
                    tab.emulate_media(color_scheme=theme)
                    tab.goto(scene.address(home), wait_until="networkidle")
                    place = directory / f"home-{language.partition('-')[0]}-{theme}.webp"
                    with Image.open(BytesIO(tab.screenshot())) as picture:
                        picture.convert("RGB").save(place, quality=QUALITY, method=6)
                    made.append(place)
    return made


def _shots(
    context: BrowserContext, page: Page, address: str, directory: Path, width: int
) -> list[Path]:
    places = []
    tab = context.new_page()
    tab.goto(address, wait_until="networkidle")
    for theme in ("light", "dark"):
        tab.emulate_media(color_scheme=theme)
        place = directory / f"{page.name}-{theme}-{width}.png"
        with Image.open(BytesIO(tab.screenshot())) as picture:
            picture.convert("RGB").save(place, optimize=True)  # a third smaller than the original
        places.append(place)
    tab.close()
    return places
