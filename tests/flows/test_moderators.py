"""Ten tasks of a moderator in a browser, with their clicks counted; an appeal from the decision to its answer; the
queue by keyboard and without scripts.
"""

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.moderation.actions import file_report
from apps.moderation.models import Report
from apps.posts.models import Post
from apps.strikes.models import Strike
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import PASSWORD, make_user, publish
from tests.support.staff import make_staff
from tools.vitals.look import AXE

pytestmark = [*needs_browser, pytest.mark.flows]
QUEUE = "/admin/moderation/report/queue/"


@pytest.fixture
def reports(author, reader):
    """Six open reports about posts of the author; the second one is in Chinese."""
    make_staff(superuser=True, handle="boss")
    texts = [(f"Number {number}.", "en") for number in range(6)]
    texts[1] = ("第二。", "zh")
    posts = [publish(author, text, language=language) for text, language in texts]
    others = [make_user(f"witness{number}") for number in range(6)]
    return [
        file_report(other, author, category="violation", rule_ids=[1], post_ids=[post.pk])
        for other, post in zip(others, posts, strict=True)
    ]


class Clicks:
    """Clicks on a page, counted."""

    def __init__(self, page):
        self.page, self.number = page, 0

    def on(self, role, name):
        self.number += 1
        self.page.get_by_role(role, name=name, exact=True).first.click()

    def taken(self):
        number, self.number = self.number, 0
        return number


def heading(page):
    return page.locator("#content h1")


def test_ten_tasks_of_a_moderator(reports, author, visit, tmp_path):
    taken = {}
    with visit() as page:
        log_in(page, "boss")
        page.goto("/admin/")
        clicks = Clicks(page)

        def done(task):
            taken[task] = clicks.taken()

        page.locator(".waits li", has_text="6 reports are waiting").get_by_role("link").click()
        clicks.number += 1
        expect(heading(page)).to_have_text("Report queue")
        expect(page.locator(".queue > li")).to_have_count(6)
        done("see what waits")

        page.get_by_label("Language").select_option("zh")
        clicks.number += 1
        clicks.on("button", "Show")
        expect(page.locator(".queue > li")).to_have_count(1)
        done("only Chinese")

        page.goto(QUEUE)
        page.locator(".open-case").first.click()
        clicks.number += 1
        clicks.on("button", "Assign to me")
        expect(page.get_by_role("button", name="Unassign")).to_be_visible()
        done("take a report on")

        page.get_by_label("New note").fill("Third time this week.")
        clicks.on("button", "Add note")
        expect(page.locator("#notes + ul")).to_contain_text("Third time this week.")
        done("note something")

        for task, button, measure in (
            ("hide a post", "Hide post", "hide"),
            ("mark pictures as sensitive", "Mark as sensitive", "sensitive"),
            ("warn", "Warn", "warn"),
            ("dismiss", "Dismiss", ""),
        ):
            before = Report.objects.filter(resolved_at=None).count()
            clicks.on("button", button)
            expect(page.locator(".messagelist")).to_contain_text("1 report is closed.")
            assert Report.objects.filter(resolved_at=None).count() == before - 1
            assert not measure or Strike.objects.latest("pk").measure == measure
            done(task)

        page.get_by_label("Message to the person (optional)").fill("Enough is enough.")
        clicks.on("button", "Freeze")
        expect(heading(page)).to_have_text(
            "Report queue"
        )  # no report of the account is open any more
        assert not User.objects.get(pk=author.pk).is_active
        done("freeze")

        clicks.on("link", "Resolved")
        page.locator(".open-case").first.click()
        clicks.number += 1
        expect(page.locator("#strikes + ul li")).to_have_count(4)
        page.locator("#strikes + ul button").first.click()
        clicks.number += 1
        expect(page.locator("#strikes + ul li").first).to_contain_text("taken back, @boss")
        assert User.objects.get(pk=author.pk).is_active
        done("take it back")

        page.goto("/admin/admin/logentry/")
        with page.expect_download() as download:
            clicks.on("link", "Download this list as CSV")
        download.value.save_as(tmp_path / "log.csv")
        assert "Frozen: Enough is enough." in (tmp_path / "log.csv").read_text()
        done("export the log")
    assert taken == {
        "see what waits": 1,
        "only Chinese": 2,
        "take a report on": 2,
        "note something": 1,
        "hide a post": 1,
        "mark pictures as sensitive": 1,
        "warn": 1,
        "dismiss": 1,
        "freeze": 1,
        "take it back": 3,
        "export the log": 1,
    }


