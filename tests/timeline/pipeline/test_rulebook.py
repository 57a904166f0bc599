"""The rules of timelines: what each keeps away, in which order, and that pages and explanations say the same."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from apps.accounts.queries import user_by_id
from apps.audit.explain import Mark, assembly, checklist, explain
from apps.engagement.actions import mark_post_read
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import follow_user, mute_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import UserList
from apps.pagination import Cursor
from apps.tags.actions import follow_tag
from apps.timeline.home import assemble_home, home_timeline, look_up
from apps.timeline.pipeline.facts import facts_now
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.pipeline.reasons import Reason
from apps.timeline.pipeline.rulebook import (
    FILTERED,
    HOME_RULES,
    LIST_RULES,
    NOT_MUTED,
    decide,
    only,
)
from apps.timeline.sources.found import Via
from tests.support.factories import deliver, make_user, publish, repost
from tests.timeline.test_home import bulk_posts

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(bob, carol):
    """Bob follows Alice and Carol, hides what he has read and what contains "rhubarb", and his home cache is warm."""
    follow_user(bob, carol)
    bob.hides_read = True
    bob.save(update_fields=["hides_read"])
    create_filter(
        bob,
        FilterChange("Pies", ["home"], act="hide", keywords=[KeywordChange(keyword="rhubarb")]),
    )
    home_timeline(user_by_id(bob.pk), Cursor())
    return user_by_id(bob.pk)


def verdicts(reader, items, relations, book):
    return {
        verdict.item.id: verdict.rule.id if verdict.rule else None
        for verdict in decide(items, facts_now(reader, None, relations), book)
    }


def test_the_first_rule_that_a_post_breaks_is_its_verdict(alice, carol, reader):
    """A post that breaks several rules is said to break the one that the page asks first."""
    read_and_filtered = publish(alice, "rhubarb, which was read")
    muted_and_read = publish(carol, "rhubarb of a muted author")
    deliver()
    mark_post_read(reader, read_and_filtered.pk)
    mark_post_read(reader, muted_and_read.pk)
    mute_user(reader, carol)
    made = assembly(user_by_id(reader.pk), Cursor())
    reasons = {row.item.id: row.explanation.reason for row in made.rows}
    assert reasons == {muted_and_read.pk: Reason.MUTED, read_and_filtered.pk: Reason.READ}
    viewer = user_by_id(reader.pk)
    assert explain(viewer, read_and_filtered.pk).reason == Reason.READ
    failed = checklist(viewer, read_and_filtered.pk).checks[-1]
    assert (failed.question, failed.mark) == ("Have you read it?", Mark.FAILED)


def test_every_rule_of_home_has_its_words(alice, reader):
    post = publish(alice)
    [item] = hydrate(reader.pk, [post.pk]).items
    for language in ("en", "zh-hans"):
        with translation.override(language):
            for rule in (*HOME_RULES.rules, FILTERED):
                assert rule.question(item), rule.id
                assert str(rule.reason.label), rule.id
    with translation.override("zh-hans"):
        questions = [rule.question(item) for rule in (*HOME_RULES.rules, FILTERED)]
    assert not any(question.isascii() for question in questions)


def test_books_differ_in_what_they_ask(alice, carol, reader):
    mute_user(reader, carol)
    muted, plain = publish(carol), publish(alice)
    shared = repost(alice, muted.pk)
    found = hydrate(reader.pk, [muted.pk, plain.pk, shared.pk])
    for book in (NOT_MUTED, LIST_RULES, HOME_RULES):
        assert verdicts(reader, found.items, found.relations, book) == {
            muted.pk: Reason.MUTED,
            plain.pk: None,
            shared.pk: Reason.MUTED,
        }
    short = only("short", lambda item: item.id == muted.pk, NOT_MUTED)
    assert verdicts(reader, found.items, found.relations, short) == {
        muted.pk: Reason.MUTED,
        plain.pk: "short",
        shared.pk: "short",
    }


def test_a_visitor_breaks_no_rule_about_readers(alice):
    post = publish(alice)
    found = hydrate(None, [post.pk])
    assert verdicts(None, found.items, found.relations, NOT_MUTED) == {post.pk: None}


def test_a_page_knows_how_each_post_came(alice, carol, reader):
    delivered = publish(alice)
    deliver()
    stranger = make_user()
    follow_tag(reader, "tea")
    tagged = publish(stranger, "about #Tea")
    deliver()
    made = assemble_home(user_by_id(reader.pk), Cursor(), exclude_read=False)
    assert {item.id: made.via(item.id) for item in made.page.items} == {
        tagged.pk: Via.TAG,
        delivered.pk: Via.CACHE,
    }
    look = look_up(user_by_id(reader.pk), publish(stranger).pk)
    assert look is not None
    assert (look.via, look.is_on_home, look.verdict.rule and look.verdict.rule.id) == (
        None,
        False,
        Reason.NOT_FOLLOWED,
    )


def test_an_explanation_costs_as_much_with_one_post_left_out_as_with_two_hundred():
    def queries_beyond_the_page(number):
        reader, writer = make_user(), make_user()
        follow_user(reader, writer)
        quiet = create_group(UserList, reader, name="Later", is_exclusive=True)
        add_members(UserList, reader, quiet.pk, [writer.pk])
        bulk_posts(writer, number)
        viewer = user_by_id(reader.pk)
        home_timeline(viewer, Cursor())  # makes the home cache
        with CaptureQueriesContext(connection) as of_page:
            assert home_timeline(viewer, Cursor()).items == []
        with CaptureQueriesContext(connection) as of_both:
            made = assembly(viewer, Cursor())
        assert [row.explanation.reason for row in made.rows] == [Reason.LISTED] * number
        return len(of_both) - len(of_page)

    assert queries_beyond_the_page(1) == queries_beyond_the_page(200) == 3
