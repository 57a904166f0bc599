"""How post ids stand in addresses."""

from django.urls import register_converter

from feedcache.ids import parse_id


class PostIdConverter:
    """A post id in its canonical decimal form; anything else is no such page."""

    regex = "[1-9][0-9]{0,18}"

    def to_python(self, value: str) -> int:
        """ValueError, which means no match, beyond the range."""
        return parse_id(value)

    def to_url(self, value: int) -> str:
        """The decimal text."""
        return str(value)


register_converter(PostIdConverter, "post")
