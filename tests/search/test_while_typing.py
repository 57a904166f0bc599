"""What is suggested while somebody types: whom, in which order, and to whom."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User, UserCounts
from apps.graph.actions import block_user, follow_user, mute_user
from apps.graph.models import Followee
from apps.search import queries
from apps.search.indexing import index_new_people
from apps.search.queries import search_people
from apps.tags import queries as tags
from apps.tags.models import Tag, TagUse
from apps.tags.trends import count_days
from tests.support.factories import make_user, publish, suspend
from tests.support.pages import EMPTY

pytestmark = pytest.mark.django_db


@pytest.fixture
def texts(page_of):
    """`texts(viewer, q)`: what would be put in the place of the word."""

    def ask(viewer, q, place=""):
        while index_new_people():
            pass
        answer = page_of(viewer).get("/suggest", {"q": q, "in": place})
        assert answer.status_code == 200
        return re.findall(r'data-text="([^"]+)"', answer.text)

    return ask


@pytest.fixture
def marys():
    """A stranger, a well-known stranger, a follower and a followee, all of whom begin alike."""
    names = ("mary_1", "mary_2", "mary_3", "mary_4")
    made = [make_user(name) for name in names]
    UserCounts.objects.filter(pk=made[1].pk).update(followers=1000)
    return made


def test_followees_then_followers_then_the_well_known(alice, marys, texts):
    stranger, known, follower, followee = marys
    follow_user(alice, followee)
    follow_user(follower, alice)
    assert texts(alice, "@mary") == ["@mary_4", "@mary_3", "@mary_2", "@mary_1"]
    assert texts(alice, "＠MARY_1")[0] == "@mary_1"
    assert texts(alice, "@mary", "followed") == ["@mary_4"]
    assert [one.handle for one in search_people(alice, "mary", limit=2)] == ["mary_4", "mary_3"]
    # of whom alice alone follows one
    assert texts(known, "@mary") == [f"@{one.handle}" for one in (followee, stranger, follower)]


def test_by_names_too(alice, bob, texts):
    bob.display_name = "张小明 Zoë"
    bob.save()
    for typed in ("@张", "@小明", "@zoe", "@Zo"):
        assert texts(alice, typed) == ["@bob"], typed
    assert texts(alice, "@") == texts(alice, "@q") == texts(alice, "") == []


def test_a_followee_is_found_however_many_others_begin_alike(alice, monkeypatch, texts):
    monkeypatch.setattr(queries, "MAX_CANDIDATES", 3)
    for number in range(5):
        make_user(f"sam_{number}", display_name="Sam")
    last = make_user("sam_zz", display_name="Sam")
    follow_user(alice, last)
    assert texts(alice, "@sam")[0] == "@sam_zz"


def test_who_nearly_has_the_name_comes_after_who_has_it(alice, texts):
    follow_user(alice, make_user("marion"))
    make_user("mario")
    assert texts(alice, "@mario") == ["@mario", "@marion"]
    make_user("maria_who")
    assert texts(alice, "@maria") == ["@maria_who", "@marion", "@mario"]


def test_who_is_hidden_is_not_suggested(alice, marys, texts):
    one, two, three, four = marys
    block_user(alice, one)
    block_user(two, alice)
    suspend(three)
    mute_user(alice, four)  # may be named all the same
    assert texts(alice, "@mary") == ["@mary_4"]
    assert texts(alice, "@alice") == []  # nobody names themselves
    assert texts(alice, "alice", "search") == ["@alice"]


def test_tags_by_use(alice, bob, texts):
    publish(alice, "#tea #teapot")
    for author in (alice, bob):
        publish(author, "#teatime")
    publish(bob, "#tearoom", visibility="followers")
    publish(bob, "#coffee")
    count_days()
    assert texts(alice, "#tea") == ["#tea", "#teatime", "#teapot"]
    assert texts(alice, "＃TeaP") == ["#teapot"]
    assert texts(alice, "te", "search") == ["#teatime", "#tea", "#teapot"]
    suspend(alice)
    assert texts(bob, "#tea") == ["#teatime"]


def test_the_most_used_tag_is_found_however_many_others_begin_alike(alice, monkeypatch, texts):
    monkeypatch.setattr(tags, "MAX_BEGINNING", 2)
    monkeypatch.setattr(tags, "MAX_USED", 1)
    publish(alice, "#tea1 #tea2 #tea3 #tea_4")
    publish(alice, "#tea_4")
    count_days()
    assert texts(alice, "#te") == ["#tea_4", "#tea1", "#tea2"]


@pytest.mark.slow
def test_emoji(alice, texts, page_of):
    assert texts(alice, ":smile")[0] == "😄"
    assert "😄" in texts(alice, ":大笑")
    assert len(texts(alice, ":s")) == 8
    assert len(texts(alice, ":s", "panel")) == 48
    for language, name in (("en", "party popper"), ("zh-hans", "拉炮彩带")):
        browser = page_of(alice)
        browser.cookies["lang"] = language
        assert name in browser.get("/suggest?q=:tada").text


def test_what_leads_to_a_page(alice, bob, page_of):
    publish(alice, "#bobsleigh")
    index_new_people()
    found = page_of(alice).get("/suggest?q=bob&in=search").text
    assert re.findall(r'data-href="([^"]+)"', found) == ["/@bob", "/tags/bobsleigh"]
    assert 'data-told="2 results"' in found
    assert "data-href" not in page_of(alice).get("/suggest?q=@bob").text


def test_members_only_and_not_too_often(alice, page_of, settings):
    assert page_of(None).get("/suggest?q=@alice").status_code == 302
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "suggest": (2, 60)}
    codes = [page_of(alice).get("/suggest?q=:tea").status_code for _ in range(3)]
    assert codes == [200, 200, 429]


TYPED = [
    "@" + "x" * 5000, "@%_%", "@'|&!:*\\", "#%", "#" + "_" * 200, ":" + "a" * 5000, "@\u202e", '@<b>"',
]  # fmt: skip


@pytest.mark.parametrize("q", TYPED)
def test_whatever_is_typed(alice, q, page_of):
    answer = page_of(alice).get("/suggest", {"q": q})
    assert answer.status_code == 200
    assert "<b>" not in answer.text


def test_the_panel_without_its_emoji(page_of):
    browser = page_of(None)
    for language in ("en", "zh-hans"):
        browser.cookies["lang"] = language
        page = browser.get("/emoji").text
        assert f"emoji/{language}." in page
        assert EMPTY not in page
        assert page.count('role="tab"') == 10


# --- what it costs ---------------------------------------------------------------------------------------


def statements(read):
    with CaptureQueriesContext(connection) as captured:
        read()
    return [one["sql"] for one in captured.captured_queries]


def plan_of(statement):
    with connection.cursor() as sql:
        sql.execute("SET LOCAL enable_seqscan = off")  # tables of tests are small
        sql.execute("EXPLAIN " + re.sub(r"^SET LOCAL[^;]*;|; SET LOCAL.*$", "", statement))
        return "\n".join(row[0] for row in sql.fetchall())


@pytest.mark.gate
def test_people_are_read_by_indexes(alice, monkeypatch):
    monkeypatch.setattr(queries, "MAX_CANDIDATES", 10)
    crowd = User.objects.bulk_create(User(handle=f"crowd{n}", password="!") for n in range(300))
    Followee.objects.bulk_create(Followee(owner=alice, followee=one) for one in crowd[:100])
    index_new_people()
    with connection.cursor() as sql:
        sql.execute(
            "ANALYZE accounts_user, accounts_usercounts, graph_followee, search_personentry"
        )
    first, *rest = statements(lambda: search_people(alice, "crowd1", limit=8))
    plan = plan_of(first)
    assert "Seq Scan" not in plan
    for index in (
        "accounts_user_handle",
        "search_person_words",
        "search_handle_trigrams",
        "followee_",
    ):
        assert index in plan, index
    # the first by handle, not all of the letter
    assert "Sort Key: accounts_user.handle" not in plan
    assert len(rest) <= 3
    more = statements(lambda: search_people(alice, "crowd", limit=10))
    assert len(more) == len(rest) + 1


@pytest.mark.gate
def test_tags_are_read_by_indexes(alice):
    post = publish(alice, "#tea")
    made = Tag.objects.bulk_create(Tag(name=f"tea{n}") for n in range(300))
    TagUse.objects.bulk_create(TagUse(tag=tag, post_id=post.pk, is_public=True) for tag in made)
    count_days()
    with connection.cursor() as sql:
        sql.execute("ANALYZE tags_tag, tags_taguse, tags_tagday")
    [only] = statements(lambda: tags.tags_beginning("tea", maximum=8))
    plan = plan_of(only)
    assert "Seq Scan" not in plan
    for index in ("tags_tag_name", "tag_day_top", "tag_use_public", "tag_day_once"):
        assert index in plan, index
