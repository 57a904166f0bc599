"""From the staff's form to the reader's card and back: labels, reasons, the switch."""

import time
from dataclasses import replace
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from apps.accounts.queries import user_by_id
from apps.audit.comparison.pages import Sample, differences
from apps.audit.explain import explain
from apps.errors import NotAllowed
from apps.events.hooks import Hook
from apps.graph.actions import follow_user
from apps.promotions import actions
from apps.promotions.actions import opt_out, state_trait, switch_promotions, withdraw_trait
from apps.promotions.models import Campaign, CampaignCount, PromotionSwitch, Segment
from apps.promotions.queries import is_opted_out, promotions_of, stated_traits
from apps.promotions.tasks import apply_time
from apps.timeline.pipeline.reasons import Reason
from apps.timeline.pipeline.sampling import pop_samples
from apps.web.templatetags import inserts, settings_tags
from feedsite.python_api import get_activity
from tests.promotions.conftest import make_campaign, start, sweep, trait
from tests.support.errors import refused
from tests.support.factories import deliver, delivered, make_user, moderator, publish
from tests.support.pages import LABEL

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("side_by_side")]
SETTINGS = "/settings/promotions"
REASON = "Promoted to first-year students because you said so (first-year student)."


@pytest.fixture
def fresher(alice, freshers):
    state_trait(alice, "first-year-student")
    deliver()
    return alice


@pytest.fixture
def promoted(fresher, freshers, shop):
    """A post that alice is shown."""
    start(make_campaign(shop, freshers))
    return delivered(shop, "New books are here.")


def home_of(client):
    return client.get("/").content.decode()


@pytest.mark.slow
def test_from_the_staffs_form_to_the_reader_and_back(chief, alice, bob, shop, page_of):
    state_trait(alice, "first-year-student")
    post = delivered(shop, "New books are here.")
    data = {
        "name": "Freshers", "slug": "freshers", "description": "first-year students", "is_active": "on",
        "rules-TOTAL_FORMS": "1", "rules-INITIAL_FORMS": "0",
        "rules-0-kind": "trait", "rules-0-trait": trait().pk,
    }  # fmt: skip
    assert chief.post("/admin/promotions/segment/add/", data).status_code == 302
    sweep()
    campaign = make_campaign(shop, Segment.objects.get(), starts=timedelta(hours=1))
    start(campaign)
    readers = {"alice": page_of(alice), "bob": page_of(bob)}
    assert "New books" not in home_of(readers["alice"])
    Campaign.objects.update(starts_at=timezone.now() - timedelta(minutes=5))
    apply_time()
    deliver()
    page = home_of(readers["alice"])
    assert "New books are here." in page
    assert "Promoted by <bdi>The university</bdi>" in page
    assert '<summary class="more">' in page
    assert REASON in page
    assert f'href="{SETTINGS}"' in page
    assert "New books" not in home_of(readers["bob"])
    withdraw_trait(alice, "first-year-student")
    assert "New books" not in home_of(readers["alice"])  # before any worker
    assert post.pk


def test_only_on_the_home_page_and_in_the_readers_language(promoted, fresher, shop, page_of):
    browser = page_of(fresher)
    assert LABEL in home_of(browser)
    for address in ("/@shop", f"/@shop/{promoted.pk}", "/public"):
        assert LABEL not in browser.get(address).content.decode()
    browser.cookies["lang"] = "zh-hans"
    assert "由 <bdi>The university</bdi> 推广" in home_of(browser)


def impressions():
    return CampaignCount.objects.get().impressions


@pytest.mark.slow
def test_what_was_on_the_screen_is_counted_once_a_view(promoted, fresher, bob, page_of):
    browser, seen = page_of(fresher), {"post": promoted.pk, "view": "first"}
    assert f'data-promoted="{promoted.pk}"' in home_of(browser)
    assert impressions() == 0  # the page was sent; whether anybody scrolled down is not known
    for _again in range(2):
        assert browser.post("/promoted/seen", seen).status_code == 204
    assert impressions() == 1
    browser.post("/promoted/seen", {**seen, "view": "second"})
    assert impressions() == 2
    for told in ({}, {"post": "x"}, {"post": delivered(fresher).pk, "view": "third"}):
        assert browser.post("/promoted/seen", told).status_code == 204
    page_of(bob).post("/promoted/seen", seen)  # to whom nothing is promoted
    assert page_of(None).post("/promoted/seen", seen).status_code == 303
    assert impressions() == 2


def test_programs_are_counted_by_pages(promoted, fresher, api_of):
    program, address = api_of(fresher), "/api/v1/timelines/home"
    program.get(address)  # shows none
    assert program.head(f"{address}?promoted=true").status_code == 200
    assert impressions() == 0
    for _again in range(2):
        program.get(f"{address}?promoted=true")
    assert impressions() == 1


