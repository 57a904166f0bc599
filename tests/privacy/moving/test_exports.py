"""Lists go out as they come in, here and on Mastodon's sites."""

import io

import pytest
from django.conf import settings

from apps.engagement.actions import bookmark_post
from apps.graph.actions import block_user, follow_user, mute_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Block, Followee, ListMember, Mute, UserList
from apps.privacy.models import ImportKind
from apps.privacy.moving.exports import FILES, file_lines
from apps.privacy.moving.imports import request_import
from tests.privacy.moving.test_imports import outcomes
from tests.support.factories import make_user, publish
from tests.support.imports import run

pytestmark = pytest.mark.django_db
HOST = settings.SITE_URL.partition("://")[2]


@pytest.fixture
def lists(alice, bob, carol):
    dora, emil = make_user("dora"), make_user("emil")
    follow_user(alice, bob, reposts=False, notify=True, languages=["en", "zh"])
    follow_user(alice, carol)
    block_user(alice, dora)
    mute_user(alice, emil, notifications=False)
    group = create_group(UserList, alice, name="=Cooks, bakers")
    add_members(UserList, alice, group.pk, [bob.pk])
    post = publish(bob, "hello")
    bookmark_post(alice, post.pk)
    return post


def texts(user):
    return {name: "".join(file_lines(user, name)) for name in FILES}


def test_each_list_in_mastodons_form(alice, lists):
    assert texts(alice) == {
        "following_accounts.csv": "Account address,Show boosts,Notify on new posts,Languages\r\n"
        f'bob@{HOST},false,true,"en, zh"\r\ncarol@{HOST},true,false,\r\n',
        "blocked_accounts.csv": f"Account address\r\ndora@{HOST}\r\n",
        "muted_accounts.csv": f"Account address,Hide notifications\r\nemil@{HOST},false\r\n",
        "lists.csv": f'"\'=Cooks, bakers",bob@{HOST}\r\n',
        "bookmarks.csv": f"{settings.SITE_URL}/@bob/{lists.pk}\r\n",
    }


def test_what_was_taken_along_comes_back(alice, lists):
    before = texts(alice)
    newcomer = make_user("newcomer")
    for name, (kind, _part) in FILES.items():
        row = run(
            request_import(newcomer, ImportKind(kind), name, io.BytesIO(before[name].encode()))
        )
        assert set(outcomes(row)) == {"done"}, name
    assert texts(newcomer) == before
    for model in (Followee, Block, Mute):
        assert (
            model.objects.filter(owner=newcomer).count()
            == model.objects.filter(owner=alice).count()
        )
    assert ListMember.objects.get(group__owner=newcomer).group.name == "=Cooks, bakers"


def test_a_list_of_nobody_has_its_columns(alice):
    assert texts(alice)["blocked_accounts.csv"] == "Account address\r\n"
    assert texts(alice)["bookmarks.csv"] == ""


def test_the_page_offers_each_to_its_owner(alice, lists, page_of):
    browser = page_of(alice)
    page = browser.get("/settings/export").text
    for name in FILES:
        assert f"/settings/export/{name}" in page
        answer = browser.get(f"/settings/export/{name}")
        assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
        assert answer["Cache-Control"] == "private, no-store"
        assert b"".join(answer.streaming_content).decode() == texts(alice)[name]
    assert browser.get("/settings/export/secrets.csv").status_code == 404
    assert page_of(None).get("/settings/export/lists.csv").status_code == 302
