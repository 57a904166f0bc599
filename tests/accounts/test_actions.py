import struct
import zlib
from io import BytesIO
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.utils import translation
from PIL import Image

from apps.accounts.actions import (
    issue_token,
    register,
    remove_avatar,
    set_locked,
    update_profile,
    update_settings,
)
from apps.accounts.cache import CARDS, USER_COUNTS, active_users_of, load_cards
from apps.accounts.email.confirmation import change_email
from apps.accounts.models import RESERVED_HANDLES, AccessToken, User, UserCounts
from apps.accounts.queries import user_by_handle
from apps.errors import Invalid, NotAllowed, NotFound
from apps.moderation.actions import restore_user, suspend_user
from tests.support.cases import each
from tests.support.factories import PASSWORD, make_user, user_of_token
from tests.support.threads import together

pytestmark = pytest.mark.django_db


def refused(**fields):
    """What is wrong with an account, by field."""
    wanted = {"handle": "somebody", "email": "somebody@example.org", "password": PASSWORD, **fields}
    with pytest.raises(Invalid) as refusal:
        register(**wanted)
    assert not User.objects.filter(email="somebody@example.org").exists()
    return set(refusal.value.errors)


def test_a_new_account_has_counts_of_zero_and_a_password_that_works():
    user = register(
        handle="alice", email="Alice@Example.org", password=PASSWORD, display_name=" Alice  Wen "
    )
    assert (user.handle, user.email, user.display_name) == (
        "alice",
        "alice@example.org",
        "Alice Wen",
    )
    assert user.check_password(PASSWORD)
    counts = UserCounts.objects.get(pk=user.pk)
    assert (counts.followers, counts.following, counts.posts, counts.last_post_id) == (0, 0, 0, 0)


@each("written", ["Alice", "ALICE", "  alice ", "al\u0130ce".replace("\u0130", "i")])
def test_a_handle_is_one_identity_whatever_its_case(written):
    make_user("alice")
    assert refused(handle=written) == {"handle"}
    assert user_by_handle(written.strip()).handle == "alice"


@each(
    "handle",
    ["", "ab", "a" * 31, "al ice", "al-ice", "al.ice", "@alice", "алиса", "al\u0456ce", "alice\n", "\uff41lice",
     "ali\u0301ce",
     "al\u200bice", "\u0130van", "a\x00bc", "alice/..", "\u0661\u0662\u0663", "\u202eecila"],
)  # fmt: skip
def test_a_handle_has_only_ascii_letters_digits_and_underscores(handle):
    if handle == "alice\n":
        assert (
            register(handle=handle, email=None, password=PASSWORD).handle == "alice"
        )  # blanks around are dropped
    else:
        assert refused(handle=handle) == {"handle"}


def test_the_kelvin_sign_is_no_second_identity():
    make_user("kate")
    assert refused(handle="\u212aate") == {"handle"}


@pytest.mark.slow
@each("handle", sorted(RESERVED_HANDLES))
def test_reserved_handles_are_taken(handle):
    assert refused(handle=handle.title()) == {"handle"}


@pytest.mark.parametrize("email", ["ALICE@example.org", " alice@EXAMPLE.org "])
def test_an_address_belongs_to_one_account_and_nobody_is_told(email):
    owner = make_user("alice")
    user = register(handle="somebody", email=email, password=PASSWORD)
    assert (user.email, user.pending_email) == (None, "alice@example.org")
    assert User.objects.get(email="alice@example.org") == owner


@each("email", ["alice", "a@b", "a b@example.org", "a@@example.org", "x" * 250 + "@example.org",
                                   "a@" + ".".join(("b" * 60, "c" * 60, "d" * 60, "e" * 60, "f" * 30, "org"))
])  # fmt: skip
def test_what_is_no_address_is_refused(email):
    assert refused(email=email) == {"email"}


def test_accounts_without_an_address_do_not_collide():
    for handle in ("one", "two_"):
        assert register(handle=handle + "x", email="", password=PASSWORD).email is None


@each(
    "password",
    ["", "short", "123456789012", "password1234", "somebody1234", "somebody@example.org"],
)
def test_weak_passwords_are_refused(password):
    assert refused(password=password) == {"password"}


