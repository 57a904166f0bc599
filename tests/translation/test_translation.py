"""Posts in another language: for members, in place, on a page without JavaScript, and for programs."""

from io import BytesIO

import pytest

from apps.posts.actions.drafts import PollDraft
from apps.posts.actions.edit import edit_post
from apps.posts.actions.uploads import upload_picture
from apps.translation import service
from feedcache.breaker import Bulkhead
from tests.support.factories import publish
from tests.support.pictures import picture
from tests.translation.libretranslate import Service

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("memcached", "media")]
HTMX = {"HX-Request": "true"}
LINK = "/translation"


@pytest.fixture
def libre(settings, monkeypatch):
    """The service that the site names."""
    monkeypatch.setattr(service, "_BULKHEAD", Bulkhead("translation", max_concurrency=2))
    service._LANGUAGES.clear()
    with Service().running() as running:
        settings.TRANSLATE_URL = running.url
        yield running


@pytest.fixture
def german(alice):
    return publish(alice, "Guten Tee gibt es am Fluss.\n\n#tee @alice", language="de")


def text_of(response, status=200):
    assert response.status_code == status, response.content
    return response.content.decode()


def translate(program, post, **fields):
    return program.post(f"/api/v1/statuses/{post.pk}/translate", fields)


def test_posts_in_other_languages_have_a_link_for_members(libre, german, alice, bob, page_of):
    english = publish(alice, "Tea.", language="en")
    unknown = publish(alice, "Tea?", language="")
    browser, address = page_of(bob), f"/@alice/{german.pk}/translation"
    assert f'href="{address}" hx-get="{address}"' in text_of(browser.get(f"/@alice/{german.pk}"))
    assert address in text_of(browser.get("/@alice"))
    for post in (english, unknown):
        assert LINK not in text_of(browser.get(f"/@alice/{post.pk}"))
    browser.cookies["lang"] = "zh-hans"
    assert f"/@alice/{english.pk}/translation" in text_of(browser.get(f"/@alice/{english.pk}"))
    assert LINK not in text_of(page_of(None).get(f"/@alice/{german.pk}"))


def test_a_site_without_a_service_has_no_link(alice, bob, page_of, api_of):
    post = publish(alice, "Ohne Dienst.", language="de")
    assert LINK not in text_of(page_of(bob).get(f"/@alice/{post.pk}"))
    program = api_of(bob)
    assert translate(program, post).status_code == 404
    assert program.get("/api/v2/instance").json()["configuration"]["translation"] == {"enabled": False}  # fmt: skip
    assert program.get("/api/v1/instance/translation_languages").json() == {}


def test_the_text_is_replaced_in_place_and_back(libre, german, bob, page_of):
    browser, address = page_of(bob), f"/@alice/{german.pk}/translation"
    fragment = text_of(browser.get(address, headers=HTMX))
    assert fragment.startswith('<div class="content translated" dir="auto" lang="en">')
    assert "en: Guten Tee gibt es am Fluss." in fragment
    assert "Translated from <bdi>Deutsch</bdi> by LibreTranslate" in fragment
    assert f'hx-get="{address}?original=1"' in fragment
    assert 'href="/tags/tee"' in fragment
    original = text_of(browser.get(f"{address}?original=1", headers=HTMX))
    assert original.startswith('<div class="content" dir="auto" lang="de"><p>Guten Tee')


def test_a_page_without_javascript(libre, german, bob, page_of):
    page = text_of(page_of(bob).get(f"/@alice/{german.pk}/translation"))
    assert "en: Guten Tee gibt es am Fluss." in page
    assert f'<a href="/@alice/{german.pk}">Show original</a>' in page
    chinese = page_of(bob)
    chinese.cookies["lang"] = "zh-hans"
    page = text_of(chinese.get(f"/@alice/{german.pk}/translation"))
    assert "zh-Hans: Guten Tee" in page
    assert page_of(None).get(f"/@alice/{german.pk}/translation").status_code == 302


def test_what_the_service_sends_is_a_text(libre, german, bob, page_of):
    libre.answer = (200, {"translatedText": ['<img src=x onerror="a()"> https://x.example']})
    page = text_of(page_of(bob).get(f"/@alice/{german.pk}/translation"))
    assert "&lt;img src=x onerror=" in page
    assert "<img src=x" not in page


def test_programs_get_all_texts_of_a_post(libre, alice, bob, api_of):
    photo = upload_picture(alice, BytesIO(picture()), alt="Ein Boot.").pk
    plain = upload_picture(alice, BytesIO(picture()), alt="").pk
    post = publish(
        alice, "Am Fluss.", language="de", content_warning="Tee", media_ids=[plain, photo]
    )
    answer = translate(api_of(bob), post, lang="en").json()
    assert answer == {
        "content": "<p>en: Am Fluss.</p>",
        "spoiler_text": "en: Tee",
        "language": "en",
        "detected_source_language": "de",
        "provider": "LibreTranslate",
        "poll": None,
        "media_attachments": [{"id": str(photo), "description": "en: Ein Boot."}],
    }
    poll = publish(alice, "Was?", language="", poll=PollDraft(["Rot", "Blau"], 3600))
    answer = translate(api_of(bob), poll, lang="en").json()
    assert answer["poll"] == {
        "id": str(poll.pk),
        "options": [{"title": "en: Rot"}, {"title": "en: Blau"}],
    }
    assert answer["detected_source_language"] == "de"


