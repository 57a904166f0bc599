"""Routes of the audit app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.audit import api, views
from apps.timeline import urls as timeline_urls  # noqa: F401 -- registers the converter of post ids

pages: list[URLPattern] = [
    path("explain", views.home, name="explain"),
    path("explain/@<str:handle>", views.home_of, name="explain_of"),
    path("explain/<post:post_id>", views.post, name="explain_post"),
]

endpoints: list[URLPattern] = [
    path("explain/home", api.home),
    path("explain/statuses/<int:status_id>", api.status),
]