def test_operators_may_set_any_password():
    user = register(handle="op_", email=None, password="op", by_operator=True)
    assert user.check_password("op")


def test_every_wrong_field_is_named_at_once():
    assert refused(handle="!", email="!", password="!") == {"handle", "email", "password"}


def test_nobody_registers_twice_in_a_race(transactional_db):
    def attempt(_index):
        try:
            return register(handle="racer", email="racer@example.org", password=PASSWORD).pk
        except Invalid as refusal:
            return set(refusal.errors)

    outcomes = together(8, attempt)
    assert len([one for one in outcomes if isinstance(one, int)]) == 1
    assert User.objects.filter(handle="racer").count() == 1
    assert UserCounts.objects.count() == 1


@each(
    ("written", "kept"),
    [("a\u202eb", "ab"), ("\u200b\u2060", ""), ("a\x00b\x1b", "ab"), ("  a \t b ", "a b"), ("\u3164", ""),
     ("👨‍👩‍👧", "👨‍👩‍👧"), ("नमस्ते", "नमस्ते")],
)  # fmt: skip
def test_display_names_lose_what_hides_or_reorders_text(alice, written, kept):
    assert update_profile(alice, display_name=written, bio="").display_name == kept


def test_a_name_or_bio_that_is_too_long_is_refused(alice):
    with pytest.raises(Invalid):
        update_profile(alice, display_name="x" * 51, bio="")
    with pytest.raises(Invalid):
        update_profile(alice, display_name="x", bio="x" * 501)


@pytest.mark.long
@pytest.mark.gate
@each("form", ["PNG", "JPEG", "WEBP", "GIF"])
def test_an_avatar_becomes_a_square_webp_under_a_random_name(alice, picture, form):
    update_profile(alice, display_name="", bio="", avatar=picture(form=form))
    with Image.open(alice.avatar.path) as stored:
        assert (stored.format, stored.size) == ("WEBP", (400, 400))
    assert "alice" not in alice.avatar.name


def test_an_avatar_loses_its_exif_data_and_is_turned_upright(alice, picture):
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "a secret place"
    update_profile(alice, display_name="", bio="", avatar=picture(form="JPEG", exif=exif))
    with Image.open(alice.avatar.path) as stored:
        assert not stored.getexif()
    assert b"secret" not in Path(alice.avatar.path).read_bytes()


