"""Posts in the admin."""

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.base import ContentFile

from apps.accounts.models import UserCounts
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle
from apps.pagination import Cursor
from apps.posts.actions.drafts import Draft
from apps.posts.actions.publish import publish_post
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Post
from apps.timeline.admin import posts as post_admin
from apps.timeline.home import home_timeline
from tests.support.factories import deliver, publish
from tests.support.pictures import picture
from tests.support.staff import MAX_QUERIES, browser_of, choose, confirm, make_staff

pytestmark = pytest.mark.django_db
POSTS = "/admin/posts/post/"


@pytest.fixture
def moderator():
    return browser_of(make_staff("posts.view_post", "posts.delete_post"))


def page(post: Post) -> str:
    return f"{POSTS}{post.pk}/change/"


def test_list_shows_posts_in_few_queries(moderator, alice, django_assert_max_num_queries):
    posts = [publish(alice, f"Post number {index}.") for index in range(3)]
    with django_assert_max_num_queries(MAX_QUERIES):
        text = moderator.get(POSTS).content.decode()
    assert all(page(post) in text for post in posts)
    assert "Post number 0." in text
    assert f"/admin/accounts/user/{alice.pk}/change/" in text


def test_texts_are_escaped(moderator, alice):
    post = publish(alice, "<script>alert(1)</script>")
    for path in (POSTS, page(post)):
        assert "<script>alert(1)" not in moderator.get(path).content.decode()


@pytest.mark.slow
def test_search_by_number_author_and_text(moderator, alice, carol):
    tea, other = publish(alice, "Green TEA at noon"), publish(carol, "100% coffee, and alice")
    for query, found in {
        str(tea.pk): {tea},
        "@alice": {tea},
        "@ALICE": {tea},
        "alice": {tea, other},
        "tea": {tea},
        "100%": {other},
        "%": {other},
        "@nobody": set(),
        "123": set(),
        "\u0661\u0662": set(),
        "9" * 30: set(),
        "x" * 3000: set(),
    }.items():
        text = moderator.get(POSTS, {"q": query}).content.decode()
        assert {post for post in (tea, other) if page(post) in text} == found, query


RESTRICTED = ("followers", "friends", "mentioned", "circle")


@pytest.fixture
def secrets(alice, bob):
    """A post of each restricted visibility, with a picture."""
    circle = create_group(Circle, alice, name="Tea")
    add_members(Circle, alice, circle.pk, [bob.pk])
    posts = []
    for visibility in RESTRICTED:
        circle_id = circle.pk if visibility == "circle" else None
        drawn = ContentFile(picture(), "drawn.png")
        draft = Draft(body="@bob SECRET words", content_warning="SECRET warning", visibility=visibility,
                      media_ids=[upload_picture(alice, drawn, alt="SECRET description").pk],
                      circle_id=circle_id)  # fmt: skip
        posts.append(publish_post(alice, draft).post)
    return posts


def read_by(staff):
    return list(
        LogEntry.objects.filter(user=staff)
        .order_by("pk")
        .values_list("object_id", "change_message")
    )


def test_restricted_texts_are_not_shown_to_who_may_see_posts(secrets):
    staff = make_staff("posts.view_post", "posts.delete_post")
    browser = browser_of(staff)
    answers = [
        browser.get(POSTS),
        *(browser.get(page(post)) for post in secrets),
        choose(browser, POSTS, "delete_posts", secrets),
    ]
    for answer in answers:
        assert answer.status_code == 200
        assert "SECRET" not in answer.text
        assert "/media/" not in answer.text
    assert read_by(staff) == []


def test_restricted_texts_are_read_with_a_permission_and_on_record(secrets, alice):
    staff = make_staff("posts.view_post", "posts.read_restricted_post")
    browser = browser_of(staff)
    assert "SECRET" not in browser.get(POSTS).text
    for post in secrets:
        text = browser.get(page(post)).text
        assert all(f"SECRET {what}" in text for what in ("words", "warning", "description"))
    browser.get(page(publish(alice, "For everybody.")))
    assert read_by(staff) == [(str(post.pk), "Read.") for post in secrets]


