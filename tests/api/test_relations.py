"""What programs do to relations: follow with options, ask, answer, mute for a time, note; and the lists of it."""

import pytest

from apps.accounts.actions import set_locked
from apps.api.entities.account import MutedAccountJson, RelationshipJson
from apps.graph.actions import block_user, endorse_user, follow_user, mute_user
from apps.graph.models import Followee, Mute
from tests.support.cases import each
from tests.support.factories import make_user, suspend

pytestmark = pytest.mark.django_db

V1 = "/api/v1"


@pytest.fixture
def act(alice, carol, api_of):
    """`act("mute", duration=60)`: carol's program does something to alice; the answer."""

    def do(name, *, other=alice, form="json", **said):
        return api_of(carol).post(f"{V1}/accounts/{other.pk}/{name}", said, format=form)

    return do


@pytest.mark.parametrize("form", ["json", "multipart"])
def test_a_follow_has_options_and_what_is_not_said_stays(act, form):
    body = act("follow", form=form).json()
    assert (body["following"], body["showing_reblogs"], body["notifying"]) == (True, True, False)
    body = act("follow", form=form, notify="1").json()
    assert (body["showing_reblogs"], body["notifying"]) == (True, True)
    body = act("follow", form=form, reblogs="0").json()
    assert (body["showing_reblogs"], body["notifying"]) == (False, True)
    body = act("unfollow").json()
    assert (body["following"], body["showing_reblogs"], body["notifying"]) == (False, False, False)
    assert set(body) == RelationshipJson.__required_keys__


def test_a_locked_account_is_requested_and_answers(act, alice, carol, api_of):
    set_locked(alice, locked=True)
    body = act("follow", notify=True).json()
    assert (body["following"], body["requested"], body["notifying"]) == (False, True, True)
    owner = api_of(alice)
    assert [one["acct"] for one in owner.get(f"{V1}/follow_requests").json()] == ["carol"]
    related = owner.get(f"{V1}/accounts/relationships", {"id[]": carol.pk}).json()[0]
    assert (related["requested_by"], related["followed_by"]) == (True, False)
    answer = owner.post(f"{V1}/follow_requests/{carol.pk}/authorize").json()
    assert (answer["id"], answer["followed_by"], answer["requested_by"]) == (
        str(carol.pk),
        True,
        False,
    )
    assert owner.post(f"{V1}/follow_requests/{carol.pk}/reject").status_code == 404
    assert owner.get(f"{V1}/follow_requests").json() == []


def test_a_request_is_withdrawn_by_unfollow(act, alice):
    set_locked(alice, locked=True)
    act("follow")
    body = act("unfollow").json()
    assert (body["requested"], body["following"]) == (False, False)


@pytest.mark.parametrize("form", ["json", "multipart"])
def test_a_mute_has_terms(act, form, alice, carol, api_of):
    body = act("mute", form=form, duration="3600", notifications="false").json()
    assert (body["muting"], body["muting_notifications"]) == (True, False)
    assert body["muting_expires_at"].endswith("Z")
    (muted,) = api_of(carol).get(f"{V1}/mutes").json()
    assert muted["mute_expires_at"] == body["muting_expires_at"]
    assert set(muted) == MutedAccountJson.__required_keys__
    body = act("mute", form=form).json()
    assert (body["muting_notifications"], body["muting_expires_at"]) == (True, None)


@pytest.mark.slow
@each(
    ("name", "said"),
    [("mute", {"duration": -1}), ("mute", {"duration": "soon"}), ("mute", {"duration": 10**30}),
     ("mute", {"duration": [1]}),
     ("mute", {"notifications": "perhaps"}), ("follow", {"notify": {}}), ("follow", {"reblogs": "x"}),
     ("note", {"comment": "x" * 2001}), ("note", {"comment": {"a": 1}})],
)  # fmt: skip
def test_what_cannot_be_is_422_and_changes_nothing(act, name, said):
    answer = act(name, **said)
    assert (answer.status_code, answer.json()["code"]) == (422, "validation_failed")
    assert not Mute.objects.exists()


def test_a_note_is_told_to_its_writer_only(act, alice, carol, api_of):
    assert act("note", comment="met at the harbour").json()["note"] == "met at the harbour"
    other = api_of(alice).get(f"{V1}/accounts/relationships", {"id": carol.pk}).json()[0]
    assert other["note"] == ""
    assert act("note").json()["note"] == ""