def png_header(width, height):
    """A PNG that claims a size and holds nothing."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b""))
        + chunk(b"IEND", b"")
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "data",
    [b"", b"hello", b"GIF89a", b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", b"\x00" * 1000,
     b"%PDF-1.4", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0" + b"\x00" * 50, png_header(60_000, 60_000),
     png_header(5_001, 5_000), png_header(100, 100), b"x" * (4 * 1024 * 1024 + 1)],
    ids=["empty", "text", "half-gif", "svg", "zeros", "pdf", "half-png", "half-jpeg", "bomb", "too-many-pixels",
         "no-pixels", "too-large"],
)  # fmt: skip
def test_what_is_no_fit_picture_is_refused(alice, data):
    with pytest.raises(Invalid) as refusal:
        update_profile(alice, display_name="new", bio="", avatar=BytesIO(data))
    assert set(refusal.value.errors) == {"avatar"}
    alice.refresh_from_db()
    assert (alice.display_name, alice.avatar_url) == ("Alice Wen", "")


def test_a_removed_avatar_leaves_the_account_without_one(alice, picture):
    update_profile(alice, display_name="", bio="", avatar=picture())
    remove_avatar(alice)
    assert user_by_handle("alice").avatar_url == ""


@each(
    "wrong",
    [
        {"theme": "neon"},
        {"text_size": "huge"},
        {"interface_language": "tlh"},
        {"interface_language": "x" * 20},
    ],
)
def test_an_appearance_outside_of_the_lists_is_refused(alice, wrong):
    right = {"theme": "dark", "text_size": "large", "interface_language": "zh-hans"}
    with pytest.raises(Invalid):
        update_settings(alice, **{**right, **wrong})
    update_settings(alice, **right)
    stored = user_by_handle("alice")
    assert (stored.theme, stored.text_size, stored.interface_language) == (
        "dark",
        "large",
        "zh-hans",
    )


def test_every_language_of_the_site_can_be_chosen(alice):
    for code in ["", *dict(django_settings.LANGUAGES)]:
        update_settings(alice, theme="auto", text_size="normal", interface_language=code)


def test_a_change_of_address_asks_for_the_password_and_keeps_addresses_unique(alice, carol):
    with pytest.raises(Invalid) as wrong:
        change_email(alice, email="new@example.org", password="guess")
    assert set(wrong.value.errors) == {"password"}
    changed = change_email(alice, email="Carol@example.org", password=PASSWORD)
    assert (changed.email, changed.pending_email) == ("alice@example.org", "carol@example.org")
    assert (
        change_email(alice, email="alice@EXAMPLE.org", password=PASSWORD).email
        == "alice@example.org"
    )
    assert change_email(alice, email="", password=PASSWORD).email is None


def test_two_accounts_that_take_one_address_at_once_do_not_fail(transactional_db):
    users = [make_user() for _ in range(6)]

    def change(index):
        return change_email(users[index], email="wanted@example.org", password=PASSWORD).email

    assert together(6, change).count("wanted@example.org") == 1
    assert User.objects.filter(pending_email="wanted@example.org").count() == 5


def test_only_the_digest_of_a_token_is_stored(alice):
    token = issue_token(alice, name="phone")
    row = AccessToken.objects.get()
    assert token not in {str(getattr(row, field.attname)) for field in row._meta.concrete_fields}
    assert user_of_token(token) == alice


def test_a_suspended_account_vanishes_and_its_tokens_end_for_good(alice, admin):
    token = issue_token(alice, name="phone")
    suspend_user(alice, by=admin, reason="spam")
    assert user_of_token(token) is None
    with pytest.raises(NotFound):
        user_by_handle("alice")
    restore_user(alice, by=admin, reason="appeal")
    assert user_by_handle("alice") == alice
    assert user_of_token(token) is None


def test_only_staff_suspend_and_only_superusers_suspend_superusers(alice, carol, admin):
    with pytest.raises(NotAllowed):
        suspend_user(alice, by=carol, reason="")
    with pytest.raises(NotAllowed):
        restore_user(alice, by=carol, reason="")
    alice.is_superuser = True
    with pytest.raises(NotAllowed):
        suspend_user(alice, by=admin, reason="")


def test_a_replaced_and_a_removed_avatar_leave_no_file(
    alice, picture, django_capture_on_commit_callbacks
):
    def change(act):
        with django_capture_on_commit_callbacks(execute=True):
            act()
        return alice.avatar.name

    def upload():
        update_profile(alice, display_name="", bio="", avatar=picture())

    first = change(upload)
    second = change(upload)
    assert first != second
    assert (default_storage.exists(first), default_storage.exists(second)) == (False, True)
    change(lambda: remove_avatar(alice))
    assert not default_storage.exists(second)


@pytest.mark.django_db(transaction=True)
def test_a_storage_that_fails_makes_no_error_of_a_change_that_is_stored(
    alice, picture, monkeypatch, caplog
):
    update_profile(alice, avatar=picture())
    monkeypatch.setattr(FileSystemStorage, "delete", lambda *_args: 1 / 0)
    remove_avatar(alice)
    assert user_by_handle("alice").avatar_url == ""
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    ("language", "message"),
    [("en", "Use at least 12 characters."), ("zh-hans", "请至少使用 12 个字符。")],
)
def test_a_short_password_is_refused_in_the_language_of_the_page(language, message):
    with translation.override(language), pytest.raises(Invalid) as refusal:
        register(handle="mei", email=None, password="short")
    assert refusal.value.errors == {"password": message}


def test_whether_others_ask_before_they_follow_is_told_at_the_next_read(alice, api_of):
    def told():
        card = load_cards_through_cache(alice.pk)
        return api_of(None).get(f"/api/v1/accounts/{alice.pk}").json()["locked"], card.is_locked

    assert told() == (False, False)
    set_locked(alice, locked=True)
    assert told() == (True, True)
    set_locked(alice, locked=False)
    assert told() == (False, False)


def load_cards_through_cache(user_id):
    cards = CARDS.get_many([user_id], load_cards)
    return active_users_of(cards, USER_COUNTS.get_many([user_id]))[user_id]
