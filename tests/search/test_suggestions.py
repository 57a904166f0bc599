"""Whom the site suggests, and the starter packs that staff make for new members."""

import pytest

from apps.accounts.actions import update_profile
from apps.accounts.models import UserCounts
from apps.errors import NotFound, TooMany
from apps.graph.actions import block_user, follow_user, mute_user
from apps.graph.models import Followee, FollowRequest
from apps.moderation.actions import limit_user, suspend_user
from apps.search.models import StarterPack
from apps.search.suggestions import (
    dismiss_suggestion,
    follow_pack,
    people_to_begin_with,
    starter_packs,
    suggested_people,
)
from apps.tags.actions import follow_tag
from tests.support.factories import deliver, make_user, moderator, publish

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader():
    """Who follows nobody yet."""
    return make_user("reader")


@pytest.fixture
def writers():
    """Four people who have posted, the most followed first."""
    people = [make_user(name) for name in ("first", "second", "third", "fourth")]
    for number, person in enumerate(people):
        publish(person, "Hello.", language="en")
        UserCounts.objects.filter(user=person).update(followers=10 - number)
    deliver()
    return people


@pytest.fixture
def pack(writers):
    made = StarterPack.objects.create(title="A good start", language="en")
    made.members.set(writers)
    return made


def handles(people):
    return [person.handle for person in people]


def followed(viewer):
    return set(Followee.objects.filter(owner=viewer).values_list("followee", flat=True))


def test_who_does_not_want_to_be_suggested_is_not(writers, reader):
    update_profile(writers[1], is_discoverable=False)
    assert handles(suggested_people(reader, limit=10)) == ["first", "third", "fourth"]


def test_a_pack_has_whom_its_reader_may_meet_the_most_followed_first(pack, writers, reader):
    [shown] = starter_packs(reader, ["en"])
    assert (shown.title, handles(shown.people)) == ("A good start", handles(writers))
    block_user(reader, writers[0])
    block_user(writers[1], reader)
    mute_user(reader, writers[2])
    assert handles(starter_packs(reader, ["en"])[0].people) == ["fourth"]
    mute_user(reader, writers[3])
    assert starter_packs(reader, ["en"]) == []


def test_packs_come_in_their_order_and_in_languages_that_are_read(pack, writers, reader):
    chinese = StarterPack.objects.create(title="从这里开始", language="zh")
    earlier = StarterPack.objects.create(title="Earlier", language="en", place=0)
    StarterPack.objects.filter(pk=pack.pk).update(place=1)
    off = StarterPack.objects.create(title="Off", language="en", is_active=False)
    for one in (chinese, earlier, off):
        one.members.set(writers)
    assert [one.title for one in starter_packs(reader, ["en"])] == ["Earlier", "A good start"]
    assert [one.title for one in starter_packs(reader, ["zh"])] == ["从这里开始"]
    assert starter_packs(reader, []) == []


@pytest.mark.slow
def test_all_of_a_pack_are_followed_once(pack, writers, reader, django_assert_max_num_queries):
    follow_user(reader, writers[0])
    assert follow_pack(reader, pack.pk) == 3
    assert followed(reader) == {person.pk for person in writers}
    with django_assert_max_num_queries(5):
        assert follow_pack(reader, pack.pk) == 0


@pytest.mark.slow
def test_who_answers_requests_is_asked_and_who_blocks_is_left_out(pack, writers, reader):
    writers[0].is_locked = True
    writers[0].save()
    block_user(writers[1], reader)
    assert follow_pack(reader, pack.pk) == 3
    assert followed(reader) == {writers[2].pk, writers[3].pk}
    assert FollowRequest.objects.filter(requester=reader, owner=writers[0]).exists()
    assert follow_pack(reader, pack.pk) == 0


def test_one_is_in_a_pack_and_does_not_follow_oneself(pack, writers):
    assert handles(starter_packs(writers[0], ["en"])[0].people) == ["second", "third", "fourth"]
    assert follow_pack(writers[0], pack.pk) == 3


def test_a_pack_that_is_off_or_unknown_is_not_found(pack, reader):
    StarterPack.objects.update(is_active=False)
    for number in (pack.pk, pack.pk + 1):
        with pytest.raises(NotFound):
            follow_pack(reader, number)


def test_the_limit_of_follows_holds_and_those_before_stay(pack, writers, reader, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "follow": (2, 3600)}
    with pytest.raises(TooMany):
        follow_pack(reader, pack.pk)
    assert followed(reader) == {writers[0].pk, writers[1].pk}


@pytest.mark.slow
def test_to_begin_with_who_writes_about_it_comes_before_who_is_much_followed(writers, reader):
    painter = make_user("painter")
    publish(painter, "Blue. #watercolour", language="en")
    publish(writers[2], "Green. #watercolour", language="en")
    deliver()
    assert handles(people_to_begin_with(reader, languages=["en"], limit=10))[:2] == [
        "first",
        "second",
    ]
    follow_tag(reader, "watercolour")
    found = handles(people_to_begin_with(reader, languages=["en"], limit=10))
    assert found[:2] == ["third", "painter"]
    assert sorted(found[2:]) == ["first", "fourth", "second"]
    assert handles(people_to_begin_with(reader, languages=["en"], limit=2)) == found[:2]
    limit_user(painter, by=moderator())
    assert "painter" not in handles(people_to_begin_with(reader, languages=["en"], limit=10))


def test_to_begin_with_who_writes_in_a_language_that_is_read_comes_first(writers, reader):
    publish(writers[3], "早上好。", language="zh")
    deliver()
    assert handles(people_to_begin_with(reader, languages=["zh"], limit=10))[0] == "fourth"
    assert handles(people_to_begin_with(reader, languages=["en"], limit=10))[-1] == "fourth"
    assert handles(people_to_begin_with(reader, languages=["en", "zh"], limit=10)) == handles(
        writers
    )


@pytest.mark.slow
def test_to_begin_with_nobody_who_is_known_or_unwanted(writers, reader):
    for person in writers:
        publish(person, "Tea. #tea", language="en")
    hidden, gone = make_user("hidden"), make_user("gone")
    for person in (hidden, gone):
        publish(person, "Tea. #tea", language="en")
    deliver()
    follow_tag(reader, "tea")
    update_profile(hidden, is_discoverable=False)
    suspend_user(gone, by=moderator(), reason="spam")
    follow_user(reader, writers[0])
    dismiss_suggestion(reader, writers[1].pk)
    found = people_to_begin_with(reader, languages=["en"], limit=10, without=[writers[2].pk])
    assert handles(found) == ["fourth"]