def test_what_is_refused_changes_nothing(fresher, page_of, monkeypatch):
    monkeypatch.setattr(actions, "MAX_TRAITS", 1)
    form = {"traits": ["first-year-student", "cook"]}  # and promoted posts switched off
    assert page_of(fresher).post(SETTINGS, form).status_code == 422
    assert not is_opted_out(fresher)
    assert [trait.slug for trait in stated_traits(fresher)] == ["first-year-student"]


class TestTheSwitch:
    @pytest.mark.slow
    def test_off_until_staff_switch_it_on_and_off_again_at_once(
        self, fresher, freshers, shop, page_of
    ):
        start(make_campaign(shop, freshers))
        delivered(shop, "New books are here.")
        browser, visitor, staff = page_of(fresher), page_of(None), moderator()
        assert "New books" in home_of(browser)
        assert "no ads" not in home_of(visitor)
        assert "pay to be shown" in home_of(visitor)
        note = "Nothing is promoted on this site now."
        assert note not in browser.get(SETTINGS).text
        switch_promotions(on=False, by=staff)
        assert note in browser.get(SETTINGS).text
        assert "New books" not in home_of(browser)
        assert promotions_of(fresher.pk) == {}
        assert "no ads" in home_of(visitor)
        switch_promotions(on=True, by=staff)
        assert "New books" in home_of(browser)

    def test_nothing_starts_while_it_is_off(self, freshers, shop):
        campaign = make_campaign(shop, freshers)
        PromotionSwitch.objects.all().delete()  # as at the beginning
        with refused("off"):
            start(campaign)

    def test_only_staff_who_run_campaigns_have_it(self, chief, alice):
        with pytest.raises(NotAllowed):
            switch_promotions(on=True, by=alice)
        PromotionSwitch.objects.get_or_create(pk=1)
        page = "/admin/promotions/promotionswitch/1/change/"
        for said, is_on in (({"is_on": "on"}, True), ({}, False)):
            assert chief.post(page, said).status_code == 302
            assert PromotionSwitch.objects.get().is_on is is_on
        assert chief.get("/admin/promotions/promotionswitch/add/").status_code == 403


def test_the_api_tells_why(promoted, fresher, shop, api_of, settings):
    program = api_of(fresher)
    [status] = program.get("/api/v1/timelines/home?promoted=true").json()
    assert status["feedsite"]["promotion"] == {
        "label": "Promoted",
        "sponsor": "The university",
        "reason": REASON,
        "settings_url": f"{settings.SITE_URL}{SETTINGS}",
    }
    for address in ("statuses/{post}", "accounts/{shop}/statuses", "timelines/public"):
        body = program.get(f"/api/v1/{address.format(post=promoted.pk, shop=shop.pk)}").json()
        found = body if isinstance(body, dict) else body[0]
        assert found["feedsite"]["promotion"] is None


@pytest.mark.slow
def test_programs_get_none_that_they_do_not_ask_for(promoted, fresher, shop, api_of):
    """Clients of Mastodon do not know the label."""
    Campaign.objects.update(frequency_cap=100)  # pages
    program = api_of(fresher)
    own = {publish(fresher, f"Number {number}.").pk for number in range(3)}
    newer = publish(shop)
    deliver()
    everything = {newer.pk, *own}  # of the campaign the newest

    def assert_shown(query, expected):
        for path in ("/api/v1/timelines/home", "/api/x/activity", "/api/x/ranked"):
            body = program.get(f"{path}?{query}").json()
            statuses = body["items"] if path.endswith("activity") else body
            assert {int(status["id"]) for status in statuses} == expected, (path, query)

    assert_shown("promoted=true", everything)
    for query in ("", "promoted=false", "promoted="):
        assert_shown(query, own)
    assert_shown("limit=3", own)  # a full page
    follow_user(fresher, shop)
    deliver()
    assert_shown("", {promoted.pk, *everything})


def test_python_code_gets_none(promoted, fresher):
    own = delivered(fresher)
    assert [item.id for item in get_activity(fresher).items] == [own.pk]


@pytest.mark.slow
def test_the_next_page_is_of_the_same_kind(promoted, fresher, shop, api_of):
    Campaign.objects.update(frequency_cap=100)  # pages
    posts = [publish(fresher), publish(fresher), publish(fresher), publish(shop)]
    deliver()
    for path in ("/api/v1/timelines/home", "/api/x/ranked"):
        for query, expected in (("", posts[:3]), ("&promoted=true", posts)):
            url, found = f"{path}?limit=1{query}", []
            while url:
                answer = api_of(fresher).get(url)
                found += [int(status["id"]) for status in answer.json()]
                links = answer.headers.get("Link", "").split(", ")
                url = next((one[1 : one.index(">")] for one in links if 'rel="next"' in one), "")
            assert sorted(found) == sorted(post.pk for post in expected)


