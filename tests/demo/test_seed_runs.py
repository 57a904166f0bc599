"""Making the demo: again, interrupted, another size, beside accounts that were there before."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import User, UserCounts
from apps.demo import actions
from apps.demo.actions import SeedResult
from apps.demo.models import SeedRun
from apps.demo.seeding.world import SIZES
from apps.engagement.models import Bookmark, Like
from apps.posts.models import Attachment, Kind, Mention, Post, PostCounts
from apps.promotions.models import Campaign, PromotedAccount
from tests.demo.seeding import assert_counts_equal_rows, described, make_demo, sizes
from tests.support.factories import make_user, publish

pytestmark = pytest.mark.long


@pytest.fixture
def small(db):
    return make_demo()


def test_a_second_run_changes_nothing(small):
    before, posts = sizes(), described()
    again = make_demo()
    assert again.accounts == again.posts == 0
    assert again.earlier is not None
    assert again.earlier.seed == 1
    assert sizes() == before
    assert described() == posts


def test_another_size_adds_to_the_same_cast(small, monkeypatch):
    monkeypatch.setitem(SIZES, "medium", SIZES["small"])
    before, written = User.objects.count(), Post.objects.filter(author__handle="xiaoman").count()
    more = make_demo("medium")
    assert more.accounts == 60
    assert User.objects.count() == before + 60
    assert Post.objects.filter(author__handle="xiaoman").count() == written
    assert set(SeedRun.objects.values_list("size", flat=True)) == {"small", "medium"}
    assert_counts_equal_rows()


@pytest.mark.django_db(transaction=True)
def test_an_interrupted_run_leaves_nothing_and_can_be_repeated(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(
            actions, "make_notifications", lambda _world: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(CommandError, match="Nothing was made"):
            call_command("seed_demo", stdout=StringIO(), stderr=StringIO())
    assert not any(sizes().values())
    first = (make_demo(), described())
    assert isinstance(first[0], SeedResult)
    assert first[0].posts > 400


def test_the_same_seed_makes_the_same_world_and_another_one_does_not(db):
    def made(seed_number: int) -> tuple[list[Any], ...]:
        make_demo(seed_number=seed_number)
        world = described()
        rows = (SeedRun, Like, Bookmark, Mention, Attachment, PostCounts, Campaign, PromotedAccount)
        for model in rows:
            model.objects.all().delete()
        Post.objects.update(source=None, kind=Kind.TEXT, reply_to=None)
        Post.objects.all().delete()
        User.objects.all().delete()
        return world

    first = made(7)
    assert first == made(7)
    assert first != made(8)


def test_accounts_of_the_cast_that_have_written_stay_as_they_are(db):
    publish(make_user("mara"), "My own words.")
    with pytest.raises(CommandError, match="@mara"):
        call_command("seed_demo", stdout=StringIO())
    assert Post.objects.get().body == "My own words."
    assert not SeedRun.objects.exists()


def test_an_account_that_has_not_written_is_taken_into_the_cast(db):
    bob = make_user("bob")
    make_demo()
    assert User.objects.get(handle="bob").pk == bob.pk
    assert UserCounts.objects.get(pk=bob.pk).posts > 0
    assert_counts_equal_rows()


def test_the_command_prints_what_was_made_and_the_logins(db, capfd):
    out = StringIO()
    call_command("seed_demo", stdout=out)
    assert "accounts" in out.getvalue()
    assert "alice, bob, carol, admin (staff); the password is rill-demo" in out.getvalue()
    assert "90 %" in capfd.readouterr().err
    again = StringIO()
    call_command("seed_demo", stdout=again)
    assert again.getvalue().startswith("Nothing to do: the small demo was made on ")
