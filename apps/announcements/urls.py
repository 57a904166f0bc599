"""Routes of the announcements app: pages for people, endpoints for programs."""

from django.urls import URLPattern, path

from apps.announcements import api, views

pages: list[URLPattern] = [
    path("announcements/<int:announcement_id>/dismiss", views.dismiss, name="dismiss_announcement"),
]

endpoints: list[URLPattern] = [
    path("announcements", api.announcements),
    path("announcements/<int:announcement_id>/dismiss", api.dismiss),
    path("announcements/<int:announcement_id>/reactions/<str:emoji>", api.reaction),
]
