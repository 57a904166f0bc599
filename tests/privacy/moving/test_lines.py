"""What lines do, by the actions that people use, and what undoing gives back."""

import pytest
from django.conf import settings

from apps.engagement.models import Bookmark
from apps.errors import DomainError
from apps.graph.actions import block_user, follow_user
from apps.graph.models import Block, Followee, FollowRequest, ListMember, Mute, UserList
from apps.privacy.models import ImportKind
from apps.privacy.moving.lines import do_line, people_of, undo_line
from tests.support.factories import make_user, publish

pytestmark = pytest.mark.django_db
HOST = settings.SITE_URL.partition("://")[2]


def done(kind, user, *cells):
    row = list(cells)
    return do_line(ImportKind(kind), user, row, people_of(ImportKind(kind), [row]))


def test_a_follow_with_its_choices(alice, bob):
    trace = done("follows", alice, f"Bob@{HOST}", "false", "true", "en, zh-CN, !")
    edge = Followee.objects.get(owner=alice)
    assert (edge.followee, edge.shows_reposts, edge.notifies, edge.languages) == (
        bob,
        False,
        True,
        ["en", "zh"],
    )
    assert done("follows", alice, "@bob", "true") is None
    edge.refresh_from_db()
    assert edge.shows_reposts is False  # as it was
    undo_line(ImportKind.FOLLOWS, alice, trace)
    assert not Followee.objects.filter(owner=alice).exists()


def test_a_locked_account_is_asked(alice):
    make_user("dora", is_locked=True)
    trace = done("follows", alice, "dora")
    assert FollowRequest.objects.filter(requester=alice).exists()
    assert done("follows", alice, "dora") is None
    undo_line(ImportKind.FOLLOWS, alice, trace)
    assert not FollowRequest.objects.exists()


def test_blocks_and_mutes(alice, bob, carol):
    block, mute = done("blocks", alice, "bob"), done("mutes", alice, "carol", "false")
    assert Block.objects.get(owner=alice).blocked == bob
    assert (Mute.objects.get(owner=alice).muted, Mute.objects.get().hides_notifications) == (
        carol,
        False,
    )
    assert (done("blocks", alice, "bob"), done("mutes", alice, "carol", "true")) == (None, None)
    undo_line(ImportKind.BLOCKS, alice, block)
    undo_line(ImportKind.MUTES, alice, mute)
    assert not Block.objects.exists()
    assert not Mute.objects.exists()


def test_lists_are_made_and_go_when_they_are_empty_again(alice, bob, carol):
    follow_user(alice, bob)
    follow_user(alice, carol)
    traces = [done("lists", alice, "Cooks", name) for name in ("bob", "carol")]
    assert set(ListMember.objects.values_list("group__name", "member")) == {
        ("Cooks", bob.pk),
        ("Cooks", carol.pk),
    }
    assert done("lists", alice, "Cooks", "bob") is None
    for trace in reversed(traces):
        undo_line(ImportKind.LISTS, alice, trace)
    assert not UserList.objects.exists()


def test_a_list_that_was_there_stays(alice, bob):
    follow_user(alice, bob)
    UserList.objects.create(owner=alice, name="Cooks")
    undo_line(ImportKind.LISTS, alice, done("lists", alice, "Cooks", "bob"))
    assert UserList.objects.get().members.count() == 0


@pytest.mark.parametrize(
    "path", ["/@{name}/{id}", "/users/{name}/statuses/{id}", "/@{name}/{id}?x=1"]
)
def test_bookmarks_of_this_site(alice, bob, path):
    post = publish(bob, "hello")
    address = settings.SITE_URL + path.format(name="bob", id=post.pk)
    trace = done("bookmarks", alice, address, "2026-01-01")
    assert Bookmark.objects.get(user=alice).post_id == post.pk
    assert done("bookmarks", alice, address) is None
    undo_line(ImportKind.BOOKMARKS, alice, trace)
    assert not Bookmark.objects.exists()


@pytest.mark.parametrize(
    ("kind", "cells", "reason"),
    [
        ("follows", ["bob@other.example"], "Not on this site."),
        ("follows", ["nobody"], "There is no account @nobody."),
        ("follows", ["alice"], "You can't do this to your own account."),
        ("follows", ["dora"], "You can't follow this account."),
        ("blocks", ["alice"], "You can't do this to your own account."),
        ("lists", ["Cooks"], "A column is missing from this line."),
        (
            "lists",
            ["Cooks", "bob"],
            "You do not follow @bob. Only people you follow can be in a list.",
        ),
        ("lists", ["", "bob"], "Give the list a title."),
        ("bookmarks", ["https://other.example/@bob/1"], "Not on this site."),
        ("bookmarks", [f"{settings.SITE_URL}/about"], "This is not the address of a post."),
        ("bookmarks", [f"{settings.SITE_URL}/@bob/12345"], "This post isn't here."),
        ("bookmarks", [f"{settings.SITE_URL}/@bob/9999999999999999999"], "This post isn't here."),
    ],
)
def test_what_cannot_be_done_says_why(alice, bob, kind, cells, reason):
    block_user(make_user("dora"), alice)
    with pytest.raises(DomainError) as refused:
        done(kind, alice, *cells)
    assert str(refused.value) == reason


def test_a_post_that_one_may_not_see_is_as_if_it_were_not_there(alice, bob):
    post = publish(bob, "for followers", visibility="followers")
    with pytest.raises(DomainError):
        done("bookmarks", alice, f"{settings.SITE_URL}/@bob/{post.pk}")
    assert not Bookmark.objects.exists()


def test_what_is_gone_is_undone_already(alice, bob):
    follow_user(alice, bob)
    trace = done("lists", alice, "Cooks", "bob")
    UserList.objects.all().delete()
    undo_line(ImportKind.LISTS, alice, trace)
    undo_line(ImportKind.FOLLOWS, alice, {"id": 0})
    assert Followee.objects.filter(owner=alice, followee=bob).exists()
