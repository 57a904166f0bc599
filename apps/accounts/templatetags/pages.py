"""Whole pages that are kept: what differs from reader to reader and from moment to moment is put into what was drawn before.

Of a home page the frame and all that stands between its parts took more than its cards: 3,700 of 9,600 Python calls, and a
fifth of its time (decision 0054). So a page is drawn once for each language, look and set of parts. What is not the same
for all of its readers has its place left open, as in any kept part, or stands in `{% anew %}` and is drawn for every request.
"""

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from django import template
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template import Context, Engine
from django.template.base import FilterExpression, Node, NodeList, Parser, Token, token_kwargs
from django.template.context import make_context
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from apps.accounts.models import User
from apps.accounts.templatetags.amounts import badge
from apps.accounts.templatetags.kept import OPEN, Reader, drawn, left_open, written
from apps.accounts.templatetags.keyboard import key_map
from apps.accounts.templatetags.links import way_back

register = template.Library()

PAGES = 256  # of 10 to 30 KB
_LATER = "\0"  # the name of the list of what is drawn later; no template can ask for it
# What the frame of every page is kept under, besides its reader's settings.
_FRAME = ("here", "is_slow", "no_fab", "site_name", "theme")


class _Later(Node):
    """A piece of a page that is not kept with the rest of it."""

    def __init__(self, nodelist: NodeList, given: Mapping[str, FilterExpression]) -> None:
        self.nodelist, self._given = nodelist, given

    def render(self, context: Context) -> SafeString:
        """Where a page is kept, a place for the piece; else the piece."""
        values = {name: value.resolve(context) for name, value in self._given.items()}
        later = context.get(_LATER)
        if later is None:
            return self.drawn(context, values)
        later.append((self, values))
        return mark_safe(f"{OPEN}{len(later) - 1}{OPEN}")  # noqa: S308 -- a number

    def drawn(self, context: Context, values: Mapping[str, Any]) -> SafeString:
        """The piece itself."""
        with context.push(**values):
            return self.nodelist.render(context)


_Pieces = tuple[str | tuple[_Later, Mapping[str, Any]], ...]


@register.tag
def anew(parser: Parser, token: Token) -> _Later:
    """`{% anew name=value %}...{% endanew %}`: a piece that is drawn for every request, and knows all that the request knows.

    Of what was kept around it, it sees what it is given by name.
    """
    given = token_kwargs(token.split_contents()[1:], parser)
    nodelist = parser.parse(("endanew",))
    parser.delete_first_token()
    return _Later(nodelist, given)


def kept_page(
    request: HttpRequest,
    name: str,
    context: dict[str, Any],
    *,
    under: Collection[str] = (),
    new: Collection[str] = (),
) -> HttpResponse:
    """A page as `render` makes it, drawn anew only where it says so.

    The rest is kept under the frame's settings and the values of the names `under`, with places left open for the texts
    `new`; there is nothing else in it.
    """
    page = Engine.get_default().get_template(name)
    full = make_context(context, request)
    with full.bind_template(page), full.render_context.push_state(page):
        reader, texts = _reader(full["viewer"]), _texts(full, new)
        frame = {key: full.get(key) for key in (*_FRAME, *under)}
        places = {key: left_open(key, str) if text else "" for key, text in texts.items()}
        given = tuple({"viewer": reader, **frame, **places}.items())
        pieces = (_cut if settings.DEBUG else _kept)(name, get_language(), given)
        return HttpResponse("".join(_filled(pieces, full, {"me": drawn(full["viewer"]), **texts})))


def _reader(viewer: User | None) -> Reader | None:
    return Reader(viewer.text_size, viewer.density) if viewer else None


def _texts(full: Context, names: Collection[str]) -> dict[str, str]:
    """What the frame, and a page besides, leaves open: texts."""
    return {
        "csrf_token": str(full["csrf_token"]),
        "keys": key_map(full),
        "unread_notifications": badge(full["unread_notifications"]),
        "way_back": way_back(full),
        **{name: str(full[name]) for name in names},
    }


def _filled(pieces: _Pieces, full: Context, values: Mapping[str, Any]) -> list[str]:
    texts, known = list[str](), dict[str, str]()
    for at, piece in enumerate(pieces):
        if not isinstance(piece, str):
            later, given = piece
            texts.append(later.drawn(full, given))
        elif at % 2 == 0:
            texts.append(piece)
        else:  # a name; most stand in several places
            if piece not in known:
                known[piece] = written(piece, values)
            texts.append(known[piece])
    return texts


def _cut(name: str, _language: str | None, given: tuple[tuple[str, Any], ...]) -> _Pieces:
    """A page in pieces: texts, and between them what belongs there: names, and what is drawn later."""
    later: list[tuple[_Later, Mapping[str, Any]]] = []
    context = Context({**dict(given), _LATER: later})
    texts = Engine.get_default().get_template(name).render(context).split(OPEN)
    return tuple(
        later[int(text)] if at % 2 and text.isdecimal() else text for at, text in enumerate(texts)
    )


_kept = lru_cache(maxsize=PAGES)(_cut)
