"""Moving in, in a browser: the file, its progress, the report, and back; with and without scripts."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, expect

from apps.accounts.actions import update_settings
from apps.graph.models import Followee
from apps.privacy.moving.imports import run_due
from tests.flows.browsing import log_in, needs_browser
from tests.support.archives import archive, attached, boost, note
from tests.support.factories import make_user
from tests.support.pictures import picture

pytestmark = [*needs_browser, pytest.mark.flows]

HEADER = b"Account address,Show boosts,Notify on new posts,Languages\n"
LINES = b"author,true,false,\nsomebody.with.a.long.name@a.rather.long.name.of.a.site.example,true,false,\nnobody,,,\n"
FILE = FilePayload(name="following_accounts.csv", mimeType="text/csv", buffer=HEADER + LINES)
WIDEST = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


def look(page, name):
    """A picture to look at, where somebody wants to (PICTURES)."""
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
    assert page.evaluate(WIDEST)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_file_comes_in_while_one_looks_on_and_goes_again(width, language, author, reader, visit):
    update_settings(reader, interface_language=language)
    reader.refresh_from_db()
    with visit(width=width) as page:
        log_in(page, "reader")
        page.goto("/settings/export")
        look(page, f"export-{language}-{width}")
        page.set_input_files("input[type=file]", FILE)
        page.click("form[action='/settings/import'] button")
        expect(page.locator("#import progress")).to_be_visible()
        look(page, f"pending-{language}-{width}")
        run_due(limit=1)
        expect(page.locator("#import progress")).to_have_count(0)  # without a reload
        assert Followee.objects.get(owner=reader).followee == author
        page.click("#import a")
        expect(page.locator(".section li")).to_have_count(2)
        look(page, f"report-{language}-{width}")
        page.goto("/settings/export")
        expect(page.locator("#imports li")).to_have_count(1)
        look(page, f"imports-{language}-{width}")
        page.click("#imports a")
        page.click("form[action$='/undo'] button")
        run_due(limit=1)
        expect(page.locator("#import progress")).to_have_count(0)
        assert not Followee.objects.filter(owner=reader).exists()
        page.reload()
        look(page, f"undone-{language}-{width}")


def test_all_of_it_works_without_scripts(author, reader, visit, tmp_path):
    make_user("nobody_else")
    with visit(scripts=False) as page:
        log_in(page, "reader")
        page.goto("/settings/export")
        page.set_input_files("input[type=file]", FILE)
        page.click("form[action='/settings/import'] button")
        run_due(limit=1)
        page.get_by_role("link", name="Refresh").click()
        expect(page.locator(".section li")).to_have_count(2)
        with page.expect_download() as download:
            page.get_by_role("link", name="Download as CSV").click()
        download.value.save_as(tmp_path / "report.csv")
        assert "nobody" in (tmp_path / "report.csv").read_text()
        page.get_by_role("button", name="Undo this import").click()
        run_due(limit=1)
        page.get_by_role("link", name="Refresh").click()
        expect(page.locator("#import")).to_contain_text("has been undone")


def test_a_bad_file_says_so_in_the_form(reader, visit):
    with visit(width=390, tolerated="status of 422") as page:
        log_in(page, "reader")
        page.goto("/settings/export")
        page.set_input_files(
            "input[type=file]", FilePayload(name="a.zip", mimeType="", buffer=b"PK\x03\x04\x00")
        )
        page.click("form[action='/settings/import'] button")
        expect(page.locator("form .errorlist")).to_have_text("This is not a UTF-8 text file.")
        look(page, "refused")


ARCHIVE = FilePayload(
    name="archive-20240501.zip",
    mimeType="application/zip",
    buffer=archive(
        note(1, "<p>The garden in its first spring. #garden</p>", published="2017-04-02T08:00:00Z"),
        note(2, "<p>Too much salt.</p>", summary="Food", published="2019-04-02T08:00:00Z"),
        note(3, "<p>A cat</p>", attachment=[attached("cat.png", "A cat"), attached("gone.png")]),
        note(4, "<p>For you only</p>", to=["https://far.example/users/bob"], cc=[]),
        boost(5),
        files={"cat.png": picture(size=(800, 500))},
    ),
)


@pytest.mark.parametrize(
    ("width", "language", "scheme"),
    [(1280, "en", "light"), (390, "zh-hans", "light"), (390, "en", "dark")],
)
def test_an_archive_comes_in_and_is_read_found_and_undone(width, language, scheme, reader, visit):
    update_settings(reader, interface_language=language)
    with visit(width=width) as page:
        page.emulate_media(color_scheme=scheme)
        name = f"{language}-{width}-{scheme}"
        log_in(page, "reader")
        page.goto("/settings/export")
        page.select_option("select[name=kind]", "posts")
        page.set_input_files("input[type=file]", ARCHIVE)
        page.click("form[action='/settings/import'] button")
        expect(page.locator("#import progress")).to_be_visible()
        look(page, f"archive-pending-{name}")
        run_due(limit=1)
        expect(page.locator("#import progress")).to_have_count(0)
        page.reload()
        expect(page.locator(".section li")).to_have_count(2)  # one left out, one without a picture
        look(page, f"archive-report-{name}")
        page.click("a[href='/@reader/earlier']")
        expect(page.locator("article")).to_have_count(3)
        look(page, f"earlier-{name}")
        page.fill("main input[name=q]", "garden")
        page.keyboard.press("Enter")
        expect(page.locator("article")).to_have_count(1)
        page.click("article p.fine a")
        expect(page.locator("article")).to_contain_text("first spring")
        look(page, f"earlier-post-{name}")
        page.goto("/@reader")
        expect(page.locator("a[href='/@reader/earlier']")).to_be_visible()
        look(page, f"earlier-profile-{name}")
        page.goto("/settings/export")
        page.click("#imports a")
        page.click("form[action$='/undo'] button")
        run_due(limit=1)
        expect(page.locator("#import progress")).to_have_count(0)
        page.goto("/@reader/earlier")
        expect(page.locator("article")).to_have_count(0)
        look(page, f"earlier-empty-{name}")


def test_an_archive_comes_in_without_scripts(reader, visit):
    with visit(scripts=False) as page:
        log_in(page, "reader")
        page.goto("/settings/export")
        page.select_option("select[name=kind]", "posts")
        page.set_input_files("input[type=file]", ARCHIVE)
        page.click("form[action='/settings/import'] button")
        run_due(limit=1)
        page.get_by_role("link", name="Refresh").click()
        page.get_by_role("link", name="See your earlier posts").click()
        expect(page.locator("article")).to_have_count(3)
        page.click("article p.fine a >> nth=0")
        page.get_by_role("link", name="Delete").click()
        page.get_by_role("button", name="Delete").click()
        expect(page.locator("article")).to_have_count(2)
