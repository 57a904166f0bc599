"""What is written for the demo can be published as it stands, and every picture is there and described."""

import re
from collections import Counter
from random import Random
from string import Formatter

import pytest
from django.conf import settings
from PIL import Image

from apps.accounts.models import (
    BIO_MAX_CHARACTERS,
    HANDLE_PATTERN,
    NAME_MAX_CHARACTERS,
    RESERVED_HANDLES,
)
from apps.demo.content.loader import LANGUAGES, load_content
from apps.demo.seeding.pictures import IMAGES
from apps.demo.seeding.posts import HOURS, Texts
from apps.posts.actions.drafts import CONTENT_WARNING_MAX_CHARACTERS, MAX_PICTURES
from apps.posts.content.text import length, mentioned_handles, tags
from apps.posts.models import Visibility
from apps.texts import normalise

CONTENT = load_content()
REPLIES = [reply.post for talk in CONTENT.conversations for reply in talk.replies]
POSTS = [post for post in [*CONTENT.posts, *REPLIES] if not post.is_repost]
KEYS = {post.key for post in CONTENT.posts if post.key}
AVATARS = {person.avatar for person in CONTENT.people.values() if person.avatar}
PICTURES = {picture.image for post in POSTS for picture in post.pictures} | {
    image for caption in CONTENT.captions for image in caption.images
}


def fits(text: str) -> bool:
    return length(text) <= settings.POST_MAX_CHARACTERS


def is_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)


def test_there_is_enough_in_both_languages():
    posts = [post for post in CONTENT.posts if not post.is_repost]
    assert len(CONTENT.people) >= 40
    assert len(posts) >= 260
    assert len(REPLIES) >= 60
    assert sum(len(texts) for texts in CONTENT.passages.values()) >= 300
    for language in LANGUAGES:
        assert sum(post.language == language for post in posts) >= 120


def test_there_is_something_of_every_kind():
    posts = CONTENT.posts
    assert {post.visibility for post in posts} == {"public", "unlisted", "followers"}
    assert any(post.warning for post in posts)
    assert any(post.is_repost for post in posts)
    assert any(post.source and not post.is_repost for post in posts)
    named = {tag for post in posts for tag in tags(post.text)}
    assert {"山水之间", "hybridfeeds", "今天吃什么"} <= named


def test_the_accounts_that_can_sign_in():
    fixed = {person.handle: person.staff for person in CONTENT.people.values() if person.fixed}
    assert fixed == {"alice": False, "bob": False, "carol": False, "admin": True}


def test_everybody_could_have_signed_up():
    for person in CONTENT.people.values():
        assert re.fullmatch(HANDLE_PATTERN, person.handle, re.ASCII)
        assert person.staff or person.handle not in RESERVED_HANDLES
        assert 0 < len(person.name) <= NAME_MAX_CHARACTERS
        assert len(person.bio) <= BIO_MAX_CHARACTERS
        assert person.language in LANGUAGES
        assert set(person.follows) <= CONTENT.people.keys() - {person.handle}
        assert {*person.likes, *person.bookmarks} <= KEYS


def test_every_post_could_have_been_written():
    for post in POSTS:
        assert post.by in CONTENT.people
        assert post.language in LANGUAGES
        assert post.text == normalise(post.text) != ""
        assert fits(post.text)
        assert set(mentioned_handles(post.text)) <= CONTENT.people.keys()
        assert not post.source or post.source in KEYS
        assert not post.hour or post.hour in HOURS
        assert post.visibility in Visibility.values
        assert len(post.warning) <= CONTENT_WARNING_MAX_CHARACTERS
        assert len(post.pictures) <= MAX_PICTURES


def test_keys_are_unique_and_reposts_and_conversations_find_their_posts():
    counts = Counter(post.key for post in CONTENT.posts if post.key)
    assert max(counts.values()) == 1
    reposts = [post for post in CONTENT.posts if post.is_repost]
    assert {post.by for post in reposts} <= CONTENT.people.keys()
    assert {post.source for post in reposts} <= KEYS
    for conversation in CONTENT.conversations:
        assert conversation.under in KEYS
        assert all(0 <= reply.to <= number for number, reply in enumerate(conversation.replies))


@pytest.mark.parametrize("language", LANGUAGES)
def test_passages_and_sentences_fit_and_slots_agree_with_their_frames(language):
    assert all(fits(text) for text in CONTENT.passages[language])
    for pattern in CONTENT.patterns[language]:
        named = {name for _text, name, *_rest in Formatter().parse(pattern.frame) if name}
        assert named == set(pattern.slots)
        longest = {name: max(words, key=len) for name, words in pattern.slots.items()}
        assert fits(pattern.frame.format(**longest))


def test_the_files_are_those_that_are_named():
    assert {path.name for path in IMAGES.glob("*.webp")} == PICTURES
    assert {path.name for path in (IMAGES / "avatars").glob("*.webp")} == AVATARS


def test_a_picture_opens_and_is_of_a_size_for_posts():
    for name in sorted(PICTURES):
        path = IMAGES / name
        with Image.open(path) as image:
            image.load()
            assert image.format == "WEBP", name
            assert 640 <= max(image.size) <= 1200, name
        assert path.stat().st_size < 150_000, name


def test_an_avatar_opens_and_is_square():
    for name in sorted(AVATARS):
        with Image.open(IMAGES / "avatars" / name) as image:
            image.load()
            assert image.format == "WEBP", name
            assert image.size == (400, 400), name


def test_every_picture_has_a_description_in_the_language_of_its_post():
    for post in POSTS:
        for picture in post.pictures:
            assert picture.alt
            assert is_chinese(picture.alt) == (post.language == "zh")


def test_a_caption_has_texts_and_a_description_in_both_languages():
    for caption in CONTENT.captions:
        assert caption.images
        for language in LANGUAGES:
            assert caption.texts[language], caption
            assert all(fits(text) for text in caption.texts[language]), caption
            assert is_chinese(caption.alt[language]) == (language == "zh"), caption


def test_generated_texts_are_whole_short_and_the_same_for_the_same_seed():
    def generated(seed: int) -> list[str]:
        texts = Texts(CONTENT, Random(seed))
        return [texts.text(language) for _ in range(400) for language in ("en", "zh")]

    first = generated(3)
    assert first == generated(3)
    assert first != generated(4)
    assert len(set(first)) == len(first)
    assert all(text and "{" not in text and length(text) <= 500 for text in first)