def test_an_appeal_from_the_decision_to_its_answer(reports, author, visit):
    with visit() as page:
        log_in(page, "boss")
        page.goto(QUEUE)
        page.locator(".open-case").first.click()
        page.get_by_label("Message to the person (optional)").fill("This insults people.")
        page.get_by_role("button", name="Hide post").click()
        expect(page.locator(".messagelist")).to_contain_text("1 report is closed.")
    post = Post.objects.exclude(hidden_at=None).get()
    with visit() as page:
        log_in(page, "author")
        page.goto("/notifications")
        page.get_by_role("link", name="has a message from the moderators").click()
        expect(page.get_by_role("heading", name="One of your posts is hidden.")).to_be_visible()
        expect(page.get_by_text("This insults people.")).to_be_visible()
        page.get_by_label("Do you think this is wrong?").fill("It is a quotation.")
        page.get_by_role("button", name="Appeal").click()
        expect(page.get_by_text("It is waiting for an answer.")).to_be_visible()
    with visit() as page:
        log_in(page, "boss")
        page.goto("/admin/")
        page.locator(".waits li", has_text="1 appeal is waiting").get_by_role("link").click()
        expect(page.get_by_text("It is a quotation.")).to_be_visible()
        page.get_by_role("button", name="Accept, and take the decision back").click()
        expect(page.get_by_text("No appeals are waiting for an answer.")).to_be_visible()
    assert not Post.objects.get(pk=post.pk).is_hidden
    with visit() as page:
        log_in(page, "author")
        page.goto("/settings/strikes")
        expect(page.get_by_text("It was accepted.")).to_be_visible()


def test_who_cannot_log_in_reads_why_and_appeals(reports, author, visit):
    with visit() as page:
        log_in(page, "boss")
        page.goto(QUEUE)
        page.locator(".open-case").first.click()
        page.get_by_role("button", name="Suspend").click()
        expect(page.locator(".messagelist")).to_contain_text("6 reports are closed.")
    with visit(width=390) as page:
        page.goto("/login")
        page.get_by_label("Handle or e-mail").fill("author")
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.locator("form.form").get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Decisions about @author")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_label("Do you think this is wrong?").fill("It was not me.")
        page.get_by_role("button", name="Appeal").click()
        expect(page.get_by_text("It is waiting for an answer.")).to_be_visible()


def test_j_and_k_go_through_the_queue_and_from_report_to_report(reports, visit):
    with visit() as page:
        log_in(page, "boss")
        page.goto(QUEUE)
        cases = page.locator(".open-case")
        for key, number in (("j", 0), ("j", 1), ("j", 2), ("k", 1), ("k", 0), ("k", 0)):
            page.keyboard.press(key)
            expect(cases.nth(number)).to_be_focused()
        page.keyboard.press("Enter")
        expect(heading(page)).to_have_text(f"Report {reports[0].pk}: @author")
        for key, report in (("j", reports[1]), ("j", reports[2]), ("k", reports[1])):
            page.keyboard.press(key)
            expect(heading(page)).to_have_text(f"Report {report.pk}: @author")
        page.get_by_label("New note").press("j")  # typed, not a way
        expect(page.get_by_label("New note")).to_have_value("j")


def test_the_queue_works_without_scripts(reports, visit):
    with visit(scripts=False) as page:
        log_in(page, "boss")
        page.goto(QUEUE)
        page.locator(".open-case").first.click()
        page.get_by_role("button", name="Hide post").click()
        page.wait_for_url(f"**/report/{reports[1].pk}/change/**")
        page.get_by_role("link", name="Previous (k)").wait_for(state="detached")
    assert Post.objects.exclude(hidden_at=None).count() == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_the_pages_of_moderation(reports, visit, theme):
    report = reports[0]
    with visit() as page:
        log_in(page, "boss")
        page.goto(f"/admin/moderation/report/{report.pk}/change/")
        page.get_by_role("button", name="Warn").click()
        tab = page.context.new_page()  # axe-core's own styles are refused there, as they should be
        tab.emulate_media(color_scheme=theme)
        for address in (
            QUEUE,
            f"{QUEUE}?state=resolved",
            f"/admin/moderation/report/{report.pk}/change/",
            "/admin/moderation/report/appeals/",
            "/admin/admin/logentry/",
            "/admin/strikes/strike/",
        ):
            tab.goto(address)
            tab.evaluate(AXE_SCRIPT)
            assert tab.evaluate(AXE) == [], address
