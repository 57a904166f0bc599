"""Numbers, times and people in few characters."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core.files.storage import default_storage
from django.utils.translation import override

from apps.accounts.models import User
from apps.media.addresses import path_of
from apps.web.templatetags.amounts import ago, compact, exact
from apps.web.templatetags.people import avatar, banner, language_of, name_of

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("number", "en", "zh"),
    [
        (0, "0", "0"), (999, "999", "999"), (1000, "1K", "1000"), (1204, "1.2K", "1204"),
        (9999, "9.9K", "9999"), (12_345, "12.3K", "1.2万"), (340_000, "340K", "34万"),
        (999_999, "999K", "99.9万"), (3_400_000, "3.4M", "340万"), (340_000_000, "340M", "3.4亿"),
    ],
)  # fmt: skip
def test_compact(number, en, zh):
    with override("en"):
        assert compact(number) == en
    with override("zh-hans"):
        assert compact(number) == zh


def test_exact():
    with override("en"):
        assert exact(1204) == "1,204"


@pytest.mark.parametrize(
    ("before", "en", "zh"),
    [
        (timedelta(seconds=-5), "now", "刚刚"),
        (timedelta(seconds=59), "now", "刚刚"),
        (timedelta(minutes=4), "4m", "4分钟"),
        (timedelta(minutes=59, seconds=59), "59m", "59分钟"),
        (timedelta(hours=1), "1h", "1小时"),
        (timedelta(hours=23), "23h", "23小时"),
        (timedelta(hours=24), "yesterday", "昨天"),
        (timedelta(days=3), "18 Nov", "11月18日"),
        (timedelta(days=368), "18 Nov 2025", "2025年11月18日"),
    ],
)
def test_ago(before, en, zh):
    with time_machine.travel(NOW, tick=False):
        with override("en"):
            assert ago(NOW - before) == en
        with override("zh-hans"):
            assert ago(NOW - before) == zh


def test_avatars_are_drawn_from_handle_and_name_and_stay():
    ann = User(handle="ann", display_name="ámelie")
    assert avatar(ann) == avatar(ann)
    assert ">Á</text>" in avatar(ann, "sm")
    assert ">👩‍🚀</text>" in avatar(User(handle="ann", display_name="👩‍🚀 in space"))


def test_names_cannot_leave_their_element():
    eve = User(handle="eve", display_name="<b>\u202e")
    for drawn in (avatar(eve), name_of(eve)):
        assert "<b>" not in drawn.replace("<bdi>", "")


def test_nothing_drawn_needs_a_style_attribute():
    ann = User(handle="ann")
    assert "style=" not in avatar(ann) + banner(ann)


@pytest.mark.parametrize(
    ("name", "language"), [("Ann", ""), ("林小满", "zh-Hans"), ("ひかり", "ja"), ("민준", "ko")]
)
def test_language_of_names(name, language):
    assert language_of(name) == language


def test_the_storage_is_asked_once_where_a_picture_is(monkeypatch):
    asked, url = [], default_storage.url

    def counted(name):
        asked.append(name)
        return url(name)

    path_of.cache_clear()
    monkeypatch.setattr(default_storage, "url", counted)
    people = [User(handle="alice", avatar="avatars/a.webp", header="headers/é.webp") for _ in "ab"]
    assert {person.avatar_url for person in people} == {"/media/avatars/a.webp"}
    assert {person.header_url for person in people} == {"/media/headers/%C3%A9.webp"}
    assert asked == ["avatars/a.webp", "headers/é.webp"]
    assert User(handle="alice").avatar_url == ""
