"""Why somebody sees a promoted post, in both languages."""

import pytest
from django.utils import translation

from apps.graph.actions import follow_user
from apps.promotions.actions import state_trait
from apps.promotions.models import RuleKind
from apps.promotions.queries import promotions_of
from apps.promotions.wording import RuleFact, membership, reason
from apps.tags.actions import follow_tag, get_or_create_tag_ids
from apps.tags.models import Tag
from tests.promotions.conftest import make_campaign, make_segment, start
from tests.support.factories import deliver, delivered

TRAIT = RuleFact("trait", "first-year student")
TAG = RuleFact("tag", "rivers")


@pytest.mark.parametrize(
    ("facts", "because"),
    [
        ([TRAIT], "you said so (first-year student)"),
        ([TAG], "you follow #rivers"),
        ([RuleFact("account", "alice")], "you follow @alice"),
        ([RuleFact("language", "zh")], "your language is 中文"),
        ([RuleFact("active", "1")], "you posted within the last day"),
        ([RuleFact("active", "7")], "you posted within the last 7 days"),
        ([RuleFact("joined", "2026-09-01")], "you joined on Sept. 1, 2026 or later"),
        ([TRAIT, TAG], "you said so (first-year student) and you follow #rivers"),
        ([TAG, TAG], "you follow #rivers"),
    ],
)
def test_in_plain_words(facts, because):
    assert reason("first-year students", facts) == (
        f"Promoted to first-year students because {because}."
    )


def test_in_chinese():
    with translation.override("zh-hans"):
        text = reason("大一新生", [TRAIT, TAG])
    assert text == "向大一新生推广，因为你说自己是大一新生、你关注了话题 #rivers。"


@pytest.mark.parametrize(
    ("language", "people", "because", "said"),
    [
        ("en", "大一新生", TRAIT, "Promoted to you because you said so (first-year student)."),
        ("en", "readers", RuleFact("trait", "读书人"), "Promoted to readers because you said so."),
        ("zh-hans", "first-year students", TAG, "向你推广，因为你关注了话题 #rivers。"),
        ("zh-hans", "大一新生", RuleFact("trait", "night owl"), "向大一新生推广，因为你是这样介绍自己的。"),
    ],
)  # fmt: skip
def test_what_staff_wrote_in_another_language_is_left_out(language, people, because, said):
    with translation.override(language):
        assert reason(people, [because]) == said
        assert (people in membership(people, [because])) is (people in said)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.usefixtures("side_by_side")
def test_a_card_and_the_settings_leave_out_a_group_that_is_named_in_another_language(
    alice, freshers, shop, page_of
):
    state_trait(alice, "first-year-student")
    deliver()
    start(make_campaign(shop, freshers))
    delivered(shop, "New books are here.")
    browser = page_of(alice)
    for language, named in (("en", True), ("zh-hans", False)):
        browser.cookies["lang"] = language
        home, settings = (browser.get(path).text for path in ("/", "/settings/promotions"))
        assert "New books are here." in home
        assert ("first-year students" in home) is named
        assert ("first-year students" in settings) is named


def test_every_kind_has_words():
    for kind in RuleKind:
        value = {RuleKind.ACTIVE: "2", RuleKind.JOINED: "2026-01-01"}.get(kind, "x")
        assert reason("people", [RuleFact(kind.value, value)])


@pytest.mark.slow
@pytest.mark.django_db
def test_the_rules_of_the_segment_are_what_is_said(alice, carol, shop):
    tag = Tag.objects.get(pk=get_or_create_tag_ids(["rivers"])["rivers"])
    segment = make_segment("river", "friends of the river", ("account", alice), ("tag", tag))
    start(make_campaign(shop, segment))
    follow_user(carol, alice)
    follow_tag(carol, "rivers")
    deliver()
    assert promotions_of(carol.pk)[shop.pk].reason() == (
        "Promoted to friends of the river because you follow @alice and you follow #rivers."
    )
