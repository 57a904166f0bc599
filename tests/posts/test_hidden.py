"""A post that staff have hidden: its author sees it, nobody else does, anywhere; it can be shown again. And marks of
staff on pictures, which authors cannot take away.
"""

from io import BytesIO

import pytest
from django.test import Client

from apps.audit.oracle import Oracle
from apps.errors import NotAllowed, NotFound
from apps.graph.actions import follow_user
from apps.moderation.actions import (
    file_report,
    hide_post,
    mark_sensitive,
    show_post,
    unmark_sensitive,
)
from apps.posts.actions.drafts import PollDraft
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Post
from apps.posts.queries import visible_posts
from apps.web.forms.posts import fields_of_post
from tests.support.cases import each
from tests.support.factories import deliver, delivered, moderator, publish, repost
from tests.support.pages import answered_ids
from tests.support.pictures import picture
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db
LISTS = (
    "/api/v1/timelines/home",
    "/api/v1/timelines/public",
    "/api/v1/timelines/tag/tea",
    "/api/v1/accounts/{author}/statuses",
)


def hide(post):
    hide_post(post.pk, by=moderator(), reason="A test.")
    deliver()


def show(post):
    show_post(post.pk, by=moderator())
    deliver()


@pytest.mark.long
@pytest.mark.gate
@each("address", LISTS)
def test_lists_leave_a_hidden_post_out_until_it_is_shown_again(alice, bob, api_of, address):
    other = delivered(alice, "Plain #tea.")
    post = delivered(alice, "Hidden #tea.")
    path = address.format(author=alice.pk)
    for act, expected in ((None, [post, other]), (hide, [other]), (show, [post, other])):
        if act:
            act(post)
        assert answered_ids(api_of(bob).get(path)) == [one.pk for one in expected]


@pytest.mark.slow
def test_a_hidden_post_is_not_there_for_others_and_labelled_for_its_author(alice, bob, api_of, page_of):  # fmt: skip
    post = delivered(alice, "Hidden.")
    hide(post)
    for viewer in (bob, None):
        assert api_of(viewer).get(f"/api/v1/statuses/{post.pk}").status_code == 404
        assert page_of(viewer).get(f"/@alice/{post.pk}").status_code == 404
    assert api_of(alice).get(f"/api/v1/statuses/{post.pk}").status_code == 200
    assert "The moderators have hidden this post." in page_of(alice).get(f"/@alice/{post.pk}").text
    assert "The moderators have hidden this post." in page_of(alice).get("/@alice").text
    show(post)
    assert "The moderators have" not in page_of(alice).get(f"/@alice/{post.pk}").text
    assert api_of(bob).get(f"/api/v1/statuses/{post.pk}").status_code == 200


@pytest.mark.long
@pytest.mark.gate
@each("visibility", ["public", "unlisted", "followers", "mentioned"])
def test_the_oracle_and_the_gate_agree(alice, bob, visibility):
    post = publish(alice, "To @bob.", visibility=visibility)
    for is_hidden in (False, True, False):
        (hide if is_hidden else show)(post)
        for viewer in (alice, bob):
            expected = viewer == alice or not is_hidden
            assert (post.pk in visible_posts(viewer.pk, [post.pk]).posts) == expected
            assert Oracle().may_see(viewer.pk, post.pk) == expected
            assert Oracle.of_viewer(viewer.pk, also=[post.pk]).may_see(viewer.pk, post.pk) == expected  # fmt: skip


@pytest.mark.slow
def test_reposts_go_and_come_with_it_and_quotes_lose_it(alice, bob, carol, api_of):
    follow_user(carol, bob)
    post = delivered(alice, "Hidden.")
    shared = repost(bob, post.pk)
    quote = publish(bob, "Look.", quote_of_id=post.pk)
    deliver()
    home = "/api/v1/timelines/home"
    assert answered_ids(api_of(carol).get(home)) == [quote.pk, shared.pk]
    hide(post)
    [status] = api_of(carol).get(home).json()
    assert (int(status["id"]), status["quote"]) != (quote.pk, None)
    assert "Hidden." not in str(status)
    show(post)
    assert answered_ids(api_of(carol).get(home)) == [quote.pk, shared.pk]


