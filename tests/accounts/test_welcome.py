"""The pages after signing up, and a home page that is empty: people, not tools."""

import re
from itertools import pairwise

import pytest
from django.contrib.staticfiles import finders
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from apps.graph.actions import follow_user
from apps.graph.models import Followee
from apps.search.models import StarterPack
from apps.tags.actions import follow_tag
from apps.tags.models import TagFollow
from apps.tags.trends import count_days
from apps.web.account.welcome import STEPS
from tests.support.factories import PASSWORD, deliver, make_user, publish
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader():
    """Who follows nobody yet."""
    return make_user("reader")


@pytest.fixture
def writers():
    people = [make_user(f"writer_{number}", display_name=f"W. {number}") for number in range(6)]
    for person in people:
        publish(person, "A walk. #walks", language="en")
    deliver()
    return people


@pytest.fixture
def pack(writers):
    made = StarterPack.objects.create(title="A good start", language="en")
    made.members.set(writers[:5])
    return made


def test_a_visitor_signs_up_on_the_first_page(db):
    visitor = Client()
    page = visitor.get("/").text
    assert re.search(r'<form class="join" method="post" action="/join"', page)
    assert page.index("A feed that you can check") < page.index('class="join"')
    fields = re.findall(r'<input [^>]*name="(\w+)"[^>]*id="join_', page)
    assert fields == ["handle", "password", "email"]
    answer = visitor.post("/join", {"handle": "newcomer", "password": PASSWORD})
    assert answer["Location"] == "/welcome"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_picture_of_the_product_is_in_the_language_and_the_theme_of_the_page(language, db):
    visitor = Client(headers={"Accept-Language": language})
    names = {theme: f"img/home-{language[:2]}-{theme}.webp" for theme in ("light", "dark")}
    assert all(finders.find(name) for name in names.values())
    for theme, shown in (("auto", ["dark", "light"]), ("light", ["light"]), ("dark", ["dark"])):
        visitor.cookies["theme"] = theme
        page = visitor.get("/").text
        assert re.findall(r"/static/(img/home-[^\"]+)", page) == [names[one] for one in shown]


def test_every_step_leads_to_the_next_and_can_be_skipped(reader, page_of):
    browser = page_of(reader)
    addresses = [*map(reverse, STEPS), "/"]
    for number, (address, following) in enumerate(pairwise(addresses), 1):
        page = browser.get(address)
        assert page.status_code == 200
        assert f"Step {number} of 4" in page.text
        assert f'href="{following}"' in page.text
        assert page_of(None).get(address)["Location"].startswith("/login")


def test_a_picture_a_name_and_a_few_words(reader, page_of):
    browser = page_of(reader)
    said = {
        "display_name": "Bob the Baker",
        "bio": "Up early.",
        "avatar": SimpleUploadedFile("me.png", picture(), "image/png"),
    }
    answer = browser.post("/welcome", said)
    assert (answer.status_code, answer["Location"]) == (303, "/welcome/topics")
    reader.refresh_from_db()
    assert (reader.display_name, reader.bio, bool(reader.avatar)) == (
        "Bob the Baker",
        "Up early.",
        True,
    )
    refused = browser.post("/welcome", {"display_name": "w" * 51})
    assert refused.status_code == 422


@pytest.mark.slow
def test_topics_are_tags_that_are_used_now_or_typed(reader, writers, page_of):
    count_days(days=1)
    browser = page_of(reader)
    assert 'value="walks"' in browser.get("/welcome/topics").text
    said = {"tags": ["walks"], "others": "#Tea，coffee", "languages": ["en", "zh"]}
    answer = browser.post("/welcome/topics", said)
    assert answer["Location"] == "/welcome/people?read=en&read=zh"
    follows = TagFollow.objects.filter(user=reader).values_list("tag__name", flat=True)
    assert set(follows) == {"walks", "tea", "coffee"}


@pytest.mark.long
@pytest.mark.parametrize(
    "said", [{"others": "two-words"}, {"tags": ["unheard_of"]}, {"languages": ["tlh"]}]
)
def test_what_is_no_tag_or_language_is_refused_with_a_reason(said, reader, writers, page_of):
    count_days(days=1)
    answer = page_of(reader).post("/welcome/topics", said)
    assert answer.status_code == 422
    assert 'class="errorlist"' in answer.text
    assert not TagFollow.objects.exists()


@pytest.mark.slow
def test_people_are_offered_in_packs_and_beside_them(pack, reader, writers, page_of):
    page = page_of(reader).get("/welcome/people").text
    assert "A good start" in page
    assert [page.count(f'href="/@{person.handle}">') for person in writers] == [1] * 6
    assert "1 more" in page  # four are open, one is below a line
    other = page_of(reader).get("/welcome/people?read=zh&read=klingon").text
    assert "A good start" not in other
    assert f'href="/@{writers[0].handle}">' in other


@pytest.mark.slow
def test_all_of_a_pack_are_followed_by_one_press(pack, reader, writers, page_of):
    browser = page_of(reader)
    here = "/welcome/people?read=en"
    answer = browser.post(f"/welcome/packs/{pack.pk}/follow", {"next": here})
    assert (answer.status_code, answer["Location"]) == (303, here)
    assert Followee.objects.filter(owner=reader).count() == 5
    page = browser.get(here).text
    assert "You follow 5 more accounts." in page
    assert "You follow all of them." in page
    assert "Follow all" not in page
    assert browser.post("/welcome/packs/0/follow").status_code == 404
    assert browser.get(f"/welcome/packs/{pack.pk}/follow").status_code == 405


@pytest.mark.slow
def test_an_empty_home_offers_people_and_not_tools(pack, reader, writers, page_of):
    page = page_of(reader).get("/").text
    assert "Follow someone to fill this page." in page
    assert f"/welcome/packs/{pack.pk}/follow" in page
    assert page.index("A good start") < page.index('href="/welcome"')
    assert "Ask why the first post is here" not in page
    follow_user(reader, writers[0])
    deliver()
    assert "Follow someone to fill this page." not in page_of(reader).get("/").text


@pytest.mark.slow
def test_a_home_that_tags_fill_is_not_empty(reader, writers, page_of):
    follow_tag(reader, "walks")
    page = page_of(reader).get("/").text
    assert "A walk." in page
    assert "Follow someone to fill this page." not in page


@pytest.mark.slow
def test_the_titles_of_packs_are_in_the_language_of_the_page(pack, reader, writers, page_of):
    chinese = StarterPack.objects.create(title="从这里开始", language="zh")
    chinese.members.set(writers)
    for language, shown, hidden in (
        ("en", "A good start", "从这里开始"),
        ("zh-hans", "从这里开始", "A good start"),
    ):
        page = page_of(reader).get("/", headers={"Accept-Language": language}).text
        assert shown in page
        assert hidden not in page