def test_the_auditor_knows_which_page_it_was(promoted, fresher, shop, api_of, settings):
    settings.AUDIT_SAMPLE_RATE = 1
    pop_samples(1000)
    for query in ("", "?promoted=true"):
        api_of(fresher).get(f"/api/v1/timelines/home{query}")
    samples = [Sample(**values) for values in pop_samples(9)]
    assert [(one.promoted, one.ids) for one in samples] == [(False, []), (True, [promoted.pk])]
    assert [differences(one) for one in samples] == [[], []]
    wrong = [replace(one, promoted=not one.promoted, at=time.time() + 60) for one in samples]
    # a page need not show what is promoted, but may not where nobody asked for it
    assert [[one.post_id for one in differences(page)] for page in wrong] == [[], [promoted.pk]]


def test_explain_says_why_to_the_reader_and_to_staff(
    promoted, fresher, bob, chief, page_of, api_of, capsys
):
    sentence = f"{REASON} You do not follow @shop; The university paid for this."
    found = explain(user_by_id(fresher.pk), promoted.pk)
    assert (found.on_home, found.reason, found.text) == (True, Reason.PROMOTED, sentence)
    page = page_of(fresher).get(f"/explain/{promoted.pk}").content.decode()
    assert sentence.replace("@shop", '<a href="/@shop">@shop</a>') in page
    answer = api_of(fresher).get(f"/api/x/explain/statuses/{promoted.pk}").json()
    assert (answer["reason"], answer["text"]) == ("promoted", sentence)
    assert (
        sentence.replace("@shop", '<a href="/@shop">@shop</a>')
        in chief.get("/explain/@alice").content.decode()
    )
    call_command("explain", "alice", str(promoted.pk))
    assert sentence in capsys.readouterr().out
    absent = explain(user_by_id(bob.pk), promoted.pk)
    assert (absent.on_home, absent.reason) == (False, Reason.NOT_FOLLOWED)
    opt_out(fresher)
    assert explain(user_by_id(fresher.pk), promoted.pk).reason == Reason.NOT_FOLLOWED


class TestSettings:
    def test_the_page_says_what_is_known_and_why(self, promoted, fresher, page_of):
        page = page_of(fresher).get(SETTINGS).content.decode()
        assert "You are counted among first-year students because you said so" in page
        assert page.count("checked") == 2  # the switch and the trait
        assert "None." in page_of(make_user()).get(SETTINGS).content.decode()

    def test_the_switch_ends_them(self, promoted, fresher, page_of):
        browser = page_of(fresher)
        answer = browser.post(SETTINGS, {"traits": ["first-year-student"]})
        assert (answer.status_code, answer["Location"]) == (303, SETTINGS)
        assert is_opted_out(fresher)
        assert "New books" not in home_of(browser)
        assert [one.slug for one in stated_traits(fresher)] == ["first-year-student"]
        browser.post(SETTINGS, {"traits": ["first-year-student"], "shows_promoted": "on"})
        deliver()
        assert "New books" in home_of(browser)

    def test_traits_are_stated_and_withdrawn(self, promoted, fresher, page_of):
        browser = page_of(fresher)
        browser.post(SETTINGS, {"traits": ["cook", "reader"], "shows_promoted": "on"})
        assert {one.slug for one in stated_traits(fresher)} == {"cook", "reader"}
        assert "New books" not in home_of(browser)
        browser.post(SETTINGS, {"shows_promoted": "on"})
        assert stated_traits(fresher) == []

    def test_an_unknown_trait_is_refused(self, fresher, page_of):
        answer = page_of(fresher).post(SETTINGS, {"traits": ["pope"], "shows_promoted": "on"})
        assert answer.status_code == 422
        assert [one.slug for one in stated_traits(fresher)] == ["first-year-student"]

    def test_visitors_log_in_first(self, db, page_of):
        assert page_of(None).get(SETTINGS).status_code in {302, 303}


SAID = {
    "/privacy": "Accounts may pay to be shown",
    "/home/catch-up": "Promoted posts are not counted.",
    "/home/as-of": "Promoted posts are not shown.",
    "/settings/filters": f'href="{SETTINGS}"',
}


@pytest.mark.parametrize("address", SAID)
def test_pages_speak_of_promoted_posts_where_there_is_the_app(address, alice, page_of, monkeypatch):
    moment = (timezone.now() - timedelta(minutes=1)).isoformat()
    browser, query = page_of(alice), {"as_of": moment} if "as-of" in address else {}
    assert SAID[address] in browser.get(address, query).content.decode()
    monkeypatch.setattr(inserts, "INSERTS", Hook())
    monkeypatch.setattr(settings_tags, "SETTINGS", Hook())
    answer = browser.get(address, query)
    assert answer.status_code == 200
    assert SAID[address] not in answer.content.decode()