@pytest.mark.parametrize("permissions", [[], ["posts.read_restricted_post"]])
def test_no_search_finds_restricted_texts(secrets, alice, permissions):
    browser = browser_of(make_staff("posts.view_post", *permissions))
    open_one = publish(alice, "no SECRET", visibility="unlisted")
    text = browser.get(POSTS, {"q": "SECRET"}).text
    assert [post for post in (*secrets, open_one) if page(post) in text] == [open_one]


def test_text_search_reads_a_bounded_number_of_posts(moderator, alice, monkeypatch):
    monkeypatch.setattr(post_admin, "SEARCHED_POSTS", 2)
    posts = [publish(alice, "needle") for _ in range(4)]
    text = moderator.get(POSTS, {"q": "needle"}).content.decode()
    assert [page(post) in text for post in posts] == [False, True, True, True]


def test_filters(moderator, alice):
    kept, gone = publish(alice, visibility="followers"), publish(alice)
    confirm(moderator, POSTS, "delete_posts", [gone])
    for query, found in {
        "deleted=no": {kept},
        "deleted=yes": {gone},
        "visibility__exact=followers": {kept},
        "days=7": {kept, gone},
        "days=5000": {kept, gone},
    }.items():
        text = moderator.get(f"{POSTS}?{query}").content.decode()
        assert {post for post in (kept, gone) if page(post) in text} == found, query


def test_page_of_a_post_is_for_reading(moderator, alice):
    first = publish(alice, "First.")
    post = publish(alice, "Read me.", reply_to_id=first.pk)
    text = moderator.get(page(post)).content.decode()
    assert "Read me." in text
    assert page(first) in text
    assert 'name="id"' not in text
    assert "<textarea" not in text


def test_forged_form_changes_nothing(alice, carol):
    chief = browser_of(make_staff(superuser=True))
    post, other = publish(alice, "Mine."), publish(carol, "Hers.")
    forged = {
        "id": str(other.pk),
        "pk": str(other.pk),
        "body": "Forged.",
        "author": str(carol.pk),
        "_save": "Save",
    }
    assert chief.post(page(post), forged).status_code == 403
    assert chief.post(f"{POSTS}add/", forged).status_code == 403
    assert chief.post(f"{POSTS}{post.pk}/delete/", {"post": "yes"}).status_code == 403
    chief.post(
        POSTS,
        {
            "form-TOTAL_FORMS": "1",
            "form-INITIAL_FORMS": "1",
            "form-0-id": post.pk,
            "form-0-body": "x",
            "_save": "Save",
        },
    )
    confirm(chief, POSTS, "delete_selected", [post], post="yes")
    rows = Post.objects.order_by("pk").values_list("pk", "author", "body", "deleted_at")
    assert list(rows) == [(post.pk, alice.pk, "Mine.", None), (other.pk, carol.pk, "Hers.", None)]


def test_delete_posts_asks_first(moderator, alice):
    post = publish(alice, "Bad words.")
    question = choose(moderator, POSTS, "delete_posts", [post]).content.decode()
    assert "Delete 1 post?" in question
    assert "Bad words." in question
    post.refresh_from_db()
    assert post.deleted_at is None


@pytest.mark.slow
def test_delete_posts_does_what_authors_do(moderator, alice, bob):
    posts = [publish(alice, "Bad words."), publish(alice, "Worse words.")]
    deliver()
    assert len(home_timeline(bob, Cursor()).items) == 2
    text = confirm(moderator, POSTS, "delete_posts", posts).content.decode()
    assert "2 posts deleted." in text
    deliver()
    assert home_timeline(bob, Cursor()).items == []
    assert list(Post.objects.values_list("body", flat=True)) == ["", ""]
    assert UserCounts.objects.get(pk=alice.pk).posts == 0
    assert "0 posts deleted." in confirm(moderator, POSTS, "delete_posts", posts).content.decode()


def test_delete_needs_the_right(alice):
    viewer = browser_of(make_staff("posts.view_post"))
    post = publish(alice)
    confirm(viewer, POSTS, "delete_posts", [post])
    post.refresh_from_db()
    assert post.deleted_at is None


@pytest.mark.parametrize("number", ["0", "abc", "1" * 40, "-1"])
def test_page_of_a_post_that_is_not_there(moderator, number):
    answer = moderator.get(f"{POSTS}{number}/change/", follow=True)
    assert answer.status_code in {200, 404}
