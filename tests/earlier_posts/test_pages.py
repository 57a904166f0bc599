"""Who sees which earlier posts, where they are found, and where they are not."""

from urllib.parse import urlsplit

import pytest

from apps.earlier_posts.models import EarlierPicture, EarlierPost
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.graph.actions import block_user, follow_user
from apps.posts.actions.publish import DELETE_POSTS
from tests.support.archives import ACTOR, PUBLIC, attached, note
from tests.support.factories import publish, suspend
from tests.support.pictures import picture
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db
LIST = "/@alice/earlier"
FOLLOWERS = f"{ACTOR}/followers"
FILE = "a.png"


@pytest.fixture
def brought(alice, bring):
    bring(
        alice,
        note(1, "<p>For everybody</p>"),
        note(2, "<p>Unlisted</p>", to=[FOLLOWERS], cc=[PUBLIC]),
        note(3, "<p>For followers</p>", to=[FOLLOWERS], cc=[], attachment=[attached(FILE)]),
        files={FILE: picture()},
    )
    return {post.body: post for post in EarlierPost.objects.all()}


def text_of(browser, path, status=200):
    response = browser.get(path)
    assert response.status_code == status, response.status_code
    return response.content.decode()


def seen(browser, path=LIST):
    text = text_of(browser, path)
    return [body for body in ("For everybody", "Unlisted", "For followers") if body in text]


@pytest.mark.slow
def test_visitors_see_open_posts_and_followers_theirs(alice, bob, carol, page_of, brought):
    every = ["For everybody", "Unlisted", "For followers"]
    assert seen(page_of(None)) == seen(page_of(carol)) == every[:2]
    assert seen(page_of(bob)) == seen(page_of(alice)) == every
    address = f"{LIST}/{brought['For followers'].pk}"
    assert "For followers" in text_of(page_of(bob), address)
    for browser in (page_of(None), page_of(carol)):
        text_of(browser, address, status=404)


def test_blocks_in_either_direction_hide_all(alice, bob, carol, page_of, brought):
    block_user(alice, bob)
    block_user(carol, alice)
    for user in (bob, carol):
        assert seen(page_of(user)) == []
        text_of(page_of(user), f"{LIST}/{brought['For everybody'].pk}", status=404)
        assert LIST not in text_of(page_of(user), "/@alice")


def test_a_suspended_account_has_none(alice, page_of, brought):
    row = EarlierPicture.objects.get()
    address = picture_address(page_of(alice), brought)
    suspend(alice)
    for path in (LIST, f"{LIST}/{brought['For everybody'].pk}", address):
        text_of(page_of(None), path, status=404)
    assert row.file in address


def picture_address(browser, brought):
    text = text_of(browser, f"{LIST}/{brought['For followers'].pk}")
    start = text.index('<a href="/media/') + len('<a href="')
    return text[start : text.index('"', start)].replace("&amp;", "&")


def test_pictures_for_followers_are_served_by_signed_addresses(alice, page_of, brought):
    address = picture_address(page_of(alice), brought)
    response = page_of(None).get(address)
    assert b"".join(response.streaming_content)[8:12] == b"WEBP"
    assert page_of(None).get(urlsplit(address).path).status_code == 404
    brought["For followers"].delete()
    assert page_of(None).get(address).status_code == 404


@pytest.mark.slow
def test_nothing_of_it_is_on_another_page(alice, bob, page_of, api_of, brought):
    publish(alice, "A post of today")
    for path in ("/home", "/public", "/local", "/@alice", "/search?q=everybody", "/explore"):
        assert "For everybody" not in text_of(page_of(bob), path), path
    for path in (
        f"/api/v1/accounts/{alice.pk}/statuses",
        "/api/v1/timelines/home",
        "/api/v2/search?q=everybody",
    ):
        assert b"For everybody" not in api_of(bob).get(path).content
    alice.counts.refresh_from_db()
    assert alice.counts.posts == 1


