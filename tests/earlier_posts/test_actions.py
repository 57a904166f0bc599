"""Archives come in post by post, with their dates, once each; and go again."""

import io

import pytest
from django.core.files.storage import default_storage, storages

from apps.accounts.models import Mail
from apps.earlier_posts import actions
from apps.earlier_posts.actions import delete_earlier_post
from apps.earlier_posts.models import EarlierPicture, EarlierPost
from apps.errors import Invalid, NotAllowed, NotFound
from apps.events.models import Event
from apps.notifications.models import Notification
from apps.posts.actions.publish import DELETE_POSTS
from apps.posts.models import Post
from apps.privacy.models import Import
from apps.privacy.moving.imports import discard_imports, refused_lines, undo_import
from apps.tags.models import Tag
from tests.earlier_posts.conftest import asked
from tests.support.archives import ACTOR, archive, attached, boost, note
from tests.support.imports import run
from tests.support.pictures import picture
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db
FILE = "media_attachments/files/1/original/a.png"


def posts(user):
    return list(EarlierPost.objects.filter(owner=user).order_by("written_at"))


def outcomes(row):
    return list(row.lines.order_by("number").values_list("outcome", flat=True))


def reasons(user, row):
    return [line.reason for line in refused_lines(user, row.pk)]


def files():
    """All that is stored for pages."""
    try:
        folders, names = default_storage.listdir("")
    except FileNotFoundError:
        return []
    return names + [name for folder in folders for name in default_storage.listdir(folder)[1]]


def stored_archives():
    try:
        return storages["private"].listdir("imports")[1]
    except FileNotFoundError:
        return []


def test_posts_come_in_with_their_dates_and_nothing_else_happens(alice, bob, bring):
    def told():
        return [model.objects.count() for model in (Event, Mail, Notification, Post, Tag)]

    before = told()
    row = bring(alice, note(1, "<p>Tea #tea @bob</p>"), boost(2), note(3, to=["x"], cc=[]))
    assert outcomes(row) == ["done", "refused"]
    [post] = posts(alice)
    assert (post.body, post.origin, post.language) == ("Tea #tea @bob", f"{ACTOR}/statuses/1", "en")
    assert post.written_at.isoformat() == "2019-05-01T10:00:01+00:00"
    assert told() == before
    assert reasons(alice, row) == [
        "It is only for the people it mentions. Such posts are not imported."
    ]


def test_the_same_archive_twice_doubles_nothing(alice, bring):
    activities = [note(1), note(2, attachment=[attached(FILE)])]
    bring(alice, *activities, files={FILE: picture()})
    row = bring(alice, *activities, files={FILE: picture()})
    assert outcomes(row) == ["same", "same"]
    assert (len(posts(alice)), EarlierPicture.objects.count(), len(files())) == (2, 1, 2)


def test_two_accounts_may_bring_the_same(alice, bob, bring):
    for user in (alice, bob):
        assert outcomes(bring(user, note(1))) == ["done"]


def test_undo_removes_what_the_import_made_and_no_more(alice, bring):
    bring(alice, note(1))
    row = bring(alice, note(1), note(2, attachment=[attached(FILE)]), files={FILE: picture()})
    run(undo_import(alice, row.pk))
    assert [post.origin for post in posts(alice)] == [f"{ACTOR}/statuses/1"]
    assert (outcomes(row), files()) == (["same", "undone"], [])
    run(undo_import(alice, row.pk))
    assert len(posts(alice)) == 1


def test_a_post_that_was_deleted_since_is_undone_too(alice, bring):
    row = bring(alice, note(1), note(2))
    delete_earlier_post(posts(alice)[0].pk, by=alice)
    run(undo_import(alice, row.pk))
    assert (posts(alice), outcomes(row)) == ([], ["undone", "undone"])


def test_the_archive_goes_when_it_has_been_worked_off(alice, bring):
    row = asked(alice, archive(note(1)))
    assert stored_archives() == [row.file.rpartition("/")[2]]
    assert row.lines.get().post is not None
    run(row)
    assert stored_archives() == []
    assert row.lines.get().post is None


def test_an_archive_that_is_refused_is_not_kept(alice):
    with pytest.raises(Invalid):
        asked(alice, archive(note(1), outbox="{"))
    assert (Import.objects.count(), stored_archives()) == (0, [])


def test_an_archive_goes_with_its_import(alice):
    asked(alice, archive(note(1)))
    assert discard_imports(alice, limit=10) == 1
    assert stored_archives() == []


def test_pictures_come_along_through_the_sandbox(alice, bring):
    medium = attached(FILE, "A\ncup", focalPoint=[0.5, -0.5])
    bring(alice, note(1, attachment=[medium]), files={FILE: picture(size=(60, 40))})
    row = EarlierPicture.objects.get()
    assert (row.alt, row.width, row.height, row.focus_x, row.focus_y) == (
        "A\ncup",
        60,
        40,
        0.5,
        -0.5,
    )
    assert row.file.startswith("earlier/")
    with default_storage.open(row.file) as file:
        assert file.read()[8:12] == b"WEBP"
    assert row.size == sum(default_storage.size(name) for name in (row.file, row.preview))


