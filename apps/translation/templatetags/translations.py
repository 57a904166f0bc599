"""Which posts a reader may want in another language."""

from django import template

from apps.posts.content.post import PostContent

register = template.Library()


@register.filter
def is_foreign_to(post: PostContent, language: str) -> bool:
    """Whether an open post says that it is in another language than the page."""
    page = language.partition("-")[0]
    return bool(post.is_open and post.body and post.language) and post.language != page