def test_nobody_answers_shares_or_votes_on_what_is_hidden(alice, bob, api_of):
    post = delivered(alice, "Tea?", poll=PollDraft(["Yes", "No"], 3600))
    hide(post)
    program = api_of(bob)
    for path, data in (
        (f"/api/v1/statuses/{post.pk}/reblog", {}),
        (f"/api/v1/statuses/{post.pk}/favourite", {}),
        ("/api/v1/statuses", {"status": "No.", "in_reply_to_id": str(post.pk)}),
        (f"/api/v1/polls/{post.pk}/votes", {"choices": ["0"]}),
    ):
        assert program.post(path, data, format="json").status_code == 404, path


def test_its_author_cannot_repost_it_but_may_edit_and_delete_it(alice, bob, api_of):
    post = delivered(alice, "Hidden.")
    hide(post)
    assert api_of(alice).post(f"/api/v1/statuses/{post.pk}/reblog").status_code == 403
    edit_post(alice, post.pk, body="Hidden, but nicer.")
    deliver()
    assert api_of(bob).get(f"/api/v1/statuses/{post.pk}").status_code == 404
    delete_post(post.pk, by=alice)
    with pytest.raises(NotFound):
        show_post(post.pk, by=moderator())


@pytest.mark.slow
def test_its_pictures_are_served_to_nobody_and_pages_say_so(alice, bob, media, page_of):
    upload = upload_picture(alice, BytesIO(picture()), alt="A wall.")
    post = delivered(alice, "Look.", media_ids=[upload.pk])
    address = post.attachments.get().file.url
    complaint = file_report(bob, alice, post_ids=[post.pk])
    for act, status in ((None, 200), (hide, 404), (show, 200)):
        if act:
            act(post)
        answer = Client().get(address)
        answer.getvalue()
        assert answer.status_code == status
        for page in (
            page_of(alice).get(f"/@alice/{post.pk}"),
            browser_of(moderator()).get(f"/admin/posts/post/{post.pk}/change/"),
            browser_of(moderator()).get(f"/admin/moderation/report/{complaint.pk}/change/"),
        ):
            assert page.status_code == 200
            assert ("nobody can open its pictures" in page.text) == (status == 404)


def test_hiding_twice_is_hiding_once(alice):
    post = publish(alice)
    hide(post)
    before = Post.objects.get(pk=post.pk)
    hide(post)
    after = Post.objects.get(pk=post.pk)
    assert (before.version, before.hidden_at) == (after.version, after.hidden_at)


@pytest.mark.slow
def test_marks_of_staff_stay_when_the_author_edits(alice, bob, api_of, media):
    upload = upload_picture(alice, BytesIO(picture()), alt="A wall.")
    post = delivered(alice, "Look.", media_ids=[upload.pk])
    address = f"/api/v1/statuses/{post.pk}"
    mark_sensitive(post.pk, by=moderator())
    assert api_of(bob).get(address).json()["sensitive"] is True
    edit_post(alice, post.pk, body="Look again.", sensitive=False)
    assert api_of(bob).get(address).json()["sensitive"] is True
    history = api_of(bob).get(f"{address}/history").json()
    assert [version["sensitive"] for version in history] == [True, True]
    unmark_sensitive(post.pk, by=moderator())
    assert api_of(bob).get(address).json()["sensitive"] is False


@pytest.mark.slow
@each("choice", [True, False])
def test_marks_of_staff_leave_the_choice_of_the_author(alice, bob, api_of, choice):
    post = delivered(alice, "Look.", sensitive=choice)
    address = f"/api/v1/statuses/{post.pk}"
    mark_sensitive(post.pk, by=moderator())
    shown = api_of(alice).get(address).json()["sensitive"]
    assert (shown, fields_of_post(Post.objects.get(pk=post.pk))["sensitive"]) == (True, "on")
    edit_post(alice, post.pk, body="Look again.", sensitive=shown)  # as forms and programs do
    unmark_sensitive(post.pk, by=moderator())
    assert api_of(bob).get(address).json()["sensitive"] is choice
    history = api_of(bob).get(f"{address}/history").json()
    assert [version["sensitive"] for version in history] == [choice, choice]


@pytest.mark.slow
@each("act", [hide_post, show_post, mark_sensitive, unmark_sensitive])
def test_only_staff_with_the_permission_act_and_on_superusers_only_superusers(alice, act):
    mod = make_staff("posts.delete_post", handle="mod")
    chief = make_staff(superuser=True, handle="chief")
    few = make_staff("moderation.change_report")
    for by, author in ((few, alice), (alice, alice), (mod, chief)):
        post = publish(author)
        with pytest.raises(NotAllowed):
            act(post.pk, by=by)
        assert Post.objects.get(pk=post.pk).version == 1
    with pytest.raises(NotFound):
        act(1, by=mod)