def test_pictures_for_followers_need_signed_addresses(alice, bring):
    activity = note(1, to=[f"{ACTOR}/followers"], cc=[], attachment=[attached(FILE)])
    bring(alice, activity, files={FILE: picture()})
    row = EarlierPicture.objects.get()
    assert row.file.startswith("restricted/earlier/")
    assert row.preview.startswith("restricted/earlier/")


@pytest.mark.parametrize(
    ("media", "reason"),
    [
        ([attached("gone.png")], "One of its pictures is not in the archive."),
        ([attached("bad.png")], "One of its pictures can't be read."),
        ([attached("bad.png", kind="video/mp4")], "Its video or audio was left out."),
    ],
)
def test_a_post_says_what_it_lacks(alice, bring, media, reason):
    row = bring(alice, note(1, attachment=media), files={"bad.png": b"no picture"})
    assert (outcomes(row), reasons(alice, row)) == (["done"], [reason])
    assert len(posts(alice)) == 1


def test_a_post_of_which_nothing_is_left_is_refused(alice, bring):
    gone = note(1, "<p></p>", attachment=[attached("gone.png")])
    row = bring(alice, gone, note(2, "<p>\u200b</p>"))
    assert outcomes(row) == ["refused", "refused"]
    assert reasons(alice, row) == [
        "One of its pictures is not in the archive.",
        "There is nothing in it that can be shown.",
    ]


@pytest.mark.long
def test_more_pictures_than_a_post_can_have(alice, bring, monkeypatch):
    monkeypatch.setattr(actions, "PICTURES_SECONDS", 600)
    names = [f"{number}.png" for number in range(5)]
    row = bring(
        alice,
        note(1, attachment=[attached(name) for name in names]),
        files=dict.fromkeys(names, picture()),
    )
    assert EarlierPicture.objects.count() == 4
    assert reasons(alice, row) == ["It has more pictures than a post can have here."]


def test_pictures_that_take_too_long_are_left_out(alice, bring, monkeypatch):
    monkeypatch.setattr(actions, "PICTURES_SECONDS", -1)
    row = bring(alice, note(1, attachment=[attached(FILE)]), files={FILE: picture()})
    assert (outcomes(row), EarlierPicture.objects.count()) == (["done"], 0)
    assert reasons(alice, row) == ["Not all of its pictures could be prepared in time."]


def test_pictures_of_an_account_have_bounded_room(alice, bring, settings):
    settings.EARLIER_PICTURES_MAX_BYTES = 10
    row = bring(alice, note(1, attachment=[attached(FILE)]), files={FILE: picture()})
    assert (EarlierPicture.objects.count(), files()) == (0, [])
    assert reasons(alice, row) == ["There is no room for more pictures of earlier posts."]


def test_a_poll_keeps_its_options_as_text(alice, bring):
    bring(
        alice, note(1, "<p>Which?</p>", type="Question", oneOf=[{"name": "Tea"}, {"name": "Milk"}])
    )
    assert posts(alice)[0].body == "Which?\n\n- Tea\n- Milk"


def test_reasons_are_in_the_language_of_the_pages(alice, bring):
    alice.interface_language = "zh-hans"
    alice.save()
    row = bring(alice, note(1, attachment=[attached("gone.png")]))
    assert reasons(alice, row) == ["有一张图片不在存档中。"]


def test_a_worker_that_dies_makes_no_post_twice(alice, monkeypatch):
    row = asked(alice, archive(note(1), note(2), note(3)))
    make, calls = EarlierPost.objects.create, []

    def dies(**fields):
        calls.append(fields)
        made = make(**fields)
        if len(calls) == 2:  # after the deed, before its outcome
            raise SystemExit
        return made

    monkeypatch.setattr(EarlierPost.objects, "create", dies)
    with pytest.raises(SystemExit):
        run(row)
    assert outcomes(row) == ["done", "waiting", "waiting"]
    run(row)
    assert (outcomes(row), len(posts(alice))) == (["done"] * 3, 3)


def test_who_may_delete(alice, bob, bring):
    bring(alice, note(1, attachment=[attached(FILE)]), files={FILE: picture()})
    post = posts(alice)[0]
    with pytest.raises(NotFound):
        delete_earlier_post(post.pk, by=bob)
    staff = make_staff(DELETE_POSTS)
    delete_earlier_post(post.pk, by=staff)
    assert (posts(alice), files()) == ([], [])
    with pytest.raises(NotFound):
        delete_earlier_post(post.pk, by=alice)


def test_staff_do_not_delete_posts_of_superusers(bring):
    admin = make_staff(superuser=True)
    bring(admin, note(1))
    with pytest.raises(NotAllowed):
        delete_earlier_post(posts(admin)[0].pk, by=make_staff(DELETE_POSTS))


def test_a_file_of_another_kind_says_so(alice):
    with pytest.raises(Invalid, match="not the archive of an account"):
        asked(alice, io.BytesIO(b"bob\n").read())
