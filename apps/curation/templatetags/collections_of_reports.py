"""The collections in a report, for the staff page that shows the report."""

from django import template

from apps.curation.queries import reported_collections

register = template.Library()
register.simple_tag(reported_collections)