def test_a_follower_is_removed(alice, bob, api_of):
    body = api_of(alice).post(f"{V1}/accounts/{bob.pk}/remove_from_followers").json()
    assert body["followed_by"] is False


@pytest.mark.long
@each("name", ["blocks", "mutes", "follow_requests"])
def test_own_lists_are_walked_by_their_links_newest_first(alice, api_of, name):
    crowd = [make_user() for _ in range(5)]
    set_locked(alice, locked=True)
    for one in crowd:
        {
            "blocks": lambda one=one: block_user(alice, one),
            "mutes": lambda one=one: mute_user(alice, one),
            "follow_requests": lambda one=one: follow_user(one, alice),
        }[name]()
    suspend(crowd[2])
    api, seen = api_of(alice), []
    url = f"{V1}/{name}?limit=2"
    while url:
        answer = api.get(url)
        seen += [one["id"] for one in answer.json()]
        link = answer.headers.get("Link", "")
        url = link.split(">")[0][1:] if 'rel="next"' in link else ""
    assert seen == [str(crowd[at].pk) for at in (4, 3, 1, 0)]
    assert api_of(crowd[0]).get(f"{V1}/{name}").json() == []


def test_people_one_follows_can_be_recommended_until_one_stops(act, alice, carol, api_of):
    assert act("endorse").status_code == 422
    act("follow")
    assert act("endorse").json()["endorsed"] is True
    assert act("pin").json()["endorsed"] is True  # twice is once
    reader, anybody = api_of(carol), api_of(None)
    for answer in (
        reader.get(f"{V1}/endorsements"),
        anybody.get(f"{V1}/accounts/{carol.pk}/endorsements"),
    ):
        assert [one["acct"] for one in answer.json()] == ["alice"]
    assert act("unpin").json()["endorsed"] is False
    act("endorse")
    assert act("unfollow").json()["endorsed"] is False
    assert reader.get(f"{V1}/endorsements").json() == []


def test_recommendations_have_pages_and_hide_who_blocks_the_reader(alice, bob, carol, api_of):
    people = [make_user() for _one in range(3)]
    for one in people:
        follow_user(carol, one)
        endorse_user(carol, one)
    address = f"{V1}/accounts/{carol.pk}/endorsements"
    answer = api_of(bob).get(address, {"limit": 2})
    assert [one["acct"] for one in answer.json()] == [people[2].handle, people[1].handle]
    assert 'rel="next"' in answer.headers["Link"]
    block_user(people[1], bob)
    assert [one["id"] for one in api_of(bob).get(address).json()] == [str(people[2].pk), str(people[0].pk)]  # fmt: skip
    assert len(api_of(alice).get(address).json()) == 3


@pytest.mark.parametrize("form", ["json", "multipart"])
def test_a_follow_can_be_of_some_languages(act, form):
    assert act("follow", form=form).json()["languages"] is None
    assert act(
        "follow",
        form=form,
        **{"languages[]" if form == "multipart" else "languages": ["en", "pt-BR", "en"]},
    ).json()["languages"] == ["en", "pt-BR"]
    assert act("follow", form=form, reblogs=False).json()["languages"] == ["en", "pt-BR"]
    nothing = {"languages[]": [""]} if form == "multipart" else {"languages": []}
    assert act("follow", form=form, **nothing).json()["languages"] is None


@each("languages", [["nonsense!"], "x", [["en"]], ["en"] * 21, [None], {"a": 1}])
def test_languages_that_cannot_be_are_refused(act, languages):
    assert act("follow", languages=languages).status_code == 422


def test_a_request_keeps_the_languages_for_the_follow_to_come(act, alice, carol, api_of):
    set_locked(alice, locked=True)
    assert act("follow", languages=["en"]).json()["languages"] == ["en"]
    api_of(alice).post(f"{V1}/follow_requests/{carol.pk}/authorize")
    related = api_of(carol).get(f"{V1}/accounts/relationships", {"id[]": alice.pk}).json()[0]
    assert (related["following"], related["languages"]) == (True, ["en"])
    assert Followee.objects.get(owner=carol).languages == ["en"]


def test_each_account_is_related_once_and_only_if_it_exists(alice, bob, carol, api_of):
    asked = {"id[]": [carol.pk, bob.pk, carol.pk, 99999999]}
    answer = api_of(alice).get(f"{V1}/accounts/relationships", asked).json()
    assert [one["id"] for one in answer] == [str(carol.pk), str(bob.pk)]
