"""What staff see of search, tags, lists and filters: never what members keep to themselves."""

import pytest
from django.contrib import admin

from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.filters.models import FilterKeyword
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import ListMember, UserList
from apps.search.models import IndexWalk, StarterPack, TrendingPost
from apps.tags.models import TagFollow
from tests.support.cases import each
from tests.support.factories import delivered

pytestmark = pytest.mark.django_db
TABLES = [
    "tags/tag",
    "tags/tagday",
    "graph/userlist",
    "filters/filter",
    "search/trendingpost",
    "search/indexwalk",
]
PACK = {"title": "A good start", "language": "en", "place": "0", "is_active": "on"}
PACKS = "/admin/search/starterpack/"


@pytest.fixture
def life(alice, bob):
    """Something in every table."""
    post = delivered(alice, "#Tea")
    TrendingPost.objects.create(post_id=post.pk, score=1.5)
    add_members(UserList, bob, create_group(UserList, bob, name="Colleagues").pk, [alice.pk])
    words = [KeywordChange(keyword="canary")]
    create_filter(bob, FilterChange("Secret", ["home"], keywords=words))
    IndexWalk.objects.create(pk=1, version=1, after=post.pk)
    return post


@pytest.mark.slow
@each("table", TABLES)
def test_lists_show_no_words_and_nothing_is_added_changed_or_deleted(chief, life, table):
    page = chief.get(f"/admin/{table}/")
    assert page.status_code == 200
    text = page.content.decode()
    assert "canary" not in text
    assert "Secret" not in text
    assert chief.get(f"/admin/{table}/add/").status_code == 403
    assert chief.post(f"/admin/{table}/1/delete/", {"post": "yes"}).status_code in {302, 403}


@pytest.mark.slow
@each(("table", "there", "elsewhere"),
                         [("tags/tag", "TEA", "coffee"), ("graph/userlist", "bob", "alice"),
                          ("filters/filter", "@bob", "nobody")])  # fmt: skip
def test_rows_are_searched_by_the_whole_name(chief, life, table, there, elsewhere):
    for term, number in ((there, 1), (elsewhere, 0)):
        page = chief.get(f"/admin/{table}/", {"q": term})
        assert page.context["cl"].result_count == number, term


def test_members_and_keywords_and_who_follows_a_tag_are_not_shown_at_all():
    for model in (ListMember, FilterKeyword, TagFollow):
        assert not admin.site.is_registered(model)


def test_staff_make_a_starter_pack_by_handles_and_change_it(chief, alice, bob):
    answer = chief.post(f"{PACKS}add/", {**PACK, "handles": "@Alice bob"})
    assert (answer.status_code, answer["Location"]) == (302, PACKS)
    pack = StarterPack.objects.get()
    assert set(pack.members.all()) == {alice, bob}
    assert "A good start" in chief.get(PACKS).text
    address = f"{PACKS}{pack.pk}/change/"
    assert "alice\nbob" in chief.get(address).text
    chief.post(address, {**PACK, "handles": "bob"})
    assert set(pack.members.all()) == {bob}


def test_a_pack_names_accounts_that_are_there_and_not_too_many(chief, alice):
    page = chief.post(f"{PACKS}add/", {**PACK, "handles": "alice nobody_here"}).text
    assert "These accounts do not exist: @nobody_here." in page
    many = " ".join(f"name{number}" for number in range(31))
    assert "At most 30 accounts." in chief.post(f"{PACKS}add/", {**PACK, "handles": many}).text
    assert not StarterPack.objects.exists()
