"""What the site found about the posts of a report, for the staff page that shows the report."""

from django import template

from apps.spam.queries import verdicts_of

register = template.Library()
register.simple_tag(verdicts_of)
