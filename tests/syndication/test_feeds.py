"""Feeds: public posts only, in three forms, and nothing is sent twice to who has it."""

import json
from datetime import UTC, datetime
from io import BytesIO
from xml.etree import ElementTree

import pytest

from apps.accounts.actions import update_profile
from apps.accounts.models import User
from apps.events.hooks import Hook
from apps.pagination import Page
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Attachment, Poll, Post
from apps.syndication import feeds
from apps.syndication.feeds import Entry, Feed, Source
from apps.texts import without_control_characters
from apps.web.discovery import well_known
from apps.web.templatetags import cards, other_forms
from tests.support.factories import publish, repost, suspend
from tests.support.pictures import picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
ATOM = "{http://www.w3.org/2005/Atom}"
FORMS = ["atom", "rss", "json"]


def get(page_of, address, **headers):
    return page_of(None).get(address, headers=headers)


@pytest.mark.parametrize("form", FORMS)
def test_only_what_is_public_is_there(page_of, alice, bob, form):
    shown = publish(alice, "for everybody")
    publish(alice, "for followers", visibility="followers")
    publish(alice, "unlisted", visibility="unlisted")
    publish(alice, "hello @bob", visibility="mentioned")
    publish(alice, "an answer", reply_to_id=publish(bob, "a question").pk)
    repost(alice, publish(bob, "Bob's").pk)
    delete_post(publish(alice, "deleted").pk, by=alice)
    for viewer in (None, alice, bob):  # it is the same for all
        text = page_of(viewer).get(f"/@alice.{form}").content.decode()
        assert "for everybody" in text
        assert str(shown.pk) in text
        for hidden in ("for followers", "unlisted", "hello", "an answer", "Bob", "deleted"):
            assert hidden not in text


def test_atom_is_well_formed_and_says_all_that_readers_need(page_of, alice, settings):
    shown = upload_picture(alice, BytesIO(picture()), alt="A <cat>")
    post = publish(alice, "Look & <see> #tea", content_warning="cats", language="en", media_ids=[shown.pk])  # fmt: skip
    edit_post(alice, post.pk, body="Look & <see> again #tea")
    answer = get(page_of, "/@alice.atom")
    assert answer.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    feed = ElementTree.fromstring(answer.content)
    assert feed.findtext(f"{ATOM}title") == f"Alice Wen (@alice) · {settings.SITE_NAME}"
    links = {link.get("rel"): link.get("href") for link in feed.findall(f"{ATOM}link")}
    assert links == {
        "alternate": f"{settings.SITE_URL}/@alice",
        "self": f"{settings.SITE_URL}/@alice.atom",
    }
    (entry,) = feed.findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}title") == "cats"
    assert entry.findtext(f"{ATOM}id") == f"{settings.SITE_URL}/@alice/{post.pk}"
    assert entry.findtext(f"{ATOM}updated", "") > entry.findtext(f"{ATOM}published", "")
    html = entry.findtext(f"{ATOM}content", "")
    assert "Look &amp; &lt;see&gt; again" in html
    assert 'alt="A &lt;cat&gt;"' in html
    assert entry.find(f"{ATOM}category") is not None


def test_json_feed_has_what_the_format_asks_for(page_of, alice, settings):
    publish(alice, "hello", language="en")
    answer = get(page_of, "/@alice.json")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    feed = answer.json()
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert feed["feed_url"] == f"{settings.SITE_URL}/@alice.json"
    assert feed["authors"] == [{"name": "Alice Wen", "url": f"{settings.SITE_URL}/@alice"}]
    assert (feed["items"][0]["language"], "next_url" in feed) == ("en", False)


@pytest.mark.parametrize("form", FORMS)
def test_pages_of_a_feed_are_the_whole(page_of, alice, form):
    posts = [publish(alice, f"post {number}") for number in range(23)]
    found, address = [], f"/@alice.{form}"
    for _page in range(3):
        answer = get(page_of, address)
        found += [post.pk for post in posts if f"/{post.pk}" in answer.content.decode()]
        address = following(answer, form)
        if not address:
            break
    assert sorted(found) == [post.pk for post in posts]


