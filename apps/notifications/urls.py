"""Routes of the notifications app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.notifications import api

pages: list[URLPattern] = []

endpoints: list[URLPattern] = [
    path("notifications", api.notifications),
    path("notifications/unread_count", api.unread),
]
