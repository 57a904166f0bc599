"""A client for LibreTranslate (https://docs.libretranslate.com), bounded in time, bytes and parallel requests."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpcore
import orjson
from django.conf import settings
from django.utils.translation import gettext as _

from apps.errors import TooMany, Unavailable
from feedcache.breaker import Bulkhead, SourceUnavailable
from feedcache.local_cache import LocalCache

logger = logging.getLogger(__name__)

NAME = "LibreTranslate"
SECONDS = 6.0  # for an answer
LANGUAGES_SECONDS = 600.0
MAX_BYTES = 256 * 1024
OK, BUSY, FAILED = 200, 429, 500
AUTO = "auto"
# One per process. A service that hangs blocks only the bulkhead's threads, and is sent no requests for a while.
_BULKHEAD = Bulkhead("translation", max_concurrency=2)
_LANGUAGES: LocalCache[str, dict[str, list[str]]] = LocalCache(
    maximum=1, ttl_seconds=LANGUAGES_SECONDS
)


_FAILURES = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError)


class Refused(Exception):
    """The service refused the request."""


@dataclass(frozen=True, slots=True)
class Translated:
    """Translated texts in the given order, and their original language."""

    texts: list[str]
    source: str


def languages() -> Mapping[str, list[str]]:
    """The languages that the service translates from, each with its targets. Raises Unavailable or TooMany."""
    found = _LANGUAGES.get(settings.TRANSLATE_URL, _load_languages)
    return found or {}


def _load_languages() -> dict[str, list[str]]:
    try:
        return {
            str(one["code"]): [str(target) for target in one.get("targets", ())]
            for one in _ask("GET", "languages")
        }
    except (Refused, KeyError, TypeError) as error:
        raise _unavailable(error) from error


def translate(texts: Sequence[str], *, source: str, target: str) -> Translated:
    """Translate texts. Raises Refused, Unavailable or TooMany."""
    request = {"q": list(texts), "source": source or AUTO, "target": target, "format": "text"}
    if settings.TRANSLATE_API_KEY:
        request["api_key"] = settings.TRANSLATE_API_KEY
    answer = _ask("POST", "translate", request)
    try:
        translated = [str(text) for text in answer["translatedText"]]
        found = source or _detected(answer)
    except (KeyError, TypeError, IndexError) as error:
        raise _unavailable(error) from error
    if len(translated) != len(texts):
        raise _unavailable(Refused("another number of texts"))
    return Translated(translated, found)


def _detected(answer: Mapping[str, Any]) -> str:
    """The language that the service detected; if there are several texts, the language of the first."""
    detected = answer["detectedLanguage"]
    return str((detected[0] if isinstance(detected, list) else detected)["language"])


def _ask(method: str, path: str, request: Mapping[str, Any] | None = None) -> Any:
    try:
        status, body = _BULKHEAD.call(lambda: _answer(method, path, request), seconds=SECONDS)
    except (SourceUnavailable, *_FAILURES) as error:
        raise _unavailable(error) from error
    if status == BUSY:
        raise TooMany(retry_after=10)
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _unavailable(error) from error
    if status != OK:
        # the answer is not logged, because it may contain the site's API key
        logger.warning("%s refused with status %s", NAME, status)
        if status < FAILED:
            raise Refused
        raise _unavailable(Refused(status))
    return answer


def _answer(method: str, path: str, request: Mapping[str, Any] | None) -> tuple[int, bytes]:
    timeout = dict.fromkeys(("connect", "read", "write", "pool"), SECONDS)
    content = orjson.dumps(request) if request is not None else b""
    headers = [("Content-Type", "application/json"), ("Accept", "application/json")]
    url = f"{settings.TRANSLATE_URL.rstrip('/')}/{path}"
    with httpcore.stream(
        method, url, headers=headers, content=content, extensions={"timeout": timeout}
    ) as response:
        body = bytearray()
        for chunk in response.iter_stream():
            body += chunk
            if len(body) > MAX_BYTES:
                raise httpcore.ProtocolError("an answer that is too long")
        return response.status, bytes(body)


def _unavailable(error: Exception) -> Unavailable:
    logger.warning("no translation: %s %s", type(error).__name__, error)
    return Unavailable(_("The translation service is not answering right now."), retry_after=30)