def test_profiles_lead_there_for_who_would_see_something(alice, carol, page_of, bring):
    link = f'href="{LIST}"'
    assert link not in text_of(page_of(None), "/@alice")
    bring(alice, note(1, to=[FOLLOWERS], cc=[]))
    assert link not in text_of(page_of(None), "/@alice")
    assert link not in text_of(page_of(carol), "/@alice")
    follow_user(carol, alice)
    assert link in text_of(page_of(carol), "/@alice")
    assert link in text_of(page_of(alice), "/@alice")
    bring(alice, note(2))
    assert link in text_of(page_of(None), "/@alice")


def test_the_list_goes_down_by_date_to_the_first_post(alice, page_of, bring, settings):
    """Two of one second are told apart, too."""
    bring(
        alice,
        *(
            note(
                number,
                f"<p>Number {number}.</p>",
                published=f"{1990 + number // 2}-01-01T00:00:00Z",
            )
            for number in range(45)
        ),
    )
    found, path = [], LIST
    while path:
        text = text_of(page_of(None), path)
        found += [part.partition(".")[0] for part in text.split("Number ")[1:]]
        path = (
            LIST + text.split('class="older"><a href="')[1].split('"')[0]
            if 'class="older"' in text
            else ""
        )
    dates = [int(number) // 2 for number in found]
    assert sorted(map(int, found)) == list(range(45))
    assert dates == sorted(dates, reverse=True)


def test_search_finds_words_anywhere_in_them(alice, page_of, bring):
    bring(
        alice,
        note(1, "<p>Green tea</p>"),
        note(2, "<p>100%</p>", summary="绿茶"),
        note(3, "<p>Coffee</p>"),
    )
    for words, found in (("TEA", 1), ("绿", 2), ("%", 2), ("_", None), ("cocoa", None)):
        text = text_of(page_of(None), f"{LIST}?q={words.replace('%', '%25')}")
        ids = {post.pk: f"{LIST}/{post.pk}" in text for post in EarlierPost.objects.all()}
        expected = EarlierPost.objects.filter(origin=f"{ACTOR}/statuses/{found}").first()
        assert [pk for pk, is_there in ids.items() if is_there] == (
            [expected.pk] if expected else []
        )
        assert ("Nothing was found." in text) == (expected is None)


def test_a_day_shows_what_was_written_until_then(alice, page_of, bring):
    bring(
        alice, note(1, published="2018-03-05T23:59:59Z"), note(2, published="2018-03-06T00:00:00Z")
    )
    older, newer = EarlierPost.objects.order_by("written_at")
    text = text_of(page_of(None), f"{LIST}?date=2018-03-05")
    assert f"{LIST}/{older.pk}" in text
    assert f"{LIST}/{newer.pk}" not in text
    assert 'name="robots" content="noindex"' in text


@pytest.mark.long
@pytest.mark.parametrize(
    "query", ["date=yesterday", "date=9999-12-31", "max_id=x", "until=2020-01-01", "as_of=2020-01-01", "q=" + "x" * 101]
)  # fmt: skip
def test_what_the_list_cannot_do_it_says(alice, page_of, query, brought):
    text_of(page_of(None), f"{LIST}?{query}", status=400)


@pytest.mark.long
@pytest.mark.parametrize(
    "path", ["?max_id=999999", "/999999", "/99999999999999999999", "/999999/delete"]
)
def test_what_is_not_there(alice, page_of, path, brought):
    text_of(page_of(alice), LIST + path, status=404)


def test_names_lead_to_nobody_here_and_words_are_escaped(alice, bob, page_of, bring):
    bring(alice, note(1, "<p>@bob &lt;script&gt; #tea</p>", inReplyTo="https://far.example/1"))
    text = text_of(page_of(None), LIST)
    assert '/@bob"' not in text
    assert "&lt;script&gt;" in text
    assert 'href="/tags/tea"' in text
    assert 'href="https://far.example/1" rel="nofollow noopener noreferrer ugc"' in text


def test_a_thread_leads_from_post_to_post(alice, bob, page_of, bring):
    bring(alice, note(1, to=[FOLLOWERS], cc=[]), note(2, inReplyTo=f"{ACTOR}/statuses/1"))
    first = EarlierPost.objects.get(origin=f"{ACTOR}/statuses/1")
    assert f'href="{LIST}/{first.pk}">Continues' in text_of(page_of(alice), LIST)
    assert f"{LIST}/{first.pk}" not in text_of(page_of(None), LIST)


@pytest.mark.slow
def test_warnings_and_sensitive_pictures_are_covered(alice, page_of, bring):
    files = {"a.png": picture(), "b.png": picture(size=(50, 50))}
    bring(
        alice,
        note(1, "<p>Behind</p>", summary="Food", attachment=[attached("a.png", "A <cup>")]),
        note(2, "<p>Open</p>", sensitive=True, attachment=[attached("b.png")]),
        files=files,
    )
    text = text_of(page_of(None), LIST)
    assert text.count('<details class="cw">') == 2
    assert 'alt="A &lt;cup&gt;"' in text


def test_filters_of_a_reader_apply(alice, bob, page_of, bring):
    bring(alice, note(1, "<p>Football</p>"), note(2, "<p>Spoiler</p>"))
    for word, act in (("football", "hide"), ("spoiler", "warn")):
        create_filter(
            bob,
            FilterChange(
                f"No {word}", ["account"], act=act, keywords=[KeywordChange(keyword=word)]
            ),
        )
    bob.counts.refresh_from_db()
    text = text_of(page_of(bob), LIST)
    assert "Football" not in text
    assert "Filtered: No spoiler" in text
    hidden = EarlierPost.objects.get(body="Football")
    assert "Filtered: No football" in text_of(page_of(bob), f"{LIST}/{hidden.pk}")
    assert "Football" in text_of(page_of(None), LIST)


def test_search_engines_list_what_their_authors_allow(alice, page_of, brought):
    noindex = 'name="robots" content="noindex"'
    public, unlisted = (f"{LIST}/{brought[one].pk}" for one in ("For everybody", "Unlisted"))
    assert noindex not in text_of(page_of(None), public)
    assert noindex in text_of(page_of(None), unlisted)
    alice.is_indexable = False
    alice.save()
    assert noindex in text_of(page_of(None), public)
    assert noindex in text_of(page_of(None), LIST)


@pytest.mark.slow
def test_owners_and_staff_delete_a_post(alice, bob, page_of, brought, settings):
    address = f"{LIST}/{brought['For everybody'].pk}"
    assert f"{address}/delete" in text_of(page_of(alice), address)
    assert f"{address}/delete" not in text_of(page_of(bob), address)
    for method in ("get", "post"):
        assert getattr(page_of(bob), method)(f"{address}/delete").status_code == 404
    assert EarlierPost.objects.count() == 3
    assert "Delete this earlier post?" in text_of(page_of(alice), f"{address}/delete")
    assert page_of(alice).post(f"{address}/delete").status_code == 303
    assert EarlierPost.objects.count() == 2
    staff = browser_of(make_staff(DELETE_POSTS))
    address = f"{LIST}/{brought['Unlisted'].pk}"
    settings.STAFF_SECOND_FACTOR = True
    assert f"{address}/delete" not in text_of(staff, address)
    assert "/security" in staff.post(f"{address}/delete")["Location"]
    assert EarlierPost.objects.count() == 2
    settings.STAFF_SECOND_FACTOR = False
    assert f"{address}/delete" in text_of(staff, address)
    assert staff.post(f"{address}/delete").status_code == 303
    assert EarlierPost.objects.count() == 1


def test_handles_in_capitals_lead_to_the_page(alice, page_of, brought):
    pk = brought["For everybody"].pk
    assert page_of(None).get("/@Alice/earlier").headers["Location"] == LIST
    assert page_of(None).get(f"/@Alice/earlier/{pk}").headers["Location"] == f"{LIST}/{pk}"


def test_an_empty_list_says_where_posts_come_from(alice, page_of):
    assert "/settings/export" in text_of(page_of(alice), LIST)
    assert "Nothing here yet." in text_of(page_of(None), LIST)
