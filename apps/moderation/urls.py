"""Routes of the moderation app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.moderation import api, views

pages: list[URLPattern] = [
    path("@<str:handle>/report", views.report, name="report"),
]

endpoints: list[URLPattern] = [
    path("reports", api.reports),
]
