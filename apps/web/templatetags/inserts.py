"""The templates that optional apps insert into pages."""

from django import template
from django.template import Context, Engine
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from apps.web.hooks import INSERTS

register = template.Library()


@register.simple_tag(takes_context=True)
def inserts(context: Context, place: str) -> SafeString:
    """All inserts for this place in a page."""
    engine = Engine.get_default()
    return format_html_join(
        "",
        "{}",
        (
            (engine.get_template(insert.template).render(context),)
            for insert in INSERTS
            if insert.place == place and insert.applies()
        ),
    )
