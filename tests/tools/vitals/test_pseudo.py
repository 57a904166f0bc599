"""Pages in languages that nobody speaks: nothing is left in English, nothing is wider than the screen."""

import pytest

from runner.checkout import ROOT
from tests.support.processes import start_web, stop
from tools.vitals.browser import MISSING, PROGRAM, chromium
from tools.vitals.pages import PAGES
from tools.vitals.pseudo import ACCENTED, LONG, MIRRORED, pseudo, write_catalogues
from tools.vitals.stage import prepare

pytestmark = pytest.mark.browser

# What people wrote, what programs read, and names.
UNTRANSLATED = """accented => {
  const own = ".content, body [dir], body [lang], select[name=language], bdi, kbd, code, time, textarea"
    + ", .token, .brand, .title, title, .avatar, .alt, .code";
  const said = text => /[A-Za-z]{3}/.test(text) && ![...text].some(one => accented.includes(one));
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (said(node.data) && !node.parentElement.closest(own) && !node.parentElement.closest("script, style"))
      found.push(node.data.trim());
  }
  for (const name of ["aria-label", "title", "placeholder"])
    for (const one of document.querySelectorAll(`body [${name}]`))
      if (said(one.getAttribute(name)) && !one.matches(own) && !one.querySelector(":scope > time"))
        found.push(`${name}=${one.getAttribute(name)}`);
  return found;
}"""
# Names that the stage gives, the site's own name, and texts that Django has in its own catalogues.
NAMES = {
    "Rill",
    "Close by",
    "Near by",
    "Choir",
    "Endings",
    "vitals",
    "@author",
    "thing",
    "#thing",
    "Later.",
    "Good people",
    "no-reply@localhost",
    "Memcached",
    "Redis",
    "PostgreSQL",
    "Main",
    "Backup",
    "Main 1/1[, ]Backup 1/1",
}
# Stored by the worker, which does not speak these languages.
STORED = {"Not on this site.", "There is no account @nobody_at_all."}
DJANGO = {"Old password", "New password", "New password confirmation", "Email",
          "Enter the same password as before, for verification."}  # fmt: skip
WIDTH = 320
RTL = (
    "home",
    "profile",
    "thread",
    "compose",
    "settings-account",
    "search",
    "notifications",
    "landing",
)

needs_browser = pytest.mark.skipif(PROGRAM is None, reason=MISSING)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Reply", "[Ŕéþļý ~]"),
        ("%(n)s people", "[%(n)s þéóþļé ~]"),
        ("See <b>all</b> of {it}", "[Šéé <b>áļļ</b> óƒ {it} ~ ~]"),
    ],
)
def test_texts_get_accents_and_grow(text, other):
    assert pseudo(text) == other


@pytest.fixture
def pseudo_site(cast, worker, tmp_path, static_files):
    """A web server that speaks them too."""
    write_catalogues(ROOT / "locale/zh_Hans/LC_MESSAGES/django.po", tmp_path / "locale")
    settings = {
        "DJANGO_SETTINGS_MODULE": "tests.tools.vitals.pseudo_settings",
        "PSEUDO_LOCALES": str(tmp_path / "locale"),
    }
    process, address = start_web(tmp_path, **static_files, **settings)
    yield address
    stop(process)


@pytest.mark.browser
@needs_browser
def test_no_text_is_left_in_english_and_no_page_is_too_wide(pseudo_site, cast):
    scene = prepare(pseudo_site, cast)
    wrong = []
    with chromium() as browser:
        for language, names in ((LONG, None), (MIRRORED, RTL)):
            everybody = {page.who for page in PAGES}
            with scene.windows(browser, everybody, width=WIDTH, language=language) as people:
                tabs = {who: context.new_page() for who, context in people.items()}
                for page in PAGES:
                    if names is None or page.name in names:
                        tab = tabs[page.who]
                        tab.goto(scene.address(page))
                        width = tab.evaluate("document.documentElement.scrollWidth")
                        wrong += [f"{page.name} {language}: {width} px"] * (width > WIDTH)
                        left = {
                            text.split("=")[-1] for text in tab.evaluate(UNTRANSLATED, ACCENTED)
                        }
                        wrong += [
                            f"{page.name} {language}: {text}"
                            for text in left - NAMES - STORED - DJANGO
                        ]
                        direction = tab.evaluate("document.documentElement.dir")
                        assert direction == ("rtl" if language == MIRRORED else "ltr"), page.name
    assert sorted(set(wrong)) == []
