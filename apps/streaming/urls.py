"""Routes of the streaming app that the web server answers."""

from django.urls import URLPattern, path

from apps.streaming import views

pages: list[URLPattern] = [
    path("streams/ticket", views.ticket, name="stream_ticket"),
]
