"""The empty composer of the home page. Its fields are rendered once for all authors with the same settings."""

from functools import lru_cache
from typing import Any, NamedTuple
from uuid import uuid4

from django.conf import settings
from django.template import Context, Engine
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from apps.accounts.models import User
from apps.graph.groups.queries import CircleChoice, circles_to_post_to
from apps.media.video import is_available
from apps.web.forms.posts import HOME_COMPOSER, ComposeForm, composer_context
from apps.web.fragments import kept

MAX_COMPOSERS = 256  # each about 6 KB


class HomeComposer(NamedTuple):
    """Everything that the fields of the empty composer depend on; the same for most authors."""

    language: str | None
    visibility: str
    post_language: str
    sensitive: bool
    asks_for_alt: bool
    circles: tuple[CircleChoice, ...]
    takes_video: bool
    max_characters: int

    @classmethod
    def of(cls, author: User) -> "HomeComposer":
        """The values for an author. Takes one query for authors who have ever owned or joined a circle, else none."""
        return cls(
            get_language(),
            author.post_visibility,
            author.post_language,
            author.post_sensitive,
            author.asks_for_alt,
            tuple(circles_to_post_to(author)),
            is_available(),
            settings.POST_MAX_CHARACTERS,
        )


@lru_cache(maxsize=kept(MAX_COMPOSERS))
def _render(composer: HomeComposer) -> SafeString:
    author = User(
        post_visibility=composer.visibility,
        post_language=composer.post_language,
        post_sensitive=composer.sensitive,
        asks_for_alt=composer.asks_for_alt,
    )
    form = ComposeForm(author=author, circles=composer.circles, auto_id=f"{HOME_COMPOSER}_%s")
    template = Engine.get_default().get_template("timeline/_composer_fields.html")
    return template.render(Context({**composer_context(form), "look": "inline"}))


def home_composer_context(author: User) -> dict[str, Any]:
    """The context of the empty composer, with its rendered fields."""
    return {"fields": _render(HomeComposer.of(author)), "idempotency_key": str(uuid4())}
