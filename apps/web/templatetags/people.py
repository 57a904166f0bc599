"""Avatars, banners and names of people; the header of a profile; suggestions of people to follow."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple, Protocol
from zlib import crc32

import regex
from django import template
from django.template import Context
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext, ngettext

from apps.accounts.models import User
from apps.graph.familiar_followers import FamiliarNames
from apps.graph.queries import Relationship
from apps.languages import html_language, language_by_script
from apps.media.avatars import PALETTE
from apps.search.suggestions import people_for_card
from apps.web.fragments import render_fragment
from apps.web.post_card import Appearance

register = template.Library()

MAX_RENDERED = 4096  # avatars and names, each about 300 bytes
SHAPES = (
    '<circle cx="10" cy="58" r="26" fill="{}" opacity=".5"/>',
    '<circle cx="52" cy="14" r="20" fill="{}" opacity=".55"/>',
    '<path d="M-6 64 30 24 70 64Z" fill="{}" opacity=".45"/>',
    '<path d="M0 44Q20 30 40 44T80 44V64H0Z" fill="{}" opacity=".5"/>',
)
SIDES = {"xs": 24, "sm": 36, "": 44, "xl": 96}
_GRAPHEME = regex.compile(r"\X")


class Named(Protocol):
    """An account, or a record of its appearance."""

    @property
    def handle(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def avatar_url(self) -> str: ...


class Wide(Protocol):
    """An account with a header picture, or a record of its appearance."""

    @property
    def handle(self) -> str: ...
    @property
    def header_url(self) -> str: ...
    @property
    def header_alt(self) -> str: ...


@register.simple_tag
def avatar(user: Named, size: str = "", *, in_hidden: bool = False) -> SafeString:
    """The avatar, or one generated from the handle and name. It is decorative: the name is next to it.

    `in_hidden`: it is inside an element that is already hidden from screen readers.
    """
    return _avatar(user.handle, user.name, user.avatar_url, size, in_hidden=in_hidden)


@lru_cache(maxsize=MAX_RENDERED)
def _avatar(handle: str, name: str, avatar_url: str, size: str, *, in_hidden: bool) -> SafeString:
    kind = f"avatar {size}".strip()
    if avatar_url:
        return format_html(
            '<img class="{}" src="{}" width="{}" height="{}" alt="" decoding="async">',
            kind, avatar_url, SIDES[size], SIDES[size],
        )  # fmt: skip
    seed = crc32(handle.encode())
    ground, tone = PALETTE[seed % len(PALETTE)]
    initial = _GRAPHEME.search(name)
    hidden = "" if in_hidden else format_html(' aria-hidden="{}"', "true")
    return format_html(
        '<svg class="{}" viewBox="0 0 64 64"{}><rect fill="{}"/>{}<text x="32" y="43">{}</text></svg>',
        kind, hidden, ground,
        format_html(SHAPES[seed // 16 % len(SHAPES)], tone), initial[0].upper() if initial else "",
    )  # fmt: skip


@register.simple_tag
def banner(user: Wide) -> SafeString:
    """The header picture, or hills in the colours of the generated avatar; three times as wide as high."""
    if user.header_url:
        return format_html(
            '<img class="banner" src="{}" width="1500" height="500" alt="{}" decoding="async">',
            user.header_url,
            user.header_alt,
        )
    seed = crc32(user.handle.encode())
    ground, tone = PALETTE[seed % len(PALETTE)]
    sun, slope = 120 + seed // 64 % 360, seed // 32768 % 60
    return format_html(
        '<svg class="banner" viewBox="0 0 600 200" preserveAspectRatio="xMidYMid slice" aria-hidden="true">'
        '<rect width="600" height="200" fill="{1}"/><circle cx="{2}" cy="74" r="30" fill="#fff" opacity=".5"/>'
        '<path d="M0 {3} 120 {4} 210 130 330 {3} 450 120 600 {4}V200H0Z" fill="{0}" opacity=".38"/>'
        '<path d="M0 150 90 {5} 220 158 370 {5} 500 160 600 128V200H0Z" fill="{0}" opacity=".6"/>'
        '<path d="M0 176Q160 140 320 172T600 166V200H0Z" fill="{0}"/></svg>',
        ground, tone, sun, 90 + slope // 2, 40 + slope, 100 + slope // 3,
    )  # fmt: skip


@register.simple_tag
def product_picture(theme: str) -> str:
    """The URL of a screenshot of a home page in the page's language. `./run vitals --landing` makes the screenshots."""
    language = "zh" if get_language() == "zh-hans" else "en"
    return static(f"img/home-{language}-{theme}.webp")


