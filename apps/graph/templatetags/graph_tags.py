"""Template tags of the graph app."""

from dataclasses import dataclass
from datetime import datetime

from django import template
from django.conf import settings
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.accounts.models import User
from apps.accounts.templatetags.kept import anew, kept, looks
from apps.accounts.templatetags.links import way_back
from apps.accounts.templatetags.people import name_of
from apps.graph.familiar import common_followers
from apps.graph.queries import suggestions
from apps.graph.relationships import Relationship

register = template.Library()

LOOKED_AT = 100  # of those whom the viewer follows too
NAMED = 2
# What there may be between a viewer and an account; templates ask whether an account is among them.
RELATED = ("following", "followed_by", "blocking", "muting", "requested")


@register.simple_tag(takes_context=True)
def who_to_follow(context: Context, limit: int = 3) -> SafeString:
    """A card of accounts to follow; nothing when there are none. Kept for whoever is suggested the same people."""
    people = tuple(map(looks, suggestions(context["viewer"], limit=limit)))
    token, back = anew(str(context.get("csrf_token", ""))), anew(way_back(context))
    return kept("graph/_who_to_follow.html", people=people, csrf_token=token, way_back=back)


@register.simple_tag
def familiar_followers(viewer: User | None, profile: User) -> SafeString:
    """Whom the viewer follows, of those who follow an account; nothing for visitors."""
    if viewer is None:
        return SafeString()
    found = common_followers(viewer, [profile], limit=LOOKED_AT)[profile.pk]
    others = len(found.people) - NAMED
    return kept(
        "graph/_familiar.html",
        people=tuple(map(looks, found.people[:NAMED])),
        names=tuple(_link(person) for person in found.people[:NAMED]),
        others=max(others, 0),
        shown_others=f"{others}+" if found.more else str(others),
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """What a profile says of its account."""

    pk: int
    handle: str
    name: str
    url: str
    avatar_url: str
    header_url: str
    bio: str
    lines: tuple[tuple[str, str], ...]
    is_bot: bool
    is_locked: bool
    is_indexable: bool
    followers: int
    following: int
    posts: int
    created_at: datetime

    @classmethod
    def of(cls, user: User) -> "Shown":
        """An account as it is now."""
        counts, lines = user.counts, tuple((name, value) for name, value in user.lines)
        return cls(
            user.pk, user.handle, user.name, user.url, user.avatar_url, user.header_url, user.bio, lines,
            user.is_bot, user.is_locked, user.is_indexable, counts.followers, counts.following, counts.posts, user.created_at,
        )  # fmt: skip


@register.simple_tag(takes_context=True)
def profile_header(context: Context, profile: User, standing: Relationship) -> SafeString:
    """The head of a profile: who this is, and what its viewer may do about them."""
    viewer = context["viewer"]
    return kept(
        "graph/_profile_header.html",
        profile=Shown.of(profile),
        viewer=viewer is not None,
        is_own=viewer == profile,
        notifies=standing.notifies,
        shows_reposts=standing.shows_reposts,
        familiar=anew(familiar_followers(viewer, profile)),
        csrf_token=anew(str(context["csrf_token"])),
        way_back=anew(way_back(context)),
        **{name: (profile.pk,) if getattr(standing, name) else () for name in RELATED},
    )


@register.simple_tag
def profile_meta(profile: User) -> SafeString:
    """What a profile says of itself to other sites."""
    return kept(
        "graph/_profile_meta.html",
        profile=Shown.of(profile),
        site_name=settings.SITE_NAME,
        site_url=settings.SITE_URL,
    )


def _link(person: User) -> SafeString:
    return format_html('<a href="{}">{}</a>', person.url, name_of(person))
