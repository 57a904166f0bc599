"""A campaign, from the forms of staff to a reader's home and back, by three people in a browser."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.promotions.models import Campaign, CampaignCount, PromotionSwitch
from apps.promotions.tasks import apply_time, sweep_segments
from tests.flows.browsing import log_in, needs_browser
from tests.support.factories import deliver, make_user, publish
from tests.support.staff import make_staff

pytestmark = [*needs_browser, pytest.mark.flows]

TEXT = "New books are here."
REASON = "Promoted to first-year students because you said so (fresher)."
PAID = "You do not follow @shop; The university paid for this."


@pytest.fixture
def people(transactional_db):
    make_staff(superuser=True, handle="boss")
    return {handle: make_user(handle) for handle in ("alice", "bob", "shop")}


def add(page, model, /, **fields):
    """Fill in the form for a new row and save it."""
    page.goto(f"/admin/promotions/{model}/add/")
    for name, value in fields.items():
        field = page.locator(f'[name="{name}"]')
        if field.evaluate("one => one.tagName") == "SELECT":
            field.select_option(label=value)
        else:
            field.fill(value)
    for box in page.locator('[name="segments"]').all():
        box.check()
    page.locator('[name="_save"]').click()
    expect(page.locator(".success")).to_be_visible()


def write_campaign(page):
    """A segment of one rule, an account that pays, and a campaign that starts tomorrow."""
    add(
        page, "segment", name="Freshers", slug="freshers", description="first-year students",
        **{"rules-0-kind": "states the trait", "rules-0-trait": "fresher"},
    )  # fmt: skip
    add(page, "promotedaccount", handle="@shop", sponsor="The university")
    start, end = (timezone.now() + timedelta(days=days) for days in (1, 9))
    add(
        page, "campaign", name="Autumn", account="@shop", budget_impressions="100", frequency_cap="3",
        starts_at=f"{start:%Y-%m-%dT%H:%M}", ends_at=f"{end:%Y-%m-%dT%H:%M}",
    )  # fmt: skip


def switch_on(page):
    """Nothing is promoted until staff want it."""
    PromotionSwitch.objects.get_or_create(pk=1)  # tests empty all tables
    page.goto("/admin/promotions/promotionswitch/1/change/")
    page.locator('[name="is_on"]').check()
    page.locator('[name="_save"]').click()
    expect(page.locator(".success")).to_be_visible()


def run_campaign(page):
    """Start it, after the page that says for how many people."""
    page.goto("/admin/promotions/campaign/")
    page.get_by_role("row", name="Autumn").get_by_role("checkbox").check()
    page.locator('select[name="action"]').select_option("start")
    page.get_by_role("button", name="Go").click()
    expect(page.get_by_text("Autumn (@shop): at least 1 person")).to_be_visible()
    page.get_by_role("button", name="Yes, I’m sure").click()
    expect(page.get_by_text("1 campaign changed.")).to_be_visible()
    expect(page.get_by_role("row", name="Autumn")).to_contain_text("running")


def state(page, *, fresher):
    page.goto("/settings/promotions")
    page.get_by_label("fresher").set_checked(fresher)
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_text("You are counted among first-year students")).to_have_count(0)


def post_on_home(page):
    page.goto("/")
    expect(page.locator("#main, main").first).to_be_visible()
    return page.locator("#feed article", has_text=TEXT)


def test_from_the_forms_of_staff_to_home_and_back(people, visit, site):
    post = publish(people["shop"], TEXT)
    deliver()
    with visit() as staff:
        browser = staff.context.browser
        alice, bob = (
            browser.new_context(base_url=site, locale="en", timezone_id="UTC").new_page()
            for _ in range(2)
        )
        for page, handle in ((staff, "boss"), (alice, "alice"), (bob, "bob")):
            log_in(page, handle)
        add(staff, "trait", name="fresher", slug="fresher")
        state(alice, fresher=True)
        write_campaign(staff)
        sweep_segments()
        switch_on(staff)
        run_campaign(staff)
        deliver()
        for page in (alice, bob):  # nobody before its time
            expect(post_on_home(page)).to_have_count(0)
        Campaign.objects.update(starts_at=timezone.now() - timedelta(minutes=5))  # time passes
        apply_time()
        deliver()
        expect(post_on_home(alice)).to_have_count(0)  # never above seven others
        for number in range(9):
            publish(people["alice"], f"Number {number}.")
        deliver()
        alice.set_viewport_size({"width": 1280, "height": 400})
        card = post_on_home(alice)
        expect(card).to_have_count(1)
        assert CampaignCount.objects.get().impressions == 0  # it lies below the screen
        with alice.expect_response("**/promoted/seen"):
            card.scroll_into_view_if_needed()
        assert CampaignCount.objects.get().impressions == 1
        expect(card.get_by_text("Promoted by The university")).to_be_visible()
        expect(card.get_by_text(REASON)).to_be_hidden()
        card.get_by_text("Why do I see this?").click()
        expect(card.get_by_text(REASON)).to_be_visible()
        expect(post_on_home(bob)).to_have_count(0)
        alice.goto(f"/explain/{post.pk}")
        expect(alice.get_by_text(f"{REASON} {PAID}").first).to_be_visible()
        bob.goto(f"/explain/{post.pk}")
        expect(bob.get_by_text("You do not follow @shop.").first).to_be_visible()
        expect(bob.get_by_text("Promoted to")).to_have_count(0)
        state(alice, fresher=False)
        expect(post_on_home(alice)).to_have_count(0)  # before any worker came
        alice.goto(f"/explain/{post.pk}")
        expect(alice.get_by_text("You do not follow @shop.").first).to_be_visible()
