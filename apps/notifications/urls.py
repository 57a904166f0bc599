"""Routes of the notifications app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.notifications import api, views

pages: list[URLPattern] = [
    path("notifications", views.notifications, name="notifications"),
    path("notifications/mentions", views.notifications, {"mentions": True}, name="mentions"),
]

endpoints: list[URLPattern] = [
    path("notifications", api.notifications),
    path("notifications/unread_count", api.unread),
    path("markers", api.markers),
]
