"""Translates open posts for members. The translation of each version of a post is cached for a week per language."""

from dataclasses import dataclass
from functools import partial

import orjson
from django.conf import settings
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import Invalid, NotAllowed, NotFound, invalid
from apps.languages import page_language
from apps.posts.content.post import PostContent
from apps.throttling import check_rate_limit
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.thread import visible_item
from apps.translation import service
from apps.translation.service import Refused
from feedcache.read_through import ReadThrough

MAX_CHARACTERS = 20_000  # in all texts of a post together
# The service's names for languages that have other names here.
_ALIASES = {"zh": ("zh", "zh-Hans", "zh-CN"), "pt": ("pt", "pt-BR")}
Key = tuple[int, int, str]  # post, version, language


@dataclass(frozen=True, slots=True)
class Translation:
    """A post in another language, with the options of its poll, and pairs of a picture id and a description."""

    source: str
    target: str
    body: str
    content_warning: str = ""
    options: tuple[str, ...] = ()
    descriptions: tuple[tuple[int, str], ...] = ()


def _encode(translation: Translation) -> bytes:
    return orjson.dumps(translation)


def _decode(data: bytes) -> Translation:
    """The inverse of `_encode`. Raises ValueError for malformed bytes."""
    try:
        values = orjson.loads(data)
        descriptions = tuple((int(pk), str(text)) for pk, text in values.pop("descriptions"))
        options = tuple(values.pop("options"))
        return Translation(**values, options=options, descriptions=descriptions)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError("not a translation") from error


def _name(key: Key) -> str:
    return ".".join(map(str, key))


TRANSLATIONS: ReadThrough[Key, Translation] = ReadThrough(
    name="translation",
    version=1,
    ttl_seconds=7 * 24 * 3600,
    key_of=_name,
    encode=_encode,
    decode=_decode,
    family="content",
    negative_ttl_seconds=0,
)


def translated(viewer: User, post_id: int, language: str = "") -> tuple[FeedItem, Translation]:
    """An open post and its translation into a language, by default the language of the page.

    Raises NotFound, NotAllowed, Invalid, TooMany or Unavailable.
    """
    item = visible_item(viewer.pk, post_id).shown
    if not settings.TRANSLATE_URL:
        raise NotFound(_("This site does not translate posts."))
    if not item.post.is_open:
        raise NotAllowed(_("Only public posts are sent to the translation service."))
    target = _supported(language or page_language(), item.post.language)
    key = (post_id, item.post.version, target)
    found = TRANSLATIONS.get_many([key], partial(_load, viewer, item.post))
    return item, found[key]


def _supported(target: str, source: str) -> str:
    """The service's name for the target language. Raises Invalid if it is not supported, or is the post's own."""
    primary = target.partition("-")[0].lower()
    if primary == source:
        raise _cannot(_("The post is already in this language."))
    known = {name for targets in service.languages().values() for name in targets}
    candidates = (target, *_ALIASES.get(primary, (primary,)))
    for name in candidates:
        if name in known:
            return name
    raise _cannot(_("The service does not translate into this language."))


def _load(viewer: User, post: PostContent, keys: list[Key]) -> dict[Key, Translation]:
    check_rate_limit("translate", str(viewer.pk))
    return {key: _translate(post, key[2]) for key in keys}


def _translate(post: PostContent, target: str) -> Translation:
    options = post.poll.options if post.poll else ()
    described = [picture for picture in post.pictures if picture.alt]
    texts = [post.body, post.content_warning, *options, *(picture.alt for picture in described)]
    if sum(map(len, texts)) > MAX_CHARACTERS:
        raise _cannot(_("This post is too long."))
    filled = [text for text in texts if text.strip()]
    if not filled:
        raise _cannot(_("There is nothing to translate."))
    try:
        answer = service.translate(filled, source=_source(post.language), target=target)
    except Refused:
        raise _cannot(_("The service does not translate this post.")) from None
    answers = iter(answer.texts)
    body, warning, *rest = [next(answers) if text.strip() else "" for text in texts]
    descriptions = zip((picture.id for picture in described), rest[len(options) :], strict=True)
    return Translation(
        post.language or answer.source, target, body, warning, tuple(rest[: len(options)]), tuple(descriptions)
    )  # fmt: skip


def _source(language: str) -> str:
    """The service's name for the language of a post."""
    known = service.languages()
    return next((name for name in _ALIASES.get(language, ()) if name in known), language)


def _cannot(message: str) -> Invalid:
    return invalid("lang", message, "cannot_translate")