def test_the_languages_of_the_site(libre, api_of):
    program = api_of(None)
    assert program.get("/api/v1/instance/translation_languages").json()["de"] == [
        "de",
        "en",
        "zh-Hans",
    ]
    assert program.get("/api/v2/instance").json()["configuration"]["translation"] == {
        "enabled": True
    }


def test_a_version_is_translated_once_for_all(libre, german, alice, bob, carol, api_of):
    first = translate(api_of(bob), german, lang="en").json()
    assert translate(api_of(carol), german, lang="en").json() == first
    assert len(libre.asked) == 1
    translate(api_of(carol), german, lang="zh")
    assert [body["target"] for body in libre.asked] == ["en", "zh-Hans"]
    edit_post(alice, german.pk, body="Anders.")
    assert translate(api_of(bob), german, lang="en").json()["content"] == "<p>en: Anders.</p>"


def test_the_key_of_the_site_is_sent(libre, german, bob, api_of, settings):
    translate(api_of(bob), german, lang="en")
    assert "api_key" not in libre.asked[0]
    settings.TRANSLATE_API_KEY = "secret"
    translate(api_of(bob), german, lang="zh")
    assert libre.asked[1]["api_key"] == "secret"


@pytest.mark.parametrize("visibility", ["followers", "friends", "mentioned"])
def test_what_was_said_to_some_is_not_sent(libre, alice, bob, api_of, visibility):
    post = publish(alice, "@bob @alice Nur für dich.", language="de", visibility=visibility)
    assert translate(api_of(alice), post, lang="en").status_code == 403
    assert libre.asked == []


def test_who_may_not_see_a_post_does_not_learn_of_it(libre, alice, carol, api_of, page_of):
    post = publish(alice, "Nur für euch.", language="de", visibility="followers")
    assert translate(api_of(carol), post, lang="en").status_code == 404
    assert translate(api_of(None), post, lang="en").status_code == 401
    address = f"/@alice/{post.pk}/translation"
    for query in ("", "?original=1"):
        assert page_of(carol).get(f"{address}{query}", headers=HTMX).status_code == 404
        assert page_of(None).get(f"{address}{query}").status_code == 302


@pytest.mark.parametrize(
    ("language", "words"), [("de", "already"), ("tlh", "does not translate into"), ("!", "")]
)
def test_languages_that_make_no_sense(libre, german, bob, api_of, language, words):
    answer = translate(api_of(bob), german, lang=language)
    assert answer.status_code in {400, 422}
    assert words in str(answer.json())
    assert libre.asked == []


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ((500, {"error": "boom"}), 503),
        ((200, b"<html>no json"), 503),
        ((200, {"translatedText": ["too", "many"]}), 503),
        ((200, {"error": "odd"}), 503),
        ((200, b"[" + b"1," * 200_000 + b"1]"), 503),
        ((429, {"error": "slow down"}), 429),
        ((400, {"error": "the key is secret"}), 422),
        ((403, {"error": "the key is secret"}), 422),
    ],
)
def test_a_service_that_fails(libre, german, bob, api_of, page_of, answer, status):
    libre.answer = answer
    response = translate(api_of(bob), german, lang="en")
    assert response.status_code == status
    assert "secret" not in str(response.json())
    libre.answer = None


def test_a_service_that_is_down_is_left_alone_for_a_while(
    german, bob, api_of, page_of, settings, monkeypatch
):
    monkeypatch.setattr(service, "_BULKHEAD", Bulkhead("translation", max_concurrency=2))
    service._LANGUAGES.clear()
    settings.TRANSLATE_URL = "http://127.0.0.1:9"
    response = translate(api_of(bob), german, lang="en")
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "30"
    assert "not answering" in response.json()["error"]
    page = page_of(bob).get(f"/@alice/{german.pk}/translation")
    assert page.status_code == 503


def test_a_service_that_hangs_is_given_up(libre, german, bob, api_of, monkeypatch):
    translate(api_of(bob), german, lang="en")  # its languages are known
    monkeypatch.setattr(service, "SECONDS", 0.2)
    with libre.hanging():
        assert translate(api_of(bob), german, lang="zh").status_code == 503
    assert len(libre.asked) == 2


def test_a_member_has_a_limit(libre, german, bob, api_of, settings):
    settings.RATE_LIMITS = settings.RATE_LIMITS | {"translate": (1, 300)}
    program = api_of(bob)
    assert translate(program, german, lang="en").status_code == 200
    assert translate(program, german, lang="zh").status_code == 429
    assert translate(program, german, lang="en").status_code == 200  # nobody is asked
