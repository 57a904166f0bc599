"""What readers and programs see of the page that a post links to."""

from io import BytesIO

import pytest
from django.utils import timezone

from apps.engagement.tasks import maintain_filters
from apps.filters.actions import FilterChange, KeywordChange, create_filter
from apps.posts.actions.drafts import PollDraft
from apps.posts.actions.uploads import upload_picture
from apps.previews import actions
from apps.previews.cache import LOCAL, NOTHING, PREVIEWS, forget, read
from apps.previews.models import Preview, key_of, new_picture_name
from tests.support.factories import deliver, publish
from tests.support.pictures import picture
from tests.support.staff import browser_of, make_staff
from tests.support.waves import relayed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media", "memcached")]
TEA = "https://news.example/tea"
CARD = 'class="link-card"'


def known(address=TEA, **fields):
    """A preview as the workers make it."""
    values = {"url": address, "title": "Tea at the river", "description": "Fog.", **fields}
    done = {"address": address, "state": "done", "finished_at": timezone.now()}
    row, _is_new = Preview.objects.update_or_create(key=key_of(address), defaults=done | values)
    forget(address)
    return row


def text_of(response):
    assert response.status_code == 200
    return response.content.decode()


def test_no_process_keeps_that_a_page_is_still_being_fetched():
    """A stream announces the preview, and may do so before the message that drops a cached entry has arrived."""
    address = "https://news.example/just-asked-for"
    Preview.objects.create(key=key_of(address), address=address)
    assert read([address]) == {address: NOTHING}
    shown = {"title": "Tea at the river", "state": "done", "finished_at": timezone.now()}
    Preview.objects.update(**shown)
    PREVIEWS.forget([address])  # the message to the processes is under way
    assert read([address])[address].title == "Tea at the river"
    Preview.objects.update(title="")
    PREVIEWS.forget([address])
    LOCAL.forget(address)
    assert read([address]) == {address: NOTHING}
    assert LOCAL.get(address, lambda: None) == NOTHING, (
        "a page without a preview costs no round trip"
    )


@pytest.mark.slow
def test_a_page_of_the_test_is_shown(site, alice, bob, page_of, api_of):
    """From the post to the card, through the ledger and the worker."""
    link = f"http://news.example:{site.port}/tea"
    post = publish(alice, f"Look: {link}")
    deliver()
    home, program = page_of(bob), api_of(bob)
    assert CARD not in text_of(home.get("/"))
    actions.run_due(limit=1, network=site.network())
    page = text_of(home.get("/"))
    stored = Preview.objects.get().picture
    assert f'<a class="link-card" href="{link}" rel="nofollow noopener noreferrer"' in page
    assert f'<img src="/media/{stored}" width="60" height="40" alt="A boat."' in page
    assert page.count("Tea at the river") == 1
    served = page_of(None).get(f"/media/{stored}")
    assert (served.status_code, served.headers["Content-Type"]) == (200, "image/webp")
    assert b"".join(served.streaming_content)[8:12] == b"WEBP"
    for address in ("/api/v1/timelines/home", f"/api/v1/statuses/{post.pk}"):
        status = program.get(address).json()
        card = (status[0] if isinstance(status, list) else status)["card"]
        assert card == {
            "url": link,
            "title": "Tea at the river",
            "description": "Fog, two herons.",
            "language": None,
            "type": "link",
            "authors": [],
            "author_name": "Mei Lin",
            "author_url": "",
            "provider_name": "River News",
            "provider_url": "",
            "html": "",
            "width": 60,
            "height": 40,
            "image": f"http://testserver/media/{stored}",
            "image_description": "A boat.",
            "embed_url": "",
            "blurhash": card["blurhash"],
            "published_at": "2026-11-20T08:00:00.000Z",
        }
        assert card["blurhash"]


def test_texts_of_the_page_are_escaped(alice, page_of):
    known(title="<script>alert(1)</script>", url='https://news.example/"onclick="x')
    post = publish(alice, TEA)
    page = text_of(page_of(None).get(f"/@alice/{post.pk}"))
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert '"onclick="' not in page


def test_posts_that_show_something_else_have_no_card(alice, page_of, api_of):
    known()
    quoted = publish(alice, "Quoted.")
    posts = [
        publish(alice, TEA, media_ids=[upload_picture(alice, BytesIO(picture())).pk]),
        publish(alice, TEA, poll=PollDraft(["a", "b"], 3600)),
        publish(alice, TEA, quote_of_id=quoted.pk),
        publish(alice, TEA, visibility="followers"),
        publish(alice, "https://news.example/other"),
    ]
    browser, program = page_of(alice), api_of(alice)
    for post in posts:
        assert CARD not in text_of(browser.get(f"/@alice/{post.pk}"))
        assert program.get(f"/api/v1/statuses/{post.pk}").json()["card"] is None
    first_of_two = publish(alice, f"{TEA} https://news.example/other")
    assert CARD in text_of(browser.get(f"/@alice/{first_of_two.pk}"))


