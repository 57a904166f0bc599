"""Fields of forms that look the same on every page, drawn once."""

from functools import lru_cache
from typing import Any

from django.forms import Select
from django.forms.renderers import BaseRenderer
from django.utils.safestring import SafeString
from django.utils.translation import get_language

KEPT = 512  # of about 1 KB


class KeptSelect(Select):
    """A menu. Its HTML is kept under all that it depends on: Django takes longer over two menus than over 20 kept posts."""

    def render(
        self,
        name: str,
        value: Any,
        attrs: dict[str, Any] | None = None,
        renderer: BaseRenderer | None = None,
    ) -> SafeString:
        """The menu; choices in groups are not foreseen."""
        choices = tuple((str(key), str(label)) for key, label in self.choices)
        given = tuple(sorted({**self.attrs, **(attrs or {})}.items()))
        return _drawn(get_language(), name, value, given, choices, renderer)


@lru_cache(maxsize=KEPT)
def _drawn(
    _language: str | None,
    name: str,
    value: Any,
    attrs: tuple[tuple[str, Any], ...],
    choices: tuple[tuple[str, str], ...],
    renderer: BaseRenderer | None,
) -> SafeString:
    return Select(choices=choices).render(name, value, dict(attrs), renderer)