def following(answer, form):
    if form == "json":
        return answer.json().get("next_url", "")
    for link in ElementTree.fromstring(answer.content).iter(f"{ATOM}link"):
        if link.get("rel") == "next":
            return link.get("href")
    return ""


@pytest.mark.parametrize("form", FORMS)
def test_who_has_it_gets_nothing_again_until_something_changes(
    page_of, alice, form, django_assert_num_queries
):
    post = publish(alice, "hello")
    publish(alice, "for followers", visibility="followers")
    tag = get(page_of, f"/@alice.{form}").headers["ETag"]
    with django_assert_num_queries(2):  # the handle, then the account; no post is read
        again = get(page_of, f"/@alice.{form}", **{"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    edit_post(alice, post.pk, body="hello again")
    changed = get(page_of, f"/@alice.{form}", **{"If-None-Match": tag})
    assert (changed.status_code, b"hello again" in changed.content) == (200, True)
    update_profile(alice, display_name="Alice")
    tag = changed.headers["ETag"]
    assert get(page_of, f"/@alice.{form}", **{"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize("form", FORMS)
def test_feeds_of_tags_and_of_everybody(page_of, alice, form):
    publish(alice, "a cup of #tea")
    publish(alice, "coffee")
    of_tag = get(page_of, f"/tags/tea.{form}")
    assert (b"a cup of" in of_tag.content, b"coffee" in of_tag.content) == (True, False)
    of_all = get(page_of, f"/public.{form}")
    assert b"coffee" in of_all.content
    tag = of_all.headers["ETag"]
    assert get(page_of, f"/public.{form}", **{"If-None-Match": tag}).status_code == 304


def test_texts_that_xml_cannot_hold_do_not_break_a_feed(page_of, alice):
    publish(alice, "a \u200b b \ufffd 漢字 🎉 ]]> <![CDATA[")
    for form in ("atom", "rss"):
        ElementTree.fromstring(get(page_of, f"/@alice.{form}").content)


def test_who_is_not_there_has_no_feed(page_of, alice):
    assert get(page_of, "/@nobody.atom").status_code == 404
    assert get(page_of, "/@alice.xml").status_code == 404
    suspend(alice)
    assert get(page_of, "/@alice.atom").status_code == 404


def test_another_spelling_is_sent_to_the_right_one(page_of, alice):
    assert get(page_of, "/@Alice.atom").headers["Location"] == "/@alice.atom"


def test_a_bad_cursor_is_a_400(page_of, alice):
    assert get(page_of, "/@alice.atom?max_id=x").status_code == 400


def test_a_feed_speaks_the_language_of_the_site(page_of, alice):
    publish(alice, "hello")
    chinese = get(page_of, "/public.atom", **{"Accept-Language": "zh-CN"}).content
    assert chinese == get(page_of, "/public.atom").content


def test_pages_name_their_feeds(page_of, alice):
    publish(alice, "hello #tea")
    for address, feed in (("/@alice", "/@alice.atom"), ("/tags/tea", "/tags/tea.atom"), ("/public", "/public.atom"),
                          ("/", "/public.atom")):  # fmt: skip
        page = get(page_of, address).content.decode()
        assert 'type="application/atom+xml" title=' in page
        assert f'{feed}">' in page


def test_without_feeds_pages_name_none(page_of, alice, monkeypatch):
    publish(alice, "hello #tea")
    monkeypatch.setattr(cards, "DRAWN_PICTURES", Hook())
    for module in (other_forms, well_known):
        monkeypatch.setattr(module, "OTHER_FORMS", Hook())
    for address in ("/tags/tea", "/public", "/", "/about/api", "/.well-known/webfinger?resource=acct:alice@testserver",
                    f"/@alice/{Post.objects.get().pk}"):  # fmt: skip
        page = get(page_of, address).content.decode()
        assert ".atom" not in page
        assert "card.png" not in page


def test_whoever_does_not_want_to_be_found_is_not_indexed(page_of, alice):
    post = publish(alice, "hello")
    robots = '<meta name="robots" content="noindex">'
    for address in ("/@alice", f"/@alice/{post.pk}"):
        assert robots not in get(page_of, address).content.decode()
    update_profile(alice, is_indexable=False)
    for address in ("/@alice", f"/@alice/{post.pk}"):
        assert robots in get(page_of, address).content.decode()


def test_a_picture_stands_for_the_post_it_is_in(page_of, alice):
    shown = upload_picture(alice, BytesIO(picture()), alt="A cat")
    post = publish(alice, "look", media_ids=[shown.pk])
    page = get(page_of, f"/@alice/{post.pk}").content.decode()
    assert '<meta property="og:image:alt" content="A cat">' in page
    assert "summary_large_image" in page
    other = upload_picture(alice, BytesIO(picture()), alt="Another")
    hidden = publish(alice, "look", media_ids=[other.pk], content_warning="blood")
    page = get(page_of, f"/@alice/{hidden.pk}").content.decode()
    assert page.count('property="og:image"') == page.count("/card.png") == 1  # a drawn one


BAD = "a\u0001b\u000bc\uffffd"


@pytest.mark.parametrize("form", FORMS)
def test_what_no_format_carries_is_left_out_of_what_was_stored_before(alice, form):
    alice.display_name = BAD
    source = Source(BAD, BAD, "/public", lambda _cursor: Page(), author=alice)
    now = datetime.now(UTC)
    entry = Entry(id="1", url="/1", title=BAD, html=f"<p>{BAD}</p>", warning=BAD, author=BAD, author_url="/@alice",
                  published=now, updated=now, language="", tags=[], pictures=[("/p.webp", BAD)],
                  played=[("/v.mp4", "video/mp4", BAD)])  # fmt: skip
    written = feeds.FORMS[form].write(Feed(source, [entry], None, form)).decode()
    is_json = form == "json"
    texts = [
        *(strings(json.loads(written)) if is_json else ElementTree.fromstring(written).itertext())
    ]
    assert sum("ab\ncd" in text for text in texts) >= 4
    assert [text for text in texts if without_control_characters(text) != text] == []


def strings(data):
    """All texts of a JSON document."""
    if isinstance(data, str):
        yield data
    for value in (
        data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    ):
        yield from strings(value)


def test_controls_never_come_in(page_of, api_of, alice):
    api = api_of(alice)
    shown = api.post("/api/v2/media", {"file": BytesIO(picture()), "description": BAD}).json()["id"]
    body = {"status": BAD, "spoiler_text": BAD, "media_ids": [shown]}
    api.post("/api/v1/statuses", body, format="json")
    api.post("/api/v1/statuses", {"status": BAD, "spoiler_text": BAD})
    options = {"options": [BAD, "b"], "expires_in": 600}
    api.post("/api/v1/statuses", {"status": "x", "poll": options}, format="json")
    profile = {"note": BAD, "display_name": BAD, "fields_attributes": [{"name": BAD, "value": BAD}]}
    api.patch("/api/v1/accounts/update_credentials", profile, format="json")
    form = {"body": BAD, "content_warning": BAD, "visibility": "public"}
    assert page_of(alice).post("/posts", form).status_code == 303
    texts = [
        *Post.objects.values_list("body", "content_warning"),
        *Attachment.objects.values_list("alt"),
        *(options for (options,) in Poll.objects.values_list("options")),
        *User.objects.values_list("bio", "display_name"),
        *User.objects.get(pk=alice.pk).lines,
    ]
    written = [text for row in texts for text in row]
    assert "ab\ncd" in written
    assert [text for text in written if without_control_characters(text) != text] == []
    assert Post.objects.count() == 4
