"""The template tag for `apps.web.fragments`."""

from django import template

from apps.web.fragments import render_fragment

register = template.Library()
register.simple_tag(render_fragment, name="fragment")
