"""Who is in a segment: at once after each change, and by the sweep for what time changes."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.accounts.actions import update_profile, update_settings
from apps.accounts.models import User
from apps.errors import Invalid
from apps.events.models import Event
from apps.graph.actions import follow_user, unfollow_user
from apps.moderation.actions import restore_user
from apps.promotions import actions, membership
from apps.promotions.actions import (
    MAX_TRAITS,
    opt_in,
    opt_out,
    refresh_user,
    set_traits,
    state_trait,
    sweep_batch,
    withdraw_trait,
)
from apps.promotions.models import (
    OptOut,
    Segment,
    SegmentMembership,
    SegmentRule,
    SegmentSweep,
    Trait,
    UserTrait,
)
from apps.promotions.queries import (
    choosable_traits,
    is_opted_out,
    segments_of,
    stated_traits,
)
from apps.promotions.tasks import sweep_segments
from apps.promotions.vocabulary import TRAITS, is_sensitive
from apps.tags.actions import follow_tag, get_or_create_tag_ids, unfollow_tag
from apps.tags.models import Tag
from tests.promotions.conftest import make_segment, slugs, sweep, trait
from tests.support.factories import deliver, make_user, moderator, publish, suspend

pytestmark = pytest.mark.django_db


def tag(name):
    return Tag.objects.get(pk=get_or_create_tag_ids([name])[name])


class TestTraits:
    def test_the_vocabulary_is_there(self):
        assert set(TRAITS) <= set(Trait.objects.values_list("slug", flat=True))

    def test_are_stated_and_withdrawn(self, alice):
        state_trait(alice, "student")
        state_trait(alice, "cyclist")
        state_trait(alice, "student")
        assert [row.slug for row in stated_traits(alice)] == ["student", "cyclist"]
        withdraw_trait(alice, "student")
        withdraw_trait(alice, "student")
        assert [row.slug for row in stated_traits(alice)] == ["cyclist"]
        set_traits(alice, ["reader", "cook"])
        assert {row.slug for row in stated_traits(alice)} == {"reader", "cook"}

    def test_unknown_ones_are_refused_and_nothing_changes(self, alice):
        state_trait(alice, "student")
        with pytest.raises(Invalid):
            set_traits(alice, ["reader", "rich"])
        assert [row.slug for row in stated_traits(alice)] == ["student"]

    def test_one_that_is_no_longer_offered_is_kept_but_not_added(self, alice, carol):
        state_trait(alice, "student")
        Trait.objects.filter(slug="student").update(is_active=False)
        state_trait(alice, "cook")
        assert {row.slug for row in stated_traits(alice)} == {"student", "cook"}
        assert "student" not in {row.slug for row in choosable_traits()}
        with pytest.raises(Invalid):
            state_trait(carol, "student")

    def test_there_is_a_limit(self, alice):
        names = [f"trait-{number}" for number in range(MAX_TRAITS + 1)]
        Trait.objects.bulk_create(Trait(slug=name, name=name) for name in names)
        set_traits(alice, names[:-1])
        with pytest.raises(Invalid):
            state_trait(alice, names[-1])


@pytest.mark.parametrize(
    "text",
    [
        "HIV positive",
        "gaypride",
        "catholics",
        "trade_union",
        "Politics",
        "宗教",
        "ｊｅｗｓ",
        "pregnancy",
    ],
)
def test_sensitive_subjects_are_known(text):
    assert is_sensitive(text)


@pytest.mark.parametrize(
    "text", ["first-year students", "jewellery", "rivers", "racing", "学生", "brides"]
)
def test_ordinary_words_are_not_sensitive(text):
    assert not is_sensitive(text)


class TestRules:
    def test_no_rule_about_anything_sensitive(self, alice, freshers):
        update_profile(alice, bio="News of the socialist party")
        for kind, field, value in (
            ("tag", "tag", tag("religion")),
            ("account", "account", User.objects.get(pk=alice.pk)),
        ):
            with pytest.raises(ValidationError) as refusal:
                SegmentRule(segment=freshers, kind=kind, **{field: value}).full_clean()
            assert set(refusal.value.error_dict) == {field}
        with pytest.raises(ValidationError):
            Trait(slug="patients", name="diabetic").full_clean()
        with pytest.raises(ValidationError):
            Segment(slug="x", name="x", description="devout Muslims").full_clean()

    def test_fills_exactly_its_column(self, freshers):
        for fields in ({"kind": "active"}, {"kind": "active", "days": 3, "language": "en"}):
            with pytest.raises(ValidationError):
                SegmentRule(segment=freshers, **fields).full_clean()
            with pytest.raises(IntegrityError), transaction.atomic():
                SegmentRule.objects.create(segment=freshers, **fields)
        for days in (0, 366):
            with pytest.raises(ValidationError):
                SegmentRule(segment=freshers, kind="active", days=days).full_clean()

    def test_a_stated_trait(self, alice, freshers):
        state_trait(alice, "first-year-student")
        assert slugs(alice) == {"freshers"}  # in the same transaction
        withdraw_trait(alice, "first-year-student")
        assert slugs(alice) == set()

    def test_a_language(self, alice):
        make_segment("chinese", "", ("language", "zh"))
        looks = {"theme": "auto", "text_size": "normal"}
        update_settings(alice, **looks, interface_language="zh-hans")
        deliver()
        assert slugs(alice) == {"chinese"}
        update_settings(alice, **looks, interface_language="en")
        deliver()
        assert slugs(alice) == set()
        update_profile(alice, post_language="zh")
        deliver()
        assert slugs(alice) == {"chinese"}

    def test_a_followed_account(self, alice, bob, carol):
        make_segment("alices", "", ("account", alice))
        follow_user(carol, alice)
        deliver()
        assert slugs(carol) == {"alices"}
        unfollow_user(carol, alice)
        deliver()
        assert slugs(carol) == set()
        assert slugs(bob) == set()  # followed before; the sweep finds him
        sweep()
        assert slugs(bob) == {"alices"}

    def test_a_followed_tag(self, alice):
        make_segment("rivers", "", ("tag", tag("rivers")))
        follow_tag(alice, "#Rivers")
        deliver()
        assert slugs(alice) == {"rivers"}
        unfollow_tag(alice, "rivers")
        deliver()
        assert slugs(alice) == set()

    def test_recent_posts(self, alice, carol):
        make_segment("writers", "", ("active", 7))
        publish(alice)
        publish(carol, visibility="followers")  # nobody is sorted by what is not public
        sweep()
        assert (slugs(alice), slugs(carol)) == ({"writers"}, set())

    def test_when_somebody_joined(self, alice, carol):
        today = datetime.now(UTC).date()
        User.objects.filter(pk=carol.pk).update(created_at=timezone.now() - timedelta(days=30))
        make_segment("newcomers", "", ("joined", today - timedelta(days=3)))
        sweep()
        assert (slugs(alice), slugs(carol)) == ({"newcomers"}, set())
        newcomer = make_user()
        deliver()
        assert slugs(newcomer) == {"newcomers"}

    def test_all_rules_must_hold(self, alice):
        make_segment("both", "", ("trait", trait("cook")), ("trait", trait("reader")))
        state_trait(alice, "cook")
        assert slugs(alice) == set()
        state_trait(alice, "reader")
        assert slugs(alice) == {"both"}

    @pytest.mark.parametrize("fields", [{"is_active": False}, {}])
    def test_without_rules_or_inactive_it_is_empty(self, alice, fields):
        rules = [("trait", trait("cook"))] if fields else []
        make_segment("empty", "", *rules, **fields)
        state_trait(alice, "cook")
        sweep()
        assert slugs(alice) == set()

    def test_two_segments_of_one_person(self, alice, freshers):
        make_segment("cooks", "", ("trait", trait("cook")))
        set_traits(alice, ["cook", "first-year-student"])
        assert slugs(alice) == {"cooks", "freshers"}
        withdraw_trait(alice, "cook")
        assert slugs(alice) == {"freshers"}


class TestWhoIsOut:
    def test_opting_out_ends_all_and_is_kept_by_the_sweep(self, alice, freshers):
        state_trait(alice, "first-year-student")
        opt_out(alice)
        opt_out(alice)
        assert (slugs(alice), is_opted_out(alice)) == (set(), True)
        sweep()
        assert slugs(alice) == set()
        opt_in(alice)
        assert (slugs(alice), is_opted_out(alice)) == ({"freshers"}, False)

    def test_suspended_accounts_are_in_nothing(self, alice, freshers):
        state_trait(alice, "first-year-student")
        suspend(alice)
        deliver()
        assert slugs(alice) == set()
        restore_user(alice, by=moderator(), reason="A test.")
        deliver()
        assert slugs(alice) == {"freshers"}

    def test_of_a_deleted_account_nothing_is_left(self, alice, freshers):
        state_trait(alice, "first-year-student")
        User.objects.filter(pk=alice.pk).update(erased_at=timezone.now(), is_active=False)
        actions.forget_user(alice.pk)
        actions.forget_user(alice.pk)
        for model in (UserTrait, SegmentMembership, OptOut):
            assert not model._default_manager.filter(user=alice).exists()


class TestSweep:
    @pytest.fixture
    def cooks(self, monkeypatch):
        monkeypatch.setattr(membership, "BATCH_SIZE", 2)
        users = [make_user() for _ in range(5)]
        for user in users:
            UserTrait.objects.create(user=user, trait=trait("cook"))
        return users

    def test_goes_on_where_it_was_and_twice_is_once(self, cooks):
        make_segment("cooks", "", ("trait", trait("cook")))
        assert sweep_batch()
        assert [bool(slugs(user)) for user in cooks] == [True, True, False, False, False]
        sweep()
        assert all(slugs(user) == {"cooks"} for user in cooks)
        rows = list(SegmentMembership.objects.order_by("pk").values_list("pk", "created_at"))
        SegmentSweep.objects.update(finished_at=timezone.now() - timedelta(days=1))
        sweep()
        assert (
            list(SegmentMembership.objects.order_by("pk").values_list("pk", "created_at")) == rows
        )

    def test_rests_for_an_hour_unless_a_segment_changes(self, cooks):
        sweep()
        assert not sweep_batch()
        make_segment("cooks", "", ("trait", trait("cook")))
        sweep_segments()
        assert all(slugs(user) == {"cooks"} for user in cooks)

    def test_is_bounded_in_statements(self, cooks, django_assert_max_num_queries):
        for number in range(5):
            make_segment(f"cooks {number}", "", ("trait", trait("cook")))
        with django_assert_max_num_queries(16):
            sweep_batch()

    def test_ends_what_does_not_hold_any_more(self, cooks):
        segment = make_segment("cooks", "", ("trait", trait("cook")))
        sweep()
        Segment.objects.filter(pk=segment.pk).update(is_active=False)
        actions.segments_changed()
        sweep()
        assert not SegmentMembership.objects.exists()


def test_people_see_their_segments_and_why(alice, freshers, django_assert_num_queries):
    state_trait(alice, "first-year-student")
    with django_assert_num_queries(1):
        [segment] = segments_of(alice)
    assert segment.people == "first-year students"
    assert segment.reason() == (
        "You are counted among first-year students because you said so (first-year student)."
    )


def test_an_account_that_does_not_exist_is_no_trouble(db):
    refresh_user(999_999)


def test_where_nobody_is_sorted_nothing_is_recorded(alice):
    follow_tag(alice, "rivers")
    assert not Event.objects.filter(name="interests_changed").exists()