@register.filter
def language_of(text: str) -> str:
    """The language of a short text, if its script is Japanese, Korean or Chinese; otherwise empty."""
    return html_language(language_by_script(text))


@register.simple_tag
def name_of(user: Named) -> SafeString:
    """The name in a <bdi>, so that its direction does not affect the text around it."""
    return _name(user.name)


@lru_cache(maxsize=MAX_RENDERED)
def _name(name: str) -> SafeString:
    language = language_of(name)
    attribute = format_html(' lang="{}"', language) if language else mark_safe("")
    return format_html("<bdi{}>{}</bdi>", attribute, name)


class Linked(Named, Protocol):
    @property
    def url(self) -> str: ...


@register.simple_tag
def names_of(people: Sequence[Linked]) -> SafeString:
    """The first two names, with links, and the number of others."""
    names = [linked(person) for person in people[:2]]
    others = len(people) - len(names)
    if others:
        text = ngettext(
            "{first}, {second} and {n} other", "{first}, {second} and {n} others", others
        )
        return format_html(text, first=names[0], second=names[1], n=others)
    if len(names) > 1:
        return format_html(gettext("{first} and {second}"), first=names[0], second=names[1])
    return names[0]


MAX_NAMES = 2
# Relations that templates check: each is a variable, a collection with the account's id if the relation holds.
RELATED = ("following", "followed_by", "blocking", "muting", "requested")


@register.simple_tag(takes_context=True)
def who_to_follow(context: Context, limit: int = 3) -> SafeString:
    """A card of accounts to follow; empty if there are none."""
    people = people_for_card(context["viewer"], limit=limit)
    return render_fragment("graph/_who_to_follow.html", people=people)


@register.simple_tag
def familiar_followers(familiar: FamiliarNames | None) -> SafeString:
    """Followers of an account whom the viewer also follows; empty for visitors."""
    if familiar is None:
        return SafeString()
    return render_fragment(
        "graph/_familiar.html",
        people=tuple(map(Appearance.of, familiar.people)),
        others=familiar.others,
        shown_others=f"{familiar.others}+" if familiar.more else str(familiar.others),
    )


@register.filter
def linked(person: Linked) -> SafeString:
    return format_html('<a href="{}">{}</a>', person.url, name_of(person))


class ProfileFacts(NamedTuple):
    """The parts of an account that the header of a profile and its meta elements show."""

    pk: int
    handle: str
    name: str
    url: str
    avatar_url: str
    header_url: str
    header_alt: str
    bio: str
    lines: tuple[tuple[str, ...], ...]
    featured_tags: tuple[str, ...]
    is_bot: bool
    is_locked: bool
    is_indexable: bool
    created_at: datetime
    followers: int
    following: int
    posts: int

    @classmethod
    def of(cls, user: User, featured_tags: Sequence[str]) -> "ProfileFacts":
        return cls(
            user.pk,
            user.handle,
            user.name,
            user.url,
            user.avatar_url,
            user.header_url,
            user.header_alt,
            user.bio,
            tuple(map(tuple, user.lines)),
            tuple(featured_tags),
            user.is_bot,
            user.is_locked,
            user.is_indexable,
            user.created_at,
            user.counts.followers,
            user.counts.following,
            user.counts.posts,
        )


@register.simple_tag(takes_context=True)
def profile_top(context: Context, facts: ProfileFacts, relationship: Relationship) -> SafeString:
    """The banner, avatar and buttons of a profile; the same for all viewers with the same relationship."""
    viewer = context["viewer"]
    return render_fragment(
        "graph/_profile_top.html",
        profile=facts,
        viewer=viewer is not None,  # the template only needs to know whether there is a viewer
        is_own=viewer is not None and viewer.pk == facts.pk,
        notifies=relationship.notifies,
        shows_reposts=relationship.shows_reposts,
        **{name: _listed(facts, relationship, name) for name in RELATED},
    )


@register.simple_tag
def profile_facts(facts: ProfileFacts, relationship: Relationship) -> SafeString:
    return render_fragment(
        "graph/_profile_facts.html",
        profile=facts,
        **{
            name: _listed(facts, relationship, name)
            for name in ("followed_by", "muting", "blocking")
        },
    )


def _listed(facts: ProfileFacts, relationship: Relationship, name: str) -> tuple[int, ...]:
    return (facts.pk,) if getattr(relationship, name) else ()
