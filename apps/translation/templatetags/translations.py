"""Template filter that finds posts in a foreign language."""

from django import template

from apps.posts.content.post import PostContent

register = template.Library()


@register.filter
def is_foreign_to(post: PostContent, language: str) -> bool:
    """Whether an open post has a text, in a language other than the page's."""
    page = language.partition("-")[0]
    return bool(post.is_open and post.body and post.language) and post.language != page
