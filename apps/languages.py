"""Languages of posts, and detection of a text's language by its script."""

import regex
from django.utils.translation import get_language

WRITTEN = [
    ("zh", "中文"), ("en", "English"), ("ar", "العربية"), ("de", "Deutsch"), ("es", "Español"),
    ("fr", "Français"), ("hi", "हिन्दी"), ("id", "Indonesia"), ("it", "Italiano"), ("ja", "日本語"), ("ko", "한국어"),
    ("pt", "Português"), ("ru", "Русский"), ("tr", "Türkçe"), ("uk", "Українська"), ("vi", "Tiếng Việt"),
]  # fmt: skip
# Kana is tested before Han, because Japanese texts contain both.
_SCRIPTS = (
    ("ja", regex.compile(r"[\p{Hiragana}\p{Katakana}]")),
    ("ko", regex.compile(r"\p{Hangul}")),
    ("zh", regex.compile(r"\p{Han}")),
)


def language_by_script(text: str) -> str:
    """The language of a text: `ja`, `ko` or `zh`; empty for other scripts."""
    return next((language for language, script in _SCRIPTS if script.search(text)), "")


def page_language() -> str:
    """The language of the page as a code without script or region, as in posts: `zh`, not `zh-hans`."""
    return (get_language() or "en").partition("-")[0]


def in_page_language(text: str) -> str:
    """The text, or "" if `language_by_script` shows that it is not in the language of the page."""
    page = page_language()
    expected = page if page in dict(_SCRIPTS) else ""
    return text if language_by_script(text) == expected else ""


def html_language(language: str) -> str:
    """The value of HTML's `lang` attribute. Han glyphs differ by region, so zh becomes zh-Hans."""
    return "zh-Hans" if language == "zh" else language