def test_the_card_is_folded_with_the_text(alice, bob, page_of):
    known()
    warned = publish(alice, TEA, content_warning="Tea")
    page = text_of(page_of(bob).get(f"/@alice/{warned.pk}"))
    assert page.index('<details class="cw"') < page.index(CARD) < page.index("</details>")
    filtered = publish(alice, f"Leaves {TEA}")
    create_filter(
        bob,
        FilterChange("Leaves", ["thread"], "warn", keywords=[KeywordChange(keyword="leaves")]),
    )
    page = text_of(page_of(bob).get(f"/@alice/{filtered.pk}"))
    assert page.index("Filtered: Leaves") < page.index(CARD) < page.index("</details>")


def test_a_sensitive_post_shows_no_picture_of_others(alice, page_of):
    known(picture=new_picture_name(), width=640, height=360)
    post = publish(alice, TEA, sensitive=True)
    page = text_of(page_of(None).get(f"/@alice/{post.pk}"))
    card = page[page.index(CARD) : page.index("</a>", page.index(CARD))]
    assert "<img" not in card


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("address", ["/", "/api/v1/timelines/home", "/@alice"])
def test_a_warm_page_asks_neither_database_nor_caches_for_previews(
    address, alice, bob, page_of, api_of, settings, django_assert_max_num_queries
):
    """Twenty posts with as many links, beside twenty without."""
    for number in range(20):
        publish(alice, f"Number {number}.")
    deliver()
    client = api_of(bob) if address.startswith("/api") else page_of(bob)

    def cost():
        maintain_filters()
        for _warm in range(3):
            client.get(address)
        with waves.counted() as sent, django_assert_max_num_queries(3) as statements:
            answer = client.get(address)
        return len(sent), len(statements), answer.content.decode()

    with relayed(settings, apart=False) as waves:
        without = cost()
        links = [f"https://news.example/{number}" for number in range(20)]
        for link in links:
            known(link)
        for link in links:
            publish(alice, link)
        deliver()
        trips, statements, text = cost()
    assert (trips, statements) == without[:2]
    assert text.count("Tea at the river") == 20


@pytest.mark.slow
def test_a_page_that_this_process_has_not_met_asks_once_for_all(
    alice, bob, page_of, django_assert_max_num_queries
):
    browser = page_of(bob)
    links = [f"https://news.example/{number}" for number in range(10)]
    for link in links:
        publish(alice, link)
    deliver()
    maintain_filters()
    for _warm in range(3):
        browser.get("/")
    for link in links:
        known(link)
    with django_assert_max_num_queries(2) as statements:  # the badge, and all previews
        page = text_of(browser.get("/"))
    assert page.count(CARD) == 10
    assert sum("previews_preview" in statement["sql"] for statement in statements) == 1


def test_other_processes_hear_of_a_change(alice, page_of):
    row = known()
    post = publish(alice, TEA)
    browser = page_of(None)
    assert "Tea at the river" in text_of(browser.get(f"/@alice/{post.pk}"))
    Preview.objects.filter(pk=row.pk).update(title="Coffee")
    forget(TEA)
    assert "Coffee" in text_of(browser.get(f"/@alice/{post.pk}"))


def test_nothing_is_shown_when_the_setting_is_off(alice, page_of, settings):
    known()
    post = publish(alice, TEA)
    settings.LINK_PREVIEWS = False
    assert CARD not in text_of(page_of(None).get(f"/@alice/{post.pk}"))


@pytest.mark.slow
def test_staff_fetch_again_and_erase(site, alice, page_of):
    link = f"http://news.example:{site.port}/tea"
    post = publish(alice, link)
    deliver()
    actions.run_due(limit=1, network=site.network())
    browser = browser_of(make_staff(superuser=True))
    preview = Preview.objects.get()
    listed = text_of(browser.get("/admin/previews/preview/", {"q": link}))
    assert (link in listed, "Tea at the river" in listed) == (True, True)
    assert "Tea at the river" not in text_of(
        browser.get("/admin/previews/preview/", {"q": "http://no/"})
    )
    form = {"_selected_action": [preview.pk], "action": "fetch_again"}
    assert "1 page will be fetched again." in text_of(
        browser.post("/admin/previews/preview/", form, follow=True)
    )
    preview.refresh_from_db()
    assert (preview.state, preview.title) == ("pending", "Tea at the river")
    form["action"] = "erase"
    assert "Erase 1 link preview?" in text_of(browser.post("/admin/previews/preview/", form))
    assert "1 link preview erased." in text_of(
        browser.post("/admin/previews/preview/", form | {"confirmed": "1"}, follow=True)
    )
    assert not Preview.objects.exists()
    assert page_of(None).get(f"/media/{preview.picture}").status_code == 404
    assert CARD not in text_of(page_of(None).get(f"/@alice/{post.pk}"))
