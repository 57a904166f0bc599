"""Staff write segments, preview and run campaigns."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from apps.promotions.actions import state_trait
from apps.promotions.models import (
    Campaign,
    CampaignState,
    PromotedAccount,
    Segment,
    SegmentSweep,
    Trait,
)
from apps.tags.models import Tag
from tests.promotions.conftest import followees, make_campaign, make_segment, start, sweep, trait
from tests.support.factories import deliver, make_user
from tests.support.staff import browser_of, choose, confirm, make_staff

pytestmark = pytest.mark.django_db
PATH = "/admin/promotions"
CAMPAIGNS = f"{PATH}/campaign/"
RULES = {"rules-TOTAL_FORMS": "1", "rules-INITIAL_FORMS": "0"}
SEGMENT = {
    "name": "Rivers",
    "slug": "rivers",
    "description": "friends of the river",
    "is_active": "on",
}


def rule(**fields):
    return {f"rules-0-{name}": value for name, value in fields.items()}


def errors_of(answer):
    """What the page says is wrong, with the fields of its first rule."""
    formset = answer.context["inline_admin_formsets"][0].formset
    return {
        **answer.context["adminform"].form.errors,
        **(formset.errors[0] if formset.errors else {}),
    }


class TestSegments:
    def test_rules_are_written_in_plain_form(self, chief, alice, bob):
        data = {
            **SEGMENT, **RULES, "rules-TOTAL_FORMS": "2",
            **rule(kind="tag", tag_name="#Rivers"),
            "rules-1-kind": "active", "rules-1-days": "4",
        }  # fmt: skip
        assert chief.post(f"{PATH}/segment/add/", data).status_code == 302
        segment = Segment.objects.get(slug="rivers")
        assert [row.value for row in segment.rules.order_by("pk")] == ["#rivers", "4"]
        other = {**SEGMENT, "slug": "readers", **RULES, **rule(kind="account", handle="@alice")}
        assert chief.post(f"{PATH}/segment/add/", other).status_code == 302
        readers = Segment.objects.get(slug="readers")
        assert Tag.objects.filter(name="rivers").exists()
        assert SegmentSweep.objects.get().after == 0
        page = chief.get(f"{PATH}/segment/{readers.pk}/change/").content.decode()
        assert 'value="@alice"' in page
        page = chief.get(f"{PATH}/segment/{segment.pk}/change/").content.decode()
        assert 'value="#rivers"' in page
        assert "follows the tag #rivers" in chief.get(f"{PATH}/segment/").content.decode()

    @pytest.mark.long
    @pytest.mark.parametrize(
        ("fields", "field"),
        [
            ({"kind": "trait"}, "trait"),
            ({"kind": "account", "handle": "nobody"}, "handle"),
            ({"kind": "account"}, "handle"),
            ({"kind": "tag", "tag_name": "12"}, "tag_name"),
            ({"kind": "tag", "tag_name": "religion"}, "tag_name"),
            ({"kind": "active", "days": "400"}, "days"),
            ({"kind": "active", "days": "4", "language": "zh"}, "language"),
            ({"kind": "joined", "since": "yesterday"}, "since"),
            ({"kind": "salary"}, "kind"),
        ],
    )
    def test_wrong_rules_are_refused_where_they_stand(self, chief, fields, field):
        answer = chief.post(f"{PATH}/segment/add/", {**SEGMENT, **RULES, **rule(**fields)})
        assert answer.status_code == 200
        assert field in errors_of(answer)
        assert not Segment.objects.exists()

    def test_an_active_one_needs_a_rule(self, chief):
        none = {"rules-TOTAL_FORMS": "0", "rules-INITIAL_FORMS": "0"}
        assert chief.post(f"{PATH}/segment/add/", {**SEGMENT, **none}).status_code == 200
        assert not Segment.objects.exists()
        draft = {**SEGMENT, **none, "is_active": ""}
        assert chief.post(f"{PATH}/segment/add/", draft).status_code == 302

    @pytest.mark.parametrize(
        "other", [{"kind": "tag", "tag_name": "rivers"}, {"kind": "trait", "trait": "1"}]
    )
    def test_followers_of_an_account_are_not_told_apart(self, chief, alice, other):
        if "trait" in other:
            other = {**other, "trait": trait("cook").pk}
        data = {
            **SEGMENT, **RULES, "rules-TOTAL_FORMS": "2", **rule(kind="account", handle="@alice"),
            **{f"rules-1-{name}": value for name, value in other.items()},
        }  # fmt: skip
        assert (
            "cannot be narrowed down" in chief.post(f"{PATH}/segment/add/", data).content.decode()
        )
        assert not Segment.objects.exists()

    def test_rules_stay_while_a_campaign_runs(self, chief, alice, bob, freshers, shop):
        """Or a campaign for many could become one for somebody in particular."""
        state_trait(alice, "first-year-student")
        campaign = make_campaign(shop, freshers)
        [row] = freshers.rules.all()
        data = {
            **SEGMENT, "rules-TOTAL_FORMS": "2", "rules-INITIAL_FORMS": "1", "is_active": "on",
            **rule(id=row.pk, segment=freshers.pk, kind="trait", trait=trait("cook").pk),
            "rules-1-kind": "joined", "rules-1-since": "2020-01-01",
        }  # fmt: skip
        start(campaign)
        chief.post(f"{PATH}/segment/{freshers.pk}/change/", data)
        assert [each.value for each in freshers.rules.all()] == [str(trait())]
        confirm(chief, CAMPAIGNS, "pause", [campaign])
        chief.post(f"{PATH}/segment/{freshers.pk}/change/", data)
        assert [each.value for each in freshers.rules.order_by("pk")] == [
            str(trait("cook")),
            "2020-01-01",
        ]

    def test_a_sensitive_description_is_refused(self, chief):
        data = {
            **SEGMENT,
            **RULES,
            **rule(kind="active", days="4"),
            "description": "pregnant women",
        }
        assert "description" in errors_of(chief.post(f"{PATH}/segment/add/", data))

    def test_a_change_reaches_the_people(self, chief, alice, freshers):
        state_trait(alice, "cook")
        [row] = freshers.rules.all()
        data = {
            "name": "Cooks", "slug": "cooks", "description": "cooks", "is_active": "on",
            "rules-TOTAL_FORMS": "1", "rules-INITIAL_FORMS": "1",
            **rule(id=row.pk, segment=freshers.pk, kind="trait", trait=trait("cook").pk),
        }  # fmt: skip
        assert chief.post(f"{PATH}/segment/{freshers.pk}/change/", data).status_code == 302
        campaign = make_campaign(make_user(), freshers)
        sweep()
        start(campaign)
        assert followees(alice) == {campaign.account_id}
        assert LogEntry.objects.filter(object_id=str(freshers.pk)).exists()

    def test_needs_the_permission(self, freshers):
        viewer = browser_of(make_staff("promotions.view_segment"))
        assert viewer.get(f"{PATH}/segment/{freshers.pk}/change/").status_code == 200
        assert viewer.post(f"{PATH}/segment/{freshers.pk}/change/", SEGMENT).status_code == 403
        assert viewer.get(f"{PATH}/segment/add/").status_code == 403
        writer = browser_of(make_staff("promotions.add_segment", "promotions.view_segment"))
        data = {**SEGMENT, **RULES, **rule(kind="active", days="4")}
        assert writer.post(f"{PATH}/segment/add/", data).status_code == 302
        assert Segment.objects.get(slug="rivers").rules.count() == 1

    def test_is_not_deleted(self, chief, freshers):
        assert (
            chief.post(f"{PATH}/segment/{freshers.pk}/delete/", {"post": "yes"}).status_code == 403
        )


def test_traits_are_added_and_ended_but_not_renamed(chief):
    added = {"name": "swimmer", "slug": "swimmer", "is_active": "on"}
    assert chief.post(f"{PATH}/trait/add/", added).status_code == 302
    row = Trait.objects.get(slug="swimmer")
    assert chief.post(f"{PATH}/trait/{row.pk}/change/", {"name": "diver"}).status_code == 302
    row.refresh_from_db()
    assert (row.name, row.is_active) == ("swimmer", False)
    answer = chief.post(f"{PATH}/trait/add/", {**added, "name": "refugee", "slug": "r"})
    assert "name" in answer.context["adminform"].form.errors


def test_promoted_accounts_are_named_by_handle(chief, alice):
    path = f"{PATH}/promotedaccount/add/"
    for handle in ("@Alice", "alice", "nobody"):
        chief.post(path, {"handle": handle, "sponsor": "The university"})
    row = PromotedAccount.objects.get()
    assert (row.user_id, row.sponsor) == (alice.pk, "The university")
    change = f"{PATH}/promotedaccount/{row.pk}/change/"
    assert chief.post(change, {"sponsor": "The city"}).status_code == 302
    row.refresh_from_db()
    assert (row.user_id, row.sponsor) == (alice.pk, "The city")


class TestCampaigns:
    @pytest.fixture
    def campaign(self, alice, freshers, shop):
        state_trait(alice, "first-year-student")
        return make_campaign(shop, freshers)

    def fields(self, shop, *segments, **more):
        now = timezone.now()
        start_at, end_at = now, now + timedelta(days=2)
        return {
            "name": "Autumn", "account": shop.pk, "segments": [segment.pk for segment in segments],
            "starts_at": f"{start_at:%Y-%m-%dT%H:%M}", "ends_at": f"{end_at:%Y-%m-%dT%H:%M}",
            "budget_impressions": "100", "frequency_cap": "3", **more,
        }  # fmt: skip

    def test_is_written_as_a_draft(self, chief, freshers, shop):
        PromotedAccount.objects.create(user=shop, sponsor="The university")
        answer = chief.post(f"{CAMPAIGNS}add/", self.fields(shop, freshers))
        assert answer.status_code == 302
        campaign = Campaign.objects.get()
        assert (campaign.state, list(campaign.segments.all())) == ("draft", [freshers])

    @pytest.mark.parametrize(
        ("more", "field"),
        [
            ({"ends_at": "2020-01-01T00:00"}, "ends_at"),
            ({"ends_at": ""}, "ends_at"),
            ({"budget_impressions": "0"}, "budget_impressions"),
            ({"frequency_cap": "0"}, "frequency_cap"),
            ({"segments": []}, "segments"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, chief, freshers, shop, more, field):
        PromotedAccount.objects.create(user=shop, sponsor="The university")
        answer = chief.post(f"{CAMPAIGNS}add/", self.fields(shop, freshers, **more))
        assert field in answer.context["adminform"].form.errors

    def test_the_start_shows_for_how_many_people_and_asks(self, chief, alice, campaign, shop):
        assert (
            "at least 1 person" in chief.get(f"{CAMPAIGNS}{campaign.pk}/change/").content.decode()
        )
        page = choose(chief, CAMPAIGNS, "start", [campaign]).content.decode()
        assert 'name="confirmed"' in page
        assert "Autumn (@shop): at least 1 person" in page
        assert Campaign.objects.get().state == CampaignState.DRAFT
        page = confirm(chief, CAMPAIGNS, "start", [campaign]).content.decode()
        assert "1 campaign changed." in page
        deliver()
        assert followees(alice) == {shop.pk}
        history = chief.get(f"{CAMPAIGNS}{campaign.pk}/history/").content.decode()
        assert "Started." in history

    def test_is_paused_and_ended(self, chief, campaign):
        start(campaign)
        confirm(chief, CAMPAIGNS, "pause", [campaign])
        assert Campaign.objects.get().state == CampaignState.PAUSED
        confirm(chief, CAMPAIGNS, "end", [campaign])
        assert Campaign.objects.get().state == CampaignState.ENDED
        assert "messagelist" in confirm(chief, CAMPAIGNS, "end", [campaign]).content.decode()

    def test_to_write_is_not_to_run(self, campaign):
        writer = browser_of(make_staff("promotions.view_campaign", "promotions.change_campaign"))
        confirm(writer, CAMPAIGNS, "start", [campaign])
        assert Campaign.objects.get().state == CampaignState.DRAFT
        runner = browser_of(make_staff("promotions.view_campaign", "promotions.run_campaign"))
        confirm(runner, CAMPAIGNS, "start", [campaign])
        assert Campaign.objects.get().state == CampaignState.RUNNING

    def test_a_running_one_is_not_changed(self, chief, campaign, freshers, shop):
        path = f"{CAMPAIGNS}{campaign.pk}/change/"
        assert chief.post(path, self.fields(shop, freshers, name="Winter")).status_code == 302
        start(campaign)
        answer = chief.post(path, self.fields(shop, freshers, name="Spring"))
        assert answer.status_code == 403
        confirm(chief, CAMPAIGNS, "pause", [campaign])
        other = make_segment("others", "", ("trait", trait("cook")))
        changed = self.fields(make_user(), other, name="Summer", frequency_cap="9")
        assert chief.post(path, changed).status_code == 302
        campaign.refresh_from_db()
        assert (campaign.name, campaign.frequency_cap, campaign.state) == ("Summer", 9, "paused")
        assert (campaign.account_id, list(campaign.segments.all())) == (shop.pk, [freshers])

    def test_few_people_are_told_to_nobody(self, chief, campaign, settings):
        settings.CAMPAIGN_MIN_PEOPLE = 2
        few = "fewer than 2 people"
        assert few in chief.get(f"{CAMPAIGNS}{campaign.pk}/change/").content.decode()
        assert few in choose(chief, CAMPAIGNS, "start", [campaign]).content.decode()
        assert (
            "at least 2 people" in confirm(chief, CAMPAIGNS, "start", [campaign]).content.decode()
        )
        assert Campaign.objects.get().state == CampaignState.DRAFT
        Campaign.objects.get().segments.get().rules.all().delete()
        assert few in chief.get(f"{CAMPAIGNS}{campaign.pk}/change/").content.decode()  # nobody, too
