"""Texts of profiles and of the site, with links."""

from django import template
from django.utils.safestring import SafeString

from apps.languages import in_page_language
from apps.posts.content.text import html, line_html
from apps.texts import normalise

register = template.Library()
register.filter(in_page_language)


@register.filter
def with_links(text: str) -> SafeString:
    """A text with its addresses, tags and mentions as links. Line breaks are kept."""
    return line_html(text)


@register.filter
def paragraphs(text: str) -> SafeString:
    return html(normalise(text), handles=None)
